"""Orthogonal least squares (Chen, Cowan and Grant, 1991).

Columns are added one at a time, each time the one with the largest error reduction ratio

    err_j = (t'P phi_j)^2 / (phi_j'P phi_j t't),

with `P` the projection off the columns chosen so far. With the orthonormalised columns `Q` (m, N)
a new direction `q` changes the residuals of all candidates by

    r <- r - (q't) a,    gamma <- gamma - a^2,    a = q'Phi:

one product of N x M in a step. There is no ridge: the weights are those of least squares on the
chosen columns. The size is the minimum of a criterion of the residual sum of squares E with m of
n degrees of freedom used,

    gcv:  N E / (n - m)^2,    bic:  N log(E / N) + m log N,    err:  E / t't > tol.

Candidates of which less than `DEPENDENT` is left are in the span of the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from greedygp.greedy import ForwardSelection
from greedygp.linear.candidates import DEPENDENT
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.posterior import Solution
from greedygp.linear.selection import LinearSelection

__all__ = ["CRITERIA", "OrthogonalSelection"]

CRITERIA = ("gcv", "bic", "err")
EXACT_SHARE = 1e-20  # squared error, relative to t't, at which nothing is left to be explained


class OrthogonalSelection(LinearSelection, ForwardSelection):
    """A least-squares model that grows.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    criterion : {"gcv", "bic", "err"}
    enough : float or None
        The criterion below which nothing more needs to be done.
    """

    def __init__(
        self, dictionary: Dictionary, t: np.ndarray, criterion: str, enough: float | None = None
    ):
        self.dictionary, self.t, self.enough = dictionary, t, enough
        self.rows = dictionary.total
        self.dof = self.rows - float(dictionary.intercept)
        self.square = float(t @ t)
        self.criterion: Callable[[float, int], float] = getattr(self, f"_{criterion}")
        self.chosen: list[int] = []
        self._weights: np.ndarray | None = None  # of least squares, where they are known
        self.Q = np.empty((0, dictionary.n_rows))
        self.residual = t.copy()
        self.r = dictionary.products(t)[0]
        self.gamma = dictionary.square_norms.copy()
        self.open = dictionary.square_norms > 0.0

    @property
    def size(self) -> int:
        return len(self.chosen)

    @property
    def error(self) -> float:
        """The squared error."""
        return float(self.residual @ self.residual)

    @property
    def value(self) -> float:
        return self.criterion(self.error, self.size)

    def done(self) -> str | None:
        if self.enough is not None and self.chosen and self.value < self.enough:
            return "converged"
        return None

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates and minus their error reduction ratios."""
        self.open &= self.gamma > DEPENDENT * self.dictionary.square_norms
        left = np.flatnonzero(self.open)
        if self.error <= EXACT_SHARE * self.square or self.size + 1 >= self.dof:
            left = left[:0]
        return left, -(self.r[left] ** 2) / (self.gamma[left] * max(self.square, 1e-300))

    def add(self, index: int) -> float:
        q = self.dictionary.columns([index])[0]
        if self.chosen:
            for _ in range(2):  # the second time removes what rounding has left
                q = q - (self.Q @ q) @ self.Q
        q /= np.sqrt(q @ q)
        a = self.dictionary.products(q)[0]
        self.gamma -= a**2
        self.residual -= float(q @ self.residual) * q
        self.r = self.r - float(q @ self.t) * a
        self.Q = np.vstack([self.Q, q])
        self.chosen.append(index)
        self._weights = None
        self.open[index] = False
        return self.value

    def go_back(self, size: int) -> None:
        """Keep the first so many columns, with the residual of their weights, in place."""
        del self.chosen[size:]
        self.Q, self._weights, self.residual = self.Q[:size], None, self.t
        if size:
            self.residual = self.t - self._least_squares() @ self.dictionary.columns(self.chosen)

    def solution(self) -> Solution:
        """Return the columns and their weights; a covariance is not known."""
        noise = self.error / max(self.dof - self.size, 1.0)
        return Solution(list(self.chosen), self._least_squares(), noise_variance=noise)

    def _least_squares(self) -> np.ndarray:
        """Return the weights of the chosen columns by least squares."""
        if not self.chosen:
            return np.empty(0)
        if self._weights is None:
            columns = self.dictionary.columns(self.chosen).T
            self._weights = scipy.linalg.lstsq(columns, self.t, check_finite=False)[0]
        return self._weights

    def _gcv(self, error: float, m: int) -> float:
        return self.rows * error / (self.dof - m) ** 2 if m < self.dof else np.inf

    def _bic(self, error: float, m: int) -> float:
        floor = max(error, 1e-20 * self.square, 1e-300)
        return self.rows * np.log(floor / self.rows) + m * np.log(self.rows)

    def _err(self, error: float, m: int) -> float:
        return error / max(self.square, 1e-300)
