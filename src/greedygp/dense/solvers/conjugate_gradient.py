"""Conjugate gradients, plain and preconditioned; a step is one product with the matrix.

The preconditioner is `(F'F + ridge)^-1` with a partial Cholesky factor `F` (r, n) of K whose pivots
are drawn with probability proportional to what is left of the diagonal (see
:mod:`greedygp.dense.low_rank`). Several right-hand sides share the products; each has its own step
lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from greedygp.arrays import Array, to_numpy
from greedygp.dense.low_rank import LowRankInverse, random_pivots
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System
from greedygp.threads import numpy_threads_only

__all__ = ["RANK_SHARE", "ConjugateGradient", "PreconditionedConjugateGradient"]

RANK_SHARE = 0.2  # of the rows: the preconditioner's rank where K is not held


class ConjugateGradient(Solver):
    """Hestenes and Stiefel's method."""

    name = "cg"

    def __init__(self, system: System, y: Array, alpha: Array | None = None):
        super().__init__(system, y, alpha)
        self._begin()

    def _begin(self) -> None:
        """Start anew from the present gradient."""
        z = self.precondition(-self.gradient)
        self.direction = 1.0 * z
        self.rz = -self._dots(self.gradient, z)

    def precondition(self, residual: Array) -> Array:
        """Return what the method takes for `A^-1 residual`."""
        return residual

    def _dots(self, left: Array, right: Array) -> np.ndarray:
        return self.backend.row_dots(left, right)

    def step(self) -> None:
        product = self.system.product(self.direction)
        curvature = self._dots(self.direction, product)
        length = np.divide(self.rz, curvature, out=np.zeros_like(self.rz), where=curvature > 0)
        lengths = self.backend.asarray(length)[:, None]
        self.alpha += lengths * self.direction
        self.gradient += lengths * product
        z = self.precondition(-self.gradient)
        rz = -self._dots(self.gradient, z)
        ratio = np.divide(rz, self.rz, out=np.zeros_like(rz), where=self.rz > 0)
        self.direction = z + self.backend.asarray(ratio)[:, None] * self.direction
        self.rz = rz

    def refresh(self) -> None:
        super().refresh()
        self._begin()

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"direction": to_numpy(self.direction), "rz": self.rz}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.direction, self.rz = self.backend.asarray(kept["direction"]), np.array(kept["rz"])


class PreconditionedConjugateGradient(ConjugateGradient):
    """Conjugate gradients with a randomly pivoted partial Cholesky factor of K.

    Parameters
    ----------
    rank : int
        Rows of the factor.
    rng : Generator
        Draws the pivots.
    """

    name = "pcg"

    def __init__(
        self,
        system: System,
        y: Array,
        alpha: Array | None = None,
        *,
        rank: int,
        rng: Generator,
    ):
        with numpy_threads_only():
            self.inverse = LowRankInverse(system, random_pivots(system, min(rank, system.n), rng))
            super().__init__(system, y, alpha)

    @staticmethod
    def settings(options: SolverOptions, system: System, p: int, rng: Generator) -> dict[str, Any]:
        return {"rank": options.rank_for(system, RANK_SHARE, p), "rng": rng}

    def precondition(self, residual: Array) -> Array:
        return self.inverse(residual)

    def most_left(self) -> np.ndarray:
        return self.rz
