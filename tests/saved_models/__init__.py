"""Model files written by version 0.1.0, and what their models predicted then."""
