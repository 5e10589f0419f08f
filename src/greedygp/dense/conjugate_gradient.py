"""Conjugate gradients, plain and preconditioned; a step is one product with the matrix.

The preconditioner is that of Diaz, Epperly, Frangella, Tropp and Webber: a partial Cholesky factor
`F` (r, n) of K whose pivots are drawn with probability proportional to what is left of the
diagonal, used through `(F'F + ridge)^-1` by Woodbury's identity. It costs O(n r^2) once and O(n r)
a step. Several right-hand sides share the products; each has its own step lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from greedygp.arrays import Array, to_numpy
from greedygp.dense.solver import Solver
from greedygp.dense.system import System

__all__ = ["ConjugateGradient", "PreconditionedConjugateGradient", "random_pivots"]

PIVOTS_TOGETHER = 100
NOTHING_LEFT = 1e-12  # of the diagonal, relative: then the factor is complete
ROUNDING = 10.0  # times epsilon, relative: as much of the diagonal is not to be trusted


class ConjugateGradient(Solver):
    """Hestenes and Stiefel's method."""

    name = "cg"

    def __init__(self, system: System, y: Array, alpha: Array | None = None):
        super().__init__(system, y, alpha)
        self._begin()

    def _begin(self) -> None:
        """Start anew from the present gradient."""
        z = self.precondition(-self.gradient)
        self.direction = 1.0 * z
        self.rz = -self._dots(self.gradient, z)

    def precondition(self, residual: Array) -> Array:
        """Return what the method takes for `A^-1 residual`."""
        return residual

    def _dots(self, left: Array, right: Array) -> np.ndarray:
        return self.backend.row_dots(left, right)

    def step(self) -> None:
        product = self.system.product(self.direction)
        curvature = self._dots(self.direction, product)
        length = np.divide(self.rz, curvature, out=np.zeros_like(self.rz), where=curvature > 0)
        lengths = self.backend.asarray(length)[:, None]
        self.alpha += lengths * self.direction
        self.gradient += lengths * product
        z = self.precondition(-self.gradient)
        rz = -self._dots(self.gradient, z)
        ratio = np.divide(rz, self.rz, out=np.zeros_like(rz), where=self.rz > 0)
        self.direction = z + self.backend.asarray(ratio)[:, None] * self.direction
        self.rz = rz

    def refresh(self) -> None:
        super().refresh()
        self._begin()

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"direction": to_numpy(self.direction), "rz": self.rz}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.direction, self.rz = self.backend.asarray(kept["direction"]), np.array(kept["rz"])


class PreconditionedConjugateGradient(ConjugateGradient):
    """Conjugate gradients with a randomly pivoted partial Cholesky factor of K.

    Parameters
    ----------
    rank : int
        Rows of the factor.
    rng : Generator
        Draws the pivots.
    """

    name = "pcg"

    def __init__(
        self,
        system: System,
        y: Array,
        alpha: Array | None = None,
        *,
        rank: int,
        rng: np.random.Generator,
    ):
        self.backend = system.backend
        self.factor = random_pivots(system, min(rank, system.n), rng)
        self.inverse_ridge = 1.0 / system.ridge
        scaled = self.factor * self.inverse_ridge[None, :]
        inner = self.backend.host_product(scaled, self.factor.T)
        inner[np.diag_indices(len(inner))] += 1.0
        self.inner = scipy.linalg.cho_factor(inner, lower=True)
        super().__init__(system, y, alpha)

    def precondition(self, residual: Array) -> Array:
        scaled = residual * self.inverse_ridge[None, :]
        inside = self.backend.host_product(scaled, self.factor.T)
        solved = scipy.linalg.cho_solve(self.inner, inside.T, check_finite=False).T
        back = self.backend.matmul(self.backend.asarray(solved), self.factor)
        return scaled - back * self.inverse_ridge[None, :]


def random_pivots(system: System, rank: int, rng: np.random.Generator) -> Array:
    """Return `F` (r, n) with `F'F` close to K; pivots are drawn by what is left of the diagonal.

    Several pivots are drawn together; those of them that are nearly in the span of the others are
    left out.
    """
    backend, n = system.backend, system.n
    factor = backend.empty((rank, n))
    left = to_numpy(system.diagonal - system.ridge).astype(np.float64).copy()
    noise = ROUNDING * backend.epsilon
    least, size = max(NOTHING_LEFT, noise) * float(np.sum(left)), 0
    noise *= float(np.max(left))
    while size < rank and np.sum(left) > least:
        count = min(PIVOTS_TOGETHER, rank - size)
        drawn = rng.choice(n, size=count, p=left / np.sum(left), replace=True)
        pivots = np.unique(drawn)
        lines = system.columns(pivots)
        chosen = backend.integers(pivots)
        before = backend.xp.take(factor[:size, :], chosen, axis=1)
        lines -= backend.matmul(before.T, factor[:size, :])
        small = to_numpy(backend.xp.take(lines, chosen, axis=1)).astype(np.float64)
        least_pivot = max(1e-8 * float(np.max(left[pivots])), noise)
        small = 0.5 * (small + small.T)
        small[np.diag_indices(len(pivots))] = left[pivots]  # equal where the kernel's diagonal is
        kept, triangle = _independent(small, least_pivot)
        left[pivots] = 0.0
        if len(kept) == 0:
            continue
        new = backend.xp.take(lines, backend.integers(kept), axis=0)
        new = backend.solve_lower(triangle, new)
        factor[size : size + len(kept), :] = new
        left = np.maximum(left - to_numpy(backend.column_squares(new)), 0.0)
        size += len(kept)
    return factor[:size, :]


def _independent(matrix: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows of a positive semidefinite matrix are independent, and their factor."""
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(matrix, lower=1, tol=least)
    if np.max(np.diagonal(matrix)) <= least:  # LAPACK takes the first pivot whatever it is
        rank = 0
    return order[:rank] - 1, np.tril(factor[:rank, :rank])
