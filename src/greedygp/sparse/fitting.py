"""The stages of one fit of a sparse GP: start, rounds of (select, learn), posterior.

Hyperparameters to start with come from the evidence of a full GP on some rows. A round selects a
basis with the hyperparameters at hand (`selection.py`) and improves them for it (`learning.py`).
Without learning, one selection is all. The end is an exact model of the basis that was kept, its
posterior, and what it predicts of left-out rows. Callbacks are told of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.data import TrainingData
from greedygp.greedy import Stopping
from greedygp.hyperparameters import Point
from greedygp.kernels.conversion import as_kernel
from greedygp.noise import LeftOutRows, NoiseFunction, noise_for
from greedygp.progress import Deadline, FitProgress
from greedygp.sparse.criteria import CRITERIA, Criterion
from greedygp.sparse.forward import SparseSelector
from greedygp.sparse.learning import TRIAL_ITERATIONS, Learner, Schedule, SparseLearnt
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.objectives import OBJECTIVES
from greedygp.sparse.parameters import first_approximation
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.selection import Selected, make_selector, select
from greedygp.sparse.state import SparseState
from greedygp.start import subset_evidence

__all__ = ["FittedModel", "SparseFit"]

LARGEST_BASIS = 500  # unless the user wants more
BASIS_PER_ROOT_ROW = 4.0  # basis vectors by default where they will be refined
PATIENCE = 20
START_ITERATIONS = 100  # of the evidence of a full GP on a subset of the rows
# Shares of the time that is left: for the start, and for a selection that learning follows.
START_SHARE, PREPARING_SHARE, REFINED_SHARE = 0.25, 0.25, 0.5


@dataclass
class FittedModel:
    """What comes out of a fit."""

    start: Point  # the hyperparameters that it began with
    learnt: SparseLearnt  # hyperparameters, the selection that was kept, what happened in rounds
    state: SparseState
    posterior: Posterior
    noise: NoiseFunction | None  # None: constant
    loo: tuple[Array, Array]  # mean (n, p) and variance (n,) of left-out rows, in the model's units


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
    """

    def __init__(
        self,
        options: Any,
        data: TrainingData,
        candidates: Array | None,
        rng: np.random.Generator,
        deadline: Deadline,
        given: dict[str, Any],
    ):
        self.options, self.data, self.rng, self.deadline = options, data, rng, deadline
        self.from_rows = candidates is None
        self.inputs = data.X if candidates is None else candidates
        self.rounds = 0 if options.objective is None else options.rounds
        self.refines = self.rounds > 0 and bool(options.refine_basis)
        self.approximation = first_approximation(options.approximation, options.objective)
        self.limit = self._limit()
        self.progress = FitProgress(options, given, max(1, 2 * self.rounds))

    def run(self) -> FittedModel:
        """Go through the stages."""
        with self.data.backend.threads_over_blocks():
            start, value = self.start()
            if self.rounds == 0:
                state, learnt = self.select_only(start, value)
            else:
                state, learnt = self.learn(start)
            self.progress.end(lambda: _attributes(state))
            noise, loo = self.noise(state, learnt)
            return FittedModel(start, learnt, state, Posterior(state), noise, loo)

    # --- the start -----------------------------------------------------------------------------

    def start(self) -> tuple[Point, float]:
        """Return the hyperparameters to begin with, and their evidence on a subset of the rows."""
        options = self.options
        kernel = as_kernel(options.kernel, self.data.X.shape[1])
        noise = None if options.noise_variance is None else float(options.noise_variance)
        if options.objective is None and kernel is not None and noise is not None:
            return Point(kernel, noise), np.nan
        found = subset_evidence(
            kernel,
            noise,
            *self.data.on_host(),
            max_iter=START_ITERATIONS,
            learn_kernel=options.objective is not None,
            deadline=self.deadline.share(START_SHARE),
            random_state=self.rng,
        )
        if found.interrupted:  # there is no model yet that could be kept
            raise KeyboardInterrupt
        return found.point, found.value

    # --- selection -----------------------------------------------------------------------------

    def select(
        self, point: Point, previous: Selected | None = None, preparing: bool = False
    ) -> Selected:
        """Return a basis chosen with the point's hyperparameters.

        `previous` is the basis of the round before; `preparing` says that the basis is only to
        prepare the round that refines, and any will do.
        """
        criterion = CRITERIA["random" if preparing else self.options.criterion]
        share = 1.0
        if self.refines:
            share = PREPARING_SHARE if preparing else REFINED_SHARE
        stopping = Stopping(
            max_size=self.limit,
            patience=self._patience() if criterion.chooses_size else None,
            tol=self.options.tol,
            deadline=self.deadline.share(share),
        )
        selector = self._selector(point, criterion, previous)
        stage = self.progress.stage("select", self.limit, lambda: _attributes(selector.state))
        return select(selector, stopping, lambda _: stage.step("basis vector"))

    def _selector(
        self, point: Point, criterion: Criterion, previous: Selected | None
    ) -> SparseSelector:
        data, approximation = self.data, self.approximation
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
            capacity=self.limit,
            backend=data.backend,
            keep_v=criterion.needs_v and approximation == "dtc",
            track_explained=criterion.needs_explained,
        )
        return make_selector(
            state,
            criterion,
            inputs=self.inputs,
            from_rows=self.from_rows,
            working_set=self.options.working_set,
            cache_size=self.options.cache_size,
            rng=self.rng,
            favourites=() if previous is None else previous.indices,
        )

    def _limit(self) -> int:
        """Return the most basis vectors."""
        most = self.options.max_basis
        if most is None:
            most = LARGEST_BASIS
            if self.refines:  # patience does not tell the size then
                most = min(most, int(BASIS_PER_ROOT_ROW * np.sqrt(self.data.X.shape[0])))
        return min(most, self.inputs.shape[0])

    def _patience(self) -> int | None:
        if self.options.patience != "auto":
            return self.options.patience
        return None if self.refines else PATIENCE

    # --- the two ways to a model ---------------------------------------------------------------

    def select_only(self, start: Point, value: float) -> tuple[SparseState, SparseLearnt]:
        """Select once, and rebuild the model exactly with the hyperparameters of the start."""
        selected = self.select(start)
        state = selected.state
        assert state is not None
        state.truncate(len(selected.indices), self.approximation)
        return state, SparseLearnt(point=start, value=value, selected=selected)

    def learn(self, start: Point) -> tuple[SparseState, SparseLearnt]:
        """Select and learn in rounds; return the best model."""
        schedule = self._schedule()
        learner = Learner(self.data, schedule, start)
        steps = schedule.max_iter + len(schedule.rivals) * TRIAL_ITERATIONS
        while learner.goes_on:
            selected = self.select(learner.point, learner.previous, learner.preparing)
            learner.round(selected, self._watch(learner, steps))
        learnt, state = learner.result(), learner.objective.state
        assert state is not None
        return state, learnt

    def _watch(self, learner: Learner, steps: int) -> Callable[[Point, float], bool]:
        """Return what tells the callbacks of a round's iterations, at most so many."""
        stage = self.progress.later_stage(
            "optimise", steps, lambda: _attributes(learner.objective.state)
        )
        return lambda point, value: stage.step("iteration")

    def _schedule(self) -> Schedule:
        options = self.options
        left_to_fit = options.approximation == "auto"
        compares = left_to_fit and OBJECTIVES[options.objective].compares_approximations
        return Schedule(
            objective=options.objective,
            approximation=self.approximation,
            rivals=("dtc",) if compares else (),
            rounds=self.rounds,
            max_iter=options.max_iter,
            refine_basis=self.refines,
            guard=float(options.guard),
            learn_noise=options.noise_variance is None,
            deadline=self.deadline,
        )

    # --- the end -------------------------------------------------------------------------------

    def noise(
        self, state: SparseState, learnt: SparseLearnt
    ) -> tuple[NoiseFunction | None, tuple[Array, Array]]:
        """Return the noise as a function of the input, and what is predicted of left-out rows."""
        mean, variance = self._left_out(state)
        s2 = state.noise_variance
        if state.size == 0 or learnt.interrupted or self.deadline.passed:
            return None, (mean, variance)
        noise = noise_for(
            self.options,
            lambda: LeftOutRows.of(*self.data.on_host(), mean, variance, s2),
            self.rng,
        )
        if noise is not None:
            variance = noise.instead_of_constant(variance, self.data.X, mean)
        return noise, (mean, variance)

    def _left_out(self, state: SparseState) -> tuple[Array, Array]:
        """Return mean and variance of each row's target, had the row been left out."""
        data, xp = self.data, self.data.backend.xp
        residual = state.rows.concatenate(lambda block: loo_rows(state, block)[0])
        variance = state.rows.concatenate(lambda block: loo_rows(state, block)[1])
        mean = (xp.astype(data.y, residual.dtype) - residual).T
        return xp.astype(mean, data.X.dtype), xp.astype(variance, data.X.dtype)


def _attributes(state: SparseState | None) -> dict[str, Any]:
    """Return the fitted attributes that predictions need, as they would be with this state."""
    assert state is not None
    return {
        "kernel_": state.kernel,
        "noise_variance_": state.noise_variance,
        "_posterior": Posterior(state),
    }
