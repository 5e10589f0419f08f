"""Sparse Gaussian process classification: basis vectors and their sites, judged by prediction."""
