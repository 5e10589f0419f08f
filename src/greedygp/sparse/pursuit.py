"""Matching pursuit: only the new coefficient moves, so a candidate with its kernel row costs O(n).

The rows of some candidates are held from step to step (section 3 of Keerthi and Chu); the worst of
them make room for fresh ones. A run begins with random candidates, in later rounds of learning with
the last round's basis (section 4). Where inputs have many columns, rows that were discarded stay at
hand in an extra cache, as far as a fixed amount of memory reaches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.sparse.candidates import kernel_with_basis
from greedygp.sparse.forward import CHUNK, NOTHING, SparseSelector
from greedygp.sparse.pool import KernelRowCache

__all__ = ["PursuitSelector"]

# Discarded kernel rows are kept where they are slower to evaluate than to copy, in so much memory.
SPARE_FROM_FEATURES, SPARE_BYTES = 100, 2**26


class PursuitSelector(SparseSelector):
    """Matching pursuit with its cache of kernel rows."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._rows: KernelRowCache | None = None
        self._fresh = self.working_set or CHUNK

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
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
            self._rows = KernelRowCache(self.state, max(capacity, 1), self._spare(capacity))
            self._begin(capacity)
        if len(self._rows.index) == 0:
            return NOTHING
        self._held_scores = self._scores(self._rows.index, *self._rows.products(self.state))
        return self._rows.index, self._held_scores

    def _spare(self, capacity: int) -> int:
        """Return how many discarded rows are held: those of all others, or what memory allows."""
        if self.inputs.shape[1] < SPARE_FROM_FEATURES:
            return 0
        return min(len(self.pool) - capacity, SPARE_BYTES // (8 * self.state.rows.n_rows))

    def _begin(self, capacity: int) -> None:
        """Fill the cache: with the favourites, then at random."""
        seeds = self.favourites[:capacity]
        self.pool.remove(seeds)
        nobody = np.empty(0, dtype=np.intp)
        assert self._rows is not None
        self._rows.replace(self.state, nobody, seeds, self._take_inputs(seeds))
        self._replace(nobody, capacity - len(seeds))

    def _replace(self, drop: np.ndarray, count: int) -> None:
        """Drop some rows; as many fresh ones come as are to be had."""
        assert self._rows is not None
        fresh = self.pool.draw(count)
        dropped = np.sort(self._rows.index[drop])
        self.pool.put_back(dropped[~self._out_for_good[dropped]])
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

    def _scores(self, index: np.ndarray, product: Array, squares: np.ndarray) -> np.ndarray:
        """Return (8) with a minus sign."""
        state, rows = self.state, self.state.rows
        inputs = self._take_inputs(index)
        prior = state.kernel.diag(state.backend.as_float64(inputs))
        if self.from_rows:
            fit = rows.lines(lambda block: block.fit, index)
            fit = fit / rows.lines(lambda block: block.scale, index)[:, None]
        else:
            alpha = state.G.solve_transposed(state.L_B.solve_transposed(state.w))
            fit = state.backend.asarray(
                kernel_with_basis(state, inputs) @ alpha, state.backend.float64
            )
        product, fit, prior = state.backend.to_host(product, fit, prior)
        numerator = np.sum((product - fit) ** 2, axis=1)
        return -0.5 * state.noise_variance * numerator / (prior + squares)
