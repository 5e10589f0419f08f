"""The working set: who may be chosen next, fresh candidates, and the caches of both papers.

* :class:`Pool` draws fresh candidates at random, without replacement, from those that are
  neither in the basis, nor in a cache, nor numerically dependent on the basis.
* :class:`CandidateCache` keeps the best candidates of the last steps with their rows, brought up
  to date in O(n) each (appendix of Sundararajan, Keerthi and Shevade).
* :class:`KernelRowCache` keeps kernel rows only, for matching pursuit (section 3 of Keerthi and
  Chu: KAPPA with as many rows as fresh candidates, DMAX with as many as basis vectors), and beside
  them rows that were discarded, for candidates that are drawn again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.sparse.candidates import Candidates, advance, make_buffers
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import AppendedRow, SparseState

__all__ = ["CandidateCache", "KernelRowCache", "Pool"]

HOST_ARRAYS = ("index", "prior", "e2", "d2", "base2", "gain", "z", "nu")


class Pool:
    """Places that are still to be had, drawn from at random.

    Parameters
    ----------
    count : int
        How many candidates there are in all.
    rng : numpy.random.Generator
        Lives on the host, so that every backend draws the same.
    """

    def __init__(self, count: int, rng: np.random.Generator):
        self._members = np.arange(count)
        self._place = np.arange(count)
        self._count = count
        self._rng = rng

    def __len__(self) -> int:
        return self._count

    @property
    def members(self) -> np.ndarray:
        """All that are still to be had, in ascending order."""
        return np.sort(self._members[: self._count])

    def draw(self, size: int) -> np.ndarray:
        """Return so many random members (fewer if there are no more), in ascending order."""
        size = min(size, self._count)
        places = self._rng.choice(self._count, size=size, replace=False, shuffle=False)
        return np.sort(self._members[places])

    def holds(self, index: np.ndarray) -> np.ndarray:
        """Tell which of them are still to be had."""
        return self._place[index] < self._count

    def remove(self, index: np.ndarray) -> None:
        """Take members out; those that are out already are passed over."""
        for one in np.asarray(index, dtype=np.intp):
            if self._place[one] < self._count:
                self._count -= 1
                self._swap(self._place[one], self._count)

    def put_back(self, index: np.ndarray) -> None:
        """Let members be drawn again."""
        for one in np.asarray(index, dtype=np.intp):
            if self._place[one] >= self._count:
                self._swap(self._place[one], self._count)
                self._count += 1

    def _swap(self, first: int, second: int) -> None:
        a, b = self._members[first], self._members[second]
        self._members[first], self._members[second] = b, a
        self._place[a], self._place[b] = second, first


class CandidateCache:
    """Candidates carried from step to step, in fixed buffers; the first `len(kept)` are in use."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.kept: Candidates | None = None
        self._buffers: dict[str, list[Array]] = {}

    def __len__(self) -> int:
        return 0 if self.kept is None else len(self.kept)

    def clear(self) -> np.ndarray:
        """Forget everything and return who was kept."""
        index = np.empty(0, dtype=np.intp) if self.kept is None else self.kept.index
        self.kept = None
        return index

    def advance(self, state: SparseState, appended: AppendedRow) -> None:
        """Bring the kept candidates up to date."""
        if self.kept is not None:
            advance(self.kept, state, appended)

    def retain(
        self,
        state: SparseState,
        fresh: Candidates | None,
        keep_old: np.ndarray,
        keep_new: np.ndarray,
    ) -> None:
        """Keep these places of the old ones and these of the fresh ones, in place.

        Rows stay where they are: a fresh row goes where one was dropped, and if more were dropped
        than came, the last rows move into the holes.
        """
        total = len(keep_old) + len(keep_new)
        if total == 0:
            self.clear()
            return
        parts = [part for part in (self.kept, fresh) if part is not None]
        names = ["base"] if parts[0].residual is None else ["base", "residual"]
        if not self._buffers:
            self._buffers = {name: make_buffers(state, self.capacity) for name in names}
        holes = np.setdiff1d(np.arange(total), keep_old)
        beyond = keep_old[keep_old >= total]
        old = len(self)
        order = np.arange(total)  # places in the old ones followed by the fresh ones
        order[holes] = np.concatenate([beyond, old + keep_new])

        def fill(block: SparseRows) -> None:
            for name in names:
                rows = None if fresh is None else getattr(fresh, name)[block.number]
                _fill(self._buffers[name][block.number], rows, holes, beyond, keep_new)

        state.rows.map(fill)
        self.kept = _joined(state, parts, order)
        for name in names:
            views = [buffer[:total, :] for buffer in self._buffers[name]]
            setattr(self.kept, name, views)


def _fill(
    buffer: Array, fresh: Array | None, holes: np.ndarray, beyond: np.ndarray, new: np.ndarray
) -> None:
    for hole, source in zip(holes, beyond, strict=False):
        buffer[int(hole), :] = buffer[int(source), :]
    if fresh is not None:
        for hole, source in zip(holes[len(beyond) :], new, strict=True):
            buffer[int(hole), :] = fresh[int(source), :]


