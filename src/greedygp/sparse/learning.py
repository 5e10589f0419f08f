"""The schedule of learning: rounds of selecting a basis and optimising for it.

A round selects a basis with the present hyperparameters, then improves the hyperparameters for
that basis by the objective's gradient (L-BFGS, warm-started where the last round ended). With
`refine_basis` the last round moves the basis inputs, too, together with the hyperparameters; the
rounds before it are short and take a random basis, because they only prepare it. The best model by
the objective is kept, and when a round does not improve on the one before, no more are made.

In the round that refines, several ways to learn may be tried for a few iterations. The bound
does not over-fit, and has the better mean where there is noise; but it takes for noise what a small
basis cannot explain. Only there the leave-one-out density is far better, and goes on
(`tries_bound`): with FITC or DTC, which spend a basis differently, by what left-out rows say. The
second of these branches off from the first. Where there are many rows, this and the iterations that
follow see a part of them only (`fewer_rows.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from greedygp.arrays import to_numpy
from greedygp.data import TrainingData
from greedygp.hyperparameters import Point, rescaled
from greedygp.minimise import Minimum
from greedygp.rounds import ROUND_TOL, Learnt, Round
from greedygp.sparse.checkpoint import NoFitCheckpoint
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.passes import StreamedObjective
from greedygp.sparse.search import BOUND, Schedule, Search, Watch
from greedygp.sparse.selection import Selected
from greedygp.widening import widened

__all__ = ["TRIAL_ITERATIONS", "Learner", "Schedule", "SparseLearnt"]

PREPARING_ITERATIONS = 20  # of the rounds before the one that refines
TRIAL_ITERATIONS = 15  # of each way to learn, where they are compared
BRANCH_ITERATIONS = 3  # of each approximation, after the trial of the first one
TRIAL_MARGIN = 0.003  # nats per row by which another approximation than the first must be better
FEWEST_ITERATIONS = 20  # before it is looked at how much they gain, where nothing is compared
EARLY_ITERATIONS = 30  # among the first of several parts of the rows, at most half of `max_iter`
EARLY_SHARE = 0.4  # of the time that is left, for each search among a part of the rows
SHORT_WINDOW = 5  # iterations that may gain too little, where others have gone before
LOST = 3.0  # times the noise of the start: the bound may have taken structure for noise
BOUND_MARGIN = 0.1  # nats per row of leave-one-out density for which the bound is given up


@dataclass(kw_only=True)
class SparseLearnt(Learnt[Point]):
    """The best model that learning has seen, the basis it was selected with, whether that moved."""

    selected: Selected
    objective: str | None = None  # what it was learnt by
    refined: bool = False
    widening: float = 1.0  # what kernel and noise were multiplied by after learning


class Learner:
    """Learning in rounds, for each of which the caller selects a basis.

    ::

        while learner.goes_on:
            learner.round(select(learner.point, learner.previous, learner.preparing))
        learnt = learner.result()

    Parameters
    ----------
    data : TrainingData
    schedule : Schedule
    start : Point
        Hyperparameters to begin with.
    file : NoFitCheckpoint, optional
        Where values and gradients are kept.
    parts : sequence of TrainingData
        Parts of the rows to refine among, one after the other, before all of them are seen.
    """

    def __init__(
        self,
        data: TrainingData,
        schedule: Schedule,
        start: Point,
        file: NoFitCheckpoint | None = None,
        parts: Sequence[TrainingData] = (),
    ):
        self.data, self.schedule = data, schedule
        enough = min(EARLY_ITERATIONS, schedule.max_iter // 2) > TRIAL_ITERATIONS
        self.parts = parts if enough else ()
        self.search = Search(data, schedule, file or NoFitCheckpoint())
        self.point = start  # hyperparameters to select the next basis with
        self.previous: Selected | None = None  # the last round's basis
        self.number = 0  # of the round that comes next
        self.goes_on = True
        self.best: SparseLearnt | None = None
        self.stopped = False  # somebody asked for the end

    @property
    def objective(self) -> SparseObjective | StreamedObjective:
        """The objective that is learnt by; when learning has ended its state is the best model."""
        return self.search.objective

    @property
    def refining(self) -> bool:
        """Whether the next round moves the basis inputs."""
        return self.schedule.refine_basis and self.number + 1 == self.schedule.rounds

    @property
    def preparing(self) -> bool:
        """Whether the next round only prepares one that moves the basis inputs."""
        return self.schedule.refine_basis and not self.refining

    def round(self, selected: Selected, watch: Watch = None) -> None:
        """Optimise for a basis, and keep the result if it is the best so far.

        `watch` is called with the best point and its value after every iteration; a true result
        ends learning.
        """
        best = self.best
        if best is not None and selected.is_poorer_than(best.selected):
            best.interrupted |= selected.path.reason == "interrupted"
            self.stopped, self.goes_on = True, False
            return
        learnt = self._optimised(selected, watch)
        if best is None or learnt.value < best.value or self.refining:
            gain = np.inf if best is None else best.value - learnt.value
            learnt.rounds = ([] if best is None else best.rounds) + learnt.rounds
            self.best = best = learnt
        else:
            gain = 0.0
            best.rounds += learnt.rounds
            best.interrupted = learnt.interrupted
        self.point, self.previous = Point(best.point.kernel, best.point.noise_variance), selected
        self.number += 1
        little = not self.schedule.refine_basis and gain < self.search.nats_per_row * ROUND_TOL
        asked = selected.path.broken_off or self._must_stop(best)
        self.goes_on = not (asked or little or self.number == self.schedule.rounds)

    def result(self) -> SparseLearnt:
        """Return the best model; the objective's state is brought to it.

        Where the objective does not tell a common factor of kernel and noise, it is set here.
        """
        best = self.best
        assert best is not None
        best.converged |= self.stopped
        best.value = self.search.value(best.point)
        if self.parts and best.refined:  # a part of the rows may have had the last word
            best.rounds[-1] = best.rounds[-1]._replace(value=best.value)
        if self.search.kind.tells_scale or not self.schedule.learn_noise:
            return best
        assert self.objective.state is not None
        point = rescaled(best.point, self.objective.loo_scale())
        if point is not None:
            best.point, best.value = point, self.search.value(point)
        return best

    def widen(self, learnt: SparseLearnt) -> None:
        """Give the result the error bars that new rows need, in place, and bring the state to it.

        The value stays what learning ended at.
        """
        if not (self.schedule.learn_noise and any(line.n_iter for line in learnt.rounds)):
            return
        assert self.objective.state is not None
        spent = 0.5 * self.objective.state.degrees_of_freedom if learnt.refined else 0.0
        learnt.point, learnt.widening = widened(learnt.point, self.search.n_values, spent)
        self.search.value(learnt.point)

    def _optimised(self, selected: Selected, watch: Watch) -> SparseLearnt:
        """Return the model that a round finds for a basis."""
        begin, refine, preparing = time.perf_counter(), self.refining, self.preparing
        basis = to_numpy(selected.basis).astype(np.float64)
        self.search.begin(len(basis), guarded=refine)
        start = Point(self.point.kernel, self.point.noise_variance, basis)
        if len(basis) == 0:
            return SparseLearnt(
                point=start,
                selected=selected,
                objective=self.search.kind.name,
                value=self.search.value(start),
                interrupted=selected.path.reason == "interrupted",
            )
        broken_off, max_iter = selected.path.broken_off, self.schedule.max_iter
        if preparing:
            max_iter = min(max_iter, PREPARING_ITERATIONS)
        found = self._found(start, 0 if broken_off else max_iter, watch)
        seconds = time.perf_counter() - begin
        return SparseLearnt(
            point=found.point,
            selected=selected,
            objective=self.search.kind.name,
            value=found.value,
            refined=refine and found.n_iter > 0,
            converged=preparing or found.converged or broken_off,
            interrupted=found.interrupted or selected.path.reason == "interrupted",
            rounds=[
                Round(
                    len(basis),
                    found.first_value,
                    found.value,
                    found.n_iter,
                    seconds,
                    (found.first_value, *found.values),
                )
            ],
        )

    def _found(self, start: Point, max_iter: int, watch: Watch) -> Minimum:
        """Minimise from `start`, in the best of several ways."""
        noted = None if watch is None else lambda point, value: self._noted(watch, point, value)
        search = self.search
        if not (self.refining and max_iter > TRIAL_ITERATIONS):
            share = 1 / 3 if self.preparing else 1.0
            return search.minimise(start, self.refining, max_iter, noted, share)
        if not self.parts:
            return self._begun(start, max_iter, noted)
        with search.among(self.parts[0]):
            found = self._begun(start, min(EARLY_ITERATIONS, max_iter // 2), noted, EARLY_SHARE)
        for part in self.parts[1:]:
            if not self._must_stop(found):
                half = (max_iter - found.n_iter) // 2
                with search.among(part):
                    found = self._gone_on(found, half, noted, EARLY_SHARE)
        if self._must_stop(found):
            return found
        return self._gone_on(found, max_iter - found.n_iter, noted)

    def _begun(self, start: Point, max_iter: int, watch: Watch, share: float = 1.0) -> Minimum:
        """Minimise from `start`, in the best of several ways, until iterations gain too little."""
        search, schedule = self.search, self.schedule
        if schedule.rivals or schedule.tries_bound:
            found = self._best_trial(start, watch)
        else:
            found = search.minimise(start, True, min(FEWEST_ITERATIONS, max_iter), watch, share)
        rest = max_iter - found.n_iter
        if found.converged or rest <= 0 or self._must_stop(found):
            return found
        return found.followed_by(
            search.minimise(found.point, True, rest, watch, share, little=search.little)
        )

    def _gone_on(self, found: Minimum, max_iter: int, watch: Watch, share: float = 1.0) -> Minimum:
        """Go on, among more rows, from where a search among fewer has ended."""
        little = self.search.little
        return found.taken_up_by(
            self.search.minimise(found.point, True, max_iter, watch, share, little, SHORT_WINDOW)
        )

    def _best_trial(self, start: Point, watch: Watch) -> Minimum:
        """Try every way to learn for a few iterations, and stay with the best."""
        search, schedule = self.search, self.schedule
        known: dict[str, Minimum] = {}  # what is known of an approximation
        if schedule.tries_bound:
            bound = self._trial(*BOUND, search.with_more_noise(start), watch)
            loss = search.left_out_loss(bound.point, "dtc") - BOUND_MARGIN
            lost = bound.point.noise_variance > LOST * start.noise_variance
            for name in ("dtc", "fitc") if lost and schedule.rivals else ("dtc",):
                if self._must_stop(bound):
                    break
                rival = known[name] = self._trial(schedule.objective, name, start, watch)
                bound.interrupted |= rival.interrupted
            if all(search.left_out_loss(r.point, name) > loss for name, r in known.items()):
                search.judge_by(*BOUND)
                return bound
            if self._must_stop(bound):  # no time for more trials
                chosen = min(known, key=lambda name: known[name].value)
                known[chosen].interrupted |= bound.interrupted
                search.judge_by(schedule.objective, chosen)
                return known[chosen]
        return self._best_approximation(start, known, watch)

    def _best_approximation(self, start: Point, known: dict[str, Minimum], watch: Watch) -> Minimum:
        """Try the approximations, of some of which the trials are known; stay with the best.

        The others branch off where the first one's trial has ended, with what it has learnt of the
        curvature.
        """
        search, schedule = self.search, self.schedule
        chosen = schedule.approximation
        best = trunk = known.get(chosen) or self._trial(schedule.objective, chosen, start, watch)
        rivals: dict[str, Minimum] = {}
        for name in schedule.rivals:
            if self._must_stop(trunk):
                break
            rivals[name] = known.get(name) or self._branch(name, trunk, watch)
            trunk.interrupted |= rivals[name].interrupted
        if rivals.keys() - known.keys() and not self._must_stop(trunk):
            best = self._branch(chosen, trunk, watch)
        for name, rival in rivals.items():
            if rival.value < best.value - TRIAL_MARGIN * search.nats_per_row:
                rival.interrupted |= best.interrupted
                best, chosen = rival, name
        search.judge_by(schedule.objective, chosen)
        return best

    def _branch(self, approximation: str, trunk: Minimum, watch: Watch) -> Minimum:
        """Go on from the end of a trial for a few iterations, perhaps by another approximation."""
        self.search.branch_off(self.schedule.approximation, approximation)
        few = min(BRANCH_ITERATIONS, self.schedule.max_iter - trunk.n_iter)
        found = self.search.minimise(trunk.point, True, few, watch, 0.2)
        return replace(
            found,
            first_value=trunk.first_value,
            n_iter=trunk.n_iter + found.n_iter,
            values=trunk.values + found.values,
        )

    def _trial(self, objective: str, approximation: str, start: Point, watch: Watch) -> Minimum:
        """Learn in one way for a few iterations, in a part of the time that is left."""
        self.search.judge_by(objective, approximation)
        return self.search.minimise(start, True, TRIAL_ITERATIONS, watch, 0.2)

    def _must_stop(self, found: SparseLearnt | Minimum) -> bool:
        """Tell whether time is up, or somebody wants to stop."""
        return self.stopped or found.interrupted or self.schedule.deadline.passed

    def _noted(self, watch: Callable[[Point, float], bool], point: Point, value: float) -> bool:
        if self.objective.state is not None:  # else a file has told what is known
            self.stopped = bool(watch(point, value))
        return self.stopped
