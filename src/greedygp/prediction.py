"""What a fitted GP answers: means, error bars, intervals, samples, leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.data import TargetScale
from greedygp.messages import shown
from greedygp.noise import NoiseFunction
from greedygp.summary import SummaryMixin
from greedygp.validation import check_integer, check_number, check_predict_inputs

__all__ = ["PosteriorGP", "PredictionMixin", "sample"]

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


class PredictionMixin(SummaryMixin):
    """Predictions of an estimator that has a posterior, the scale and the shape of y."""

    n_features_in_: int
    _posterior: PosteriorGP
    _scale: TargetScale
    _target_shape: tuple[int, ...]
    _loo: tuple[Array, Array]
    _loo_dropped: tuple[np.ndarray, Array] | None
    _noise: NoiseFunction | None = None  # None: the posterior's constant noise

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, noise: bool = True
    ) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like
        return_std : bool
            Whether the standard deviation is returned too.
        return_cov : bool
            Whether the full covariance is returned too.
        noise : bool
            Whether they include the noise of a target (as opposed to the latent function).

        Returns
        -------
        mean : (N,) or (N, p) array
        std : (N,) or (N, p) array, if `return_std`
        cov : (N, N) or (N, N, p) array, if `return_cov`
        """
        if return_std and return_cov:
            raise ValueError("Ask for one of return_std and return_cov, not for both.")
        check_is_fitted(self, "_posterior")
        X = check_predict_inputs(self, X)
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

    def predict_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Predict the central interval in which a new target lies with the given probability.

        Parameters
        ----------
        X : (N, D) array-like
        coverage : float between 0 and 1

        Returns
        -------
        lower, upper : (N,) or (N, p) arrays
        """
        check_number("coverage", coverage, above=0)
        if coverage >= 1:
            raise ValueError(f"coverage must lie between 0 and 1; got {shown(coverage)}.")
        mean, std = self.predict(X, return_std=True)
        width = float(ndtri(0.5 + 0.5 * coverage)) * std
        return mean - width, mean + width

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


def sample(
    mean: np.ndarray, covariance: np.ndarray, n_samples: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return samples (rows, n_samples) of a Gaussian, by the symmetric root of its covariance."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return mean[:, None] + root @ rng.standard_normal((len(mean), n_samples))
