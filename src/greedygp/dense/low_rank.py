"""Factors `F` (r, n) of low rank with `F'F` close to K, and the inverse of `F'F + ridge` by them.

The inverse is a preconditioner of the system's matrix (Diaz, Epperly, Frangella, Tropp and Webber):
what all rows have in common is in the factor. By Woodbury's identity it costs O(n r^2) once and
O(n r) for a vector.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.arrays import Array, to_numpy
from greedygp.dense.system import System

__all__ = ["LowRankInverse", "factor_of_rows", "random_pivots"]

PIVOTS_TOGETHER = 100
NOTHING_LEFT = 1e-12  # relative to the diagonal: with no more left, the factor is complete
LEAST_PIVOT = 1e-8  # relative: a row with less left is not used
ROUNDING = 10.0  # times epsilon: the relative rounding error of the diagonal


class LowRankInverse:
    """The inverse of `F'F + ridge`.

    Parameters
    ----------
    system : System
        Has the ridge.
    factor : (r, n) array
    """

    def __init__(self, system: System, factor: Array):
        self.backend, self.factor = system.backend, factor
        self.inverse_ridge = 1.0 / system.ridge
        inner = self.backend.weighted_product(factor, self.inverse_ridge)
        inner[np.diag_indices(len(inner))] += 1.0
        self.inner = scipy.linalg.cho_factor(inner, lower=True, overwrite_a=True)

    def __call__(self, vectors: Array) -> Array:
        """Return `vectors (F'F + ridge)^-1`, (p, n)."""
        scaled = vectors * self.inverse_ridge[None, :]
        inside = self.backend.host_product(scaled, self.factor.T)
        solved = scipy.linalg.cho_solve(self.inner, inside.T, check_finite=False).T
        back = self.backend.matmul(self.backend.asarray(np.ascontiguousarray(solved)), self.factor)
        return scaled - back * self.inverse_ridge[None, :]


def factor_of_rows(system: System, index: np.ndarray, panel: Array) -> Array:
    """Return `F` with `F'F = K_:B K_BB^-1 K_B:` for given rows B.

    Parameters
    ----------
    system : System
    index : (b,) int array
        The rows; those that nearly depend on the others are left out.
    panel : (b, n) array
        `K_B:`; spoilt.
    """
    backend = system.backend
    square = to_numpy(backend.xp.take(panel, backend.integers(index), axis=1)).astype(np.float64)
    square = 0.5 * (square + square.T)
    largest = float(np.max(np.diagonal(square)))
    triangle, info = scipy.linalg.lapack.dpotrf(square, lower=1)
    if info != 0 or np.min(np.diagonal(triangle)) ** 2 <= ROUNDING * backend.epsilon * largest:
        least = max(LEAST_PIVOT, ROUNDING * backend.epsilon) * largest
        kept, triangle = _independent(square, least)
        panel = backend.xp.take(panel, backend.integers(kept), axis=0)
    return backend.solve_lower(np.ascontiguousarray(triangle), panel, out=panel)


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
        least_pivot = max(LEAST_PIVOT * float(np.max(left[pivots])), noise)
        small = 0.5 * (small + small.T)
        small[np.diag_indices(len(pivots))] = left[pivots]  # without the rounding of the products
        kept, triangle = _independent(small, least_pivot)
        left[pivots] = 0.0
        if len(kept) == 0:
            continue
        new = backend.xp.take(lines, backend.integers(kept), axis=0)
        new = backend.solve_lower(triangle, new, out=new)
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
