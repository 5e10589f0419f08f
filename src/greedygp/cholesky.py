"""Cholesky factors that grow by a row, and the only place where jitter exists.

A factor `F` of an m x m matrix is kept in a larger host array (float64). Appending the row
`(f', d)` costs O(m); a solve costs O(m^2) for each right-hand side. `factorise` makes a factor from
a matrix, and returns the jitter that it had to add, so that the caller can report it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

from greedygp.exceptions import NotPositiveDefiniteError

__all__ = [
    "GrowingFactor",
    "GrowingMatrix",
    "GrowingTriangle",
    "factor_and_inverse_with_sites",
    "factorise",
    "factorise_with_sites",
    "inverse_from_factor",
]

STEP = 64
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
ONCE_FREED = 32_000_000  # bytes; above 2**25 glibc does not learn from them


def factorise(matrix: np.ndarray, name: str, remedy: str) -> tuple[np.ndarray, float]:
    """Return the lower Cholesky factor of a symmetric matrix and the jitter it needed.

    Parameters
    ----------
    matrix : (m, m) array
        Symmetric; its lower triangle is read.
    name, remedy : str
        For the error's sentence: what the matrix is, and what to change.
    """
    _keep_freed_memory()
    scale = float(np.mean(np.diagonal(matrix))) if len(matrix) else 1.0
    for relative in JITTERS:
        jitter = relative * scale
        shifted = matrix + jitter * np.eye(len(matrix)) if jitter else matrix
        try:
            factor = scipy.linalg.cholesky(shifted, lower=True, check_finite=False)
            # A number that is none ends in the diagonal of its row.
            if np.all(np.isfinite(np.diagonal(factor))):
                return factor, jitter
        except scipy.linalg.LinAlgError:
            pass
        if not np.all(np.isfinite(np.tril(matrix))):
            raise NotPositiveDefiniteError(
                name, len(matrix), 0.0, f"It has NaN or infinity. {remedy}"
            )
    raise NotPositiveDefiniteError(name, len(matrix), JITTERS[-1] * scale, remedy)


@cache
def _keep_freed_memory() -> None:
    """Let the process keep what it frees, up to 64 MB, instead of giving it back at once.

    To get it again costs a third of an evaluation with 400 rows. glibc keeps twice the size of the
    largest block of its own that was freed, whether or not it was used. Other allocators do not
    mind.
    """
    np.empty(ONCE_FREED, dtype=np.uint8)


def factorise_with_sites(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of `B = I + S K S`, `S = diag(root)`.

    With `root` the square roots of the precisions Pi of Gaussian sites, `B = S (K + Pi^-1) S`; but
    sites of precision zero do no harm, and no eigenvalue of B is below one.

    Parameters
    ----------
    K : (m, m) array
        A kernel matrix.
    root : (m,) array
    """
    B = root[:, None] * K * root
    B[np.diag_indices(len(B))] += 1.0
    return factorise(B, "I + S K S", "Lower the kernel's variance.")[0]


def factor_and_inverse_with_sites(
    K: np.ndarray, root: np.ndarray, work: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonal of the factor L of `B = I + S K S`, and `L^-1`, lower triangular.

    Parameters
    ----------
    K : (m, m) array
        A kernel matrix.
    root : (m,) array
    work : (m, m) array
        Overwritten; the inverse lies in it.
    """
    B = np.multiply(root[:, None], K, out=work)
    B *= root
    B[np.diag_indices(len(B))] += 1.0
    # B is symmetric, so that its transpose is what LAPACK wants: Fortran-ordered.
    factor, failed = dpotrf(B.T, lower=True, clean=True, overwrite_a=True)
    diagonal = np.diagonal(factor).copy()
    if failed or not np.all(np.isfinite(diagonal)):
        raise NotPositiveDefiniteError("I + S K S", len(B), 0.0, "Lower the kernel's variance.")
    return diagonal, dtrtri(factor, lower=True, overwrite_c=True)[0]


def inverse_from_factor(inverse: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return `(K + Pi^-1)^-1 = S B^-1 S`, given `L^-1`, which is overwritten."""
    B_inverse = dlauum(inverse, lower=True, overwrite_c=True)[0]
    W = B_inverse + np.tril(B_inverse, -1).T
    W *= root
    W *= root[:, None]
    return W


class GrowingMatrix:
    """A square matrix in a larger array, grown by a row and a column in place."""

    def __init__(self) -> None:
        self._entries = np.eye(
            STEP
        )  # the identity beyond the matrix, so that all of it can be solved
        self.size = 0

    @property
    def square(self) -> np.ndarray:
        """The matrix, (m, m), a view."""
        return self._entries[: self.size, : self.size]

    def _grow(self) -> int:
        """Make room for one more row and column and return its place."""
        m = self.size
        if m == len(self._entries):
            self._resize(m + STEP)
        self.size = m + 1
        return m

    def append_symmetric(self, row: np.ndarray) -> None:
        """Append `row`, (m + 1,), as a row and as a column, in place."""
        m = self._grow()
        self._entries[m, : m + 1] = self._entries[: m + 1, m] = row

    def _resize(self, capacity: int) -> None:
        grown = np.eye(capacity)
        grown[: self.size, : self.size] = self.square
        self._entries = grown

    def replace(self, matrix: np.ndarray) -> None:
        """Replace the matrix by another one, in place."""
        self.size = 0
        self._resize(STEP * (len(matrix) // STEP + 1))
        self.size = len(matrix)
        self.square[...] = matrix


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

    def inverse(self) -> np.ndarray:
        """Return `F^-1`, lower triangular, C-ordered."""
        # LAPACK is given the transpose, which is Fortran-ordered.
        return dtrtri(self.lower.T, lower=False)[0].T if self.size else self.lower

    def solve_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return `F^-1 r` for every row r, (c, m), as rows."""
        return self._solve(rows, transposed=False)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return `F^-1 right`."""
        return self._solve(right.T, transposed=False).T

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """Return `F^-T right`."""
        return self._solve(right.T, transposed=True).T

    def _solve(self, rows: np.ndarray, *, transposed: bool) -> np.ndarray:
        # BLAS sees the C-ordered rows as Fortran columns, and the factor as its transpose; padded
        # by the identity it is one contiguous array, which need not be copied.
        padded = np.zeros((1 if rows.ndim == 1 else len(rows), len(self._entries)))
        padded[:, : self.size] = rows
        solved = scipy.linalg.blas.dtrsm(
            1.0, self._entries.T, padded.T, trans_a=not transposed, overwrite_b=True
        )
        solved = solved.T[:, : self.size]
        return solved[0] if rows.ndim == 1 else solved
