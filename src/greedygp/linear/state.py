"""The state of a sparse linear model whose basis functions come, change and go.

Fast GCV (Sundararajan, Shevade and Keerthi) and the fast relevance vector machine (Tipping and
Faul) change one weight's precision at a time. Both depend on the precisions alpha and the noise s2
through `zeta = alpha s2` and

    P = I - Phi S^-1 Phi',    S = Phi'Phi + diag(zeta),    w = S^-1 Phi't   (equation 6),

with `Phi` the N x m columns in the model and `t` the target, both weighted and centred (see
`dictionary`). Every action, add, re-estimate or delete, changes `P` by a rank-one term,

    P <- P - c p p',    p = Phi x     (appendices V and VI),

and a :class:`RankOne` says all that follows from it. Kept exactly in step with every action: `S^-1`
(m, m), `w`, `zeta` (m,), the scalars (20), (21)

    trace = tr P,    error = t'P^2 t,    energy = t'P t,    log_det = log|P|.

What the candidates outside are worth is kept beside it (see `candidates`).

For a judgement of one basis function all that matters is what the model would be without it,
:class:`Without` (equations 9-13 and 22). Inside the model it follows from `S^-1`, with
`s = S^-1_jj`, `tau_j = (S^-1 Z S^-1)_jj`, `kappa = S^-1 Z w` (appendix IV in another form that does
not divide by `zeta - gamma`):

    t'P_-j phi = w_j / s,                   phi'P_-j phi = 1/s - zeta_j,
    phi'P_-j^2 phi = (s - tau_j) / s^2,     t'P_-j^2 phi = (kappa_j + w_j (s - tau_j) / s) / s.

An action costs O(m^2), an addition O(N m) more where the column's products with those of the model
are not known yet. `recompute` makes everything afresh from `Phi'Phi` by a Cholesky factor,
O(m^3 + N m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from greedygp.greedy import CannotGoOnError
from greedygp.linear.dictionary import Dictionary

__all__ = [
    "CAPACITY",
    "ColumnProducts",
    "IllConditionedError",
    "LinearState",
    "RankOne",
    "Without",
]

CAPACITY = 64  # basis functions that there is room for to begin with
TINY = 1e-300


class IllConditionedError(CannotGoOnError):
    """`Phi'Phi + diag(zeta)` is not positive definite in floating point."""


@dataclass
class RankOne:
    """The change `P <- P - c p p'` with `p = Phi x` and `P p = Phi y`."""

    x: np.ndarray
    c: float
    t_p: float  # t'p
    y: np.ndarray | None = None
    t_P_p: float = 0.0  # t'P p, with the P before
    p_p: float = 0.0  # p'p


@dataclass
class ColumnProducts:
    """The products of a column phi that may be added."""

    cross: np.ndarray  # (m,) Phi'phi
    norm: float  # phi'phi
    target: float  # t'phi


@dataclass
class Without:
    """The model without a basis function, for many basis functions: arrays or scalars.

    The last four are None where the criterion does not need them.
    """

    r: Any  # t'P_-j phi
    gamma: Any  # phi'P_-j phi
    energy: Any  # t'P_-j t
    norm: Any  # phi'phi
    peak: Any  # largest entry of phi before weights and centring
    xi: Any = None  # t'P_-j^2 phi
    u: Any = None  # phi'P_-j^2 phi
    trace: Any = None  # tr P_-j
    error: Any = None  # t'P_-j^2 t


class LinearState:
    """Chosen columns and everything that is known of the model they make.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    squares : bool
        Whether what involves `P^2` is kept: `trace`, `error`, and y, t'Pp, p'p of a change. The
        evidence does without; `recompute` sets `trace` and `error` in any case.
    """

    def __init__(self, dictionary: Dictionary, t: np.ndarray, squares: bool = True):
        self.dictionary, self.t, self.squares = dictionary, t, squares
        self.rows = dictionary.total
        self.dof = dictionary.total - float(dictionary.intercept)  # tr P of the empty model
        self.square = float(t @ t)
        self.chosen: list[int] = []
        self.actions = 0  # since everything was last computed afresh
        self.drift = 0.0  # largest error of a solution with S^-1 since then, see `_solve`
        self._lines = np.empty((CAPACITY, dictionary.n_rows))
        self.gram = np.empty((0, 0))  # Phi'Phi
        self.inverse = np.empty((0, 0))  # S^-1
        self._vectors = np.empty((3, CAPACITY))  # zeta, w, Phi't
        self._empty()

    def _empty(self) -> None:
        self.trace, self.error, self.energy, self.log_det = self.dof, self.square, self.square, 0.0

    @property
    def size(self) -> int:
        """How many basis functions the model has, m."""
        return len(self.chosen)

    @property
    def lines(self) -> np.ndarray:
        """`Phi'`, (m, N), a view."""
        return self._lines[: self.size]

    @property
    def zeta(self) -> np.ndarray:
        """Precision times noise variance of each weight, (m,), a view."""
        return self._vectors[0, : self.size]

    @property
    def w(self) -> np.ndarray:
        """Weights, (m,), a view."""
        return self._vectors[1, : self.size]

    @property
    def projections(self) -> np.ndarray:
        """`Phi't`, (m,), a view."""
        return self._vectors[2, : self.size]

    # --- what a judgement needs ----------------------------------------------------------------

    def without_each(self) -> Without:
        """Return the model without each of its basis functions."""
        s, w, zeta = np.diagonal(self.inverse), self.w, self.zeta
        r = w / s
        without = Without(
            r=r,
            gamma=np.maximum(1.0 / s - zeta, 0.0),
            energy=self.energy + w * r,
            norm=np.diagonal(self.gram),
            peak=self.dictionary.peaks[self.chosen],
        )
        if self.squares:
            kappa = self.inverse @ (zeta * w)
            p_p = np.maximum(s - np.square(self.inverse) @ zeta, 0.0)
            without.xi, without.u = (kappa + r * p_p) / s, p_p / s**2
            without.trace = self.trace + p_p / s
            without.error = self.error + r * (2.0 * kappa + r * p_p)
        return without

    # --- actions -------------------------------------------------------------------------------

    def add(self, index: int, zeta: float, known: ColumnProducts | None = None) -> RankOne:
        """Add a column with a finite zeta (appendix VI), in place.

        Its products take O(N m), unless they are `known`.
        """
        line = self.dictionary.columns([index])[0]
        if known is None:
            known = ColumnProducts(self.lines @ line, float(line @ line), float(line @ self.t))
        cross, norm, target = known.cross, known.norm, known.target
        l = self._solve(cross, self.inverse @ cross)  # noqa: E741 (the paper's l_j)
        z_l = self.zeta * l
        gamma = norm - float(cross @ l)
        if not gamma > 0.0:
            raise IllConditionedError
        r = target - float(cross @ self.w)
        delta = gamma + zeta
        change = RankOne(x=np.append(-l, 1.0), c=1.0 / delta, t_p=r)
        if self.squares:
            change.y = np.append(-(l + self.inverse @ z_l), 1.0)
            change.t_P_p, change.p_p = r - float(z_l @ self.w), gamma - float(z_l @ l)
        m = self._grow(index)
        self._lines[m] = line
        self.gram = _bordered(self.gram, cross, norm)
        self.inverse = _bordered(self.inverse, -l / delta, 1.0 / delta)
        _add_outer(self.inverse, 1.0 / delta, np.append(l, 0.0))  # (48)
        self.zeta[m], self.projections[m] = zeta, target
        self.w[:m] -= (r / delta) * l
        self.w[m] = r / delta
        self._follow(change, np.log(zeta / delta))
        return change

    def reestimate(self, place: int, zeta: float) -> RankOne:
        """Change the zeta of a basis function of the model (appendix V), in place."""
        step = zeta - self.zeta[place]
        factor = 1.0 + step * self.inverse[place, place]
        change = self._along(place, step / factor)
        log_ratio = np.log(zeta / self.zeta[place]) - np.log(factor)
        self.zeta[place] = zeta
        self._follow(change, log_ratio)
        return change

    def delete(self, place: int) -> RankOne:
        """Take a basis function out of the model, but not yet off the arrays (see `drop`)."""
        s = self.inverse[place, place]
        change = self._along(place, 1.0 / s)
        self._follow(change, -np.log(self.zeta[place]) - np.log(s))
        return change

    def _along(self, place: int, K: float) -> RankOne:
        """Make `S^-1 <- S^-1 - K s_j s_j'`, in place, and return what it does to P."""
        unit = np.zeros(self.size)
        unit[place] = 1.0
        s = self._solve(unit, self.inverse[place])
        change = RankOne(x=s, c=-K, t_p=float(self.w[place]))
        if self.squares:
            z_s = self.zeta * s
            change.y, change.t_P_p = self.inverse @ z_s, float(z_s @ self.w)
            change.p_p = max(float(s[place] - z_s @ s), 0.0)
        self.w[...] -= (K * change.t_p) * s
        _add_outer(self.inverse, -K, s)
        return change

    def _solve(self, right: np.ndarray, solution: np.ndarray) -> np.ndarray:
        """Return `S^-1 right`, an approximate solution improved; take note how bad it was.

        The evidence is made of `t'P t` and `|P|`, and for them an error counts in the norm
        `sqrt(x'S x)`, relative to the solution. In other norms a weight that is all but zero looks
        spoilt by errors that are small beside everything else. Where `P^2` is kept, the residual
        counts, relative to the right-hand side.
        """
        residual = right - self.gram @ solution - self.zeta * solution
        correction = self.inverse @ residual
        if self.squares:
            share = float(residual @ residual) / max(float(right @ right), TINY)
        else:
            share = float(residual @ correction) / max(float(right @ solution), TINY)
        self.drift = max(self.drift, math.sqrt(max(share, 0.0)))
        return solution + correction

    def _follow(self, change: RankOne, log_ratio: float) -> None:
        """Update the scalars (40), (41), (46), (47)."""
        c, t_p, p_p = change.c, change.t_p, change.p_p
        self.energy -= c * t_p**2
        if self.squares:
            self.trace -= c * p_p
            self.error += c * t_p * (c * p_p * t_p - 2.0 * change.t_P_p)
        self.log_det += float(log_ratio)
        self.actions += 1

    def drop(self, place: int) -> None:
        """Remove a deleted basis function from the arrays; the last one takes its place."""
        last = self.size - 1
        if place != last:
            self._lines[place] = self._lines[last]
            for matrix in (self.gram, self.inverse):
                matrix[place, :] = matrix[last, :]
                matrix[:, place] = matrix[:, last]
            self._vectors[:, place] = self._vectors[:, last]
            self.chosen[place] = self.chosen[last]
        self.chosen.pop()
        self.gram = self.gram[:last, :last].copy()
        self.inverse = self.inverse[:last, :last].copy()

    def _grow(self, index: int) -> int:
        """Make room for a column and return its place."""
        m = self.size
        if m == self._lines.shape[0]:
            more = m + max(CAPACITY, m // 2)
            lines, vectors = self._lines, self._vectors
            self._lines = np.empty((more, lines.shape[1]))
            self._lines[:m] = lines
            self._vectors = np.empty((3, more))
            self._vectors[:, :m] = vectors
        self.chosen.append(int(index))
        return m

    # --- afresh --------------------------------------------------------------------------------

    def start_with(self, indices: list[int], zeta: np.ndarray) -> None:
        """Make the model of the given columns, from nothing."""
        self.chosen = []
        for line, index in zip(self.dictionary.columns(indices), indices, strict=True):
            place = self._grow(index)  # before `_lines` is read: it may be replaced
            self._lines[place] = line
        self.gram = self.lines @ self.lines.T
        self.projections[...] = self.lines @ self.t
        self.zeta[...] = zeta
        self.recompute()

    def factor(self) -> np.ndarray:
        """Return the lower Cholesky factor of S."""
        S = self.gram.copy()
        S[np.diag_indices(self.size)] += self.zeta
        try:
            L = scipy.linalg.cholesky(S, lower=True, check_finite=False, overwrite_a=True)
        except scipy.linalg.LinAlgError as error:
            raise IllConditionedError from error
        if not np.all(np.isfinite(L)):
            raise IllConditionedError
        return L

    def recompute(self) -> np.ndarray:
        """Compute everything afresh, in place, and return the lower Cholesky factor of S."""
        self.actions, self.drift = 0, 0.0
        if not self.chosen:
            self._empty()
            self.inverse = np.empty((0, 0))
            return np.empty((0, 0))
        L, zeta = self.factor(), self.zeta
        half, _ = scipy.linalg.lapack.dpotri(L, lower=True)
        self.inverse = (
            half.T + half
        )  # both are zero where the other one is not, but on the diagonal
        self.inverse[np.diag_indices(self.size)] *= 0.5
        w = scipy.linalg.cho_solve((L, True), self.projections, check_finite=False)
        residual = self.t - w @ self.lines
        w += scipy.linalg.cho_solve((L, True), self.lines @ residual - zeta * w)
        residual = self.t - w @ self.lines
        self.w[...] = w
        # sums of positive terms: no digits are lost where the fit is close
        self.error = float(residual @ residual)
        self.energy = self.error + float(zeta @ w**2)
        self.trace = self.dof - float(np.sum(1.0 - zeta * np.diagonal(self.inverse)))
        self.log_det = float(np.sum(np.log(zeta)) - 2.0 * np.sum(np.log(np.diagonal(L))))
        return L


def _bordered(matrix: np.ndarray, border: np.ndarray, corner: float) -> np.ndarray:
    """Return the symmetric matrix with one more row and column."""
    m = len(matrix)
    larger = np.empty((m + 1, m + 1))
    larger[:m, :m] = matrix
    larger[m, :m] = larger[:m, m] = border
    larger[m, m] = corner
    return larger


def _add_outer(matrix: np.ndarray, factor: float, vector: np.ndarray) -> None:
    """Add `factor vector vector'` to a C-contiguous matrix, in place."""
    scipy.linalg.blas.dger(factor, vector, vector, a=matrix.T, overwrite_a=True)
