"""Candidates are scored with all coefficients refitted ("pre-fitting"), and the best are cached.

A fresh candidate costs O(nm), in matrix products with the whole working set; a cached one O(n).
While a step's candidates are scored, the kernel rows of the next step's are computed behind it.
Under FITC every candidate changes Lambda in every row: candidates are screened with Lambda frozen,
and the best few (with `working_set=None` all) are scored exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.sparse.candidates import (
    Candidates,
    evaluate,
    fill_kernel_rows,
    make_buffers,
    nothing,
)
from greedygp.sparse.forward import CHUNK, NOTHING, SparseSelector
from greedygp.sparse.pool import CandidateCache
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import Column
from greedygp.threads import Background

__all__ = ["RefittingSelector"]

EXACT_FITC = 5  # candidates that are scored exactly after screening with Lambda frozen


@dataclass
class _Batch:
    """Fresh candidates, and their kernel rows if somebody is at work on them."""

    index: np.ndarray
    inputs: Array
    buffers: list[Array] = field(default_factory=list)
    rows: Background | None = None


class RefittingSelector(SparseSelector):
    """The working set is scored with all coefficients refitted; the best of it may be cached."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        # A working set that is cut into pieces does not leave its rows to be kept.
        in_pieces = self.working_set is None or self.working_set > CHUNK
        useless = in_pieces or self.state.approximation == "fitc"
        self.cache = CandidateCache(0 if useless else self.cache_size)
        self._base_buffers: list[list[Array]] = [[], []]  # this step's and the next one's
        self._residual_buffers: list[Array] | None = None
        self._upcoming: _Batch | None = None
        self._fresh: Candidates | None = None
        self._fresh_scores = np.empty(0)
        self._cached_scores = np.empty(0)

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Score the cache and fresh candidates; those in the basis' span are dropped for good."""
        self._repair()
        while len(self.pool) or len(self.cache):
            index, scores = self._score_fresh()
            if self.cache.kept is not None:
                self._cached_scores = self._score(self.cache.kept)
                index = np.concatenate([self.cache.kept.index, index])
                scores = np.concatenate([self._cached_scores, scores])
            alive = np.isfinite(scores)
            self.pool.remove(index[~alive])
            if np.any(alive):
                return self._exact(index[alive], scores[alive])
            self.cache.clear()
        return NOTHING

    def add(self, index: int) -> float:
        """Append the winner, retain the next best, and bring them up to date."""
        column = self._find(index)
        appended = self.state.append(column)
        self.pool.remove(np.array([index]))
        if self.cache.capacity:
            self._retain(index)
            self.cache.advance(self.state, appended)
        return self._measure()

    def close(self) -> None:
        """Give up the next step's candidates."""
        if self._upcoming is not None and self._upcoming.rows is not None:
            self._upcoming.rows.abandon()

    # --- scoring -------------------------------------------------------------------------------

    def _score_fresh(self) -> tuple[np.ndarray, np.ndarray]:
        """Score this step's fresh candidates; those of the next step are prepared meanwhile."""
        self._fresh, self._fresh_scores = None, np.empty(0)
        parts = []
        batches = self._batches()
        # A device can begin with the next step's while the host looks at this one's: where nobody
        # leaves the pool or comes back to it in between.
        at_once = self.state.backend.is_accelerator and self.state.keep_v
        for batch in batches:
            if at_once:
                self._fresh = self._evaluate(batch, self._prepare_next)
            else:
                self._fresh = self._evaluate(batch)
                self._prepare_next()
            parts.append(self._score(self._fresh))
        if not parts:
            return NOTHING
        if len(parts) > 1:  # the rows of all but the last batch are gone
            self._fresh = None
        self._fresh_scores = np.concatenate(parts)
        return np.concatenate([batch.index for batch in batches]), self._fresh_scores

    def _batches(self) -> list[_Batch]:
        """Return this step's fresh candidates, few enough at a time for their rows to be held."""
        batch, self._upcoming = self._upcoming, None
        if batch is not None:
            self._replace_taken(batch)
            return [batch]
        size = self.working_set
        index = self.pool.members if size is None else self._first_or_random(size)
        chunks = [index[i : i + CHUNK] for i in range(0, len(index), CHUNK)]
        return [_Batch(chunk, self._take_inputs(chunk)) for chunk in chunks]

    def _first_or_random(self, size: int) -> np.ndarray:
        """Draw a working set; the first one has the favourites, too, where they can be cached."""
        drawn = self.pool.draw(size)
        count = min(self.cache.capacity, CHUNK - size)
        if self.state.size > 0 or count <= 0 or len(self.favourites) == 0:
            return drawn
        return np.union1d(drawn, self.favourites[:count])

    def _replace_taken(self, batch: _Batch) -> None:
        """Put others in the place of those who have left the pool since the batch was drawn."""
        assert batch.rows is not None
        batch.rows.results()
        gone = np.flatnonzero(~self.pool.holds(batch.index))
        if len(gone) == 0:
            return
        kept = np.delete(batch.index, gone)
        self.pool.remove(kept)
        others = self.pool.draw(len(gone))  # there are enough: see `_prepare_next`
        self.pool.put_back(kept)
        batch.index[gone] = others
        batch.inputs = self._take_inputs(batch.index)
        inputs = self._take_inputs(others)

        def fill(block: SparseRows) -> None:
            rows = block.cross(inputs)
            for line, place in enumerate(gone):
                batch.buffers[block.number][int(place), :] = rows[line, :]

        self.state.rows.map(fill, light=True)

    def _prepare_next(self) -> None:
        """Draw the next step's candidates and begin to compute their kernel rows.

        Where few are left they are drawn when their step comes: it matters then who exactly has
        left the pool and who has come back to it.
        """
        size, self._upcoming = self.working_set, None
        if size is None or size > CHUNK or len(self.pool) < 3 * size + self.cache.capacity:
            return
        index = self.pool.draw(size)
        batch = _Batch(index, self._take_inputs(index))
        batch.buffers = self._spare_buffers(len(index))
        batch.rows = fill_kernel_rows(self.state, batch.inputs, batch.buffers)
        self._upcoming = batch

    def _spare_buffers(self, count: int) -> list[Array]:
        """Return the base buffers that the present candidates are not in."""
        self._base_buffers.reverse()
        buffers = self._base_buffers[0]
        if not buffers or buffers[0].shape[0] <= count:
            buffers = self._base_buffers[0] = make_buffers(self.state, count + 1)
        return buffers

    def _evaluate(self, batch: _Batch, meanwhile: Callable[[], None] = nothing) -> Candidates:
        count = len(batch.index)
        if self.criterion.needs_residual and self._residual_buffers is None:
            self._residual_buffers = make_buffers(self.state, count)
        ready = batch.rows is not None
        if not ready:
            batch.buffers = self._spare_buffers(count)

        def run(ready: bool) -> Candidates:
            return evaluate(
                self.state,
                batch.index,
                batch.inputs,
                from_rows=self.from_rows,
                with_residual=self.criterion.needs_residual,
                buffers=(batch.buffers, self._residual_buffers or []),
                kernel_rows_ready=ready,
                meanwhile=meanwhile,
            )

        found = run(ready)
        if found.unreliable(self.state.backend):
            self._to_stable_form()
            found = run(False)
        return found

    def _repair(self) -> None:
        """Candidates that were kept with the old factors are forgotten."""
        if self.state.drifted:
            self._forget()
        super()._repair()

    def _to_stable_form(self) -> None:
        """Candidates in the other form are forgotten: the two cannot be mixed."""
        super()._to_stable_form()
        self._forget()

    def _forget(self) -> None:
        self.pool.put_back(self.cache.clear())
        self._fresh, self._fresh_scores = None, np.empty(0)

    def _score(self, candidates: Candidates) -> np.ndarray:
        """Return the scores, infinite for candidates that are in the span of the basis."""
        dependent = candidates.dependent(self.state.backend)
        candidates.d2[dependent] = candidates.e2[dependent] = 1.0
        scores = self.criterion.score(self.state, candidates)
        return np.where(dependent | ~np.isfinite(scores), np.inf, scores)

    def _exact(self, index: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Under FITC, score exactly: all, or the few that came best through the screening."""
        if self.state.approximation != "fitc":
            return index, scores
        count = len(index) if self.working_set is None else EXACT_FITC
        best = np.lexsort((index, scores))[:count]
        inputs = self._take_inputs(index[best])
        exact = [
            self.criterion.value(self.state.trial(inputs[i, :], int(j)))
            for i, j in enumerate(index[best])
        ]
        return index[best], np.array(exact)

    # --- the winner and the cache ----------------------------------------------------------------

    def _find(self, index: int) -> Column:
        """Return the winner's rows: those at hand where they are exact.

        A cached candidate's rows carry the rounding of all their updates: good enough to score it,
        but unless they are in the stable form and much is left of it, what enters the basis is
        computed afresh.
        """
        for candidates in (self._fresh, self.cache.kept):
            if candidates is None:
                continue
            for place in map(int, np.flatnonzero(candidates.index == index)):
                much_is_left = candidates.e2[place] > 1e-6 * candidates.prior[place]
                if candidates is self._fresh or (candidates.stable and much_is_left):
                    return candidates.column(place)
        return self._one(index).column(0)

    def _retain(self, winner: int) -> None:
        """Keep the best of old and fresh candidates; the others may be drawn again."""
        old, fresh = (
            np.empty(0, dtype=np.intp) if candidates is None else candidates.index
            for candidates in (self.cache.kept, self._fresh)
        )
        index = np.concatenate([old, fresh])
        scores = np.concatenate([self._cached_scores[: len(old)], self._fresh_scores])
        scores[index == winner] = np.inf
        order = np.lexsort((index, scores))[: self.cache.capacity]
        order = np.sort(order[np.isfinite(scores[order])])
        evicted = np.setdiff1d(np.flatnonzero(np.isfinite(scores)), order)
        keep_old, keep_new = order[order < len(old)], order[order >= len(old)] - len(old)
        self.cache.retain(self.state, self._fresh, keep_old, keep_new)
        self.pool.remove(index[order])
        self.pool.put_back(index[evicted])
