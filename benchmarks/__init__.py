"""Benchmarks of greedygp: a small declarative frame, and the suites that reproduce the papers."""
