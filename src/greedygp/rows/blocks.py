"""Rows whose state is kept: map, sum, concatenate, gather, and nothing else.

Row state never leaves this object as one array. A family describes what it knows of some rows by a
subclass of :class:`RowBlock`, a dataclass of named arrays. An algorithm hands `Rows.map` a function
of one block; what the function returns is small (basis-sized or candidate-sized) and is added up by
`Rows.sum`. So the same code runs on one array, on blocks in threads, and on a device.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from greedygp.arrays import SHARED_FROM, Array, Backend, to_numpy
from greedygp.threads import Background

__all__ = ["RowBlock", "Rows", "add_up"]


@dataclass
class RowBlock:
    """Some consecutive rows of the data.

    A subclass adds what a family knows of them: named arrays whose last axis is the row (of the
    inputs, the first).
    """

    number: int  # of the block
    start: int  # its first row's place in the whole data
    stop: int  # the place after its last row's

    @property
    def width(self) -> int:
        """How many rows there are."""
        return self.stop - self.start

    def owns(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the global row numbers lie here, and their places in the block."""
        where = np.flatnonzero((index >= self.start) & (index < self.stop))
        return where, index[where] - self.start


B = TypeVar("B", bound=RowBlock)
C = TypeVar("C", bound=RowBlock)


class Rows(Generic[B]):
    """All rows, in blocks, of which only the places are known at first.

    Parameters
    ----------
    backend : Backend
        Decides how many blocks there are and how they are worked on.
    n_rows : int
        How many rows there are.
    shared_from : int
        Fewer rows than that are one block.
    """

    def __init__(self, backend: Backend, n_rows: int, shared_from: int = SHARED_FROM):
        self.backend = backend
        self.n_rows = n_rows
        stops = np.cumsum(backend.block_sizes(n_rows, shared_from=shared_from))
        starts = np.concatenate([[0], stops[:-1]])
        self.blocks: Sequence[Any] = [
            RowBlock(number=i, start=int(a), stop=int(b))
            for i, (a, b) in enumerate(zip(starts, stops, strict=True))
        ]

    def with_state(self, make: Callable[[B], C]) -> Rows[C]:
        """Return the same rows in blocks that `make` makes of these."""
        other: Any = copy.copy(self)
        other.blocks = self.map(make)
        return other

    def map(self, function: Callable[[B], Any], *, light: bool = False) -> list[Any]:
        """Apply the function to every block and return what it gives, in the blocks' order."""
        return self.backend.map(function, self.blocks, light=light)

    def sum(self, function: Callable[[B], Any], *, light: bool = False) -> Any:
        """Apply the function to every block and add up what it gives (arrays, tuples of them)."""
        return add_up(self.map(function, light=light))

    def start(self, function: Callable[[B, Any], Any], parts: list) -> Background:
        """Begin to apply the function to every block and part, behind what the caller does."""
        work = [(block, part) for block in self.blocks for part in parts]
        backend = self.backend
        return Background(
            backend.threads if len(work) > 1 else 1,  # to hand over one alone takes longer
            lambda item: function(*item),
            work,
            queued=backend.is_accelerator,
        )

    def concatenate(self, function: Callable[[B], Array]) -> Array:
        """Apply the function to every block and join its results along their last axis."""
        parts = self.map(function, light=True)
        return parts[0] if len(parts) == 1 else self.backend.xp.concat(parts, axis=-1)

    def gather(self, array: Callable[[B], Array], index: np.ndarray) -> np.ndarray:
        """Return what an array has at some rows, on the host in float64: one line per row.

        `array` gives each block's part of it, whose last axis is the row.
        """
        parts = self.map(array, light=True)
        gathered = np.empty((len(index), *parts[0].shape[:-1]))
        for block, part in zip(self.blocks, parts, strict=True):
            where, local = block.owns(index)
            if len(where):
                columns = self.backend.take(part, local, axis=-1)
                gathered[where] = np.moveaxis(to_numpy(columns), -1, 0)
        return gathered

    def lines(self, array: Callable[[B], Array], index: np.ndarray) -> Array:
        """Return the same where the rows are: on a device nobody waits for them."""
        if self.backend.is_numpy or len(self.blocks) > 1:
            return self.backend.asarray(self.gather(array, index), self.backend.float64)
        taken = self.backend.take(array(self.blocks[0]), index, axis=-1)
        return self.backend.as_float64(taken if taken.ndim == 1 else taken.T)


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum of what the blocks gave: numbers, arrays, or tuples of them."""
    if isinstance(parts[0], tuple):
        return tuple(add_up(values) for values in zip(*parts, strict=True))
    return sum(parts[1:], start=parts[0])
