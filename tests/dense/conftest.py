"""Small systems for the solvers, and the same ones written out."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from greedygp.dense.solvers import SolverOptions, make_solver
from greedygp.dense.system import System
from greedygp.kernels import Gaussian
from reference.dense_regression import DenseGP
from reference.sparse_objectives import dense_kernel


@dataclass
class Problem:
    """Rows, targets (p, n), hyperparameters."""

    n: int = 60
    p: int = 1
    D: int = 2
    noise: float = 0.3
    length_scale: float = 0.5
    weighted: bool = False
    duplicates: bool = False
    seed: int = 0
    kernel: object = None
    X: np.ndarray = field(init=False)
    y: np.ndarray = field(init=False)

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        self.X = rng.uniform(-1, 1, size=(self.n, self.D))
        if self.duplicates:
            self.X = self.X[rng.integers(max(1, self.n // 3), size=self.n)]
        waves = np.sin(3 * rng.normal(size=(self.p, self.D)) @ self.X.T)
        self.y = waves + 0.1 * rng.normal(size=(self.p, self.n))
        self.weights = rng.uniform(0.3, 3.0, size=self.n) if self.weighted else None
        self.kernel = self.kernel or Gaussian(variance=1.3, length_scale=self.length_scale)

    def system(self, hold=False, to=np.asarray):
        weights = None if self.weights is None else to(self.weights)
        return System(self.kernel, self.noise, to(self.X), weights, hold=hold)

    def dense(self):
        kernel = dense_kernel(self.kernel)
        return DenseGP(kernel, self.X, self.y.T, self.noise, self.weights)

    def solver(self, name, seed=0, hold=False, alpha=None, to=np.asarray, **options):
        system = self.system(hold, to)
        rng = np.random.default_rng(seed)
        return make_solver(name, system, to(self.y), alpha, SolverOptions(**options), rng)


@pytest.fixture(name="Problem")
def problem_class():
    return Problem
