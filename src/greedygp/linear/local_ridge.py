"""Orr's full model (1995): all columns, a ridge for every weight, each by GCV in its turn.

Starting from the one ridge that is best for all, each `zeta_j` is set to its optimum (see `gcv`)
with the others held fixed, cycle after cycle, until a cycle lowers GCV by less than a given share.
Many become infinite: their columns leave the model, and may come back. Of equal columns one
takes part.

The projection `P` (n, n) is held, where n is the smaller of the numbers of rows and columns (rows
beyond the number of columns are taken out by a QR decomposition first: what is left of the target
beside the columns' span is a constant of the error, and the same number of degrees of freedom of
the trace). A change is a rank-one update of `P`; a cycle costs O(M n^2), time that grows like
N^3 and memory that grows like N^2 for a kernel at N rows. That is why the fast algorithms exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from greedygp.linear.dictionary import Dictionary
from greedygp.linear.forward import best_ridge
from greedygp.linear.gcv import GCV
from greedygp.linear.model import Solution
from greedygp.linear.pool import SAME
from greedygp.linear.state import Without

__all__ = ["FullModel"]

LEAST = 1e-9  # of zeta, relative to phi'phi: less cannot be told from zero in P


@dataclass
class Run:
    """What happened."""

    steps: list[tuple[str, int, float, float]] = field(default_factory=list)
    cycles: int = 0
    reason: str = "converged"


class FullModel:
    """All columns of a dictionary, each with its zeta (infinity: not in the model).

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    """

    def __init__(self, dictionary: Dictionary, t: np.ndarray):
        self.dictionary = dictionary
        self.square = float(t @ t)
        self.lines = dictionary.columns(np.arange(dictionary.n_columns))
        self.dof = dictionary.total - float(dictionary.intercept)
        self.measure = GCV(dictionary.total, self.dof)
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
        self.P = np.eye(self.n)
        if len(chosen):
            lines = self.lines[chosen] / np.sqrt(self.zeta[chosen])[:, None]
            self.P = _projection(lines)
        self.P_t = self.P @ self.t
        self.error = float(self.P_t @ self.P_t) + self.beside
        self.trace = float(np.trace(self.P)) + self.dof - self.n

    @property
    def value(self) -> float:
        """GCV."""
        return self.dictionary.total * self.error / self.trace**2 if self.trace > 0 else np.inf

    @property
    def noise(self) -> float:
        """The noise variance (8)."""
        return self.error / self.trace if self.trace > 0 else 0.0

    def cycle(self, after_change: Callable[[int, str], bool]) -> bool:
        """Optimise every zeta once, in place; True where `after_change` asked to stop."""
        for j in self.usable:
            action = self._optimise(int(j))
            if action is not None and after_change(int(j), action):
                return True
        self.recompute()
        return False

    def run(self, tol: float, max_iter: int, watch: Callable[[str], bool] | None) -> Run:
        """Cycle until GCV falls by less than the share `tol` in a cycle, in place."""
        run, start = Run(), time.perf_counter()
        if not self.square > 0.0:
            return run

        def after_change(j: int, action: str) -> bool:
            run.steps.append((action, j, self.value, time.perf_counter() - start))
            return watch is not None and watch(action)

        try:
            run.reason = "max_iter"
            while run.cycles < max_iter:
                before = self.value
                run.cycles += 1
                if self.cycle(after_change):
                    run.reason = "callback"
                    break
                if not before - self.value > tol * before:
                    run.reason = "converged"
                    break
        except KeyboardInterrupt:
            run.reason = "interrupted"
        self.recompute()
        return run

    def solution(self) -> Solution:
        """Return the model: `S^-1 = Z^-1 - Z^-1 Phi'P Phi Z^-1`, `w = Z^-1 Phi'P t`."""
        chosen, noise = self.chosen, self.noise
        scaled = self.lines[chosen] / self.zeta[chosen][:, None]
        inverse = np.diag(1.0 / self.zeta[chosen]) - scaled @ self.P @ scaled.T
        return Solution(chosen.tolist(), scaled @ self.P_t, inverse, noise)

    def _optimise(self, j: int) -> str | None:
        """Set one zeta to its optimum; return what that was, or None for nothing."""
        before = self.zeta[j]
        p, without = self._without(j)
        least = self.noise * self.dof / (self.square * self.dictionary.total)
        least = max(least * self.dictionary.peaks[j] ** 2, LEAST * float(without.norm))
        if np.isfinite(before):
            least = min(least, before)
        with np.errstate(divide="ignore", invalid="ignore"):
            after = float(self.measure.optimum(without, np.asarray(least)))
            now = float(self.measure.change(without, np.asarray(before)))
            gain = now - float(self.measure.change(without, np.asarray(after)))
        if not gain > 1e-12 or without.gamma <= 1e-12 * without.norm:
            return None
        # P_-j - p p' / (gamma + zeta), p = P_-j phi
        share = lambda zeta: 1.0 / (without.gamma + zeta)  # noqa: E731
        c = share(after) - share(before)
        scipy.linalg.blas.dger(-c, p, p, a=self.P.T, overwrite_a=True)
        self.P_t -= c * float(without.r) * p
        x = share(after)
        self.error = float(
            without.error + without.r * x * (without.u * without.r * x - 2.0 * without.xi)
        )
        self.trace = float(without.trace - without.u * x)
        self.zeta[j] = after
        if np.isinf(after):
            return "delete"
        return "reestimate" if np.isfinite(before) else "add"

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
