"""What a model predicts of training rows without them: what the noise is learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.data import mean_variance

__all__ = ["LeftOutRows"]

EXPLAINED = 0.1  # share of the targets' variance that a model must explain for its means to count


@dataclass(frozen=True)
class LeftOutRows:
    """What a model predicts of each training row without it, on the host, in the model's units.

    Parameters
    ----------
    X : (n, D) array
    mean : (n, p) array
        Of the latent value; p = 0 where it tells nothing.
    square : (n,) array
        Squared residual, averaged over the targets.
    latent : (n,) array
        Variance of the latent value.
    weights : (n,) array
    noise_variance : float
    widening : float
        The factor that predictive variances have after learning (`greedygp.widening`). Left-out
        rows do not need it: `latent` and `noise_variance` are without it.
    """

    X: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    latent: np.ndarray
    weights: np.ndarray
    noise_variance: float
    widening: float = 1.0

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        mean: Array,
        variance: Array,
        noise_variance: float,
        widening: float = 1.0,
    ) -> LeftOutRows:
        """Return the rows, given mean (n, p) and variance (n,) of each, constant noise included.

        Variances and noise are given with the widening.
        """
        means = to_numpy(mean).astype(np.float64)
        square = np.mean((y - means) ** 2, axis=1)
        latent = np.maximum(to_numpy(variance).astype(np.float64) - noise_variance, 0.0)
        weights = np.ones(len(X)) if weights is None else weights
        error = float(np.average(square, weights=weights))
        if error > (1.0 - EXPLAINED) * mean_variance(y, weights):
            means = means[:, :0]
        latent, noise_variance = latent / widening, noise_variance / widening
        return cls(X, means, square, latent, weights, noise_variance, widening)

    def some(self, rows: np.ndarray) -> LeftOutRows:
        """Return only these rows."""
        return LeftOutRows(
            self.X[rows],
            self.mean[rows],
            self.square[rows],
            self.latent[rows],
            self.weights[rows],
            self.noise_variance,
            self.widening,
        )

    def loss(self, h: np.ndarray) -> np.ndarray:
        """Return the negative log density of each row, up to a constant, for one copy of it."""
        t = self.latent + self.noise_variance * np.exp(h)
        return 0.5 * (np.log(t) + self.square / t)
