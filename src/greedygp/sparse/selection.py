"""The sparse family's use of the greedy loop: who proposes candidates, which basis comes out.

Four ways to propose, by how a criterion scores:

* :class:`RefittingSelector`: candidates are tried with all coefficients refitted (`nlpp`, `nlml`,
  `loo_cve`, `nlgpp`, `gpe`), O(nm) for a fresh one, O(n) for a cached one (`refitting.py`);
* :class:`PursuitSelector`: only the candidate's own coefficient moves (`matching_pursuit`), O(n)
  (`pursuit.py`);
* :class:`InformationSelector`: O(1) for every row (`info_gain`);
* :class:`RandomSelector`.

What they share is in `forward.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.data import TrainingData
from greedygp.greedy import Path, Stopping, first_lowest, run
from greedygp.sparse.criteria import Criterion, InformationGain, MatchingPursuit, Random
from greedygp.sparse.forward import NOTHING, SparseSelector
from greedygp.sparse.pursuit import PursuitSelector
from greedygp.sparse.refitting import RefittingSelector
from greedygp.sparse.state import SparseState

__all__ = ["Selected", "make_selector", "select"]


@dataclass
class Selected:
    """A basis that was selected: its inputs (m, D), their places, and how it came about.

    Places are among the rows that are used or, not `from_rows`, among the user's candidates. The
    state is that of the whole path, which may be longer than the basis.
    """

    basis: Array
    indices: list[int]
    path: Path
    state: SparseState | None = None
    from_rows: bool = True

    def among_all(self, part: TrainingData) -> Selected:
        """Return the same where the rows were a part of all, with places among all of them."""
        if not self.from_rows:
            return self
        indices = part.original_places(np.array(self.indices, dtype=np.int64))
        path = self.path.elsewhere(part.original_places)
        return replace(self, indices=indices.tolist(), path=path)

    def is_poorer_than(self, other: Selected) -> bool:
        """Whether it was cut short, and is no match for one that was not."""
        late = self.path.reason == "time_limit" and 2 * len(self.indices) < len(other.indices)
        return self.path.broken_off or late


def select(
    selector: SparseSelector, stopping: Stopping, watch: Callable[[Path], bool] | None = None
) -> Selected:
    """Run the loop, and return the basis that it goes back to."""
    try:
        path = run(selector, stopping, watch)
    finally:
        selector.close()
    state, size = selector.state, path.size
    return Selected(state.basis[:size, :], state.indices[:size], path, state, selector.from_rows)


class RandomSelector(SparseSelector):
    """Any candidate, at random."""

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
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

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Propose the best row that is not in the span of the basis."""
        self._repair()
        gains = self.state.rows.concatenate(lambda block: self.criterion.gains(self.state, block))
        index = np.arange(self.inputs.shape[0])
        scores = np.where(self.pool.holds(index), to_numpy(gains), np.inf)
        while len(self.pool):
            best = first_lowest(index, scores)
            proposal = self._propose_alone(best, -float(scores[best]))
            if proposal is not None:
                return proposal
            scores[best] = np.inf
        return NOTHING


SELECTORS: dict[type[Criterion], type[SparseSelector]] = {
    Random: RandomSelector,
    InformationGain: InformationSelector,
    MatchingPursuit: PursuitSelector,
}


def make_selector(state: SparseState, criterion: Criterion, **options) -> SparseSelector:
    """Return the selector that goes with a criterion."""
    return SELECTORS.get(type(criterion), RefittingSelector)(state, criterion, **options)
