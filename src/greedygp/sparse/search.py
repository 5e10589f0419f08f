"""A search for hyperparameters, and for basis inputs where they move: by what, how far, how long.

The leave-one-out measures do not know that the basis inputs were moved to please them: with m D
free numbers and not many more rows, or with noise that varies over the inputs, they can be lowered
by letting the noise vanish and the unexplained prior variance imitate the size of each row's
residual. The guard, `guard * mean(log(1 + (k - q) / s2))`, makes that expensive while inputs move.
It weighs more, the more free numbers there are for each row. The ablation in `docs/results` shows
what it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.coordinates import Coordinates
from greedygp.data import TrainingData, mean_variance
from greedygp.descent import Memory
from greedygp.hyperparameters import Point, moving_parts
from greedygp.kernels import Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline
from greedygp.rounds import OPTIMISER_TOL
from greedygp.sparse.checkpoint import NoFitCheckpoint
from greedygp.sparse.objectives import OBJECTIVES, SparseObjective
from greedygp.sparse.parameters import APPROXIMATIONS
from greedygp.sparse.passes import StreamedObjective

__all__ = ["BOUND", "Schedule", "Search", "Watch"]

LITTLE = 0.01  # nats per row: less is too little a gain of `WINDOW` iterations to go on
WINDOW = 9
REACH = 100.0  # the largest factor by which a round may change a kernel parameter
MARGIN = 0.1  # how far beyond the data basis inputs may go, in units of a feature's range
GUARD_GROWTH = 10.0  # how fast the guard's weight rises with m D / n
BOUND = ("vfe", "dtc")
NOISE_LEVELS = (0.03, 0.1, 0.3)  # of the targets' variance, where the bound may begin

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
    tries_bound: bool = False  # before them, with DTC: learning by the variational bound
    learn_noise: bool = True
    memory_limit: float = 2.0**31  # of passes over rows whose state is not kept
    deadline: Deadline = NEVER


class Search:
    """The objective on the data, and how far hyperparameters and basis inputs may move."""

    objective: SparseObjective | StreamedObjective

    def __init__(self, data: TrainingData, schedule: Schedule, file: NoFitCheckpoint):
        self.data, self.schedule, self.file = data, schedule, file
        self.kind = OBJECTIVES[schedule.objective]
        self.guarded_size = 0  # the basis' size, where it moves
        # Searches of this round that move the basis, by objective and approximation.
        self._begun: dict[tuple[str, str], tuple[Coordinates[Point], Memory]] = {}
        self.backend = data.backend
        xp = self.backend.xp
        low, high = (to_numpy(end(data.X, axis=0)).astype(np.float64) for end in (xp.min, xp.max))
        room = MARGIN * (high - low) + 1e-12 * np.maximum(np.abs(low), np.abs(high))
        self.box = np.array([low - room, high + room])
        self.spread = np.where(high > low, (high - low) / np.sqrt(12.0), 1.0)
        y, weights = data.targets_on_host()
        self.total_weight = _total_weight(data)
        self.seen_weight = self.total_weight  # of the rows that the objective sees
        self.variance = mean_variance(y, weights)

    @property
    def nats_per_row(self) -> float:
        """What one nat per row is in the objective's units."""
        return self.kind.nats_per_row(self.total_weight)

    @property
    def little(self) -> float:
        """Nats per row that are too little to go on: with many rows, what chance does to a mean.

        The loss of a row whose error is Gaussian has the variance 1/2.
        """
        return min(LITTLE, float(np.sqrt(0.5 / self.seen_weight)))

    @property
    def n_values(self) -> float:
        """How many targets there are to learn from, by weight."""
        return self.total_weight * self.data.y.shape[0]

    def begin(self, size: int, guarded: bool) -> None:
        """Make room for a basis of that size, and set the guard."""
        held = getattr(self, "objective", None)
        if held is None or held.capacity < size:
            self.objective = self._objective_on(self.data, size)
        self.guarded_size = size if guarded else 0
        self._begun.clear()
        self.objective.guard = self._guard()

    def _objective_on(self, data: TrainingData, size: int) -> SparseObjective | StreamedObjective:
        schedule = self.schedule
        if data.streamed is not None:
            return StreamedObjective(
                schedule.objective,
                data.streamed,
                approximation=schedule.approximation,
                memory_limit=schedule.memory_limit,
            )
        return SparseObjective(
            schedule.objective,
            data.X,
            data.y,
            data.weights,
            approximation=schedule.approximation,
            capacity=size,
        )

    @contextmanager
    def among(self, rows: TrainingData) -> Iterator[None]:
        """While this lasts, the objective sees some of the rows only, as if they were all.

        Values and gradients have the size that they would have for all rows, and the guard weighs
        as much, so that what is learnt of the curvature stays true.
        """
        whole, of_some = self.objective, self._objective_on(rows, self.guarded_size)
        of_some.judge_by(self.kind.name, whole.approximation)
        of_some.guard = self._guard()
        try:
            self.objective, self.seen_weight = of_some, _total_weight(rows)
            yield
        finally:
            self.objective, self.seen_weight = whole, self.total_weight
            self.judge_by(self.kind.name, of_some.approximation)

    @property
    def _enlarged(self) -> float:
        """How many times as large the objective would be, did it see all rows."""
        nats = self.kind.nats_per_row
        return nats(self.total_weight) / nats(self.seen_weight)

    def judge_by(self, objective: str, approximation: str) -> None:
        """Go on with another objective and approximation."""
        self.kind = OBJECTIVES[objective]
        self.objective.judge_by(objective, approximation)
        self.objective.guard = self._guard()

    def branch_off(self, approximation: str, other: str) -> None:
        """Judge by another approximation, whose search begins with what is known of the first."""
        name = self.kind.name
        coordinates, memory = self._begun[name, approximation]
        self._begun.setdefault((name, other), (coordinates, Memory(list(memory.pairs))))
        self.judge_by(name, other)

    def with_more_noise(self, start: Point) -> Point:
        """Return the start with the noise, its own or more, that the bound likes best.

        A start from few rows may have next to none, from where a search ends in a worse place.
        """
        if not self.schedule.learn_noise:
            return start
        self.judge_by(*BOUND)
        levels = [level * self.variance for level in NOISE_LEVELS]
        points = [replace(start, noise_variance=s) for s in levels if s > start.noise_variance]
        return min([start, *points], key=self.value)

    def left_out_loss(self, point: Point, approximation: str) -> float:
        """Return the nats per row that left-out rows cost at a point, whatever is learnt by."""
        held = self.kind.name, self.objective.approximation
        self.judge_by("nlgpp", approximation)
        self.objective.guard = 0.0
        value = self.value(point) / self.nats_per_row
        self.judge_by(*held)
        return value

    def _guard(self) -> float:
        """Return the guard's weight."""
        if self.guarded_size == 0 or not self.kind.wants_guard:
            return 0.0
        numbers_per_row = self.guarded_size * self.data.X.shape[1] / self.total_weight
        return self.schedule.guard * (1.0 + GUARD_GROWTH * numbers_per_row)

    def value(self, point: Point) -> float:
        """Return the objective at a point, where its state is left."""
        return self._enlarged * self.objective.value(*self._arguments(point))

    def minimise(
        self,
        start: Point,
        refine: bool,
        max_iter: int,
        watch: Watch,
        share: float = 1.0,
        little: float = 0.0,
        window: int = WINDOW,
    ) -> Minimum:
        """Minimise the objective from `start` in a share of the time that is left.

        `little` is in nats per row: what `window` iterations must gain for the search to go on.

        Where the basis moves, a second search by the same objective and approximation goes on with
        what the first one has learnt of the curvature.
        """
        coordinates, memory = self._coordinates(start, refine), None
        if refine:
            way = self.kind.name, self.objective.approximation
            known = self._begun.setdefault(way, (coordinates, Memory()))
            coordinates, memory = replace(known[0], start=start), known[1]
        return minimise(
            self._evaluate if refine else self._evaluate_fixed,
            coordinates,
            max_iter=max_iter,
            factor=self.total_weight / self.nats_per_row,
            tol=OPTIMISER_TOL,
            deadline=self.schedule.deadline.share(share),
            watch=watch,
            keep_if_interrupted=True,
            memory=memory,
            little=little * self.nats_per_row,
            window=window,
        )

    def _arguments(self, point: Point) -> tuple[Kernel, float, Array]:
        return point.kernel, point.noise_variance, self.backend.asarray(point.basis)

    def _evaluate(self, point: Point, with_basis: bool = True) -> Any:
        assert point.basis is not None
        approximation = APPROXIMATIONS.index(self.objective.approximation)
        kind = tuple(OBJECTIVES).index(self.kind.name)
        question = np.concatenate(
            [
                [kind, approximation, self.objective.guard, self.seen_weight],
                [with_basis, point.noise_variance],
                point.kernel.theta,
                np.ravel(point.basis),
            ]
        )
        arguments = self._arguments(point)
        found = self.file.evaluation(
            question, point, lambda: self.objective(*arguments, with_basis=with_basis)
        )
        return found.times(self._enlarged)

    def _evaluate_fixed(self, point: Point) -> Any:
        return self._evaluate(point, with_basis=False)

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


def _total_weight(data: TrainingData) -> float:
    """Return the weight of the rows that hyperparameters are learnt from."""
    if data.streamed is not None:
        return data.streamed.total_weight
    return data.X.shape[0] if data.weights is None else float(data.backend.sums(data.weights))


def _input_units(kernel: Kernel, spread: np.ndarray) -> np.ndarray:
    """Return the distances over which the kernel changes, at most a few spreads of the data."""
    scales = kernel.length_scales(len(spread))
    return spread if scales is None else np.minimum(scales, 10.0 * spread)
