"""Data and estimators for the tests of classification."""

import numpy as np

from greedygp import SparseGPClassifier
from greedygp.kernels import Gaussian


def data(n=80, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    return X, np.searchsorted(cuts, score)


def fixed(**parameters):
    """An estimator with fixed hyperparameters and a fixed number of basis vectors."""
    defaults = {
        "kernel": Gaussian(variance=4.0, length_scale=0.8),
        "bias": 0.1,
        "objective": None,
        "max_basis": 8,
        "random_state": 0,
    }
    return SparseGPClassifier(**(defaults | parameters))
