"""What comes after learning: the posterior of all rows, the noise, how far rows are trusted.

The noise is learnt as a function of the input from left-out rows (`greedygp.noise`). Where it
varies, the mean is fitted once more with the same hyperparameters and basis: quiet rows count more,
noisy rows less (`greedygp.trust`), if left-out rows are predicted better that way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.data import TrainingData
from greedygp.left_out_rows import LeftOutRows
from greedygp.noise import NoiseFunction, noise_for, noise_may_vary
from greedygp.progress import Deadline
from greedygp.sparse.influence import MOST_ROWS, SparseInfluence
from greedygp.sparse.left_out import left_out_of_store, left_out_rows
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.model import SparseModel
from greedygp.sparse.passes import fitted_model
from greedygp.sparse.state import SparseState
from greedygp.trust import POWERS, predicts_better, row_trust

__all__ = ["Ended", "Ending"]

LeftOut = tuple[
    Array, Array
]  # mean (n, p) and variance (n,) of left-out rows, in the model's units


@dataclass
class Ended:
    """What goes with a fitted model."""

    noise: NoiseFunction | None  # None: constant
    loo: LeftOut
    loo_of_all: LeftOut | None  # the same of all rows; None: there are too many of them
    influence: SparseInfluence  # what some of the rows do to predictions


class Ending:
    """The stages of a fit after learning.

    Parameters
    ----------
    options : SparseGPRegressor
        Its parameters are read.
    data : TrainingData
        What was learnt from.
    given : TrainingData
        The same rows with the weights that were given; `data` may trust some of them less.
    rng : numpy.random.Generator
    deadline : Deadline
    widening : float
        What kernel and noise were multiplied by after learning.
    """

    def __init__(
        self,
        options: Any,
        data: TrainingData,
        given: TrainingData,
        rng: np.random.Generator,
        deadline: Deadline,
        widening: float,
    ):
        self.options, self.data, self.given = options, data, given
        self.rng, self.deadline, self.widening = rng, deadline, widening

    def over_all_rows(self, state: SparseModel) -> SparseModel:
        """Return the model with the posterior of all rows, where a sample was learnt from."""
        whole = self.data.whole
        if whole is None:
            return state
        model, _ = fitted_model(
            whole,
            state.kernel,
            state.noise_variance,
            state.approximation,
            state.basis,
            self.options.memory_limit,
        )
        model.jitter, model.drift = max(model.jitter, state.jitter), state.drift
        return model

    def ended(self, model: SparseModel, interrupted: bool) -> Ended:
        """Return what goes with the model, which is changed in place where rows are trusted.

        After Ctrl-C the noise is constant.
        """
        noise, loo = None, self.left_out(model)
        if model.size and not interrupted and not self.deadline.passed:
            noise, loo = self.noise(model, loo)
            if noise is not None and isinstance(model, SparseState):
                noise, loo = self.trusted(model, noise, loo)
        of_all = self.left_out_of_all(model, interrupted, noise, loo)
        return Ended(noise, loo, of_all, self.influence(model, noise))

    # --- the noise -----------------------------------------------------------------------------

    def noise(self, model: SparseModel, loo: LeftOut) -> tuple[NoiseFunction | None, LeftOut]:
        """Return the noise as a function of the input, and left-out rows with it.

        `loo` has the constant noise.
        """
        mean, variance = loo
        noise = noise_for(
            self.options,
            lambda: LeftOutRows.of(
                *self.given.on_host(), mean, variance, model.noise_variance, self.widening
            ),
            self.rng,
            varies=self.data is not self.given,
        )
        if noise is not None:
            variance = noise.instead_of_constant(variance, self.data.X, mean)
        return noise, (mean, variance)

    def trusted(
        self, model: SparseState, noise: NoiseFunction, loo: LeftOut
    ) -> tuple[NoiseFunction | None, LeftOut]:
        """Fit the mean with rows trusted by their noise, in place, where left-out rows say so."""
        if not noise_may_vary(self.options):
            return noise, loo
        untrusting, before = self.data, (noise, loo)
        at_rows = to_numpy(noise(self.data.X, loo[0])).astype(np.float64)
        if untrusting.trust is not None:
            at_rows = at_rows * to_numpy(untrusting.trust)  # what is not accounted for yet
        y, weights = self.given.targets_on_host()
        try:
            for power in POWERS:
                self.data = untrusting.trusting(row_trust(at_rows, weights, power))
                model.set_weights(self.data.weights)
                after = self.noise(model, self.left_out(model))
                if predicts_better(y, weights, after[1], before[1]):
                    return after
        except KeyboardInterrupt:
            self._back_to(untrusting, model)
            raise
        self._back_to(untrusting, model)
        return before

    def _back_to(self, data: TrainingData, model: SparseState) -> None:
        self.data = data
        model.set_weights(data.weights)

    # --- rows that are left out ----------------------------------------------------------------

    def left_out(self, model: SparseModel) -> LeftOut:
        """Return mean and variance of each row's target, had the row been left out."""
        data, xp = self.data, self.data.backend.xp
        if not isinstance(model, SparseState):  # rows of a sample, left out of all
            return left_out_rows(model, data.X, data.y, data.weights)
        copies = data.left_out_weights

        def part(block: Any) -> LeftOut:
            of_block = None if copies is None else copies[block.start : block.stop]
            return loo_rows(model, block, of_block)

        residual = model.rows.concatenate(lambda block: part(block)[0])
        variance = model.rows.concatenate(lambda block: part(block)[1])
        mean = (xp.astype(data.y, residual.dtype) - residual).T
        return xp.astype(mean, data.X.dtype), xp.astype(variance, data.X.dtype)

    def left_out_of_all(
        self, model: SparseModel, interrupted: bool, noise: NoiseFunction | None, of_data: LeftOut
    ) -> LeftOut | None:
        """Return what is predicted of all rows, each left out, where that is kept."""
        whole = self.data.whole
        if whole is None or interrupted or not whole.store.keeps_left_out:
            return of_data if whole is None else None
        limit = self.options.memory_limit
        return left_out_of_store(whole.store, model, whole.scale, noise, limit)

    def influence(self, model: SparseModel, noise: NoiseFunction | None) -> SparseInfluence:
        """Return what rows do to predictions, of a random part of them where there are many."""
        data, take = self.data, self.data.backend.xp.take
        y = data.y
        by_row = [data.weights, self.given.weights, data.left_out_weights]
        X = data.X
        if X.shape[0] > MOST_ROWS:
            places = np.sort(self.rng.choice(X.shape[0], MOST_ROWS, replace=False))
            some = data.backend.integers(places)
            X, y = take(X, some, axis=0), take(y, some, axis=1)
            by_row = [None if each is None else take(each, some, axis=0) for each in by_row]
        weights, counts, copies = by_row
        return SparseInfluence(model, X, y, weights, noise, counts, copies)
