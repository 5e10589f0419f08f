"""Sparse linear models over a dictionary of basis functions, chosen by GCV or by the evidence."""
