"""The schedule of learning: rounds of selecting a basis and optimising for it.

A round selects a basis with the present hyperparameters, then improves the hyperparameters for
that basis by the objective's gradient (L-BFGS, warm-started where the last round ended). With
`refine_basis` the last round moves the basis inputs, too, together with the hyperparameters; the
rounds before it are short and take a random basis, because they only prepare it. The best model by
the objective is kept, and when a round does not improve on the one before, no more are made.

The leave-one-out measures do not know that the basis inputs were moved to please them: with m D
free numbers and not many more rows, or with noise that varies over the inputs, they can be lowered
by letting the noise vanish and the unexplained prior variance imitate the size of each row's
residual. The guard, `guard * mean(log(1 + (k - q) / s2))`, makes that expensive while inputs move.
It weighs more, the more free numbers there are for each row. The ablation in `docs/results` shows
what it is worth.

DTC and FITC spend a basis differently: where the noise varies over the inputs FITC predicts better,
where it is small and even DTC does. Before the round that refines, both may be tried for a few
iterations; the objective says which of them goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.coordinates import Coordinates
from greedygp.data import TrainingData, mean_variance
from greedygp.hyperparameters import Point, moving_parts, rescaled
from greedygp.kernels import Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline
from greedygp.rounds import OPTIMISER_TOL, ROUND_TOL, Learnt, Round
from greedygp.sparse.loo import loo_scale
from greedygp.sparse.objectives import OBJECTIVES, SparseObjective
from greedygp.sparse.selection import Selected

__all__ = ["TRIAL_ITERATIONS", "Learner", "Schedule", "SparseLearnt"]

REACH = 100.0  # the largest factor by which a round may change a kernel parameter
MARGIN = 0.1  # how far beyond the data basis inputs may go, in units of a feature's range
PREPARING_ITERATIONS = 20  # of the rounds before the one that refines
TRIAL_ITERATIONS = 15  # of each approximation, where they are compared
TRIAL_MARGIN = 0.003  # nats per row by which another approximation than the first must be better
GUARD_GROWTH = 10.0  # how fast the guard's weight rises with m D / n

Watch = Callable[[Point, float], bool] | None


@dataclass(frozen=True)
class Schedule:
    """What is learnt and how long; see the parameters of `SparseGPRegressor`."""

    objective: str
    approximation: str
    rounds: int
    max_iter: int
    refine_basis: bool
    guard: float
    rivals: tuple[str, ...] = ()  # approximations to compare with the first before refining
    learn_noise: bool = True
    deadline: Deadline = NEVER


@dataclass(kw_only=True)
class SparseLearnt(Learnt[Point]):
    """The best model that learning has seen, the basis it was selected with, whether that moved."""

    selected: Selected
    refined: bool = False


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
    """

    def __init__(self, data: TrainingData, schedule: Schedule, start: Point):
        self.data, self.schedule = data, schedule
        self.search = _Search(data, schedule)
        self.point = start  # hyperparameters to select the next basis with
        self.previous: Selected | None = None  # the last round's basis
        self.number = 0  # of the round that comes next
        self.goes_on = True
        self.best: SparseLearnt | None = None
        self._stopped = False  # somebody asked for the end

    @property
    def objective(self) -> SparseObjective:
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
            self._stopped, self.goes_on = True, False
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
        best.converged |= self._stopped
        best.value = self.search.value(best.point)
        if self.search.kind.tells_scale or not self.schedule.learn_noise:
            return best
        assert self.objective.state is not None
        point = rescaled(best.point, loo_scale(self.objective.state))
        if point is not None:
            best.point, best.value = point, self.search.value(point)
        return best

    def _optimised(self, selected: Selected, watch: Watch) -> SparseLearnt:
        """Return the model that a round finds for a basis."""
        begin, refine, preparing = time.perf_counter(), self.refining, self.preparing
        basis = to_numpy(selected.basis).astype(np.float64)
        self.search.begin(len(basis), guarded=refine)
        start = Point(self.point.kernel, self.point.noise_variance, basis)
        if len(basis) == 0:
            return SparseLearnt(point=start, selected=selected, value=self.search.value(start))
        broken_off, max_iter = selected.path.broken_off, self.schedule.max_iter
        if preparing:
            max_iter = min(max_iter, PREPARING_ITERATIONS)
        found = self._found(start, 0 if broken_off else max_iter, watch)
        seconds = time.perf_counter() - begin
        return SparseLearnt(
            point=found.point,
            selected=selected,
            value=found.value,
            refined=refine and found.n_iter > 0,
            converged=preparing or found.converged or broken_off,
            interrupted=found.interrupted,
            rounds=[Round(len(basis), found.first_value, found.value, found.n_iter, seconds)],
        )

    def _found(self, start: Point, max_iter: int, watch: Watch) -> Minimum:
        """Minimise the objective from `start`, by the best of several approximations."""
        noted = None if watch is None else lambda point, value: self._noted(watch, point, value)
        if not (self.refining and self.schedule.rivals and max_iter > TRIAL_ITERATIONS):
            share = 1 / 3 if self.preparing else 1.0
            return self.search.minimise(start, self.refining, max_iter, noted, share)
        found = self._best_trial(start, noted)
        if found.converged or self._must_stop(found):
            return found
        rest = max_iter - found.n_iter
        return found.followed_by(self.search.minimise(found.point, True, rest, noted))

    def _best_trial(self, start: Point, watch: Watch) -> Minimum:
        """Try every approximation for a few iterations, and stay with the best."""
        chosen = self.objective.approximation
        best = self.search.minimise(start, True, TRIAL_ITERATIONS, watch, 0.2)
        for rival in self.schedule.rivals:
            if self._must_stop(best):
                break
            self.objective.approximation = rival
            other = self.search.minimise(start, True, TRIAL_ITERATIONS, watch, 0.25)
            if other.value < best.value - TRIAL_MARGIN * self.search.nats_per_row:
                best, chosen = other, rival
            best.interrupted |= other.interrupted
        self.objective.approximation = chosen
        return best

    def _must_stop(self, found: SparseLearnt | Minimum) -> bool:
        """Tell whether time is up, or somebody wants to stop."""
        return self._stopped or found.interrupted or self.schedule.deadline.passed

    def _noted(self, watch: Callable[[Point, float], bool], point: Point, value: float) -> bool:
        self._stopped = bool(watch(point, value))
        return self._stopped


