"""Rows and kernels for tests of a full GP on few rows."""

import numpy as np

from greedygp.kernels import Constant, Gaussian, Matern

KERNELS = {
    "ARD Gaussian": Gaussian(variance=1.3, length_scale=[0.5, 0.9]),
    "Matern and bias": Matern(nu=1.5, variance=0.7, length_scale=0.8) + Constant(0.4),
    "fixed variance": Gaussian(variance=1.3, length_scale=0.7, fixed="variance"),
}


def data(n=25, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X @ rng.normal(size=(2, p))) + 0.1 * rng.normal(size=(n, p))
    return X, y
