"""The stages of a two-class fit: start, select, learn in rounds, refine; callbacks around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.classification.criteria import ClassificationSelector, grow
from greedygp.classification.learning import Learnt, Schedule, broken_off, learn
from greedygp.classification.objectives import loo_loss
from greedygp.classification.points import Point
from greedygp.classification.prior import Prior
from greedygp.classification.progress import ClassifierTasks
from greedygp.classification.propagation import propagate
from greedygp.classification.refinement import refine
from greedygp.classification.start import SUBSET_ROWS, learnt_start
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Path, Stopping
from greedygp.progress import Deadline

__all__ = ["TwoClassFit"]

LARGE_PART = 4  # a basis of more than one row in so many is a large part of them


class TwoClassFit:
    """Everything that the stages of one fit share.

    Parameters
    ----------
    options : SparseGPClassifier
        Its parameters are read.
    X, y, weights : (n, D) array, (n,) array of +1 and -1, (n,) array or None
    limit : int
        The most basis vectors.
    rng : numpy.random.Generator
    tasks : ClassifierTasks
    deadline : Deadline
        When to end with what there is.
    """

    def __init__(
        self,
        options: Any,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        limit: int,
        rng: np.random.Generator,
        tasks: ClassifierTasks,
        deadline: Deadline,
    ):
        self.options, self.limit, self.rng = options, limit, rng
        self.X, self.y, self.weights = X, y, weights
        self.tasks, self.deadline = tasks, deadline
        self.passes = options.ep_passes if options.sites == "moment_matching" else 0
        self.tied = options.kernel is None

    def select(self, point: Point) -> tuple[ClassificationState, Path]:
        """Return a basis chosen with the point's hyperparameters, its sites settled."""
        first, *others = self._criteria()
        state, path = self._select_by(first, point)
        for criterion in others:
            if broken_off(path):
                break
            other, other_path = self._select_by(criterion, point)
            if broken_off(other_path):
                path.reason = other_path.reason  # the fit ends, with the basis that is complete
            elif loo_loss(other) < loo_loss(state):
                state, path = other, other_path
        return state, path

    def _criteria(self) -> list[str]:
        """Return the criteria to select by; of several the better basis is kept."""
        options, n = self.options, len(self.y)
        if options.criterion != "auto":
            return [options.criterion]
        if options.patience is not None or options.sites == "optimized":
            return ["adaptive"]
        if self.limit == n:
            return ["entropy"]
        return ["adaptive", "entropy"] if LARGE_PART * self.limit >= n else ["adaptive"]

    def _select_by(self, criterion: str, point: Point) -> tuple[ClassificationState, Path]:
        options = self.options
        state = self._state(point)
        selector = ClassificationSelector(
            state,
            criterion,
            working_set=options.working_set,
            optimise=options.sites == "optimized",
            rng=self.rng,
        )
        stopping = Stopping(
            max_size=self.limit,
            patience=options.patience,
            tol=options.tol,
            deadline=self.deadline,
        )
        stage = self.tasks.stage("select", self.limit, state)
        path = grow(selector, stopping, lambda _: stage.step("basis vector"))
        self._propagate(state)
        return state, path

    def _state(self, point: Point) -> ClassificationState:
        return ClassificationState(
            point.kernel, point.bias, self.X, self.y, self.weights, capacity=self.limit
        )

    def _propagate(self, state: ClassificationState) -> None:
        """Revisit the sites, and go back if that does not serve the prediction."""
        if self.passes == 0 or state.size == 0:
            return
        before, loss = state.sites, loo_loss(state)
        propagate(state, self.passes)
        if loo_loss(state) > loss:
            state.replace(*before)

    def learnt(self, start: Point, *, in_rounds: bool) -> Learnt:
        """Learn the hyperparameters from the start on, and return the best model."""
        options = self.options
        prior = Prior(start.kernel) if options.kernel is None else None
        found, self.tied = learnt_start(
            start,
            self.X,
            self.y,
            self.weights,
            prior=prior,
            learn_bias=options.bias is None,
            max_iter=options.max_iter,
            deadline=self.deadline.share(1 / 2),
            rng=self.rng,
        )
        if found.interrupted:  # there is no model yet that could be kept
            raise KeyboardInterrupt
        point = found.point
        all_rows = self.limit == len(self.y) <= SUBSET_ROWS
        exact = options.objective == "nlml" and all_rows and self.passes > 0
        if exact or options.rounds == 0 or not in_rounds:
            return Learnt(point, *self.select(point), found.value)
        schedule = Schedule(
            objective=str(options.objective),
            rounds=options.rounds,
            max_iter=options.max_iter,
            tied=self.tied,
            learn_bias=options.bias is None,
            prior=prior,
            deadline=self.deadline,
        )
        return learn(schedule, point, self.select, self._watch(options.max_iter))

    def refine(self, model: Learnt) -> None:
        """Move all sites together with kernel and bias; changes the model in place."""
        options = self.options
        max_iter = 2 * options.max_iter
        watch = self._watch(max_iter)
        refined = refine(
            model.state,
            tied=self.tied,
            learn_kernel=options.objective is not None,
            learn_bias=options.bias is None and options.objective is not None,
            max_iter=max_iter,
            deadline=self.deadline,
            rng=self.rng,
            watch=lambda: watch(0, None, 0.0),
        )
        model.interrupted = model.interrupted or refined.search.interrupted
        if refined.loss < refined.first_loss:
            state = self._state(refined.point)
            state.adopt(model.state.indices, refined.point.means, refined.point.precisions)
            model.point, model.state = refined.point, state
            model.value = refined.loss

    def _watch(self, max_iter: int) -> Any:
        """Return what tells the callbacks of the optimiser's iterations, at most so many."""
        stages: dict[int, Any] = {}

        def watch(number: int, point: Any, value: float) -> bool:
            if number not in stages:
                stages[number] = self.tasks.stage("optimise", max_iter, self.tasks.state)
            return stages[number].step("iteration")

        return watch
