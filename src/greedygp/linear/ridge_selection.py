"""Regularised forward selection (Orr, 1995): columns one at a time, one ridge for all of them.

With a ridge `lambda` for every chosen column, `P = I - Phi (Phi'Phi + lambda I)^-1 Phi'`, the next
column is the one that lowers the penalised error `t'P t` most, by

    (t'P phi_j)^2 / (lambda + phi_j'P phi_j).

Then `lambda` is estimated again by GCV, for which the eigenvalues d of `Phi'Phi = U diag(d) U'` and
`b = U'Phi't` are enough:

    t'P^2 t = t't - sum_k b_k^2 / d_k + sum_k b_k^2 / d_k (lambda / (d_k + lambda))^2,
    tr P = n - sum_k d_k / (d_k + lambda).

The size is that of the smallest GCV. A step costs O(M m^2) for the candidates' quantities with
the new ridge, O(m^3) for the eigenvalues, and one product of N x M.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize

from greedygp.greedy import ForwardSelection
from greedygp.linear.candidates import Candidates
from greedygp.linear.criteria import LEAST_TRACE
from greedygp.linear.posterior import Solution
from greedygp.linear.selection import LinearSelection
from greedygp.linear.state import LinearState

__all__ = ["RidgeSelection", "best_ridge"]

LEAST_ERROR = 1e-12  # smallest share of the target that is told from nothing
LARGEST_LOG_GCV = 1e30  # in place of infinity: the minimiser takes differences
RIDGES = np.logspace(-10.0, 6.0, 65)  # those tried, relative to the mean of the eigenvalues
EXACT_SHARE = 1e-20  # squared error, relative to t't, at which nothing is left to be explained


def best_ridge(
    eigenvalues: np.ndarray, projections: np.ndarray, square: float, dof: float
) -> float:
    """Return the ridge of the smallest GCV.

    Parameters
    ----------
    eigenvalues : (m,) array
        Of `Phi'Phi`.
    projections : (m,) array
        `U'Phi't`.
    square, dof : float
        t't, and tr P without any column.
    """
    scale = float(np.mean(eigenvalues))
    kept = eigenvalues > 1e-14 * np.max(eigenvalues)
    eigenvalues, projections = eigenvalues[kept], projections[kept]
    inside = projections**2 / eigenvalues
    beside = max(square - float(np.sum(inside)), 0.0)  # out of the columns' reach

    def log_gcv(log_ridge: np.ndarray) -> np.ndarray:
        ridge = np.exp(log_ridge)[..., None]
        shrunk = eigenvalues + ridge
        error = beside + np.sum(inside * (ridge / shrunk) ** 2, axis=-1)
        trace = dof - np.sum(eigenvalues / shrunk, axis=-1)
        good = (error > LEAST_ERROR * square) & (trace > LEAST_TRACE * dof)
        error, trace = np.where(good, error, 1.0), np.where(good, trace, 1.0)
        return np.where(good, np.log(error) - 2.0 * np.log(trace), np.inf)

    grid = np.log(RIDGES * scale)
    values = log_gcv(grid)
    best = int(np.argmin(values))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = scipy.optimize.minimize_scalar(
        lambda x: min(float(log_gcv(np.asarray(x))), LARGEST_LOG_GCV),
        bounds=around,
        method="bounded",
    )
    better = found.fun < min(values[best], LARGEST_LOG_GCV)
    return float(np.exp(found.x if better else grid[best]))


class RidgeSelection(LinearSelection, ForwardSelection):
    """A ridge regression that grows.

    Parameters
    ----------
    state : LinearState
        Without columns yet.
    candidates : Candidates
        Made of that state.
    """

    def __init__(self, state: LinearState, candidates: Candidates):
        self.state, self.pool = state, candidates
        self.dictionary = state.dictionary
        usable = self.dictionary.square_norms[self.dictionary.square_norms > 0.0]
        self.ridge = float(RIDGES[0] * np.mean(usable)) if len(usable) else 1.0
        self.ridges: list[float] = []  # after each addition
        self.exhausted = False

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def value(self) -> float:
        """GCV of the model."""
        state = self.state
        return state.rows * state.error / state.trace**2 if state.trace > 0.0 else np.inf

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates and minus the decrease of the penalised error of each."""
        state, pool = self.state, self.pool
        left = np.flatnonzero(pool.open())
        explained = state.error <= EXACT_SHARE * state.square or self.size + 1 >= state.dof
        if explained or self.exhausted:
            left = left[:0]
        return pool.indices[left], -(pool.r[left] ** 2) / (self.ridge + pool.gamma[left])

    def add(self, index: int) -> float:
        """Add a column, estimate the ridge again, and return GCV."""
        state = self.state
        self.pool.added(index, state.add(index, self.ridge))
        eigenvalues, U = scipy.linalg.eigh(state.gram, check_finite=False)
        projections = U.T @ state.projections
        self.ridge = best_ridge(np.maximum(eigenvalues, 0.0), projections, state.square, state.dof)
        state.zeta[...] = self.ridge
        self.exhausted = not self.pool.recompute(state.recompute())
        self.ridges.append(self.ridge)
        return self.value

    def go_back(self, size: int) -> None:
        """Go back to the model of the first so many columns, in place."""
        state = self.state
        if size < state.size:
            self.ridges = self.ridges[:size]
            state.start_with(state.chosen[:size], np.full(size, self.ridges[-1] if size else 1.0))

    def solution(self) -> Solution:
        state = self.state
        noise = state.error / state.trace if state.trace > 0.0 else 0.0
        return Solution(list(state.chosen), state.w.copy(), state.inverse.copy(), noise)
