"""Training data as the model works on them, and predictions back in the units of y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy

__all__ = ["TargetScale", "TrainingData", "feature_spreads", "mean_variance"]


def mean_variance(y: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the variance of y (n, p), averaged over its columns; one where it is constant."""
    variance = float(np.mean(_variances(y, weights)))
    return variance if variance > 1e-300 else 1.0


def feature_spreads(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the standard deviation of each feature, (D,); one where it is constant."""
    spread = np.sqrt(_variances(X, weights))
    rounding = 8.0 * np.finfo(np.float64).eps * np.max(np.abs(X), axis=0)
    spread[spread <= np.maximum(rounding, 1e-300)] = 1.0
    return spread


def _variances(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    centred = columns - np.average(columns, axis=0, weights=weights)
    return np.average(centred**2, axis=0, weights=weights)


@dataclass
class TargetScale:
    """Mean and scale of each target column, (p,)."""

    centre: np.ndarray
    width: np.ndarray

    @classmethod
    def from_data(cls, y: np.ndarray, weights: np.ndarray | None, normalize: bool) -> TargetScale:
        """Return the scale of y (n, p); a constant column keeps the width one."""
        p = y.shape[1]
        if not normalize:
            return cls(np.zeros(p), np.ones(p))
        wide = y.astype(np.float64)
        centre = np.average(wide, axis=0, weights=weights)
        width = np.sqrt(np.average((wide - centre) ** 2, axis=0, weights=weights))
        constant = width <= 1e-12 * np.maximum(np.abs(centre), 1e-300)
        return cls(centre, np.where(constant, 1.0, width))

    def normalised(self, y: np.ndarray) -> np.ndarray:
        """Return y in the model's units, in float64."""
        return (y.astype(np.float64) - self.centre) / self.width

    def mean(self, mean: Array, shape: tuple) -> Array:
        """Return a mean (N, p) in the units of y and the shape of y."""
        backend = Backend(mean)
        values = mean * backend.asarray(self.width) + backend.asarray(self.centre)
        return values if shape else values[:, 0]

    def std(self, std: Array, shape: tuple) -> Array:
        """Return a standard deviation (N,) in the units of y and the shape of y."""
        backend = Backend(std)
        values = std[:, None] * backend.asarray(self.width)
        return values if shape else values[:, 0]

    def covariance(self, covariance: Array, shape: tuple) -> Array:
        """Return a covariance (N, N) in the units of y; several targets have a last axis."""
        backend = Backend(covariance)
        values = covariance[:, :, None] * backend.asarray(self.width**2)
        return values if shape else values[:, :, 0]

    def samples(self, samples: np.ndarray, shape: tuple) -> np.ndarray:
        """Return samples (N, p, s) in the units of y, without the middle axis for one target."""
        values = samples * self.width[None, :, None] + self.centre[None, :, None]
        return values if shape else values[:, 0, :]


class TrainingData:
    """The rows with a positive weight, with targets as the model works on them, (p, n)."""

    def __init__(self, X: Array, y: Array, weights: np.ndarray | None, normalize: bool):
        self.backend = Backend(X)
        xp = self.backend.xp
        y = y[:, None] if y.ndim == 1 else y
        self.n_given = X.shape[0]
        self.used: np.ndarray | None = None
        self.dropped: tuple[np.ndarray, Array] | None = None
        if weights is not None and np.any(weights == 0):
            self.used = weights > 0
            kept = self.backend.integers(np.flatnonzero(self.used))
            gone = self.backend.integers(np.flatnonzero(~self.used))
            self.dropped = self.used, xp.take(X, gone, axis=0)
            X, y = xp.take(X, kept, axis=0), xp.take(y, kept, axis=0)
            weights = weights[self.used]
        self.X = X
        self.scale = TargetScale.from_data(to_numpy(y), weights, normalize)
        self.y = self.backend.asarray(self.scale.normalised(to_numpy(y)).T.copy())
        self.weights = None if weights is None else self.backend.asarray(weights)

    @property
    def spread(self) -> float:
        """The standard deviation of the targets in the model's units; one where it is zero."""
        return float(np.sqrt(mean_variance(*self.targets_on_host())))

    def on_host(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return X (n, D), y (n, p) and the weights (n,) or None as float64 on the host."""
        return to_numpy(self.X).astype(np.float64), *self.targets_on_host()

    def targets_on_host(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return y (n, p) and the weights (n,) or None as float64 on the host."""
        weights = None if self.weights is None else to_numpy(self.weights).astype(np.float64)
        return to_numpy(self.y).astype(np.float64).T, weights

    def original_places(self, indices: np.ndarray) -> np.ndarray:
        """Return the places of used rows among all rows."""
        return indices if self.used is None else np.flatnonzero(self.used)[indices]
