"""Regularised forward selection (Orr, 1995): columns one at a time, one ridge for all of them.

With a ridge `lambda` for every chosen column, `P = I - Phi (Phi'Phi + lambda I)^-1 Phi'`, the next
column is the one that lowers the penalised error `t'P t` most, by

    (t'P phi_j)^2 / (lambda + phi_j'P phi_j).

Then `lambda` is estimated again by GCV, for which the eigenvalues d of `Phi'Phi = U diag(d) U'` and
`b = U'Phi't` are enough:

    t'P^2 t = t't - sum_k b_k^2 / d_k + sum_k b_k^2 / d_k (lambda / (d_k + lambda))^2,
    tr P = n - sum_k d_k / (d_k + lambda).

The size is that of the smallest GCV.

With a new ridge everything has to be computed afresh: O(M m^2) for the candidates' quantities,
O(m^3) for the eigenvalues. So it is estimated only where that pays. The slope of `log GCV` by
`log lambda` follows from `S^-1` in O(m^2),

    2 lambda (lambda w'S^-1 w / t'P^2 t  -  (tr S^-1 - lambda tr S^-2) / tr P),

its curvature is that of the last estimate, and where a parabola of both promises less than `tol`
the ridge stays. Such a step is a rank-one change: O(M m), and one Gram row, O(N M).
The ridge of the model that is kept is estimated once more, and is the best one.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.greedy import ForwardSelection
from greedygp.linear.candidates import Candidates
from greedygp.linear.criteria import LEAST_TRACE
from greedygp.linear.posterior import Solution
from greedygp.linear.selection import LARGEST_DRIFT, LinearSelection
from greedygp.linear.state import IllConditionedError, LinearState

__all__ = ["RidgeSelection", "best_ridge"]

LEAST_ERROR = 1e-12  # smallest share of the target that is told from nothing
RIDGES = np.logspace(-10.0, 6.0, 65)  # those tried, relative to the mean of the eigenvalues
FINER = np.linspace(-1.0, 1.0, 17)  # a finer grid around the best of them, in steps of the coarse
REFINEMENTS = 3  # so often; a parabola through the last three does the rest
EXACT_SHARE = 1e-20  # squared error, relative to t't, at which nothing is left to be explained
LEAST_CURVATURE = 1e-3  # of log GCV by log lambda: less promises more than there is
GROWTH = 0.25  # of the size, after which the ridge is estimated in any case
CLOSE_FIT = 1e-8  # share of the error, below which it is not to be had by updates


class RidgeProfile:
    """GCV of a ridge regression as a function of its ridge.

    Parameters
    ----------
    eigenvalues : (m,) array
        Of `Phi'Phi`.
    projections : (m,) array
        `U'Phi't`.
    square, dof : float
        t't, and tr P without any column.
    """

    def __init__(self, eigenvalues: np.ndarray, projections: np.ndarray, square: float, dof: float):
        self.scale = float(np.mean(eigenvalues))
        kept = eigenvalues > 1e-14 * np.max(eigenvalues)
        self.eigenvalues, projections = eigenvalues[kept], projections[kept]
        self.inside = projections**2 / self.eigenvalues
        self.beside = max(square - float(np.sum(self.inside)), 0.0)  # out of the columns' reach
        self.square, self.dof = square, dof

    def log_gcv(self, log_ridge: np.ndarray) -> np.ndarray:
        """Return log GCV but for a constant; infinite where GCV estimates nothing."""
        ridge = np.exp(log_ridge)[:, None]
        share = ridge / (self.eigenvalues + ridge)
        error = self.beside + np.square(share) @ self.inside
        trace = self.dof - len(self.eigenvalues) + np.sum(share, axis=1)
        good = (error > LEAST_ERROR * self.square) & (trace > LEAST_TRACE * self.dof)
        error, trace = np.where(good, error, 1.0), np.where(good, trace, 1.0)
        return np.where(good, np.log(error) - 2.0 * np.log(trace), np.inf)

    def best(self) -> tuple[float, float]:
        """Return the ridge of the smallest GCV, and the curvature of log GCV by its logarithm."""
        grid = np.log(RIDGES * self.scale)
        for _ in range(REFINEMENTS):
            best = int(np.argmin(self.log_gcv(grid)))
            step = grid[1] - grid[0]
            grid = grid[best] + step * FINER
        values = self.log_gcv(grid)
        best, step = int(np.argmin(values)), grid[1] - grid[0]
        ridge = float(np.exp(grid[best]))
        if not 0 < best < len(grid) - 1 or not np.all(np.isfinite(values[best - 1 : best + 2])):
            return ridge, 0.0
        left, middle, right = values[best - 1 : best + 2]
        bend = left - 2.0 * middle + right
        if not bend > 1e-14:
            return ridge, 0.0
        ridge *= float(np.exp(0.5 * step * (left - right) / bend))
        return ridge, float(bend / step**2)


def best_ridge(
    eigenvalues: np.ndarray, projections: np.ndarray, square: float, dof: float
) -> float:
    """Return the ridge of the smallest GCV; parameters as :class:`RidgeProfile`."""
    return RidgeProfile(eigenvalues, projections, square, dof).best()[0]


class RidgeSelection(LinearSelection, ForwardSelection):
    """A ridge regression that grows.

    Parameters
    ----------
    state : LinearState
        Without columns yet; with squares.
    candidates : Candidates
        Made of that state.
    tol : float
        Relative decrease of GCV that is worth a new ridge.
    """

    def __init__(self, state: LinearState, candidates: Candidates, tol: float):
        self.state, self.pool, self.tol = state, candidates, tol
        self.dictionary = state.dictionary
        usable = self.dictionary.square_norms[self.dictionary.square_norms > 0.0]
        self.ridge = float(RIDGES[0] * np.mean(usable)) if len(usable) else 1.0
        self.ridges: list[float] = []  # after each addition
        self.exhausted = False
        self._curvature = 0.0  # where the ridge was last estimated
        self._estimated_at = 0  # the size then

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
        self._indices, self._gains = pool.indices[left], pool.r[left] ** 2
        self._gains /= self.ridge + pool.gamma[left]
        return self._indices, -self._gains

    def add(self, index: int) -> float:
        """Add a column, estimate the ridge again where it pays, and return GCV."""
        state = self.state
        change = state.add(index, self.ridge, self.pool.products(index))
        self.pool.added(index, change, self._likely_next())
        if self._must_estimate() or not self.pool.refresh():
            self._estimate()
            self.exhausted = not self.pool.recompute(state.recompute())
        self.ridges.append(self.ridge)
        return self.value

    def go_back(self, size: int) -> None:
        """Keep the first so many columns, with the best ridge for them, in place."""
        state = self.state
        while state.size > size:
            self.pool.dropped(state.size - 1)
            state.drop(state.size - 1)
        self.ridges = self.ridges[:size]
        if not size:
            state.recompute()
            return
        before = self.ridge = self.ridges[-1]
        self._estimate()
        try:
            state.recompute()
        except IllConditionedError:
            self.ridge = before
            state.zeta[...] = before
            state.recompute()
        self.ridges[-1] = self.ridge

    def solution(self) -> Solution:
        state = self.state
        noise = state.error / state.trace if state.trace > 0.0 else 0.0
        return Solution(list(state.chosen), state.w.copy(), state.inverse.copy(), noise)

    # --- the ridge -----------------------------------------------------------------------------

    def _estimate(self) -> None:
        """Set the ridge to the best one, in place; nothing follows it yet."""
        state = self.state
        driver = "evd" if len(state.gram) > 1 else None  # SciPy 1.12 refuses a single number
        eigenvalues, U = scipy.linalg.eigh(state.gram, check_finite=False, driver=driver)
        projections = U.T @ state.projections
        profile = RidgeProfile(np.maximum(eigenvalues, 0.0), projections, state.square, state.dof)
        self.ridge, self._curvature = profile.best()
        state.zeta[...] = self.ridge
        self._estimated_at = self.size

    def _must_estimate(self) -> bool:
        """Tell whether a new ridge may lower GCV, or updates may no longer be trusted."""
        state = self.state
        if self.size > (1.0 + GROWTH) * self._estimated_at or state.drift > LARGEST_DRIFT:
            return True
        if not state.trace > LEAST_TRACE * state.dof or state.error < CLOSE_FIT * state.square:
            return True
        inverse, w, ridge = state.inverse, state.w, self.ridge
        freed = float(np.trace(inverse)) - ridge * float(np.vdot(inverse, inverse))
        error = ridge * float(w @ (inverse @ w))
        slope = 2.0 * ridge * (error / state.error - freed / state.trace)
        return slope**2 > 2.0 * self.tol * max(self._curvature, LEAST_CURVATURE)

    def _likely_next(self) -> np.ndarray | tuple:
        """Return the candidates that will probably be added next, the best first."""
        count = min(self.pool.likely_rows, len(self._gains))
        if not count:
            return ()
        top = np.argpartition(-self._gains, count - 1)[:count]
        return self._indices[top[np.argsort(-self._gains[top])]]
