"""Predictions of a full GP: means from the dual variables, variances from more solves.

The mean at x is `k_*'alpha`. The variance needs `a = A^-1 k_*` for every x: by the Cholesky factor
where it is at hand, or where the matrix may be held and so many x are asked for that a factor costs
less than their solves. Else it is found by the solver of the fit, for many x together, since they
share the kernel entries of each step. An inexact `a`, with gradient `g = A a - k_*`, enters as
`k_** - a'(k_* - g)`, which is too large by `g'A^-1 g`: of second order, and never too small. The
solvers know a bound of it (`most_left`), and the solve ends when that is a small share of what the
variance is at least.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.dense.loo import LeftOut, inverse_diagonal
from greedygp.dense.solvers import make_solver
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.cholesky import factor_of
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.solving import Limits, solve
from greedygp.dense.system import System
from greedygp.kernels import Kernel

__all__ = ["DensePosterior", "Recipe"]

ROWS_TOGETHER = 1000  # test rows whose variances are solved for together
BYTES_TOGETHER = 2**30  # of their right-hand sides, at most
STEPS_OF_A_SOLVE = 100  # about; for n / 300 test rows they cost as much as a factor, n^3 / 3
TILE_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Recipe:
    """A solver by name, its options, and when its solve ends."""

    solver: str
    options: SolverOptions
    limits: Limits
    seed: int
    accuracy: float = 0.0  # the relative error of a variance, noise included, that is good enough


class DensePosterior:
    """The fitted model, in the units of the normalised y.

    Parameters
    ----------
    kernel : Kernel
    noise_variance : float
    X : (n, D) array
        The training rows.
    alpha : (p, n) array
    weights : (n,) array or None
    copies : (n,) array or None
        How much of its weight each row takes along when it is left out; None: at most one.
    factor : (n, n) host array or None
        The Cholesky factor of `A`, where there is one.
    recipe : Recipe
        How to solve for variances where there is no factor.
    """

    copies: Array | None = None  # models of earlier versions lack it

    def __init__(
        self,
        kernel: Kernel,
        noise_variance: float,
        X: Array,
        alpha: Array,
        *,
        weights: Array | None,
        factor: np.ndarray | None,
        recipe: Recipe,
        copies: Array | None = None,
    ):
        self.copies = copies
        self.kernel, self.noise_variance = kernel, noise_variance
        self.X, self.alpha, self.weights, self.factor = X, alpha, weights, factor
        self.recipe = recipe
        self._lent: np.ndarray | None = None  # a factor that was made on demand

    def __getstate__(self) -> dict[str, Any]:
        """Leave out a large array that can be made again."""
        return self.__dict__ | {"_lent": None}

    def mean(self, X: Array, alpha: Array | None = None) -> Array:
        """Return the mean of the targets at X, (rows, p), or the mean with other dual variables."""
        X = self.like_training(X)
        backend = Backend(self.X)
        alpha = self.alpha if alpha is None else alpha
        parts = [backend.matmul(K, alpha.T) for K in self._cross(X, self._rows_of_a_tile())]
        return parts[0] if len(parts) == 1 else backend.xp.concat(parts, axis=0)

    def mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        """Return the mean (rows, p) and the variance of the latent value (rows,)."""
        X = self.like_training(X)
        backend = Backend(self.X)
        self._lend(X.shape[0])
        means, variances, start = [], [], 0
        for K in self._cross(X, self._rows_together()):
            rows = X[start : start + K.shape[0], :]
            start += K.shape[0]
            means.append(backend.matmul(K, self.alpha.T))
            prior = self.kernel.diag(rows)
            left = prior - self._explained(K, prior)
            variances.append(backend.xp.clip(left, min=0.0))
        return backend.xp.concat(means, axis=0), backend.xp.concat(variances, axis=0)

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the latent values, (rows, rows)."""
        X = self.like_training(X)
        backend = Backend(self.X)
        self._lend(X.shape[0])
        K = self.kernel(X, self.X)
        if self.any_factor is not None:
            half = self._half(K)
            explained = backend.asarray(half.T @ half)
        else:
            solver = self._solved(K, self.kernel.diag(X))
            explained = backend.matmul(solver.alpha, (K - solver.gradient).T)
        covariance = self.kernel(X) - explained
        return 0.5 * (covariance + covariance.T)

    @property
    def any_factor(self) -> np.ndarray | None:
        """The Cholesky factor of `A`, if one is at hand."""
        return self._lent if self.factor is None else self.factor

    def make_factor(self) -> np.ndarray:
        """Return the Cholesky factor of `A`, made if there is none, and kept."""
        if self.any_factor is None:
            self._lent = factor_of(System(self.kernel, self.noise_variance, self.X, self.weights))
        assert self.any_factor is not None
        return self.any_factor

    def _lend(self, rows: int) -> None:
        """Make a factor if it is cheaper than the solves for so many rows, and memory allows it."""
        n = self.X.shape[0]
        worth = 3 * STEPS_OF_A_SOLVE * rows >= n and not Backend(self.X).is_accelerator
        if worth and self.recipe.solver != "cholesky" and self.recipe.options.matrix_fits(n):
            self.make_factor()

    def leave_one_out(self, y: Array) -> tuple[Array, Array]:
        """Return mean (n, p) and variance (n,), noise included, of every row without it.

        Parameters
        ----------
        y : (p, n) array
            The targets.
        """
        rows, backend = self.left_out(), Backend(self.X)
        mean = to_numpy(y).astype(np.float64).T - rows.r
        return backend.asarray(mean), backend.asarray(rows.t)

    def left_out(self) -> LeftOut:
        """Return what is predicted of every row without it, by the Cholesky factor."""
        n, limit = self.X.shape[0], self.recipe.options.memory_limit
        if self.any_factor is None and not self.recipe.options.matrix_fits(n):
            raise ValueError(
                f"Leave-one-out predictions need the factor of a {n} x {n} matrix, "
                f"{8e-9 * n * n:.1f} GB; memory_limit={limit:.3g} does not allow it. Raise "
                "memory_limit, or use SparseGPRegressor."
            )
        weights = None if self.weights is None else to_numpy(self.weights)
        alpha = to_numpy(self.alpha).astype(np.float64).T
        g = inverse_diagonal(self.make_factor())
        copies = None if self.copies is None else to_numpy(self.copies)
        return LeftOut(g, alpha, self.noise_variance, weights, copies)

    def solved_for(self, right: Array) -> Array:
        """Return `A^-1` times each line of `right`, (b, n)."""
        self._lend(right.shape[0])
        factor = self.any_factor
        if factor is None:
            return self._solved(right).alpha
        lines = to_numpy(right).astype(np.float64).T
        solved = scipy.linalg.cho_solve((factor, True), lines, check_finite=False)
        return Backend(self.X).asarray(np.ascontiguousarray(solved.T))

    def _explained(self, K: Array, prior: Array) -> Array:
        """Return `k_*'A^-1 k_*` for every line of K, (b,), given the `k_**`."""
        backend = Backend(self.X)
        if self.any_factor is not None:
            return backend.asarray(np.sum(self._half(K) ** 2, axis=0))
        solver = self._solved(K, prior)
        return backend.asarray(backend.row_dots(solver.alpha, K - solver.gradient))

    def _half(self, K: Array) -> np.ndarray:
        """Return `L^-1 k_*` for every line of K, (n, b), on the host."""
        right = to_numpy(K).astype(np.float64).T
        return scipy.linalg.solve_triangular(self.any_factor, right, lower=True, check_finite=False)

    def _solved(self, K: Array, prior: Array | None = None) -> Solver:
        """Solve for every line of K; given the `k_**`, as far as their variances need it."""
        recipe = self.recipe
        hold = recipe.options.matrix_fits(self.X.shape[0])
        system = System(self.kernel, self.noise_variance, self.X, self.weights, hold=hold)
        rng = np.random.default_rng(recipe.seed)
        solver = make_solver(recipe.solver, system, K, None, recipe.options, rng)
        is_enough = None if prior is None or not recipe.accuracy else self._certain(K, prior)
        solution = solve(solver, recipe.limits, is_enough=is_enough)
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        if not solution.converged:
            warnings.warn(
                f"The solve for {K.shape[0]} predictive variances (or samples) ended with "
                f"{solution.status!r} at a gradient of {solution.norm:.1e}; they may be too large. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return solver

    def _certain(self, K: Array, prior: Array) -> Callable[[Solver], bool]:
        """Return whether a solver's variances, noise included, are certain enough."""
        total = to_numpy(prior).astype(np.float64) + self.noise_variance

        def is_enough(solver: Solver) -> bool:
            explained = solver.backend.row_dots(solver.alpha, K - solver.gradient)
            most_left = solver.most_left()
            least = np.maximum(total - explained - most_left, 0.0)
            return bool(np.all(most_left <= self.recipe.accuracy * least))

        return is_enough

    def like_training(self, X: Array) -> Array:
        """Return inputs on the device and in the dtype of the training rows."""
        return Backend(self.X).asarray(X if type(X) is type(self.X) else to_numpy(X))

    def _rows_together(self) -> int:
        return min(ROWS_TOGETHER, max(1, BYTES_TOGETHER // (8 * self.X.shape[0])))

    def _rows_of_a_tile(self) -> int:
        return max(1, TILE_ENTRIES // self.X.shape[0])

    def _cross(self, X: Array, rows: int) -> Iterator[Array]:
        """Yield `K(X, training rows)`, some rows at a time."""
        cross = self.kernel.against(self.X)
        for start in range(0, X.shape[0], rows):
            yield cross(X[start : min(start + rows, X.shape[0]), :])
