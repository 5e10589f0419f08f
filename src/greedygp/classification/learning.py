"""The schedule of learning: rounds of selecting a basis and optimising for it (Algorithm 1).

A round improves kernel and bias for the basis of the round before by the objective's gradient
(L-BFGS), with the basis and its sites held fixed, and then selects a basis anew. The best model by
the objective is kept, and when a round gains nothing, no more are made. The first selection finds
out which criterion serves best; the later ones select by that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint, moving_parts
from greedygp.classification.objectives import Basis, Objective
from greedygp.classification.selection import BasisSelector, Selected
from greedygp.classification.stages import ClassStages
from greedygp.classification.state import ClassificationState
from greedygp.minimise import Minimum, minimise
from greedygp.prior import KernelPrior
from greedygp.progress import NEVER, Deadline
from greedygp.rounds import ROUND_TOL, Learnt, Round

__all__ = ["LearntClassifier", "Schedule", "learn"]

# Chance alone gives and takes a nat over all rows: less is not worth another basis. Of few rows a
# nat is much; there it is so many nats per row.
GAIN, GAIN_PER_ROW = 1.0, 1e-3
SEARCH_TOL = 1e-4  # relative improvement of the sum over rows; another basis changes more than that


@dataclass(frozen=True)
class Schedule:
    """What is learnt and how long; see the parameters of `SparseGPClassifier`."""

    objective: Objective
    rounds: int
    max_iter: int
    tied: bool
    learn_bias: bool = True
    prior: KernelPrior | None = None
    deadline: Deadline = NEVER

    def objective_of(self, state: ClassificationState) -> Callable[[LatentPoint], LatentEvaluation]:
        """Return what is minimised with the basis of a state and its sites held fixed."""
        objective = partial(self.objective.evaluate, basis=Basis.of(state))
        return objective if self.prior is None else self.prior.added_to(objective, state.data.total)

    def value(self, state: ClassificationState) -> float:
        """Return the objective of a model; NaN where it has no basis."""
        return self.objective_of(state)(state.point).value if state.size else np.nan


@dataclass(kw_only=True)
class LearntClassifier(Learnt[LatentPoint]):
    """The best two-class model that learning has seen: its hyperparameters, basis and sites."""

    selected: Selected

    @property
    def cut_short(self) -> bool:
        """Whether somebody, or the clock, asked for the fit to end."""
        return self.was_interrupted or self.selected.path.cut_short

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit, in whatever stage."""
        return self.interrupted or self.selected.path.reason == "interrupted"


def learn(
    schedule: Schedule, start: LatentPoint, selector: BasisSelector, stages: ClassStages
) -> LearntClassifier:
    """Alternate selection and optimisation.

    Parameters
    ----------
    schedule : Schedule
    start : LatentPoint
    selector : BasisSelector
    stages : ClassStages
        Told of every iteration of the optimiser.
    """
    selected = selector.select(start)
    value = schedule.value(selected.state)
    best = LearntClassifier(point=start, value=value, selected=selected)
    try:
        _rounds(schedule, best, selector, stages)
    except KeyboardInterrupt:
        best.interrupted = True
    return best


def _rounds(
    schedule: Schedule, best: LearntClassifier, selector: BasisSelector, stages: ClassStages
) -> None:
    """Make the best model better, in place, round by round."""
    selected, value = best.selected, best.value
    least = max(ROUND_TOL, min(GAIN_PER_ROW, GAIN / max(selected.state.data.total, 1.0)))
    for _ in range(schedule.rounds):
        begin, before = time.perf_counter(), value
        if selected.state.size == 0 or selected.path.cut_short or schedule.deadline.passed:
            break
        found, asked_to_stop = _optimise(selected.state, schedule, stages)
        best.interrupted, best.converged = found.interrupted, found.converged
        if found.interrupted or asked_to_stop or before - found.value < least:
            break
        selected = selector.select(found.point, selected.criterion)
        best.interrupted = selected.path.reason == "interrupted"
        if selected.state.size == 0:
            break
        value, size = schedule.value(selected.state), selected.state.size
        seconds, trace = time.perf_counter() - begin, (found.first_value, *found.values)
        best.rounds.append(Round(size, before, value, found.n_iter, seconds, trace))
        incomplete = selected.path.cut_short and size < best.selected.state.size
        if value < best.value and not incomplete:
            best.point, best.selected, best.value = found.point, selected, value
        if before - value < least:
            break


def _optimise(
    state: ClassificationState, schedule: Schedule, stages: ClassStages
) -> tuple[Minimum[LatentPoint], bool]:
    """Improve kernel and bias with basis and sites held fixed; tell whether to end the fit."""
    stage = stages.later("optimise", schedule.max_iter, state)
    asked_to_stop = False

    def after_iteration(point: LatentPoint, value: float) -> bool:
        nonlocal asked_to_stop
        asked_to_stop = stage.step("iteration")
        return asked_to_stop

    found = minimise(
        schedule.objective_of(state),
        moving_parts(state.point, bias=schedule.learn_bias, tied=schedule.tied),
        max_iter=schedule.max_iter,
        factor=state.data.total,
        tol=SEARCH_TOL,
        deadline=schedule.deadline,
        watch=after_iteration,
        keep_if_interrupted=True,
    )
    return found, asked_to_stop
