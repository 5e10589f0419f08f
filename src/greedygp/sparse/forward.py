"""Forward selection of a basis: what every way of proposing candidates shares.

A :class:`SparseSelector` is the model that the greedy loop drives: a pool of candidates, the state
that grows by one of them at a time, and what to do with candidates in the span of the basis. How
candidates are found and scored is said by its subclasses (`selection.py` lists them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.greedy import ForwardSelection
from greedygp.sparse.candidates import (
    Candidates,
    dependence_tolerance,
    evaluate_one,
    kernel_with_basis,
)
from greedygp.sparse.criteria import Criterion
from greedygp.sparse.pool import Pool
from greedygp.sparse.state import Column, SparseState

__all__ = ["CHUNK", "NOTHING", "SparseSelector"]

NOTHING = (np.empty(0, dtype=np.intp), np.empty(0))
CHUNK = 256  # candidates evaluated together at most
SPAN_CHUNK = 4096  # candidates compared with the basis alone at most


class SparseSelector(ForwardSelection):
    """What all selectors share.

    The state is not taken back to the best size: that would cost O(n m^2), and whoever wants the
    basis (`Path.size` tells how much of it) computes the model anew anyway.

    Parameters
    ----------
    state : SparseState
    criterion : Criterion
    inputs : (N, D) row array
        Where the candidates are: the training rows, or the user's array.
    from_rows : bool
        Whether `inputs` are the training rows.
    working_set : int or None
        Fresh candidates in each step; None: all that are left.
    cache_size : int
    rng : numpy.random.Generator
    favourites : sequence of int
        The basis of the round before, where that was selected, too. Selectors with a cache begin
        with it.
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
        favourites: Sequence[int] = (),
    ):
        self.state = state
        self.criterion = criterion
        self.inputs = inputs
        self.from_rows = from_rows
        self.working_set = working_set
        self.cache_size = cache_size
        self.favourites = np.asarray(favourites, dtype=np.intp)
        self.pool = Pool(inputs.shape[0], rng)
        self._column: Column | None = None
        self._looked_at_size = -1
        self._out_for_good = np.zeros(inputs.shape[0], dtype=bool)  # the basis, and its span

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

    @property
    def progress(self) -> float:
        """What must fall for the run to go on."""
        progress = self.criterion.progress(self.state)
        return self.value if progress is None else progress

    def close(self) -> None:
        """End what is under way behind the scenes."""

    def _measure(self) -> float:
        return self.criterion.value(self.state)

    def _drop(self, index: int) -> None:
        """Take a candidate out for good."""
        self.pool.remove(np.array([index]))
        self._out_for_good[index] = True

    def _take_inputs(self, index: np.ndarray) -> Array:
        return self.state.backend.take(self.inputs, index)

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
            self._drop_spanned()
            return None
        self._column = one.column(0)
        return one.index, np.array([score])

    def _drop_spanned(self) -> None:
        """Take out everybody who is in the span of the basis: where one is, there are many.

        In O(N m^2) for all of them, once in each step; one by one, each would cost O(n m).
        """
        state = self.state
        if self._looked_at_size == state.size:
            return
        self._looked_at_size = state.size
        tolerance = dependence_tolerance(state.backend)
        members = self.pool.members
        for start in range(0, len(members), SPAN_CHUNK):
            index = members[start : start + SPAN_CHUNK]
            inputs = self._take_inputs(index)
            nu = state.G.solve_rows(kernel_with_basis(state, inputs))
            prior = to_numpy(state.kernel.diag(state.backend.as_float64(inputs)))
            spanned = index[prior - np.sum(nu * nu, axis=1) <= tolerance * prior]
            self.pool.remove(spanned)
            self._out_for_good[spanned] = True
