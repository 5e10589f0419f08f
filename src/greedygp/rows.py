"""The rows of the data and what is known of each: map, reduce, gather, and nothing else.

Row state never leaves this object as one array. An algorithm hands `Rows.map` a function of one
:class:`RowBlock`; what the function returns is small (basis-sized or candidate-sized) and is
added up by `Rows.sum`. So the same code runs on one array, on blocks in threads, and on a device;
blocks that live on other machines need only another `map`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, Background, to_numpy

__all__ = ["RowBlock", "Rows"]


class RowBlock(SimpleNamespace):
    """The state of some consecutive rows: a bag of named arrays whose last axis is the row.

    `start` and `stop` are the rows' places in the whole data; the algorithms add the rest.
    """

    def owns(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the global row numbers lie here, and their places in the block."""
        where = np.flatnonzero((index >= self.start) & (index < self.stop))
        return where, index[where] - self.start


class Rows:
    """All rows, in blocks.

    Parameters
    ----------
    backend : Backend
        Decides how many blocks there are and how they are worked on.
    n_rows : int
        How many rows there are.
    """

    def __init__(self, backend: Backend, n_rows: int):
        self.backend = backend
        self.n_rows = n_rows
        stops = np.cumsum(backend.block_sizes(n_rows))
        starts = np.concatenate([[0], stops[:-1]])
        self.blocks = [
            RowBlock(number=i, start=int(a), stop=int(b))
            for i, (a, b) in enumerate(zip(starts, stops, strict=True))
        ]

    def map(self, function: Callable[[RowBlock], Any], *, light: bool = False) -> list[Any]:
        """Apply the function to every block and return what it gives, in the blocks' order."""
        return self.backend.map(function, self.blocks, light=light)

    def sum(self, function: Callable[[RowBlock], Any], *, light: bool = False) -> Any:
        """Apply the function to every block and add up what it gives (arrays, tuples of them)."""
        parts = self.map(function, light=light)
        if isinstance(parts[0], tuple):
            return tuple(sum(values[1:], start=values[0]) for values in zip(*parts, strict=True))
        return sum(parts[1:], start=parts[0])

    def start(self, function: Callable[[RowBlock, Any], Any], parts: list) -> Background:
        """Begin to apply the function to every block and part, behind what the caller does."""
        work = [(block, part) for block in self.blocks for part in parts]
        return Background(self.backend, lambda item: function(*item), work)

    def concatenate(self, function: Callable[[RowBlock], Array]) -> Array:
        """Apply the function to every block and join its results along their last axis."""
        parts = self.map(function, light=True)
        return parts[0] if len(parts) == 1 else self.backend.xp.concat(parts, axis=-1)

    def gather(self, name: str, index: np.ndarray, length: int | None = None) -> np.ndarray:
        """Return the entries of one named array at some rows, on the host in float64.

        `length` keeps only the first so many lines of an array of shape (capacity, rows).
        """
        first = getattr(self.blocks[0], name)
        lines = first.shape[:-1] if length is None else (length,)
        gathered = np.empty((len(index), *lines))
        for block in self.blocks:
            where, local = block.owns(index)
            if len(where):
                array = getattr(block, name)
                array = array if length is None else array[:length, :]
                columns = self.backend.xp.take(array, self.backend.integers(local), axis=-1)
                gathered[where] = np.moveaxis(to_numpy(columns), -1, 0)
        return gathered
