"""Learning in rounds: select a basis, optimise the hyperparameters for it, and select again.

The sparse families alternate in this way. What they have in common is here: the record of a round,
the record of the best model seen so far, and the tolerances. The order of events, and which model
is the best, is each family's own (`learning.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

__all__ = ["OPTIMISER_TOL", "ROUND_TOL", "Learnt", "Round", "trace_of"]

ROUND_TOL = 1e-4  # nats per row that a round must gain for another one to follow
OPTIMISER_TOL = 1e-7  # relative improvement of the sum over rows below which a search has converged

P = TypeVar("P")


class Round(NamedTuple):
    """What happened in one round of learning; the fields of an estimator's `rounds_`."""

    n_basis: int
    value_before: float
    value: float
    n_iter: int
    seconds: float
    trace: tuple[float, ...] = ()  # the objective at the start and after each iteration


FIELDS = np.dtype(
    [
        ("n_basis", np.int64),
        ("value_before", np.float64),
        ("value", np.float64),
        ("n_iter", np.int64),
        ("seconds", np.float64),
    ]
)
TRACE_FIELDS = np.dtype([("round", np.int64), ("iteration", np.int64), ("value", np.float64)])


@dataclass(kw_only=True)
class Learnt(Generic[P]):
    """The best model that learning has seen, and what happened in each round.

    A family adds what else it keeps of a model: its basis, its state.
    """

    point: P
    value: float
    converged: bool = True
    interrupted: bool = False
    rounds: list[Round] = field(default_factory=list)

    def rounds_array(self) -> np.ndarray:
        """Return the rounds as a structured array."""
        return np.array([line[:-1] for line in self.rounds], dtype=FIELDS)

    def trace_array(self) -> np.ndarray:
        """Return the objective at the start of each round and after each of its iterations."""
        return trace_of([line.trace for line in self.rounds])


def trace_of(rounds: Sequence[Sequence[float]]) -> np.ndarray:
    """Return the values of each round's iterations as a structured array."""
    lines = [
        (number, iteration, value)
        for number, values in enumerate(rounds)
        for iteration, value in enumerate(values)
    ]
    return np.array(lines, dtype=TRACE_FIELDS)