def _joined(state: SparseState, parts: list[Candidates], order: np.ndarray) -> Candidates:
    """Return the host arrays of several candidates in the given order, without their rows."""

    def pick(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    xp = state.backend.xp
    inputs = xp.concat([part.inputs for part in parts], axis=0)
    inputs = xp.take(inputs, state.backend.integers(order), axis=0)
    host: dict[str, Any] = {name: pick(name) for name in HOST_ARRAYS}
    return Candidates(inputs=inputs, stable=parts[0].stable, base=[], **host)


class KernelRowCache:
    """Whitened kernel rows of some candidates, in fixed buffers of `capacity` lines.

    `spare` more lines hold rows that were dropped: whoever comes back need not be evaluated again.
    """

    def __init__(self, state: SparseState, capacity: int, spare: int = 0):
        self.capacity = capacity
        self.index = np.empty(0, dtype=np.intp)
        self.evaluated = 0  # rows so far
        self._buffers = make_buffers(state, capacity + spare)
        self._squares = np.empty(0)
        self._discarded = _Discarded(range(capacity, capacity + spare))

    def replace(
        self, state: SparseState, drop: np.ndarray, index: np.ndarray, inputs: Array
    ) -> None:
        """Drop the rows at these places and take in new candidates (as many, or to fill up)."""
        old = len(self.index)
        places = np.concatenate([drop, np.arange(old, old + len(index) - len(drop))])
        places = places[: len(index)].astype(np.intp)
        known = self._exchange(state, drop, index, places)
        grown = max(old, int(places.max(initial=-1)) + 1)
        self.index = np.concatenate([self.index, np.zeros(grown - old, dtype=np.intp)])
        self._squares = np.concatenate([self._squares, np.zeros(grown - old)])
        self.index[places] = index
        for line, squares in known.items():
            self._squares[places[line]] = squares
        fresh = np.array([line for line in range(len(index)) if line not in known], dtype=np.intp)
        if len(fresh):
            chosen = state.backend.xp.take(inputs, state.backend.integers(fresh), axis=0)
            self._squares[places[fresh]] = self._evaluate(state, places[fresh], chosen)
        gone = drop[len(index) :]
        if len(gone):
            self._compact(state, gone)

    def _evaluate(self, state: SparseState, places: np.ndarray, inputs: Array) -> np.ndarray:
        """Fill lines with the rows of these inputs, and return their squared lengths."""
        backend = state.backend
        self.evaluated += len(places)

        def fill(block: SparseRows) -> np.ndarray:
            Kt = block.cross(inputs)
            Kt *= block.row_scale[None, :]
            backend.put_rows(self._buffers[block.number], places, Kt)
            return backend.row_dots(Kt, Kt)

        return state.rows.sum(fill)

    def _exchange(
        self, state: SparseState, drop: np.ndarray, index: np.ndarray, places: np.ndarray
    ) -> dict[int, float]:
        """Put dropped rows aside, and fetch those that are known of the ones that come.

        Returns the squared lengths of the latter by their number among those that come.
        """
        fetched = {i: self._discarded.take(int(one)) for i, one in enumerate(index)}
        known = {i: found for i, found in fetched.items() if found is not None}
        aside = [
            (int(place), line)
            for place in drop
            if (line := self._discarded.put(int(self.index[place]), self._squares[place]))
            is not None
        ]

        def move(block: SparseRows) -> None:
            buffer = self._buffers[block.number]
            rows = {i: 1.0 * buffer[line, :] for i, (line, _) in known.items()}
            for place, line in aside:
                buffer[line, :] = buffer[place, :]
            for i, row in rows.items():
                buffer[int(places[i]), :] = row

        if known or aside:
            state.rows.map(move, light=True)
        return {i: squares for i, (_, squares) in known.items()}

    def _compact(self, state: SparseState, gone: np.ndarray) -> None:
        stay = np.setdiff1d(np.arange(len(self.index)), gone)
        holes = [int(g) for g in np.sort(gone) if g < len(stay)]
        movers = [int(s) for s in stay if s >= len(stay)]
        self.index[holes], self._squares[holes] = self.index[movers], self._squares[movers]

        def move(block: SparseRows) -> None:
            buffer = self._buffers[block.number]
            for hole, mover in zip(holes, movers, strict=True):
                buffer[hole, :] = buffer[mover, :]

        state.rows.map(move, light=True)
        self.index = self.index[: len(stay)]
        self._squares = self._squares[: len(stay)]

    def products(self, state: SparseState) -> tuple[Array, np.ndarray]:
        """Return `Kt_j (yt - fit)'` (c, p), not on the host, and `|Kt_j|^2` (c,) of every row."""
        backend, count = state.backend, len(self.index)

        def part(block: SparseRows) -> Array:
            residual = backend.asarray(block.yt - block.fit)
            return backend.matmul(self._buffers[block.number][:count, :], residual.T)

        return state.rows.sum(part), self._squares


class _Discarded:
    """Who was dropped, in which line the row is, its squared length; the oldest make room."""

    def __init__(self, lines: range):
        self._free = list(lines)
        self._known: dict[int, tuple[int, float]] = {}

    def take(self, index: int) -> tuple[int, float] | None:
        """Return line and squared length of a candidate's row, which is then free, or None."""
        found = self._known.pop(index, None)
        if found is not None:
            self._free.append(found[0])
        return found

    def put(self, index: int, squares: float) -> int | None:
        """Return the line that a dropped row goes to; None: there is no room at all."""
        if not self._free and not self._known:
            return None
        line = self._free.pop() if self._free else self._known.pop(next(iter(self._known)))[0]
        self._known[index] = line, squares
        return line
