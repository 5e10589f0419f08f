"""The stages of a fit, in order.

A classifier is fitted class by class (:class:`ClassifierFit`), each against the others; two classes
are one such fit. The fit of one class (:class:`TwoClassFit`) goes through these stages:

1. start: kernel and bias are learnt by the evidence of a part of the rows (:mod:`.start`);
2. select: a basis is chosen (:mod:`.selection`);
3. optimise and select again, in rounds (:mod:`.learning`);
4. or, where there are rows enough, refine: all sites are moved together (:mod:`.refinement`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.learning import LearntClassifier, Schedule, learn
from greedygp.classification.objectives import OBJECTIVES
from greedygp.classification.posterior import Posterior
from greedygp.classification.refinement import refine
from greedygp.classification.selection import BasisSelector, GreedyClassifier, Selected
from greedygp.classification.stages import ClassStages
from greedygp.classification.start import (
    OPTIMISER_TOL,
    ROUGH_TOL,
    SUBSET_ROWS,
    Start,
    default_prior,
    learnt_start,
    starting_point,
)
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Path
from greedygp.inputs import input_names
from greedygp.kernels.conversion import as_kernel
from greedygp.progress import Deadline, FitProgress
from greedygp.threads import START_THREADS, numpy_threads_only, scipy_threads_only

__all__ = ["ClassifierFit", "TwoClassFit"]

LARGEST_BASIS = 500  # unless the user wants more
REFINED_BASIS = 200  # the same where the sites will be refined
ROWS_TO_REFINE = 5  # for a basis vector, at least
FEWEST_SHARED = 150  # rows of a start whose factors are worth more than one thread


class ClassifierFit:
    """The fit of all classes, one after the other.

    Parameters
    ----------
    parameters : SparseGPClassifier
        Its parameters are read.
    X : (n, D) float64 array
    classes : (n,) int array
        The class of each row, counted from zero.
    weights : (n,) array or None
    rng : numpy.random.Generator
    deadline : Deadline
        When to end with what there is; the classes share the time.
    """

    def __init__(
        self,
        parameters: Any,
        X: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray | None,
        rng: np.random.Generator,
        deadline: Deadline,
    ):
        self.parameters, self.rng, self.deadline = parameters, rng, deadline
        n_classes = int(np.max(classes)) + 1
        self.problems = [
            LabelledRows(X, np.where(classes == number, 1.0, -1.0), weights)
            for number in ([1] if n_classes == 2 else range(n_classes))
        ]
        names = input_names(parameters)
        kernel = as_kernel(parameters.kernel, X.shape[1], names)
        self.starts = [starting_point(data, kernel, parameters.bias) for data in self.problems]
        # Classes whose turn has not come are predicted by their prior.
        self.posteriors = [
            Posterior(ClassificationState(point, data.take(np.arange(1)), capacity=0))
            for point, data in zip(self.starts, self.problems)
        ]

    @property
    def max_stages(self) -> int:
        """The most stages that callbacks will hear of."""
        rounds = 0 if self.parameters.objective is None else self.parameters.rounds
        return len(self.problems) * (3 * rounds + 3)

    def run(self, progress: FitProgress) -> list[LearntClassifier]:
        """Return the model of each class."""
        models: list[LearntClassifier] = []
        try:
            for place in range(len(self.problems)):
                models.append(self._fitted(place, progress))
                self.posteriors[place] = Posterior(models[-1].selected.state)
                if models[-1].was_interrupted:
                    break
        except KeyboardInterrupt:
            if not models:
                raise
        if models[-1].was_interrupted and models[0].selected.state.size == 0:
            raise KeyboardInterrupt
        return models + [self._of_prior(place) for place in range(len(models), len(self.problems))]

    def _fitted(self, place: int, progress: FitProgress) -> LearntClassifier:
        """Return the model of one class."""
        until = self.deadline.share(1 / (len(self.problems) - place))
        stages = ClassStages(progress, self.posteriors, place)
        fit = TwoClassFit(
            self.parameters, self.problems[place], self.starts[place], self.rng, stages, until
        )
        with numpy_threads_only():
            return fit.run()

    def _of_prior(self, place: int) -> LearntClassifier:
        """Return the model of a class whose turn did not come: it has no basis."""
        point, path = self.starts[place], Path(GreedyClassifier.fields, reason="interrupted")
        state = ClassificationState(point, self.problems[place], capacity=0)
        return LearntClassifier(point=point, value=np.nan, selected=Selected(state, path))


@dataclass
class TwoClassFit:
    """The fit of one class against the others.

    Parameters
    ----------
    parameters : SparseGPClassifier
        Its parameters are read.
    data : LabelledRows
    first : LatentPoint
        The hyperparameters to begin with.
    rng : numpy.random.Generator
    stages : ClassStages
    deadline : Deadline
        When to end with what there is.
    """

    parameters: Any
    data: LabelledRows
    first: LatentPoint
    rng: np.random.Generator
    stages: ClassStages
    deadline: Deadline

    def __post_init__(self) -> None:
        parameters = self.parameters
        self.learns = parameters.objective is not None
        self.learns_bias = self.learns and parameters.bias is None
        self.prior = default_prior(self.first.kernel) if parameters.kernel is None else None
        self.limit = self._largest_basis()
        self.selector = BasisSelector(
            parameters, self.data, self.limit, self.rng, self.stages, self.deadline
        )

    def run(self) -> LearntClassifier:
        """Go through the stages and return the model."""
        start = self._start()
        model = self._learn(start) if self._makes_rounds() else self._select(start)
        if self._refines(model.selected.state.size) and not model.cut_short:
            try:
                self._refine(model, start.tied)
            except KeyboardInterrupt:
                model.interrupted = True
        return model

    # --- what will be done ---------------------------------------------------------------------

    def _largest_basis(self) -> int:
        n, given = len(self.data), self.parameters.max_basis
        most = REFINED_BASIS if self._refines(LARGEST_BASIS) else LARGEST_BASIS
        return min(most if given is None else given, n)

    def _refines(self, size: int) -> bool:
        """Whether the sites of a basis of this size will be moved together."""
        n = len(self.data)
        if self.parameters.refine == "auto":
            return self.learns and n >= ROWS_TO_REFINE * size
        return bool(self.parameters.refine) and n > size + 1

    def _makes_rounds(self) -> bool:
        parameters = self.parameters
        if not self.learns or parameters.rounds == 0 or self._refines(self.limit):
            return False
        all_rows = self.limit == len(self.data) <= SUBSET_ROWS
        settled = all_rows and self.selector.passes > 0
        return not (settled and OBJECTIVES[parameters.objective].is_minimised_by_start)

    # --- the stages ----------------------------------------------------------------------------

    def _start(self) -> Start:
        if not self.learns:
            return Start(self.first)
        threads = START_THREADS if len(self.data) >= FEWEST_SHARED else 1
        with scipy_threads_only(threads):  # LAPACK has most of the work
            return learnt_start(
                self.first,
                self.data,
                prior=self.prior,
                learn_bias=self.learns_bias,
                max_iter=self.parameters.max_iter,
                tol=ROUGH_TOL if self._makes_rounds() else OPTIMISER_TOL,
                deadline=self.deadline.share(1 / 2),
                rng=self.rng,
            )

    def _select(self, start: Start) -> LearntClassifier:
        selected = self.selector.select(start.point)
        return LearntClassifier(point=start.point, value=start.value, selected=selected)

    def _learn(self, start: Start) -> LearntClassifier:
        schedule = Schedule(
            objective=OBJECTIVES[self.parameters.objective],
            rounds=self.parameters.rounds,
            max_iter=self.parameters.max_iter,
            tied=start.tied,
            learn_bias=self.learns_bias,
            prior=self.prior,
            deadline=self.deadline,
        )
        return learn(schedule, start.point, self.selector, self.stages)

    def _refine(self, model: LearntClassifier, tied: bool) -> None:
        """Move all sites together with kernel and bias; changes the model in place."""
        max_iter, before = 2 * self.parameters.max_iter, model.selected.state
        stage = self.stages.later("optimise", max_iter, before)
        refined = refine(
            before,
            tied=tied,
            learn_kernel=self.learns,
            learn_bias=self.learns_bias,
            max_iter=max_iter,
            deadline=self.deadline,
            rng=self.rng,
            watch=lambda: stage.step("iteration"),
        )
        model.interrupted = model.interrupted or refined.search.interrupted
        if refined.loss < refined.first_loss:
            point = refined.point
            state = ClassificationState(point, self.data, capacity=self.limit)
            state.adopt(before.indices, point.means, point.precisions)
            model.point, model.value, model.selected.state = point, refined.loss, state
