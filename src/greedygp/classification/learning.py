"""The schedule of learning: rounds of selecting a basis and optimising for it (Algorithm 1).

A round improves kernel and bias for the basis of the round before by the objective's gradient
(L-BFGS), with the basis and its sites held fixed, and then selects a basis anew. The best model by
the objective is kept, and when a round gains nothing, no more are made.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedygp.classification.objectives import Basis, evaluate
from greedygp.classification.points import Evaluation, Point, moving_parts
from greedygp.classification.prior import Prior
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Path
from greedygp.minimise import minimise
from greedygp.progress import NEVER, Deadline

__all__ = ["Learnt", "Schedule", "broken_off", "learn"]

ROUND_FIELDS = np.dtype(
    [
        ("n_basis", np.int64),
        ("value_before", np.float64),
        ("value", np.float64),
        ("n_iter", np.int64),
        ("seconds", np.float64),
    ]
)
ROUND_TOL = 1e-4  # nats a row that a round must gain for another one to follow
OPTIMISER_TOL = 1e-7


@dataclass(frozen=True)
class Schedule:
    """What is learnt and how long; see the parameters of `SparseGPClassifier`."""

    objective: str
    rounds: int
    max_iter: int
    tied: bool
    learn_bias: bool = True
    prior: Prior | None = None
    deadline: Deadline = NEVER

    def objective_of(self, state: ClassificationState) -> Callable[[Point], Evaluation]:
        """Return what is minimised with the basis of a state and its sites held fixed."""
        basis = Basis.of(state)

        def objective(point: Point) -> Evaluation:
            return evaluate(self.objective, point.kernel, point.bias, basis)

        if self.prior is None:
            return objective
        return self.prior.added_to(objective, float(np.sum(state.mass)))


@dataclass
class Learnt:
    """The best model that learning has seen."""

    point: Point
    state: ClassificationState
    path: Path
    value: float
    converged: bool = True
    interrupted: bool = False
    rounds: list[tuple] = field(default_factory=list)

    @property
    def broken_off(self) -> bool:
        """Whether somebody, or the clock, asked for the fit to end."""
        return self.interrupted or broken_off(self.path)

    def rounds_array(self) -> np.ndarray:
        """Return a structured array, one line a round."""
        return np.array(self.rounds, dtype=ROUND_FIELDS)


def learn(
    schedule: Schedule,
    start: Point,
    select: Callable[[Point], tuple[ClassificationState, Path]],
    watch: Callable[[int, Point, float], bool] | None = None,
) -> Learnt:
    """Alternate selection and optimisation.

    Parameters
    ----------
    schedule : Schedule
    start : Point
    select : callable
        Gives the state, its sites settled, and the path of a selection at a point.
    watch : callable, optional
        Called with the round, the best point and its value after every iteration of the optimiser;
        a true result ends the fit.
    """
    state, path = select(start)
    if state.size == 0:
        return Learnt(start, state, path, np.nan)
    best = Learnt(start, state, path, _value(state, schedule))
    point, value = start, best.value
    for number in range(schedule.rounds):
        begin, before = time.perf_counter(), value
        if broken_off(path) or schedule.deadline.passed:
            break
        found, asked_to_stop = _optimise(number, state, point, schedule, watch)
        best.interrupted, best.converged = found.interrupted, found.converged
        if found.interrupted or asked_to_stop:
            break
        point = found.point
        state, path = select(point)
        if state.size == 0:
            break
        value = _value(state, schedule)
        best.rounds.append((state.size, before, value, found.n_iter, time.perf_counter() - begin))
        if value < best.value and not (broken_off(path) and state.size < best.state.size):
            best.point, best.state, best.path, best.value = point, state, path, value
        if before - value < ROUND_TOL:
            break
    return best


def _optimise(
    number: int, state: ClassificationState, point: Point, schedule: Schedule, watch: Any
) -> tuple[Any, bool]:
    """Improve kernel and bias with basis and sites held fixed; tell whether to end the fit."""
    asked_to_stop = False
    coordinates = moving_parts(point, bias=schedule.learn_bias, tied=schedule.tied)
    objective = schedule.objective_of(state)

    def after_iteration(at: Any, value: float) -> bool:
        nonlocal asked_to_stop
        asked_to_stop = watch is not None and watch(number, at, value)
        return asked_to_stop

    found = minimise(
        objective,
        coordinates,
        max_iter=schedule.max_iter,
        factor=float(np.sum(state.mass)),
        tol=OPTIMISER_TOL,
        deadline=schedule.deadline,
        watch=after_iteration,
    )
    return found, asked_to_stop


def _value(state: ClassificationState, schedule: Schedule) -> float:
    return schedule.objective_of(state)(Point(state.kernel, state.bias)).value


def broken_off(path: Path) -> bool:
    """Tell whether somebody, or the clock, ended a selection."""
    return path.reason in ("interrupted", "callback", "time_limit")
