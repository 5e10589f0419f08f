"""Small problems for the sparse linear models."""

import numpy as np
import pytest

from greedygp.linear.dictionary import Dictionary
from reference import sparse_linear as reference


class Problem:
    """A dictionary, its dense twin, and a target."""

    def __init__(self, Phi, y, weights=None, intercept=True):
        self.Phi_raw, self.y, self.weights, self.intercept = Phi, y, weights, intercept
        self.dictionary = Dictionary.of_matrix(Phi, weights, intercept)
        self.t, self.mean = self.dictionary.centred(y)
        self.Phi = reference.centred(Phi, weights, intercept)
        self.rows = len(y) if weights is None else float(np.sum(weights))
        self.dof = self.rows - intercept


def make_problem(seed=0, N=40, M=None, width=None, weights=False, intercept=True, noise=0.1):
    """A Gaussian kernel of some width at N points of the plane, or M random columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(N, 2))
    y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + noise * rng.normal(size=N) + 0.5
    if M is None:
        squares = np.sum((X[:, None] - X[None]) ** 2, axis=2)
        Phi = np.exp(-0.5 * squares / (width or 0.5) ** 2)
    else:
        Phi = rng.normal(size=(N, M))
        y = Phi[:, :4] @ rng.normal(size=4) + noise * rng.normal(size=N)
    w = rng.uniform(0.3, 3.0, size=N) if weights else None
    return Problem(Phi, y, w, intercept)


@pytest.fixture
def problem():
    return make_problem