class _Search:
    """The objective on the data, and how far hyperparameters and basis inputs may move."""

    objective: SparseObjective

    def __init__(self, data: TrainingData, schedule: Schedule):
        self.data, self.schedule = data, schedule
        self.kind = OBJECTIVES[schedule.objective]
        self.backend = data.backend
        xp = self.backend.xp
        low, high = (to_numpy(end(data.X, axis=0)).astype(np.float64) for end in (xp.min, xp.max))
        room = MARGIN * (high - low) + 1e-12 * np.maximum(np.abs(low), np.abs(high))
        self.box = np.array([low - room, high + room])
        self.spread = np.where(high > low, (high - low) / np.sqrt(12.0), 1.0)
        y, weights = data.targets_on_host()
        self.total_weight = data.X.shape[0] if weights is None else float(np.sum(weights))
        self.variance = mean_variance(y, weights)

    @property
    def nats_per_row(self) -> float:
        """What one nat per row is in the objective's units."""
        return self.kind.nats_per_row(self.total_weight)

    def begin(self, size: int, guarded: bool) -> None:
        """Make room for a basis of that size, and set the guard."""
        held = getattr(self, "objective", None)
        if held is None or held.capacity < size:
            self.objective = SparseObjective(
                self.schedule.objective,
                self.data.X,
                self.data.y,
                self.data.weights,
                approximation=self.schedule.approximation,
                capacity=size,
            )
        self.objective.guard = self._guard(size) if guarded else 0.0

    def _guard(self, size: int) -> float:
        """Return the guard's weight with a basis of that size."""
        if not self.kind.wants_guard:
            return 0.0
        numbers_per_row = size * self.data.X.shape[1] / self.total_weight
        return self.schedule.guard * (1.0 + GUARD_GROWTH * min(numbers_per_row, 1.0))

    def value(self, point: Point) -> float:
        """Return the objective at a point, where its state is left."""
        return self.objective.value(*self._arguments(point))

    def minimise(
        self, start: Point, refine: bool, max_iter: int, watch: Watch, share: float = 1.0
    ) -> Minimum:
        """Minimise the objective from `start` in a share of the time that is left."""
        return minimise(
            self._evaluate if refine else self._evaluate_fixed,
            self._coordinates(start, refine),
            max_iter=max_iter,
            factor=0.5 * self.total_weight * 2.0 / self.nats_per_row,
            tol=OPTIMISER_TOL,
            deadline=self.schedule.deadline.share(share),
            watch=watch,
        )

    def _arguments(self, point: Point) -> tuple[Kernel, float, Array]:
        return point.kernel, point.noise_variance, self.backend.asarray(point.basis)

    def _evaluate(self, point: Point) -> Any:
        return self.objective(*self._arguments(point))

    def _evaluate_fixed(self, point: Point) -> Any:
        return self.objective(*self._arguments(point), with_basis=False)

    def _coordinates(self, start: Point, refine: bool) -> Coordinates[Point]:
        assert start.basis is not None
        low = np.minimum(self.box[0], np.min(start.basis, axis=0))  # candidates may lie outside
        high = np.maximum(self.box[1], np.max(start.basis, axis=0))
        return moving_parts(
            start,
            self.variance,
            noise=self.schedule.learn_noise,
            basis_box=np.array([low, high]) if refine else None,
            basis_units=_input_units(start.kernel, self.spread) if refine else None,
            reach=REACH,
        )


def _input_units(kernel: Kernel, spread: np.ndarray) -> np.ndarray:
    """Return the distances over which the kernel changes, at most a few spreads of the data."""
    scales = kernel.length_scales(len(spread))
    return spread if scales is None else np.minimum(scales, 10.0 * spread)
