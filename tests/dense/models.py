"""Data, estimators with fixed hyperparameters, and the same models written out."""

import waves
from greedygp.dense.estimator import GPRegressor
from greedygp.kernels import Gaussian
from reference.dense_regression import DenseGP
from reference.sparse_objectives import dense_kernel

NAMES = ("cholesky", "cg", "pcg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd")
KERNEL = Gaussian(1.0, 0.8)
NOISE = 1.0


def data(n=24, **options):
    return waves.data(n, **options)


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
