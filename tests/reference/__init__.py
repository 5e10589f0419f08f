"""Slow, obvious implementations, written from the definitions, that the tests compare with."""
