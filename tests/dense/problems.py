"""Small systems for the solvers, the same ones written out, and the solvers by name."""

from dataclasses import dataclass, field

import numpy as np

from greedygp.dense.solvers import SOLVERS, make_solver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System
from greedygp.kernels import Constant, Gaussian, Linear
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


# --- the solvers by name, the problems by name

TOL = 1e-5
SMALL = {"block_size": 8, "working_set": 5, "rank": 6}
WAYS = {name: (name, SMALL) for name in SOLVERS if name != "gbcd"}
WAYS |= {
    "gbcd": ("gbcd", SMALL | {"accelerate": False}),
    "gbcd accelerated": ("gbcd", SMALL),
}
DESCENTS = [way for way in WAYS if way != "cholesky"]
PLAIN = ["smo", "bcd_cyclic", "bcd_gradient", "gbcd"]  # a step is a minimum over a block
FAST = ["cholesky", "cg", "pcg", "gbcd accelerated"]
PROBLEMS = {
    "random": {"n": 30},
    "ill-conditioned": {"n": 12, "length_scale": 2.0, "noise": 1e-2},
    "duplicate rows": {"n": 24, "duplicates": True},
    "one row": {"n": 1},
    "two rows": {"n": 2},
    "weighted": {"n": 24, "weighted": True},
    "several right-hand sides": {"n": 24, "p": 3},
    "many right-hand sides": {"n": 20, "p": 7, "weighted": True},
    "nearly noise": {"n": 24, "noise": 100.0},
    "rank one": {"n": 12, "kernel": Constant(0.7)},
    "rank two": {"n": 12, "kernel": Linear([0.7, 1.4])},
}


def make(problem, way, **other):
    name, options = WAYS[way]
    return problem.solver(name, **(options | other))


def steps_of(solver, most):
    """Yield the solver after each of its steps, until it is at the minimum."""
    for _ in range(most):
        if solver.norm <= 1e-9:
            return
        solver.step()
        yield solver


def assert_solved(problem, alpha, tol):
    """The dense gradient is no more than tol, and alpha is as near as that makes it."""
    dense = problem.dense()
    gradient = dense.gradient(np.asarray(alpha).T)
    assert np.max(np.abs(gradient)) <= tol * (1 + 1e-6)
    distance = np.linalg.norm(np.asarray(alpha).T - dense.alpha)
    assert distance <= 1.01 * np.linalg.norm(gradient) / np.linalg.eigvalsh(dense.A)[0] + 1e-12


def rounding(dense, alpha):
    """How far off an objective may be, computed in floating point at alpha (p, n)."""
    size = np.abs(dense.A) @ np.abs(alpha.T) + np.abs(dense.y)
    return 1e-12 * float(np.sum(np.abs(alpha.T) * size))
