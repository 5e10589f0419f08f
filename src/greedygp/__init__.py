"""Gaussian processes and sparse kernel models that choose their own basis greedily."""

from greedygp.sparse.estimator import SparseGPRegressor

__all__ = ["SparseGPRegressor", "__version__"]

__version__ = "0.1.0"
