"""Block coordinate descent for `min 0.5 alpha'A alpha - y'alpha` (Bo and Sminchisescu, 2008).

A step chooses a block B of variables and minimises over them exactly,

    da = -A_BB^-1 g_B,   g += A_:B da,

so that only n |B| kernel entries are touched. The methods differ in the choice of B:

- cyclic: in order (BCDC);
- gradient: the largest |g_i| (BCDG); neighbours often have alike ones: the block is redundant;
- greedy (GBCD): see :mod:`.greedy_descent`.

Invariants: `g = A alpha - y` up to rounding; f never rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.random import Generator

from greedygp.arrays import Array, to_numpy
from greedygp.cholesky import factorise
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System

__all__ = ["REMEDY", "BlockDescent", "CyclicDescent", "GradientDescent"]

REMEDY = "Raise noise_variance, or use solver='cholesky'."


class BlockDescent(Solver):
    """What the three methods share.

    Parameters
    ----------
    block_size : int
    """

    def __init__(self, system: System, y: Array, alpha: Array | None = None, *, block_size: int):
        super().__init__(system, y, alpha)
        self.block_size = min(block_size, system.n)
        self.panel = self.backend.empty((self.block_size, system.n))

    @staticmethod
    def settings(options: SolverOptions, system: System, p: int, rng: Generator) -> dict[str, Any]:
        return {"block_size": options.block_size_for(system)}

    def step(self) -> None:
        index, factor = self.choose()
        self.minimise_over(index, factor, self.panel[: len(index), :])

    def minimise_over(self, index: np.ndarray, factor: np.ndarray, panel: Array) -> None:
        """Minimise over a block, given the factor of `A_BB` and `panel = K_B:`."""
        chosen = self.backend.integers(index)
        right = -to_numpy(self.backend.xp.take(self.gradient, chosen, axis=1)).astype(np.float64)
        change = scipy.linalg.cho_solve((factor, True), right.T, check_finite=False).T
        change = self.backend.asarray(np.ascontiguousarray(change))
        product = self.backend.matmul(change, panel)
        ridge = self.backend.xp.take(self.system.ridge, chosen, axis=0)
        self.backend.add_to_columns(product, index, change * ridge)
        self.move(index, change, product)

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a block and the factor of `A_BB`; `K_B:` is left in the panel."""
        raise NotImplementedError

    def move(self, index: np.ndarray, change: Array, product: Array) -> None:
        """Change `alpha` on a block; `product` is the change of the gradient."""
        self.backend.add_to_columns(self.alpha, index, change)
        self.gradient += product

    def _evaluate(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the panel for a block that was chosen at once."""
        panel = self.system.columns(index, out=self.panel[: len(index), :])
        factor, _ = factorise(self.system.square(panel, index), "A block of K + noise", REMEDY)
        return index, factor


class CyclicDescent(BlockDescent):
    """Blocks in the order of the rows."""

    name = "bcd_cyclic"
    place = 0

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        index = np.arange(self.place, min(self.place + self.block_size, self.system.n))
        self.place = (self.place + len(index)) % self.system.n
        return self._evaluate(index)

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"place": self.place}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.place = int(kept["place"])


class GradientDescent(BlockDescent):
    """The rows with the largest gradient (over all right-hand sides)."""

    name = "bcd_gradient"

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        largest = to_numpy(self.backend.xp.max(self.backend.xp.abs(self.gradient), axis=0))
        best = np.argpartition(-largest, self.block_size - 1)[: self.block_size]
        return self._evaluate(np.sort(best))
