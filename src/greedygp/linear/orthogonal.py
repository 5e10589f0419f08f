"""Orthogonal least squares (Chen, Cowan and Grant, 1991).

Columns are added one at a time, each time the one with the largest error reduction ratio

    err_j = (t'P phi_j)^2 / (phi_j'P phi_j t't),

with `P` the projection off the columns chosen so far. With the orthonormalised columns `Q` (m, N)
a new direction `q` changes the residuals of all candidates by

    r <- r - (q't) a,    gamma <- gamma - a^2,    a = q'Phi:

one product of N x M a step. There is no ridge: the weights are those of least squares on the
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
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.pool import DEPENDENT

__all__ = ["CRITERIA", "OrthogonalSelector"]

CRITERIA = ("gcv", "bic", "err")


class OrthogonalSelector(ForwardSelection):
    """A least-squares model that grows.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    criterion : {"gcv", "bic", "err"}
    """

    def __init__(self, dictionary: Dictionary, t: np.ndarray, criterion: str):
        self.dictionary, self.t = dictionary, t
        self.rows = dictionary.total
        self.dof = self.rows - float(dictionary.intercept)
        self.square = float(t @ t)
        self.criterion: Callable[[float, int], float] = getattr(self, f"_{criterion}")
        self.chosen: list[int] = []
        self.kept_size = 0  # the size that the loop went back to
        self.Q: list[np.ndarray] = []
        self.residual = t.copy()
        self.r = dictionary.products(t)[0]
        self.gamma = dictionary.square_norms.copy()
        self.open = dictionary.square_norms > 0.0

    @property
    def size(self) -> int:
        """How many columns are chosen."""
        return len(self.chosen)

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates and minus their error reduction ratios."""
        self.open &= self.gamma > DEPENDENT * self.dictionary.square_norms
        left = np.flatnonzero(self.open)
        error = float(self.residual @ self.residual)
        if error <= 1e-20 * self.square or self.size + 1 >= self.dof:
            left = left[:0]
        return left, -(self.r[left] ** 2) / (self.gamma[left] * max(self.square, 1e-300))

    def add(self, index: int) -> float:
        """Add a column and return the criterion."""
        q = self.dictionary.columns([index])[0]
        for _ in range(2):  # the second time removes what rounding has left
            if self.Q:
                Q = np.stack(self.Q) if self._stacked is None else self._stacked
                self._stacked = Q
                q = q - (Q @ q) @ Q
        q /= np.sqrt(q @ q)
        a = self.dictionary.products(q)[0]
        self.gamma -= a**2
        self.residual -= float(q @ self.residual) * q
        self.r = self.r - float(q @ self.t) * a
        self.Q.append(q)
        self._stacked = None
        self.chosen.append(index)
        self.open[index] = False
        return self.value

    _stacked: np.ndarray | None = None

    def go_back(self, size: int) -> None:
        """Note which size to keep; `solution` gives the model of any size."""
        self.kept_size = size

    @property
    def value(self) -> float:
        """The criterion of the model."""
        return self.criterion(float(self.residual @ self.residual), self.size)

    def _gcv(self, error: float, m: int) -> float:
        return self.rows * error / (self.dof - m) ** 2 if m < self.dof else np.inf

    def _bic(self, error: float, m: int) -> float:
        floor = max(error, 1e-20 * self.square, 1e-300)
        return self.rows * np.log(floor / self.rows) + m * np.log(self.rows)

    def _err(self, error: float, m: int) -> float:
        return error / max(self.square, 1e-300)

    def solution(self, size: int) -> tuple[list[int], np.ndarray]:
        """Return the first so many chosen columns and their least-squares weights."""
        chosen = self.chosen[:size]
        if not chosen:
            return [], np.empty(0)
        lines = self.dictionary.columns(chosen)
        return chosen, scipy.linalg.lstsq(lines.T, self.t, check_finite=False)[0]
