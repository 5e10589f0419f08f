"""Orr's full model (1995): all columns, a ridge for every weight, each by GCV in its turn.

Starting from the one ridge that is best for all, each `zeta_j` is set to its optimum (see
`criteria`) with the others held fixed, cycle after cycle, until a cycle lowers GCV by less than a
given share.
Many become infinite: their columns leave the model, and may come back. Of equal columns one
takes part.

The projection `P` (n, n) is held, where n is the smaller of the numbers of rows and columns (rows
beyond the number of columns are taken out by a QR decomposition first: what is left of the target
beside the columns' span is a constant of the error, and the same number of degrees of freedom of
the trace). A change is a rank-one update of `P`; a cycle costs O(M n^2), time that grows like
N^3 and memory that grows like N^2 for a kernel at N rows. That is why the fast algorithms exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from greedygp.greedy import Action
from greedygp.linear.candidates import SAME
from greedygp.linear.criteria import GCV
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.posterior import Solution
from greedygp.linear.ridge_selection import best_ridge
from greedygp.linear.selection import LinearSelection
from greedygp.linear.state import Without

__all__ = ["LocalRidgeSelection"]

LEAST_ZETA = 1e-9  # relative to phi'phi: less cannot be told from zero in P
LEAST_GAIN = 1e-12  # of log GCV: less is rounding
LEAST_SHARE = 1e-12  # of a column that the others leave over: nothing can be said of less


class Change(NamedTuple):
    """The best zeta of a column, and what the change needs."""

    zeta: float
    p: np.ndarray  # P_-j phi
    without: Without


class LocalRidgeSelection(LinearSelection):
    """All columns of a dictionary, each with its zeta (infinity: not in the model).

    An action sets the next zeta to its optimum; those that are there already are passed over. After
    the last column the cycle ends: `P` is computed afresh, and GCV says whether there is another.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    tol : float
        Relative decrease of GCV in a cycle that asks for another one.
    max_cycles : int
    """

    def __init__(self, dictionary: Dictionary, t: np.ndarray, tol: float, max_cycles: int):
        self.dictionary, self.tol, self.max_cycles = dictionary, tol, max_cycles
        self.square = float(t @ t)
        self.lines = dictionary.columns(np.arange(dictionary.n_columns))
        self.dof = dictionary.total - float(dictionary.intercept)
        self.criterion = GCV(dictionary.total, self.dof)
        self.t = t
        self.beside = 0.0  # squared norm of what the columns cannot reach
        if dictionary.n_columns < dictionary.n_rows:
            Q, R = scipy.linalg.qr(self.lines.T, mode="economic", check_finite=False)
            self.t = Q.T @ t
            self.beside = max(self.square - float(self.t @ self.t), 0.0)
            self.lines = np.ascontiguousarray(R.T)
        self.n = self.lines.shape[1]
        self.usable = _distinct(self.lines, dictionary.square_norms)
        self.zeta = np.full(dictionary.n_columns, np.inf)
        if len(self.usable) and self.square > 0.0:
            self.zeta[self.usable] = self._common_ridge()
        self.recompute()
        self.cycles = 0  # begun
        self._reason: str | None = None
        if self.square > 0.0:
            self._begin_cycle()
        else:
            self._reason = "converged"

    def _common_ridge(self) -> float:
        lines = self.lines[self.usable]
        U, singular, _ = scipy.linalg.svd(lines.T, full_matrices=False, check_finite=False)
        kept = singular > 1e-12 * singular[0]
        projections = singular[kept] * (U[:, kept].T @ self.t)
        return best_ridge(singular[kept] ** 2, projections, self.square, self.dof)

    @property
    def chosen(self) -> np.ndarray:
        """The columns in the model."""
        return np.flatnonzero(np.isfinite(self.zeta))

    def recompute(self) -> None:
        """Compute P, the trace and the error from their definitions, in place."""
        chosen = self.chosen
        self._size = len(chosen)
        self.P = np.eye(self.n)
        if len(chosen):
            lines = self.lines[chosen] / np.sqrt(self.zeta[chosen])[:, None]
            self.P = _projection(lines)
        self.P_t = self.P @ self.t
        self.error = float(self.P_t @ self.P_t) + self.beside
        self.trace = float(np.trace(self.P)) + self.dof - self.n

    @property
    def size(self) -> int:
        return self._size

    @property
    def value(self) -> float:
        """GCV."""
        return self.dictionary.total * self.error / self.trace**2 if self.trace > 0 else np.inf

    @property
    def noise(self) -> float:
        """The noise variance (8)."""
        return self.error / self.trace if self.trace > 0 else 0.0

    def solution(self) -> Solution:
        """Return the model: `S^-1 = Z^-1 - Z^-1 Phi'P Phi Z^-1`, `w = Z^-1 Phi'P t`."""
        chosen, noise = self.chosen, self.noise
        scaled = self.lines[chosen] / self.zeta[chosen][:, None]
        inverse = np.diag(1.0 / self.zeta[chosen]) - scaled @ self.P @ scaled.T
        return Solution(chosen.tolist(), scaled @ self.P_t, inverse, noise)

    # --- the loop ------------------------------------------------------------------------------

    def done(self) -> str | None:
        return self._reason

    def propose(self) -> Action | None:
        while self._reason is None:
            for j in self._rest_of_cycle:
                action = self._optimum(int(j))
                if action is not None:
                    return action
            self._end_cycle()
        return None

    def _begin_cycle(self) -> None:
        self.cycles += 1
        self._rest_of_cycle = iter(self.usable)
        self._value_before = self.value

    def _end_cycle(self) -> None:
        """Compute afresh, and begin another cycle or say why not."""
        self.recompute()
        if not self._value_before - self.value > self.tol * self._value_before:
            self._reason = "converged"
        elif self.cycles >= self.max_cycles:
            self._reason = "max_iter"
        else:
            self._begin_cycle()

    def _optimum(self, j: int) -> Action | None:
        """Return the change of one zeta to its optimum, or None where it is there."""
        before = self.zeta[j]
        p, without = self._without(j)
        least = self.noise * self.dof / (self.square * self.dictionary.total)
        least = max(least * self.dictionary.peaks[j] ** 2, LEAST_ZETA * float(without.norm))
        if np.isfinite(before):
            least = min(least, before)
        with np.errstate(divide="ignore", invalid="ignore"):
            after = float(self.criterion.optimum(without, np.asarray(least)))
            now = float(self.criterion.change(without, np.asarray(before)))
            gain = now - float(self.criterion.change(without, np.asarray(after)))
        if not gain > LEAST_GAIN or without.gamma <= LEAST_SHARE * without.norm:
            return None
        name = "delete" if np.isinf(after) else "reestimate" if np.isfinite(before) else "add"
        return Action(j, -gain, name, Change(after, p, without))

    def act(self, action: Action) -> None:
        """Change one zeta: `P = P_-j - p p' / (gamma + zeta)`, `p = P_-j phi`, in place."""
        after, p, without = action.detail
        x = 1.0 / (without.gamma + after)
        c = x - 1.0 / (without.gamma + self.zeta[action.index])
        scipy.linalg.blas.dger(-c, p, p, a=self.P.T, overwrite_a=True)
        self.P_t -= c * float(without.r) * p
        self.error = float(
            without.error + without.r * x * (without.u * without.r * x - 2.0 * without.xi)
        )
        self.trace = float(without.trace - without.u * x)
        self.zeta[action.index] = after
        self._size += (action.name == "add") - (action.name == "delete")

    def _without(self, j: int) -> tuple[np.ndarray, Without]:
        """Return P_-j phi and the model without column j."""
        phi, zeta = self.lines[j], self.zeta[j]
        p = self.P @ phi
        gamma = float(phi @ p)
        c = 0.0
        P_t = self.P_t
        if np.isfinite(zeta):
            left = max(zeta - gamma, 1e-14 * zeta)
            factor = zeta / left  # P_-j phi = P phi zeta / (zeta - gamma)
            p = p * factor
            gamma = gamma * factor
            c = 1.0 / (gamma + zeta)
            P_t = P_t + (c * float(p @ self.t)) * p
        u = float(p @ p)
        r, xi = float(p @ self.t), float(p @ P_t)
        return p, Without(
            r=np.asarray(r),
            gamma=np.asarray(gamma),
            energy=None,
            norm=self.dictionary.square_norms[j],
            peak=None,
            xi=np.asarray(xi),
            u=np.asarray(u),
            trace=self.trace + c * u,
            error=float(P_t @ P_t) + self.beside,
        )


def _distinct(lines: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return the columns that are not zero and not a multiple of an earlier one."""
    useful = np.flatnonzero(norms > 0.0)
    gram = lines[useful] @ lines[useful].T
    same = gram**2 >= (1.0 - SAME) * np.multiply.outer(norms[useful], norms[useful])
    return useful[~np.any(np.tril(same, -1), axis=1)]


def _projection(lines: np.ndarray) -> np.ndarray:
    """Return `(I + lines'lines)^-1` for lines (m, n)."""
    n = lines.shape[1]
    try:
        L = scipy.linalg.cholesky(np.eye(n) + lines.T @ lines, lower=True)
    except scipy.linalg.LinAlgError:  # entries so large that the identity is lost in rounding
        _, singular, Vt = scipy.linalg.svd(lines, full_matrices=False)
        return np.eye(n) - (Vt.T * (singular**2 / (1.0 + singular**2))) @ Vt
    inverse, _ = scipy.linalg.lapack.dpotri(L, lower=True)
    return np.tril(inverse) + np.tril(inverse, -1).T
