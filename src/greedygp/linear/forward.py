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
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.gcv import FULL
from greedygp.linear.pool import AllCandidates, SampledCandidates
from greedygp.linear.state import LinearState

__all__ = ["RidgeSelector", "best_ridge"]

EXACT = 1e-12  # smallest share of the target that is told from nothing
WORSE = 1e30  # than any log GCV; the minimiser takes differences, so not infinite
RANGE = np.logspace(-10.0, 6.0, 65)  # ridges tried, relative to the mean of the eigenvalues


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
        good = (error > EXACT * square) & (trace > FULL * dof)
        error, trace = np.where(good, error, 1.0), np.where(good, trace, 1.0)
        return np.where(good, np.log(error) - 2.0 * np.log(trace), np.inf)

    grid = np.log(RANGE * scale)
    values = log_gcv(grid)
    best = int(np.argmin(values))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = scipy.optimize.minimize_scalar(
        lambda x: min(float(log_gcv(np.asarray(x))), WORSE), bounds=around, method="bounded"
    )
    better = found.fun < min(values[best], WORSE)
    return float(np.exp(found.x if better else grid[best]))


class RidgeSelector(ForwardSelection):
    """A ridge regression that grows.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    working_set : int or None
        Random candidates a step; None: all.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        dictionary: Dictionary,
        t: np.ndarray,
        working_set: int | None,
        rng: np.random.Generator,
    ):
        self.state = LinearState(dictionary, t, squares=False)
        self.pool: AllCandidates | SampledCandidates
        if working_set is None:
            self.pool = AllCandidates(self.state)
        else:
            self.pool = SampledCandidates(self.state, working_set, rng)
        usable = dictionary.square_norms[dictionary.square_norms > 0.0]
        self.ridge = float(RANGE[0] * np.mean(usable)) if len(usable) else 1.0
        self.ridges: list[float] = []
        self.exhausted = False

    @property
    def size(self) -> int:
        """How many columns are chosen."""
        return self.state.size

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates and minus the decrease of the penalised error of each."""
        state, pool = self.state, self.pool
        left = np.flatnonzero(pool.open())
        done = state.error <= 1e-20 * state.square or self.size + 1 >= state.dof
        if done or self.exhausted:
            left = left[:0]
        return pool.indices[left], -(pool.r[left] ** 2) / (self.ridge + pool.gamma[left])

    def add(self, index: int) -> float:
        """Add a column, estimate the ridge again, and return GCV."""
        state = self.state
        self.pool.added(index, state.add(index, self.ridge), ())
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

    @property
    def value(self) -> float:
        """GCV of the model."""
        state = self.state
        return state.rows * state.error / state.trace**2 if state.trace > 0.0 else np.inf
