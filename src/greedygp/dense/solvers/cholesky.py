"""The direct solver: `A = L L'`, all n x n of it in memory, O(n^3) once.

In exact arithmetic one step ends at the solution; in floating point a second one, with the residual
as the right-hand side, removes most of what rounding left (iterative refinement). The factor takes
the lower triangle of the matrix; what is above the diagonal stays as it was, and so the residual is
computed without evaluating the kernel again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from greedygp.arrays import Array, to_numpy
from greedygp.dense.solvers.base import Solver
from greedygp.dense.system import System
from greedygp.exceptions import NotPositiveDefiniteError

__all__ = ["CholeskySolver", "factor_of"]


def factor_of(system: System) -> np.ndarray:
    """Return the lower Cholesky factor of `A`, on the host in float64, with `K` above the diagonal.

    Where the kernel matrix is not held for other reasons, the factor takes its place in memory.
    That is why it is not made by `greedygp.cholesky.factorise`, which copies. There is no jitter,
    either: it would change the system, whose solution is asked for to a tolerance.
    """
    if system.hold:
        matrix = to_numpy(system.matrix).astype(np.float64)
        matrix = matrix.copy() if np.shares_memory(matrix, to_numpy(system.matrix)) else matrix
    else:
        matrix = to_numpy(system.matrix).astype(np.float64, copy=False)
        system.forget()
    matrix[np.diag_indices(system.n)] = to_numpy(system.diagonal)
    # The transpose of the symmetric C-ordered matrix is Fortran-ordered: no copy for LAPACK.
    factor, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if info != 0 or not np.all(np.isfinite(np.diagonal(factor))):
        raise NotPositiveDefiniteError(
            "K + noise", system.n, 0.0, "Raise noise_variance, or use another solver."
        )
    return factor


class CholeskySolver(Solver):
    """Solve by the Cholesky factor; it stays at hand for more right-hand sides."""

    name = "cholesky"
    descends = False

    def __init__(self, system: System, y: Array, alpha: Array | None = None, factor: Any = None):
        self.factor = factor_of(system) if factor is None else factor
        super().__init__(system, y, alpha)

    def product(self, vectors: Array) -> Array:
        """Return `vectors A` by what is above the factor's diagonal, and the true diagonal."""
        lines = to_numpy(vectors).astype(np.float64).T
        product = scipy.linalg.blas.dsymm(1.0, self.factor, lines, lower=0)
        diagonal = to_numpy(self.system.diagonal) - np.diagonal(self.factor)
        return self.backend.asarray(np.ascontiguousarray((product + diagonal[:, None] * lines).T))

    def step(self) -> None:
        right = -to_numpy(self.gradient).astype(np.float64).T
        step = scipy.linalg.cho_solve((self.factor, True), right, check_finite=False)
        self.alpha = self.alpha + self.backend.asarray(np.ascontiguousarray(step.T))
        self.refresh()
