"""Cholesky factors that grow by a row, and the only place where jitter exists.

A factor `F` of an m x m matrix is kept in a preallocated host array (float64). Appending the row
`(f', d)` costs O(m); solves cost O(m^2) a right-hand side. `factorise` makes a factor from a
matrix; the jitter that it had to add is returned, so that whoever calls it can report it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.exceptions import NotPositiveDefiniteError

__all__ = ["GrowingFactor", "GrowingTriangle", "factorise"]

JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)


def factorise(matrix: np.ndarray, name: str, remedy: str) -> tuple[np.ndarray, float]:
    """Return the lower Cholesky factor of a symmetric matrix and the jitter it needed.

    Parameters
    ----------
    matrix : (m, m) array
        Symmetric; its lower triangle is read.
    name, remedy : str
        For the error's sentence: what the matrix is, and what to change.
    """
    scale = float(np.mean(np.diagonal(matrix))) if len(matrix) else 1.0
    for relative in JITTERS:
        jitter = relative * scale
        shifted = matrix + jitter * np.eye(len(matrix)) if jitter else matrix
        try:
            factor = scipy.linalg.cholesky(shifted, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        if np.all(np.isfinite(factor)):
            return factor, jitter
    raise NotPositiveDefiniteError(name, len(matrix), JITTERS[-1] * scale, remedy)


class GrowingMatrix:
    """A square matrix in a larger array, grown by a row and a column in place."""

    def __init__(self, capacity: int):
        self._entries = np.zeros((min(capacity, 64), min(capacity, 64)))
        self.size = 0

    @property
    def square(self) -> np.ndarray:
        """The matrix, (m, m), a view."""
        return self._entries[: self.size, : self.size]

    def _grow(self) -> int:
        """Make room for one more row and column and return its place."""
        m = self.size
        if m == len(self._entries):
            grown = np.zeros((2 * m, 2 * m))
            grown[:m, :m] = self._entries
            self._entries = grown
        self._entries[m, : m + 1] = self._entries[: m + 1, m] = 0.0
        self.size = m + 1
        return m

    def replace(self, matrix: np.ndarray) -> None:
        """Replace the matrix by another one, in place."""
        m = len(matrix)
        if m > len(self._entries):
            self._entries = np.zeros((m, m))
        self._entries[:m, :m] = matrix
        self.size = m

    def truncate(self, size: int) -> None:
        """Forget all rows and columns from `size` on, in place."""
        self.size = size


class GrowingTriangle(GrowingMatrix):
    """An upper triangular matrix to which columns are appended in place."""

    def append(self, column: np.ndarray, diagonal: float) -> None:
        """Append the column `(column; diagonal)`, in place."""
        m = self._grow()
        self._entries[:m, m] = column
        self._entries[m, m] = diagonal


class GrowingFactor(GrowingMatrix):
    """A lower triangular factor to which rows are appended in place."""

    @property
    def lower(self) -> np.ndarray:
        """The factor, (m, m), a view."""
        return self.square

    def append(self, row: np.ndarray, diagonal: float) -> None:
        """Append the row `(row', diagonal)`, in place."""
        m = self._grow()
        self._entries[m, :m] = row
        self._entries[m, m] = diagonal

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return `F^-1 right`."""
        return self._solve(right, "N")

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """Return `F^-T right`."""
        return self._solve(right, "T")

    def _solve(self, right: np.ndarray, trans: str) -> np.ndarray:
        if self.size == 0:
            return np.zeros_like(right)
        return scipy.linalg.solve_triangular(
            self.lower, right, lower=True, trans=trans, check_finite=False
        )
