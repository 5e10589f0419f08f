"""Noisy plane waves, for the tests of regression."""

import numpy as np


def data(n=60, D=2, columns=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    y = truth(X, columns)
    return X, y + 0.1 * rng.normal(size=y.shape)


def truth(X, columns=None):
    """Plane waves, three radians per unit."""
    D = X.shape[1]
    directions = np.random.default_rng(99).normal(size=D if columns is None else (D, columns))
    return np.sin(3 * X @ (directions / np.linalg.norm(directions, axis=0)))
