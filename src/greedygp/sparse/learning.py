"""The schedule of learning: rounds of selecting a basis and optimising for it.

A round selects a basis with the present hyperparameters, then improves the hyperparameters for
that basis by the objective's gradient (L-BFGS, warm-started where the last round ended). With
`refine_basis` the last round moves the basis inputs, too, together with the hyperparameters; the
rounds before it are short and take a random basis, for they only prepare it. The best model by the
objective is kept, and when a round does not improve on the one before, no more are made.

The leave-one-out measures do not know that the basis inputs were moved to please them: with m D
free numbers and not many more rows, or with noise that varies over the inputs, they can be lowered
by letting the noise vanish and the unexplained prior variance imitate the size of each row's
residual. The guard, `guard * mean(log(1 + (k - q) / s2))`, makes that expensive while inputs move.
It weighs the more, the more free numbers there are for a row. The ablation in `docs/results` shows
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
from greedygp.greedy import Path
from greedygp.hyperparameters import Point, moving_parts, rescaled
from greedygp.kernels import Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline
from greedygp.rounds import OPTIMISER_TOL, ROUND_TOL, Learnt, Round
from greedygp.sparse.loo import loo_scale
from greedygp.sparse.objectives import OBJECTIVES, SparseObjective

__all__ = ["Schedule", "Selected", "SparseLearnt", "learn"]

REACH = 100.0  # the largest factor by which a round may change a kernel parameter
MARGIN = 0.1  # how far beyond the data basis inputs may go, in units of a feature's range
PREPARING_ITERATIONS = 20  # of the rounds before the one that refines
TRIAL_ITERATIONS = 15  # of each approximation, where they are compared
TRIAL_MARGIN = 0.003  # nats a row by which another approximation than the first must be better
GUARD_GROWTH = 10.0  # how fast the guard's weight rises with m D / n


@dataclass
class Selected:
    """A basis that was selected: its inputs (m, D), their places, and how it came about.

    Places are among the rows that are used or, not `from_rows`, among the user's candidates.
    """

    basis: Array
    indices: list[int]
    path: Path
    state: Any = None
    from_rows: bool = True

    @property
    def broken_off(self) -> bool:
        """Whether somebody asked for the fit to end."""
        return self.path.reason in ("interrupted", "callback")

    def is_poorer_than(self, other: Selected) -> bool:
        """Whether it was cut short, and is no match for one that was not."""
        late = self.path.reason == "time_limit" and 2 * len(self.indices) < len(other.indices)
        return self.broken_off or late


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


def learn(
    data: TrainingData,
    schedule: Schedule,
    start: Point,
    select: Callable[[Point, Selected | None, bool], Selected],
    watch: Callable[[int, Point, SparseObjective], bool] | None = None,
) -> tuple[SparseLearnt, SparseObjective]:
    """Alternate selection and optimisation.

    Parameters
    ----------
    data : TrainingData
    schedule : Schedule
    start : Point
        Hyperparameters to begin with.
    select : callable
        `select(point, previous, preparing)` selects a basis with the point's hyperparameters;
        `previous` is the basis of the round before, `preparing` says whether the basis is only
        to prepare the round that refines.
    watch : callable, optional
        Called after every iteration with the round, the best point and the objective; a true
        result ends learning.

    Returns
    -------
    SparseLearnt, SparseObjective
        The objective's state is that of the best model.
    """
    learner = _Learner(data, schedule, watch)
    point, previous, best = start, None, None
    for number in range(schedule.rounds):
        refine = schedule.refine_basis and number + 1 == schedule.rounds
        selected = select(point, previous, schedule.refine_basis and not refine)
        if best is not None and selected.is_poorer_than(best.selected):
            best.interrupted |= selected.path.reason == "interrupted"
            learner.stopped = True
            break
        learnt = learner.round(number, point, selected, refine)
        if best is None or learnt.value < best.value or refine:
            gain = np.inf if best is None else best.value - learnt.value
            learnt.rounds = ([] if best is None else best.rounds) + learnt.rounds
            best = learnt
        else:
            gain = 0.0
            best.rounds += learnt.rounds
            best.interrupted = learnt.interrupted
        point, previous = _hyperparameters(best.point), selected
        if selected.broken_off or learner.must_stop(best):
            break
        if not schedule.refine_basis and gain < learner.nats_a_row * ROUND_TOL:
            break
    assert best is not None
    best.converged |= learner.stopped
    learner.settle(best)
    return best, learner.objective


def _hyperparameters(point: Point) -> Point:
    return Point(point.kernel, point.noise_variance)


class _Learner:
    """The data, the objective on them, and one round."""

    def __init__(self, data: TrainingData, schedule: Schedule, watch):
        self.data, self.schedule, self.watch = data, schedule, watch
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
        self.stopped = False
        self.objective: SparseObjective

    @property
    def nats_a_row(self) -> float:
        """What one nat a row is in the objective's units."""
        return self.kind.nats_per_row(self.total_weight)

    def round(self, number: int, point: Point, selected: Selected, refine: bool) -> SparseLearnt:
        """Optimise for a basis."""
        begin, schedule = time.perf_counter(), self.schedule
        basis = to_numpy(selected.basis).astype(np.float64)
        self._prepare(len(basis))
        self.objective.guard = self._guard(len(basis)) if refine else 0.0
        start = Point(point.kernel, point.noise_variance, basis)
        preparing = schedule.refine_basis and not refine
        if len(basis) == 0:
            value = self.objective.value(*self._arguments(start))
            return SparseLearnt(point=start, selected=selected, value=value)
        max_iter = PREPARING_ITERATIONS if preparing else schedule.max_iter
        max_iter = 0 if selected.broken_off else min(max_iter, schedule.max_iter)
        if refine and schedule.rivals and max_iter > TRIAL_ITERATIONS:
            found = self._best_trial(number, start)
            if not found.converged and not self.must_stop(found):
                rest = max_iter - found.n_iter
                found = found.followed_by(self._minimise(number, found.point, refine, rest))
        else:
            share = 1 / 3 if preparing else 1.0
            found = self._minimise(number, start, refine, max_iter, share)
        seconds = time.perf_counter() - begin
        line = Round(len(basis), found.first_value, found.value, found.n_iter, seconds)
        return SparseLearnt(
            point=found.point,
            selected=selected,
            value=found.value,
            refined=refine and found.n_iter > 0,
            converged=preparing or found.converged or selected.broken_off,
            interrupted=found.interrupted,
            rounds=[line],
        )

    def _minimise(
        self, number: int, start: Point, refine: bool, max_iter: int, share: float = 1.0
    ) -> Minimum:
        """Minimise the objective from `start` in a share of the time that is left."""
        return minimise(
            self._evaluate if refine else self._evaluate_fixed,
            self._coordinates(start, refine),
            max_iter=max_iter,
            factor=0.5 * self.total_weight * 2.0 / self.nats_a_row,
            tol=OPTIMISER_TOL,
            deadline=self.schedule.deadline.share(share),
            watch=None if self.watch is None else lambda best, _: self._watched(number, best),
        )

    def _best_trial(self, number: int, start: Point) -> Minimum:
        """Try every approximation for a few iterations, and stay with the best."""
        chosen = self.objective.approximation
        best = self._minimise(number, start, True, TRIAL_ITERATIONS, 0.2)
        for rival in self.schedule.rivals:
            if self.must_stop(best):
                break
            self.objective.approximation = rival
            other = self._minimise(number, start, True, TRIAL_ITERATIONS, 0.25)
            if other.value < best.value - TRIAL_MARGIN * self.nats_a_row:
                best, chosen = other, rival
            best.interrupted |= other.interrupted
        self.objective.approximation = chosen
        return best

    def must_stop(self, learnt: SparseLearnt | Minimum) -> bool:
        """Tell whether time is up, or somebody wants to stop."""
        return self.stopped or learnt.interrupted or self.schedule.deadline.passed

    def settle(self, learnt: SparseLearnt) -> None:
        """Bring the objective's state to the best point, whose scale is set where that is free."""
        assert learnt.point.basis is not None
        self._prepare(len(learnt.point.basis))
        learnt.value = self.objective.value(*self._arguments(learnt.point))
        if self.kind.tells_scale or not self.schedule.learn_noise:
            return
        assert self.objective.state is not None
        point = rescaled(learnt.point, loo_scale(self.objective.state))
        if point is not None:
            learnt.point = point
            learnt.value = self.objective.value(*self._arguments(point))

    def _watched(self, number: int, best: Point) -> bool:
        self.stopped = bool(self.watch(number, best, self.objective))
        return self.stopped

    def _prepare(self, size: int) -> None:
        """Make room for a basis of that size."""
        held = getattr(self, "objective", None)
        if held is not None and held.capacity >= size:
            return
        self.objective = SparseObjective(
            self.schedule.objective,
            self.data.X,
            self.data.y,
            self.data.weights,
            approximation=self.schedule.approximation,
            capacity=size,
        )

    def _guard(self, size: int) -> float:
        """Return the guard's weight with a basis of that size."""
        if not self.kind.wants_guard:
            return 0.0
        numbers_a_row = size * self.data.X.shape[1] / self.total_weight
        return self.schedule.guard * (1.0 + GUARD_GROWTH * min(numbers_a_row, 1.0))

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
