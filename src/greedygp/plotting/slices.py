"""Predictions along one feature or over two, the others held at a typical value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from greedygp.arrays import to_numpy

__all__ = ["Slice", "feature_places", "slice_of"]


@dataclass
class Slice:
    """Predictions on a line or a grid.

    Attributes
    ----------
    places : tuple of int
        The features that vary, one or two.
    grid : list of arrays
        Values of each, (points,).
    mean : array of shape (points,) or (points, points)
        Of the target, or the probability of the second class; its last axis goes with the first
        feature.
    std : array of the same shape, or None
    rest : (features,) array
        Where the other features are held.
    """

    places: tuple[int, ...]
    grid: list[np.ndarray]
    mean: np.ndarray
    std: np.ndarray | None
    rest: np.ndarray

    def band(self, coverage: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the lower and upper ends of the interval with the given probability."""
        if self.std is None:
            return None
        reach = float(ndtri(0.5 + 0.5 * coverage)) * self.std
        return self.mean - reach, self.mean + reach


def feature_places(X: Any, features: Any) -> tuple[int, ...]:
    """Return the places of features that are given by number or by name, one or two of them."""
    many = features if isinstance(features, list | tuple) else [features]
    names = [str(name) for name in getattr(X, "columns", [])]
    D = np.shape(X)[1]
    places = []
    for feature in many:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"X has no feature {feature!r}; it has {', '.join(names)}.")
            places.append(names.index(feature))
        elif 0 <= int(feature) < D:
            places.append(int(feature))
        else:
            raise ValueError(f"features must lie between 0 and {D - 1}; got {feature!r}.")
    if len(places) not in (1, 2) or len(set(places)) != len(places):
        raise ValueError(f"features must be one feature, or two different ones; got {features!r}.")
    return tuple(places)


def slice_of(
    estimator: Any, X: Any, places: tuple[int, ...], points: int = 100, *, noise: bool = True
) -> Slice:
    """Predict along one feature or over two.

    Parameters
    ----------
    estimator : fitted estimator
    X : (rows, features) array or DataFrame
        Tells the range of each feature, and where the others are held: at their medians.
    places : one or two ints
    points : int
        Along each feature.
    noise : bool
        Whether the standard deviation includes the noise of a target (where that can be chosen).
    """
    values = np.asarray(to_numpy(X), dtype=np.float64)
    rest = np.median(values, axis=0)
    margins = 0.05 * np.ptp(values, axis=0)
    low, high = values.min(axis=0) - margins, values.max(axis=0) + margins
    grid = [np.linspace(low[k], high[k], points) for k in places]
    mesh = np.meshgrid(*grid)
    rows = np.tile(rest, (mesh[0].size, 1))
    for k, coordinate in zip(places, mesh):
        rows[:, k] = coordinate.ravel()
    table = type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows
    mean, std = _predicted(estimator, table, noise)
    shape = mesh[0].shape
    return Slice(places, grid, mean.reshape(shape), _reshaped(std, shape), rest)


def _predicted(estimator: Any, X: Any, noise: bool) -> tuple[np.ndarray, np.ndarray | None]:
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))[:, 1], None
    for options in ({"return_std": True, "noise": noise}, {"return_std": True}):
        try:
            mean, std = estimator.predict(X, **options)
        except TypeError:  # it has no such option
            continue
        return to_numpy(mean), to_numpy(std)
    return to_numpy(estimator.predict(X)), None


def _reshaped(values: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    return None if values is None else values.reshape(shape)
