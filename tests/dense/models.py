"""Data, estimators with fixed hyperparameters, and the same models written out."""

import numpy as np

from greedygp.dense.estimator import GPRegressor
from greedygp.kernels import Gaussian
from reference.dense_regression import DenseGP
from reference.sparse_objectives import dense_kernel

NAMES = ("cholesky", "cg", "pcg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd")
KERNEL = Gaussian(1.0, 0.8)
NOISE = 1.0


def data(n=24, D=2, columns=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    y = truth(X, columns)
    return X, y + 0.1 * rng.normal(size=y.shape)


def truth(X, columns=None):
    """Plane waves, three radians per unit."""
    D = X.shape[1]
    directions = np.random.default_rng(99).normal(size=D if columns is None else (D, columns))
    return np.sin(3 * X @ (directions / np.linalg.norm(directions, axis=0)))


def fixed(**parameters):
    """An estimator with fixed hyperparameters and small blocks."""
    defaults = {
        "kernel": KERNEL,
        "noise_variance": NOISE,
        "objective": None,
        "normalize_y": False,
        "block_size": 8,
        "working_set": 5,
        "preconditioner_rank": 8,
        "tol": 1e-6,
        "random_state": 0,
    }
    return GPRegressor(**(defaults | parameters))


def dense(X, y, weights=None, noise=NOISE):
    y = y[:, None] if y.ndim == 1 else y
    return DenseGP(dense_kernel(KERNEL), X, y, noise, weights)
