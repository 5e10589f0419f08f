"""Rows that pass by in chunks, as often as asked for: map, reduce, gather, and nothing kept.

Objectives, gradients and posteriors are sums over rows. A pass is a function of one chunk that
returns something small. A store applies it to all chunks and adds up what it gives, in the order of
the rows, so that the same rows with as many threads give the same numbers to the last bit. Where
rows live is the store's own business: one that gives its chunks in order has the rest from here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from queue import Queue
from typing import Any, TypeVar

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.rows.blocks import add_up

__all__ = ["READ_ROWS", "Chunk", "RowStore", "Watch", "joined", "plus"]

READ_ROWS = 65_536  # that a store reads at a time
PIECES_A_THREAD = 4  # that are handed out together

Watch = Callable[[int], None]  # is told of how many rows have gone by since it was told last

T = TypeVar("T")


@dataclass
class Chunk:
    """Some consecutive rows.

    Attributes
    ----------
    X : (T, D) array
    y : (T,) or (T, p) array or None
    weights : (T,) array or None
    start : int
        Place of the first row among all rows.
    where : str
        What the rows are part of, for messages: a file's name, say.
    first : int
        Number of the first row there.
    names : tuple of str
        Of the columns of X, where they have any.
    """

    X: Array
    y: Array = None
    weights: Array = None
    start: int = 0
    where: str = ""
    first: int = 0
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.X.shape[0]

    def __sizeof__(self) -> int:
        arrays = (self.X, self.y, self.weights)
        return sum(getattr(array, "nbytes", 0) for array in arrays)

    def part(self, begin: int, end: int) -> Chunk:
        """Return the rows from `begin` to before `end`."""
        places = slice(begin, end)
        return replace(
            self,
            X=self.X[places, :],
            y=None if self.y is None else self.y[places],
            weights=None if self.weights is None else self.weights[places],
            start=self.start + begin,
            first=self.first + begin,
        )

    def pieces(self, rows: int) -> Iterator[Chunk]:
        """Yield the rows, at most so many at a time."""
        for begin in range(0, len(self), rows):
            yield self.part(begin, min(begin + rows, len(self)))

    def take(self, places: np.ndarray) -> tuple[Array, Array, Array]:
        """Return X, y and weights of some rows."""
        found = []
        for array in (self.X, self.y, self.weights):  # weights are on the host
            if array is not None:
                backend = Backend(array)
                array = backend.xp.take(array, backend.integers(places), axis=0)
            found.append(array)
        return found[0], found[1], found[2]

    @property
    def used(self) -> np.ndarray | None:
        """Places of the rows of positive weight; None: all."""
        if self.weights is None or bool(np.all(np.asarray(self.weights) > 0)):
            return None
        return np.flatnonzero(np.asarray(self.weights) > 0)


class RowStore:
    """Rows that can be gone through again and again.

    Attributes
    ----------
    n_features : int
    feature_names : list of str or None
    backend : Backend
        Where the chunks' arrays live, and their dtype.
    """

    n_features: int
    feature_names: list[str] | None = None
    backend: Backend
    keeps_left_out = False  # whether a model keeps what it predicts of each row, left out

    def chunks(self) -> Iterator[Chunk]:
        """Yield all rows in order, each time the same."""
        raise NotImplementedError

    def check(self) -> tuple[int, ...] | None:
        """Raise a sentence if the rows cannot be gone through; return the shape of a row's targets.

        It is () for one target, (p,) for several columns of them, None where there are no targets.
        """
        raise NotImplementedError

    def on_host(self) -> RowStore:
        """Return the same rows where they can be looked at without a way back from a device."""
        return self

    def map(
        self, function: Callable[[Chunk], Any], rows: int, watch: Watch | None = None
    ) -> Iterator[Any]:
        """Yield what a function gives for at most so many rows at a time, in their order."""
        pieces = (piece for chunk in one_ahead(self.chunks()) for piece in chunk.pieces(rows))
        for group in _groups(pieces, PIECES_A_THREAD * self.backend.threads):
            yield from self.backend.map(function, group)
            if watch is not None:
                watch(sum(map(len, group)))

    def reduce(
        self, function: Callable[[Chunk], Any], rows: int, watch: Watch | None = None
    ) -> Any:
        """Return the sum of what a function gives; None counts for nothing."""
        total = None
        for part in self.map(function, rows, watch):
            total = plus(total, part)
        return total

    def everything(self) -> tuple[Array, Array, Array]:
        """Return X, y and weights of all rows at once."""
        columns = zip(*((c.X, c.y, c.weights) for c in self.chunks()), strict=True)
        X, y, weights = (joined(column) for column in columns)
        return X, y, weights

    def gather(self, places: np.ndarray) -> tuple[Array, Array, Array, np.ndarray]:
        """Return X, y, weights of some rows, and their places among all.

        `places` are sorted, and count rows of positive weight only.
        """
        parts, numbers, done = [], [], 0
        for chunk in one_ahead(self.chunks()):
            used = chunk.used
            count = len(chunk) if used is None else len(used)
            begin, end = np.searchsorted(places, [done, done + count])
            if end > begin:
                local = places[begin:end] - done
                local = local if used is None else used[local]
                parts.append(chunk.take(local))
                numbers.append(chunk.start + local)
            done += count
        X, y, weights = (joined(column) for column in zip(*parts, strict=True))
        return X, y, weights, np.concatenate(numbers)


def plus(total: Any, part: Any) -> Any:
    """Return the sum of two things of which each may be None."""
    if total is None or part is None:
        return part if total is None else total
    return add_up([total, part])


def joined(parts: Sequence[Array]) -> Array:
    """Return arrays one below the other; None of None."""
    if parts[0] is None:
        return None
    return parts[0] if len(parts) == 1 else Backend(parts[0]).xp.concat(list(parts), axis=0)


def _groups(items: Iterable[T], size: int) -> Iterator[list[T]]:
    group: list[T] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def one_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; a thread fetches the next one while the caller works on the last."""
    ready: Queue = Queue(maxsize=1)
    enough = threading.Event()

    def fetch() -> None:
        try:
            for item in items:
                ready.put((item, None))
                if enough.is_set():
                    return
            ready.put((None, StopIteration()))
        except BaseException as error:
            ready.put((None, error))

    thread = threading.Thread(target=fetch, name="greedygp-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        enough.set()
        while thread.is_alive():  # it may be waiting for room
            if not ready.empty():
                ready.get_nowait()
            thread.join(timeout=0.01)
