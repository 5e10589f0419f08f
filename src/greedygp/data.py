"""Training data as the model works on them, and predictions back in the units of y."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.rows import Chunk, RowStore, Survey
from greedygp.rows.store import Watch

__all__ = [
    "InUnits",
    "TargetScale",
    "TrainingData",
    "WholeData",
    "feature_spreads",
    "mean_variance",
    "targets_and_weights",
]


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
        return cls.of(centre, np.average((wide - centre) ** 2, axis=0, weights=weights))

    @classmethod
    def of(cls, mean: np.ndarray, variance: np.ndarray) -> TargetScale:
        """Return the scale of targets with these means and variances, (p,)."""
        width = np.sqrt(variance)
        constant = width <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        return cls(mean, np.where(constant, 1.0, width))

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
    """The rows with a positive weight, with targets as the model works on them, (p, n).

    They may be a sample of more rows, whose targets' `scale` is given then. `whole` has all rows in
    that case, and `streamed` those that hyperparameters are learnt from where that is more than
    the sample.
    """

    whole: WholeData | None = None
    streamed: WholeData | None = None
    trust: Array | None = None  # (n,) by which weights were multiplied; see `trusting`

    def __init__(
        self,
        X: Array,
        y: Array,
        weights: np.ndarray | None,
        normalize: bool,
        scale: TargetScale | None = None,
    ):
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
        self.places: np.ndarray | None = None  # of the rows of a sample, or a part, among all
        self.scale = scale or TargetScale.from_data(to_numpy(y), weights, normalize)
        self.y = self.backend.asarray(self.scale.normalised(to_numpy(y)).T.copy())
        self.weights = None if weights is None else self.backend.asarray(weights)

    def trusting(self, trust: np.ndarray) -> TrainingData:
        """Return the same data with every weight multiplied by a positive number, (n,).

        That is how much a row counts, not how often it was seen: a row with the trust t has 1/t
        times the noise variance.
        """
        trust = self.backend.asarray(trust)
        other = copy.copy(self)
        other.weights = trust if self.weights is None else self.weights * trust
        other.trust = trust if self.trust is None else self.trust * trust
        return other

    def at(self, places: np.ndarray) -> TrainingData:
        """Return some of the rows, whose `places` among these they keep, in the same units."""
        other, take = copy.copy(self), self.backend.take
        other.X, other.y = take(self.X, places), take(self.y, places, axis=1)
        other.weights = None if self.weights is None else take(self.weights, places)
        other.trust = None if self.trust is None else take(self.trust, places)
        other.places, other.whole, other.streamed = places, None, None
        return other

    @property
    def left_out_weights(self) -> Array | None:
        """How much of its weight each row takes along when it is left out: at most one copy.

        None: what the weights themselves tell.
        """
        if self.trust is None:
            return None
        return self.trust * self.backend.xp.clip(self.weights / self.trust, max=1.0)

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
        if self.places is not None:
            return self.places[indices]
        return indices if self.used is None else np.flatnonzero(self.used)[indices]


# --- rows that pass by -------------------------------------------------------------------------


class WholeData:
    """Rows wherever they live, with targets as the model works on them; nothing of them is kept.

    Parameters
    ----------
    store : RowStore
    survey : Survey
        Of the store's rows.
    scale : TargetScale
    """

    def __init__(self, store: RowStore, survey: Survey, scale: TargetScale):
        self.store, self.survey, self.scale = store, survey, scale
        self.backend = store.backend
        self.watch: Watch | None = None  # is told how many rows have gone by

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return self.survey.weight

    def reduce(self, one_pass: Pass, rows: int) -> Any:
        """Add up what a pass gives for at most so many rows at a time."""
        return self.store.reduce(InUnits(one_pass, self.scale), rows, self.watch)

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array, np.ndarray]:
        """Return X, y and weights of so many random rows of positive weight, and their places."""
        places = np.sort(rng.choice(self.survey.n_used, count, replace=False))
        return self.store.gather(places)

    def sample(self, count: int, rng: np.random.Generator) -> TrainingData:
        """Return so many random rows of positive weight as training data."""
        X, y, weights, places = self.drawn(count, rng)
        weights = None if weights is None else np.asarray(to_numpy(weights), dtype=np.float64)
        data = TrainingData(X, y, weights, True, self.scale)
        data.places = places
        return data


Pass = Callable[[Array, Array, Array | None], Any]  # X (T, D), y (p, T), weights (T,) or None


@dataclass
class InUnits:
    """A pass over chunks as they come: without rows of weight zero, targets in the model's units.

    It and the pass travel to where the rows are.
    """

    one_pass: Pass
    scale: TargetScale

    def __call__(self, chunk: Chunk) -> Any:
        X, y, weights = chunk.X, chunk.y, chunk.weights
        used = chunk.used
        if used is not None:
            X, y, weights = chunk.take(used)
        if X.shape[0] == 0:
            return None
        return self.one_pass(X, *targets_and_weights(X, y, weights, self.scale))


def targets_and_weights(
    X: Array, y: Array, weights: Array | None, scale: TargetScale
) -> tuple[Array, Array | None]:
    """Return targets (p, T) in the model's units, and weights, as row arrays like X."""
    backend = Backend(X)
    y = y[:, None] if y.ndim == 1 else y
    targets = backend.asarray(scale.normalised(to_numpy(y)).T.copy())
    return targets, None if weights is None else backend.asarray(weights)
