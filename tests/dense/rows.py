"""Rows for the learning objectives: what these are there, and what they should be."""

from dataclasses import dataclass, replace

import numpy as np

from greedygp.dense.objectives import DENSE_OBJECTIVES
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from reference.dense_objectives import leave_one_out, objective_gradient
from reference.sparse_objectives import dense_kernel

ARD = Gaussian(variance=1.3, length_scale=[0.5, 0.9])
WEIGHTS = (None, "integer", "fractional", "light")


@dataclass(frozen=True)
class Problem:
    """Data and a noise variance; the objective there, and what it should be."""

    X: np.ndarray  # (n, D)
    y: np.ndarray  # (n, p)
    weights: np.ndarray | None = None
    noise_variance: float = 0.05

    def objective(self, name):
        return DENSE_OBJECTIVES[name](self.X, self.y, self.weights)

    def evaluate(self, name, kernel=ARD):
        return self.objective(name)(Point(kernel, self.noise_variance))

    def expected(self, name, kernel=ARD):
        return objective_gradient(name, kernel, self.noise_variance, self.X, self.y, self.weights)

    def left_out(self, kernel=ARD):
        return leave_one_out(
            dense_kernel(kernel), self.noise_variance, self.X, self.y, self.weights
        )

    def factor(self, kernel=ARD):
        w = np.ones(len(self.X)) if self.weights is None else self.weights
        C = kernel(self.X) + np.diag(self.noise_variance / w)
        return np.linalg.cholesky(C), np.linalg.solve(C, self.y)

    def rows(self, index):
        """Return the problem with these rows."""
        weights = None if self.weights is None else self.weights[index]
        return replace(self, X=self.X[index], y=self.y[index], weights=weights)

    def repeated(self):
        """Return the problem with rows as often as their (integer) weights say."""
        rows = np.repeat(np.arange(len(self.X)), self.weights.astype(int))
        return replace(self.rows(rows), weights=None)


def make_problem(seed=0, n=14, p=1, weights=None, noise_variance=0.05):
    """Smooth functions of uniform inputs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    noise = np.sqrt(noise_variance) * rng.normal(size=(n, p))
    y = np.sin(3 * X @ rng.normal(size=(2, p))) + noise
    if weights is not None:
        draw = {
            "integer": rng.integers(1, 4, size=n).astype(float),
            "fractional": rng.uniform(0.2, 2.5, size=n),
            "light": rng.uniform(0.01, 0.4, size=n),
        }
        weights = draw[weights]
    return Problem(X, y, weights, noise_variance)
