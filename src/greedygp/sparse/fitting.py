"""The stages of one fit of a sparse GP: start, rounds of (select, learn), posterior.

Hyperparameters to start with come from the evidence of a full GP on some rows. A round selects a
basis with the hyperparameters at hand (`selection.py`) and improves them for it (`learning.py`).
Where the size of a basis that moves is left to left-out rows, several sizes are tried
(`sizes.py`). Without learning, one selection is all. The end is an exact model of the basis that
was kept, its posterior, and what it predicts of left-out rows. Callbacks are told of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import SHARED_FROM, Array
from greedygp.data import TrainingData
from greedygp.flags import learn_with_flags
from greedygp.greedy import Stopping
from greedygp.hyperparameters import Point
from greedygp.minimise import Minimum
from greedygp.noise import noise_may_vary
from greedygp.progress import Deadline, FitProgress
from greedygp.rounds import Round
from greedygp.sparse.checkpoint import NoFitCheckpoint
from greedygp.sparse.criteria import CRITERIA, Criterion
from greedygp.sparse.ending import Ended, Ending
from greedygp.sparse.fewer_rows import FewerRows
from greedygp.sparse.forward import SparseSelector
from greedygp.sparse.learning import TRIAL_ITERATIONS, Learner, Schedule, SparseLearnt
from greedygp.sparse.model import SparseModel
from greedygp.sparse.objectives import OBJECTIVES
from greedygp.sparse.parameters import (
    LARGEST_BASIS,
    LARGEST_TRIED,
    first_approximation,
    first_objective,
)
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.selection import Selected, make_selector, select
from greedygp.sparse.sizes import FEWEST_ROWS, Tried, best_size, sizes_to_try
from greedygp.sparse.state import SparseState
from greedygp.start import SUBSET_ROWS, Given, subset_evidence
from greedygp.threads import START_THREADS, scipy_threads_only
from greedygp.trust import judged

__all__ = ["FittedModel", "SparseFit"]

BASIS_PER_ROOT_ROW = 4.0  # basis vectors by default where they will be refined
PATIENCE = 20
LITTLE_WORK_SHARED_FROM = 12_000  # rows, from which a second thread pays for such criteria
START_ITERATIONS = 100  # of the evidence of a full GP on a subset of the rows
START_LITTLE = 1.0  # nats that three of them must gain together; where more rows follow
# Shares of the time that is left: for the start, and for a selection that learning follows.
START_SHARE, PREPARING_SHARE, REFINED_SHARE = 0.25, 0.25, 0.5


@dataclass
class FittedModel:
    """What comes out of a fit."""

    start: Point  # the hyperparameters that it began with
    learnt: SparseLearnt  # hyperparameters, the selection that was kept, what happened in rounds
    state: SparseModel
    posterior: Posterior
    end: Ended  # what goes with it: noise, left-out rows


class SparseFit:
    """Everything that the stages of one fit share.

    Parameters
    ----------
    options : SparseGPRegressor
        Its parameters are read, its callbacks are told.
    data : TrainingData
    candidates : (N, D) row array or None
        What the basis is chosen from; None: the rows.
    rng : numpy.random.Generator
    deadline : Deadline
        When to end with what there is.
    given : dict
        What `fit` was given, for the callbacks.
    file : NoFitCheckpoint, optional
        Where it is kept what the fit finds.
    """

    def __init__(
        self,
        options: Any,
        data: TrainingData,
        candidates: Array | None,
        rng: np.random.Generator,
        deadline: Deadline,
        given: dict[str, Any],
        file: NoFitCheckpoint | None = None,
    ):
        self.file = file or NoFitCheckpoint()
        self.options, self.data, self.rng, self.deadline = options, data, rng, deadline
        self.given_data = data  # whose weights are those given; `data` may trust some rows less
        self.from_rows = candidates is None
        self.inputs = data.X if candidates is None else candidates
        self.rounds = 0 if options.objective is None else options.rounds
        self.refines = self.rounds > 0 and bool(options.refine_basis)
        self.approximation = first_approximation(options.approximation, options.objective)
        self.sizes = self._sizes()  # of the basis at most, to be tried in this order
        self.given_start = Given.to(options, data.X.shape[1])
        self.progress = FitProgress(options, given, max(1, 2 * self.rounds) * len(self.sizes))

    def run(self) -> FittedModel:
        """Go through the stages."""
        with scipy_threads_only(START_THREADS):  # LAPACK has most of the work
            start, value = self.start()
        with self.data.backend.threads_over_blocks():
            if self.rounds == 0:
                model = self.finished(start, *self.select_only(start, value))
            else:
                model = self.learn(start)
            try:
                self.progress.end(lambda: _attributes(model.state))
            except KeyboardInterrupt:
                model.learnt.interrupted = True
            return model

    def finished(self, start: Point, state: SparseModel, learnt: SparseLearnt) -> FittedModel:
        """Return what was learnt with all that comes after learning."""
        if learnt.interrupted and state.size == 0:
            raise KeyboardInterrupt
        model = state
        ending = Ending(
            self.options, self.data, self.given_data, self.rng, self.deadline, learnt.widening
        )
        try:
            if not learnt.interrupted:
                model = ending.over_all_rows(state)
            end = ending.ended(model, learnt.interrupted)
        except KeyboardInterrupt:  # what there is goes without the rest
            learnt.interrupted = True
            end = ending.ended(model, True)
        return FittedModel(start, learnt, model, Posterior(model), end)

    # --- the start -----------------------------------------------------------------------------

    def start(self) -> tuple[Point, float]:
        """Return the hyperparameters to begin with, and their evidence on a subset of the rows."""
        options = self.options
        kernel, noise = self.given_start.kernel, self.given_start.noise_variance
        if options.objective is None and kernel is not None and noise is not None:
            return Point(kernel, noise), np.nan

        many = self.data.X.shape[0] > 2 * SUBSET_ROWS

        def learn(data: TrainingData) -> Minimum[Point]:
            return subset_evidence(
                kernel,
                noise,
                *data.on_host(),
                first_noise=self.given_start.first_noise,
                max_iter=START_ITERATIONS,
                learn_kernel=options.objective is not None,
                compare=options.objective is not None,
                little=START_LITTLE if self.rounds and many else 0.0,
                deadline=self.deadline.share(START_SHARE),
                random_state=self.rng,
            )

        with self.data.backend.serial_host():
            if noise_may_vary(options):
                found, self.data = learn_with_flags(learn, self.data, self.deadline, self.rng)
            else:
                found = learn(self.data)
        return found.point, found.value

    # --- selection -----------------------------------------------------------------------------

    def select(
        self,
        point: Point,
        limit: int,
        previous: Selected | None = None,
        preparing: bool = False,
        part: TrainingData | None = None,
    ) -> Selected:
        """Return a basis of at most so many vectors, chosen with the point's hyperparameters.

        `previous` is the basis of the round before (at random where the last one refines, so that
        it is no favourite); `preparing` says that the basis is only to prepare the round that
        refines, and any will do. `part` are the rows that are looked at, where they are not all.
        """
        criterion = CRITERIA["random" if preparing else self.options.criterion]
        share = 1.0
        if self.refines:
            share = PREPARING_SHARE if preparing else REFINED_SHARE
        stopping = Stopping(
            max_size=limit,
            patience=self._patience() if criterion.chooses_size else None,
            tol=self.options.tol,
            deadline=self.deadline.share(share),
        )
        data = part or self.data
        selector = self._selector(point, limit, criterion, previous, data)
        stage = self.progress.stage("select", limit, lambda: _attributes(selector.state))
        selected = select(selector, stopping, lambda _: stage.step("basis vector"))
        return selected if part is None else selected.among_all(part)

    def _selector(
        self,
        point: Point,
        limit: int,
        criterion: Criterion,
        previous: Selected | None,
        data: TrainingData,
    ) -> SparseSelector:
        approximation = self.approximation
        own = self.options.approximation == "fitc" and criterion.exact_fitc and not self.refines
        if approximation == "fitc" and not own:
            approximation = "dtc"
        state = SparseState(
            point.kernel,
            point.noise_variance,
            data.X,
            data.y,
            data.weights,
            approximation=approximation,
            capacity=limit,
            backend=data.backend,
            keep_v=criterion.needs_v and approximation == "dtc",
            track_explained=criterion.needs_explained,
            shared_from=LITTLE_WORK_SHARED_FROM if criterion.little_work else SHARED_FROM,
        )
        return make_selector(
            state,
            criterion,
            inputs=data.X if self.from_rows else self.inputs,
            from_rows=self.from_rows,
            working_set=self.options.working_set,
            cache_size=self.options.cache_size,
            rng=self.rng,
            favourites=() if previous is None or self.refines else previous.indices,
        )

    def _sizes(self) -> tuple[int, ...]:
        """Return the most basis vectors, or several such numbers to try."""
        given, n_rows, most = self.options.max_basis, self.data.X.shape[0], self.inputs.shape[0]
        if given not in (None, "auto"):
            return (min(given, most),)
        if not self.refines:
            return (min(LARGEST_BASIS, most),)
        if given == "auto" and n_rows >= FEWEST_ROWS and self.data.whole is None:
            return sizes_to_try(n_rows, min(LARGEST_TRIED, most))
        usual = int(BASIS_PER_ROOT_ROW * np.sqrt(n_rows))  # patience does not tell the size
        return (min(usual, LARGEST_BASIS, most),)

    def _patience(self) -> int | None:
        if self.options.patience != "auto":
            return self.options.patience
        return None if self.refines else PATIENCE

    # --- the two ways to a model ---------------------------------------------------------------

    def select_only(self, start: Point, value: float) -> tuple[SparseModel, SparseLearnt]:
        """Select once, and rebuild the model exactly with the hyperparameters of the start."""
        selected = self.select(start, self.sizes[0])
        state = selected.state
        assert state is not None
        state.truncate(len(selected.indices), self.approximation)
        interrupted = selected.path.reason == "interrupted"
        learnt = SparseLearnt(
            point=start,
            value=value,
            selected=selected,
            objective=None if self.options.objective is None else "nlml",
            interrupted=interrupted,
        )
        return state, learnt

    def learn(self, start: Point) -> FittedModel:
        """Learn with one size of basis after the other while it pays; return the best model."""
        begin = self.file.start(start)
        rounds: list[Round] = []
        fewer = FewerRows(self.data, self.rng)

        def with_size(size: int) -> Tried[FittedModel]:
            parts = fewer.parts(size) if self.refines else []
            learner = Learner(self.data, self._schedule(), begin, self.file, parts)
            learnt = self._learnt(learner, size)
            rounds.extend(learnt.rounds)
            state = learner.objective.state
            assert state is not None
            model = self.finished(begin, state, learnt)
            loss = 0.0  # nothing to compare
            if len(self.sizes) > 1:
                loss, _ = judged(*self.given_data.targets_on_host(), model.end.loo)
            return Tried(model, loss, learnt.interrupted, learner.stopped or self.deadline.passed)

        best = best_size(self.sizes, with_size)
        learnt = best.model.learnt
        learnt.rounds, learnt.interrupted = rounds, best.interrupted
        return best.model

    def _learnt(self, learner: Learner, size: int) -> SparseLearnt:
        """Select at most so many basis vectors and learn, in rounds."""
        trials = len(learner.schedule.rivals) + learner.schedule.tries_bound
        steps = learner.schedule.max_iter + trials * TRIAL_ITERATIONS
        try:
            while learner.goes_on:
                selected = self.file.selection(
                    lambda: self.select(
                        learner.point,
                        size,
                        learner.previous,
                        learner.preparing,
                        learner.parts[0] if learner.parts else None,
                    ),
                    self.inputs,
                    self.rng,
                )
                learner.round(selected, self._watch(learner, steps))
            learnt = learner.result()
        except KeyboardInterrupt:
            if learner.best is None:
                raise
            learner.best.interrupted = True
            learnt = learner.result()
        learner.widen(learnt)
        return learnt

    def _watch(self, learner: Learner, steps: int) -> Callable[[Point, float], bool]:
        """Return what tells the callbacks of a round's iterations, at most so many."""
        stage = self.progress.later_stage(
            "optimise", steps, lambda: _attributes(learner.objective.state)
        )
        return lambda point, value: stage.step("iteration")

    def _schedule(self) -> Schedule:
        options = self.options
        objective = first_objective(options.objective)
        assert objective is not None
        left_to_fit = options.approximation == "auto"
        compares = left_to_fit and OBJECTIVES[objective].compares_approximations
        return Schedule(
            objective=objective,
            approximation=self.approximation,
            rivals=("dtc",) if compares else (),
            tries_bound=options.objective == "auto"
            and (left_to_fit or self.approximation == "dtc"),
            rounds=self.rounds,
            max_iter=options.max_iter,
            refine_basis=self.refines,
            guard=float(options.guard),
            learn_noise=self.given_start.noise_variance is None,
            memory_limit=float(options.memory_limit),
            deadline=self.deadline,
        )


def _attributes(state: SparseModel | None) -> dict[str, Any]:
    """Return the fitted attributes that predictions need, as they would be with this state."""
    assert state is not None
    return {
        "kernel_": state.kernel,
        "noise_variance_": state.noise_variance,
        "_posterior": Posterior(state),
    }
