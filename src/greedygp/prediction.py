"""What a fitted GP answers: means, error bars, intervals, quantiles, samples, leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.data import TargetScale
from greedygp.inputs import held
from greedygp.jackknife import Influence, Jackknife
from greedygp.messages import shown
from greedygp.noise import NoiseFunction
from greedygp.rows import ArrayRows, Chunk, RowStore
from greedygp.rows.collections import dtype_of, is_dask, lazy_rows, names_of
from greedygp.rows.memory import is_mapped
from greedygp.rows.store import one_ahead
from greedygp.rows.survey import check_inputs
from greedygp.signatures import PredictingMixin
from greedygp.summary import SummaryMixin
from greedygp.validation import (
    check_choice,
    check_features,
    check_integer,
    check_number,
    check_predict_inputs,
    check_predict_store,
)

__all__ = ["PosteriorGP", "PredictionMixin", "sample"]

METHODS = ("gaussian", "jackknife+")  # for intervals and quantiles
# Inputs and randomness in; samples (rows, p, n_samples) out, in the units of the normalised y.
Draw = Callable[[Array, np.random.RandomState], np.ndarray]


class PosteriorGP(Protocol):
    """What predictions need of a fitted model, in the units of the normalised y."""

    noise_variance: float

    def mean(self, X: Array) -> Array:
        """Return the mean of the targets at X, (rows, p)."""

    def mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        """Return the mean (rows, p) and the variance of the latent value (rows,)."""

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the latent values, (rows, rows)."""


