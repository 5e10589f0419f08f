"""The sparse family's side of the greedy loop: who is proposed, and how the chosen one enters.

Four ways to propose, by how a criterion scores:

* :class:`PrefitSelector`: candidates are tried with all coefficients refitted (`nlpp`, `nlml`,
  `loo_cve`, `nlgpp`, `gpe`), O(nm) for a fresh one, O(n) for a cached one;
* :class:`PursuitSelector`: only the candidate's own coefficient moves (`matching_pursuit`), O(n);
* :class:`InformationSelector`: O(1) for every row (`info_gain`);
* :class:`RandomSelector`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedygp.arrays import Array, Background, to_numpy
from greedygp.sparse.candidates import (
    Candidates,
    evaluate,
    evaluate_one,
    fill_kernel_rows,
    kernel_with_basis,
    make_buffers,
)
from greedygp.sparse.criteria import Criterion, InformationGain
from greedygp.sparse.pool import CandidateCache, KernelRowCache, Pool
from greedygp.sparse.state import Column, SparseState

__all__ = ["make_selector"]

NOTHING = (np.empty(0, dtype=np.intp), np.empty(0))
CHUNK = 256  # candidates evaluated together when all of them are scored
EXACT_FITC = 5  # candidates that are scored exactly after screening with Lambda frozen


class SparseSelector:
    """What all selectors share.

    Parameters
    ----------
    state : SparseState
    criterion : Criterion
    inputs : (N, D) row array
        Where the candidates are: the training rows, or the user's array.
    from_rows : bool
        Whether `inputs` are the training rows.
    working_set : int or None
        Fresh candidates a step; None: all that are left.
    cache_size : int
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        state: SparseState,
        criterion: Criterion,
        inputs: Array,
        *,
        from_rows: bool,
        working_set: int | None,
        cache_size: int,
        rng: np.random.Generator,
    ):
        self.state = state
        self.criterion = criterion
        self.inputs = inputs
        self.from_rows = from_rows
        self.working_set = working_set
        self.cache_size = cache_size
        self.pool = Pool(inputs.shape[0], rng)
        self._column: Column | None = None
        self._value = np.inf
        self._out_for_good: list[int] = []  # the basis, and who was found in its span

    @property
    def size(self) -> int:
        """How many basis vectors there are."""
        return self.state.size

    def add(self, index: int) -> float:
        """Append the candidate that was proposed alone."""
        assert self._column is not None
        self.state.append(self._column)
        self._drop(index)
        return self._measure()

    def progress(self) -> float:
        """Return what must fall for the run to go on."""
        progress = self.criterion.progress(self.state)
        return self._value if progress is None else progress

    def close(self) -> None:
        """End what is under way behind the scenes."""

    def _measure(self) -> float:
        self._value = self.criterion.value(self.state)
        return self._value

    def _drop(self, index: int) -> None:
        """Take a candidate out for good."""
        self.pool.remove(np.array([index]))
        self._out_for_good.append(index)

    def _take_inputs(self, index: np.ndarray) -> Array:
        backend = self.state.backend
        return backend.xp.take(self.inputs, backend.integers(index), axis=0)

    def _one(self, index: int) -> Candidates:
        """Return one candidate with its rows, in a form that can be relied on."""
        row = self.inputs[index, :]
        one = evaluate_one(self.state, index, row, from_rows=self.from_rows)
        if one.unreliable(self.state.backend):
            self._to_stable_form()
            one = evaluate_one(self.state, index, row, from_rows=self.from_rows)
        return one

    def _repair(self) -> None:
        """Compute the state anew if rounding has taken too much of it."""
        if self.state.drifted:
            self.state.rebuild()

    def _to_stable_form(self) -> None:
        """From now on keep V, and evaluate candidates in the form that loses fewer digits."""
        self.state.store_v()

    def _propose_alone(self, index: int, score: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Propose one candidate, unless it is numerically in the span of the basis."""
        one = self._one(index)
        if one.dependent(self.state.backend)[0]:
            self._drop(index)
            return None
        self._column = one.column(0)
        return one.index, np.array([score])


class RandomSelector(SparseSelector):
    """Any candidate, at random."""

    def propose(self) -> tuple[np.ndarray, np.ndarray]:
        """Propose one random candidate that is not in the span of the basis."""
        self._repair()
        while len(self.pool):
            proposal = self._propose_alone(int(self.pool.draw(1)[0]), 0.0)
            if proposal is not None:
                return proposal
        return NOTHING


class InformationSelector(SparseSelector):
    """The row of the largest information gain, all rows considered."""

    criterion: InformationGain

    def propose(self) -> tuple[np.ndarray, np.ndarray]:
        """Propose the best row that is not in the span of the basis."""
        self._repair()
        gains = self.state.rows.concatenate(lambda block: self.criterion.gains(self.state, block))
        members = self.pool.members
        scores = to_numpy(gains)[members]
        for place in np.lexsort((members, scores)):
            proposal = self._propose_alone(int(members[place]), -float(scores[place]))
            if proposal is not None:
                return proposal
        return NOTHING


class PursuitSelector(SparseSelector):
    """Matching pursuit with its cache of kernel rows."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._rows: KernelRowCache | None = None
        self._fresh = self.working_set or CHUNK

    def propose(self) -> tuple[np.ndarray, np.ndarray]:
        """Propose the candidate of the largest decrease (8) among those whose rows are held."""
        self._repair()
        while True:
            index, scores = self._score_all() if self.working_set is None else self._score_held()
            if len(index) == 0:
                return NOTHING
            for place in np.lexsort((index, scores)):
                proposal = self._propose_alone(int(index[place]), float(scores[place]))
                if proposal is not None:
                    return proposal
                if self._rows is not None:
                    self._replace(np.array([place]), 1)
                    break

    def add(self, index: int) -> float:
        """Append the proposed candidate; the worst rows make room for fresh ones."""
        value = super().add(index)
        if self._rows is not None:
            count = min(self._fresh, len(self.pool))
            winner = np.flatnonzero(self._rows.index == index)
            worst = np.argsort(-self._held_scores, kind="stable")
            worst = worst[worst != winner[0]][: max(count - 1, 0)]
            self._replace(np.concatenate([winner, worst]), count)
        return value

    def _score_held(self) -> tuple[np.ndarray, np.ndarray]:
        if self._rows is None:
            capacity = min(max(self.cache_size, self._fresh), len(self.pool))
            self._rows = KernelRowCache(self.state, max(capacity, 1))
            self._replace(np.empty(0, dtype=np.intp), capacity)
        if len(self._rows.index) == 0:
            return NOTHING
        self._held_scores = self._scores(self._rows.index, *self._rows.products(self.state))
        return self._rows.index, self._held_scores

    def _replace(self, drop: np.ndarray, count: int) -> None:
        """Drop some rows; as many fresh ones come as are to be had."""
        assert self._rows is not None
        fresh = self.pool.draw(count)
        self.pool.put_back(np.setdiff1d(self._rows.index[drop], self._out_for_good))
        self.pool.remove(fresh)
        drop = drop[np.argsort(drop, kind="stable")]
        self._rows.replace(self.state, drop, fresh, self._take_inputs(fresh))

    def _score_all(self) -> tuple[np.ndarray, np.ndarray]:
        members = self.pool.members
        scores = np.empty(len(members))
        for start in range(0, len(members), CHUNK):
            part = slice(start, start + CHUNK)
            chunk = KernelRowCache(self.state, len(members[part]))
            nobody = np.empty(0, dtype=np.intp)
            chunk.replace(self.state, nobody, members[part], self._take_inputs(members[part]))
            scores[part] = self._scores(members[part], *chunk.products(self.state))
        return members, scores

    def _scores(self, index: np.ndarray, product: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Return (8) with a minus sign."""
        state = self.state
        inputs = self._take_inputs(index)
        wide = state.backend.xp.astype(inputs, state.backend.float64, copy=False)
        prior = to_numpy(state.kernel.diag(wide))
        if self.from_rows:
            fit = state.rows.gather("fit", index) / state.rows.gather("scale", index)[:, None]
        else:
            alpha = state.G.solve_transposed(state.L_B.solve_transposed(state.w))
            fit = kernel_with_basis(state, inputs) @ alpha
        numerator = np.sum((product - fit) ** 2, axis=1)
        return -0.5 * state.noise_variance * numerator / (prior + squares)


@dataclass
class _Batch:
    """Fresh candidates, and their kernel rows if somebody is at work on them."""

    index: np.ndarray
    inputs: Array
    buffers: list[Array] = field(default_factory=list)
    rows: Background | None = None


class PrefitSelector(SparseSelector):
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

    def propose(self) -> tuple[np.ndarray, np.ndarray]:
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
        for batch in batches:
            self._fresh = self._evaluate(batch)
            self._upcoming = self._prepare_next()
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
        index = self.pool.members if size is None else self.pool.draw(size)
        chunks = [index[i : i + CHUNK] for i in range(0, len(index), CHUNK)]
        return [_Batch(chunk, self._take_inputs(chunk)) for chunk in chunks]

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
        for block, buffer in zip(self.state.rows.blocks, batch.buffers, strict=True):
            rows = block.cross(inputs)
            for line, place in enumerate(gone):
                buffer[int(place), :] = rows[line, :]

    def _prepare_next(self) -> _Batch | None:
        """Draw the next step's candidates and begin to compute their kernel rows.

        Where few are left they are drawn when their step comes, for then it matters who exactly
        has left the pool and who has come back to it.
        """
        size = self.working_set
        if size is None or size > CHUNK or len(self.pool) < 3 * size + self.cache.capacity:
            return None
        index = self.pool.draw(size)
        batch = _Batch(index, self._take_inputs(index))
        batch.buffers = self._spare_buffers(len(index))
        batch.rows = fill_kernel_rows(self.state, batch.inputs, batch.buffers)
        return batch

    def _spare_buffers(self, count: int) -> list[Array]:
        """Return the base buffers that the present candidates are not in."""
        self._base_buffers.reverse()
        buffers = self._base_buffers[0]
        if not buffers or buffers[0].shape[0] <= count:
            buffers = self._base_buffers[0] = make_buffers(self.state, count + 1)
        return buffers

    def _evaluate(self, batch: _Batch) -> Candidates:
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
        """Return the winner's rows: those at hand if they are fresh and much is left of it.

        A cached candidate's rows carry the rounding of all their updates: good enough to score
        it, but what enters the basis is computed afresh.
        """
        if self._fresh is not None:
            place = np.flatnonzero(self._fresh.index == index)
            if np.any(self._fresh.e2[place] > 1e-6 * self._fresh.prior[place]):
                return self._fresh.column(int(place[0]))
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


def make_selector(state: SparseState, criterion: Criterion, **options) -> SparseSelector:
    """Return the selector that goes with a criterion."""
    kinds = {
        "random": RandomSelector,
        "info_gain": InformationSelector,
        "matching_pursuit": PursuitSelector,
    }
    return kinds.get(criterion.name, PrefitSelector)(state, criterion, **options)
