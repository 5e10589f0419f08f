"""The user's options of a solver, and the sizes that are taken where they say nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.dense.system import System

__all__ = ["SolverOptions", "default_block_size", "default_rank"]

PANEL_BYTES = 2**30  # of the columns of a block, or of a factor of low rank
SMALLEST_BLOCK, LARGEST_BLOCK, ROWS_PER_BLOCK_VARIABLE = 500, 1000, 10
SMALLEST_RANK, LARGEST_RANK = 200, 2000
RANK_SHARE_HELD = 0.1  # of the rows, where K is held and steps are cheap


@dataclass(frozen=True)
class SolverOptions:
    """The user's options of the solver; see `GPRegressor`."""

    block_size: int | None = None
    working_set: int | None = 60
    accelerate: bool = True
    rank: int | None = None
    memory_limit: float = 2.0**31
    prefitting: bool = False

    def matrix_fits(self, n: int) -> bool:
        """Tell whether an n x n matrix may be held."""
        return 8.0 * n * n <= self.memory_limit

    def block_size_for(self, system: System) -> int:
        """Return how many variables a block has."""
        return self.block_size or default_block_size(system.n)

    def rank_for(self, system: System, share: float, p: int = 1) -> int:
        """Return the rank of a preconditioner; `share` of the rows where K is not held."""
        return self.rank or default_rank(system.n, RANK_SHARE_HELD if system.hold else share, p)


def default_block_size(n: int) -> int:
    """Return how many variables a block has: a tenth of the rows, as far as memory allows it."""
    wanted = np.clip(n // ROWS_PER_BLOCK_VARIABLE, SMALLEST_BLOCK, LARGEST_BLOCK)
    return int(max(min(n, 100), min(wanted, _most_lines(n))))


def default_rank(n: int, share: float, p: int = 1) -> int:
    """Return the rank of a preconditioner for p right-hand sides, as far as memory allows it.

    A share of the rows; for many right-hand sides so much that the factor, n r^2, costs as much as
    one product of theirs with the matrix, p n^2.
    """
    wanted = max(np.clip(int(share * n), SMALLEST_RANK, LARGEST_RANK), int(np.sqrt(p * n)))
    return int(max(min(n, 50), min(wanted, _most_lines(n))))


def _most_lines(n: int) -> int:
    """Return how many lines of n numbers fit into a panel."""
    return PANEL_BYTES // (8 * n)