class PredictionMixin(PredictingMixin, SummaryMixin):
    """Predictions of an estimator that has a posterior, the scale and the shape of y."""

    n_features_in_: int
    _posterior: PosteriorGP
    _scale: TargetScale
    _target_shape: tuple[int, ...]
    _loo: tuple[Array, Array] | None  # None: too many rows to keep it
    _loo_dropped: tuple[np.ndarray, Array] | None
    _noise: NoiseFunction | None = None  # None: the posterior's constant noise

    def _predict(self, X: Any, return_std: bool, return_cov: bool, noise: bool) -> Any:
        """Return predictions at any inputs."""
        if return_std and return_cov:
            raise ValueError("Ask for one of return_std and return_cov, not for both.")
        check_is_fitted(self, "_posterior")
        X = held(self, X)
        if isinstance(X, RowStore) or is_dask(X) or (is_mapped(X) and not return_cov):
            return self._predicted_by_chunks(X, return_std, return_cov, noise)
        return self._predicted(check_predict_inputs(self, X), return_std, return_cov, noise)

    def _predicted(self, X: Array, return_std: bool, return_cov: bool, noise: bool) -> Any:
        """Return predictions at inputs that have been checked."""
        if return_std:
            mean, variance = self._posterior.mean_and_variance(X)
            extra = self._noise_at(X, mean) if noise else 0.0
            std = Backend(mean).xp.sqrt(variance + extra)
            return self._as_y(X, self._scale.mean(mean, self._target_shape)), self._as_y(
                X, self._scale.std(std, self._target_shape)
            )
        mean = self._as_y(X, self._scale.mean(self._posterior.mean(X), self._target_shape))
        if return_cov:
            covariance = self._scale.covariance(self._covariance(X, noise), self._target_shape)
            return mean, self._as_y(X, covariance)
        return mean

    def _predicted_by_chunks(self, X: Any, return_std: bool, return_cov: bool, noise: bool) -> Any:
        """Return predictions of rows that are not to be held all at once."""
        if return_cov:
            raise ValueError("return_cov needs all rows at once; pass them as an array.")

        def predicted(X: Array) -> tuple[Array, ...]:
            found = self._predicted(X, return_std, False, noise)
            return found if return_std else (found,)

        found = self._answered(X, predicted)
        return found if return_std else found[0]

    def _by_chunks(self, X: Any, answer: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Return what is answered of rows that are not to be held all at once."""
        store = X if isinstance(X, RowStore) else ArrayRows(X)
        check_predict_store(self, store)
        parts = [answer(check_inputs(chunk)) for chunk in one_ahead(store.chunks())]
        if not parts:
            raise ValueError("There are no rows to predict.")
        xp = store.backend.xp
        return tuple(xp.concat(list(part), axis=0) for part in zip(*parts, strict=True))

    def _answered_lazily(
        self, X: Any, answer: Callable[[Array], tuple[Array, ...]]
    ) -> tuple[Any, ...]:
        """Return Dask arrays of what is answered of the rows of a Dask collection."""
        check_features(self, names_of(X), X.shape[1])
        example = answer(np.zeros((1, self.n_features_in_), dtype=dtype_of(X)))

        def together(chunk: Chunk) -> Array:
            return np.stack(answer(check_inputs(chunk)), axis=-1)

        found = lazy_rows(X, together, (*example[0].shape[1:], len(example)))
        return tuple(found[..., place] for place in range(len(example)))

    def _as_y(self, X: Array, values: Array) -> Array:
        """Return computed values in the dtype of the inputs that were given."""
        return Backend(X).xp.astype(values, X.dtype, copy=False)

    def _covariance(self, X: Array, noise: bool) -> Array:
        covariance = self._posterior.covariance(X)
        if noise:
            backend = Backend(covariance)
            eye = backend.xp.eye(X.shape[0], dtype=covariance.dtype, device=backend.device)
            mean = None if self._noise is None else self._posterior.mean(X)
            covariance = covariance + self._noise_at(X, mean) * eye
        return covariance

    def _noise_at(self, X: Array, mean: Array | None) -> Any:
        """Return the noise variance at X in the model's units, (N,) or one number for all.

        `mean` (N, p) is the posterior's there; it is not needed where the noise is constant.
        """
        if self._noise is None:
            return self._posterior.noise_variance
        return self._noise(X, mean)

    def noise_variance_at(self, X: Any) -> Array:
        """Return the variance of a target's noise at X.

        It is the same everywhere unless the noise was learnt as a function of the input
        (`noise_model`).

        Parameters
        ----------
        X : (N, D) array-like

        Returns
        -------
        (N,) or (N, p) array
            In the units of y, squared.
        """
        check_is_fitted(self, "_posterior")
        X = check_predict_inputs(self, X)
        mean = self._posterior.mean(X)
        xp = Backend(mean).xp
        noise = xp.zeros_like(mean[:, 0]) + self._noise_at(X, mean)
        return self._as_y(X, self._scale.std(xp.sqrt(noise), self._target_shape) ** 2)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, method: str = "gaussian"
    ) -> tuple[Array, Array]:
        """Predict an interval in which a new target lies with the given probability.

        Parameters
        ----------
        X : (N, D) array-like
        coverage : float between 0 and 1
        method : {"gaussian", "jackknife+"}
            "gaussian": so many standard deviations around the mean. "jackknife+": from the errors
            of left-out training rows, in closed form, without assuming a Gaussian; see the page on
            calibration for when its coverage is guaranteed.

        Returns
        -------
        lower, upper : (N,) or (N, p) arrays
        """
        _check_share("coverage", coverage)
        check_choice("method", method, METHODS)
        if method == "gaussian":
            mean, std = self.predict(X, return_std=True)
            width = float(ndtri(0.5 + 0.5 * coverage)) * std
            return mean - width, mean + width
        jackknife = self._jackknife()

        def answer(X: Array) -> tuple[Array, ...]:
            ends = jackknife.interval(X, coverage)
            return tuple(self._as_y(X, self._scale.mean(end, self._target_shape)) for end in ends)

        lower, upper = self._answered(X, answer)
        return lower, upper

    def predict_quantiles(
        self, X: Any, quantiles: Any = (0.05, 0.5, 0.95), *, method: str = "gaussian"
    ) -> Array:
        """Predict quantiles of new targets.

        Parameters
        ----------
        X : (N, D) array-like
        quantiles : sequence of floats between 0 and 1
        method : {"gaussian", "jackknife+"}
            As for :meth:`predict_interval`. The quantiles of "jackknife+" need not lie evenly
            around the mean.

        Returns
        -------
        (N, q) or (N, p, q) array
        """
        levels = np.atleast_1d(quantiles)
        if levels.ndim != 1 or len(levels) == 0:
            raise ValueError(
                f"quantiles must be a list of numbers between 0 and 1; got {shown(quantiles)}."
            )
        for level in levels.tolist():
            _check_share("quantiles", level)
        check_choice("method", method, METHODS)
        if method == "gaussian":
            mean, std = self.predict(X, return_std=True)
            return Backend(mean).xp.stack([mean + float(ndtri(t)) * std for t in levels], axis=-1)
        jackknife = self._jackknife()

        def answer(X: Array) -> tuple[Array, ...]:
            found = jackknife.quantiles(X, levels)
            columns = [found[:, :, k] for k in range(len(levels))]
            in_units = [self._scale.mean(column, self._target_shape) for column in columns]
            return (self._as_y(X, Backend(found).xp.stack(in_units, axis=-1)),)

        return self._answered(X, answer)[0]

    def _answered(self, X: Any, answer: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Return what is answered of inputs, which are checked; memory maps go in chunks."""
        if is_dask(X):
            return self._answered_lazily(X, answer)
        X = held(self, X)
        if isinstance(X, RowStore) or is_mapped(X):
            return self._by_chunks(X, answer)
        return answer(check_predict_inputs(self, X))

    def _jackknife(self) -> Jackknife:
        check_is_fitted(self, "_posterior")
        return Jackknife(self._influence(), self._noise_at)

    def _influence(self) -> Influence:
        """Return what single rows do to predictions."""
        raise NotImplementedError

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> Array:
        """Draw samples of the targets at X from the posterior.

        Parameters
        ----------
        X : (N, D) array-like
        n_samples : int
        random_state : int, RandomState or None
        noise : bool
            Whether the samples include the noise of a target.

        Returns
        -------
        (N, n_samples) or (N, p, n_samples) array
        """

        def draw(X: Array, rng: np.random.RandomState) -> np.ndarray:
            mean = to_numpy(self._posterior.mean(X)).astype(np.float64)
            covariance = to_numpy(self._covariance(X, noise)).astype(np.float64)
            columns = [sample(column, covariance, n_samples, rng) for column in mean.T]
            return np.stack(columns, axis=1)

        return self._drawn(X, n_samples, random_state, draw)

    def _drawn(self, X: Any, n_samples: int, random_state: Any, draw: Draw) -> Array:
        """Check what was given, draw, and return the samples in the units of y."""
        check_is_fitted(self, "_posterior")
        check_integer("n_samples", n_samples, 1)
        X = check_predict_inputs(self, X)
        samples = draw(X, check_random_state(random_state))
        return Backend(X).asarray(self._scale.samples(samples, self._target_shape))

    def loo_predict(self) -> tuple[Array, Array]:
        """Predict every training row from all the others, in closed form.

        Returns
        -------
        mean, std : (n,) or (n, p) arrays
            The leave-one-out mean and standard deviation (with noise) of each target; a row of
            weight 0 was left out of the fit anyway.
        """
        check_is_fitted(self, "_posterior")
        mean, variance = self._left_out()
        std = Backend(mean).xp.sqrt(variance)
        if self._loo_dropped is not None:
            mean, std = self._with_dropped(mean, std, *self._loo_dropped)
        return self._scale.mean(mean, self._target_shape), self._scale.std(std, self._target_shape)

    def _left_out(self) -> tuple[Array, Array]:
        """Return mean (n, p) and variance (n,) of every row of positive weight without it."""
        if self._loo is None:
            raise ValueError(
                "The model does not keep what it predicts of the rows that it was fitted to; pass "
                "them to loo_predict as you did to fit."
            )
        return self._loo

    def _with_dropped(
        self, mean: Array, std: Array, used: np.ndarray, X: Array
    ) -> tuple[Array, Array]:
        """Put the rows of weight 0 back in their places, with their ordinary predictions."""
        backend = Backend(mean)
        other_mean, other_variance = self._posterior.mean_and_variance(X)
        other_std = backend.xp.sqrt(other_variance + self._noise_at(X, other_mean))
        places = np.argsort(np.concatenate([np.flatnonzero(used), np.flatnonzero(~used)]))
        order = backend.integers(places)
        both_means = backend.xp.concat([mean, backend.asarray(other_mean)], axis=0)
        both_stds = backend.xp.concat([std, backend.asarray(other_std)], axis=0)
        return (
            backend.xp.take(both_means, order, axis=0),
            backend.xp.take(both_stds, order, axis=0),
        )


def _check_share(name: str, value: Any) -> None:
    """Raise unless the value lies between 0 and 1."""
    check_number(name, value, above=0)
    if value >= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {shown(value)}.")


def sample(
    mean: np.ndarray, covariance: np.ndarray, n_samples: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return samples (rows, n_samples) of a Gaussian, by the symmetric root of its covariance."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return mean[:, None] + root @ rng.standard_normal((len(mean), n_samples))
