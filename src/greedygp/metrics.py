"""Measures of predictions and predictive distributions on targets that were not seen.

All take the targets ``y`` and a Gaussian prediction per target: its ``mean`` and, where needed,
its standard deviation ``std``, noise included, as ``predict(X, return_std=True)`` gives them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

__all__ = ["coverage", "crps", "nlpd", "nmse", "pit"]

FloatArray = NDArray[np.float64]


def nmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Normalised mean squared error: ``mean((y - mean)^2) / var(y)``.

    Parameters
    ----------
    y, mean : array-like of the same shape
        Targets, with at least two different values, and predicted means.

    Returns
    -------
    float
        0 for a perfect prediction, 1 for predicting the average of ``y``.

    Examples
    --------
    >>> from greedygp.metrics import nmse
    >>> nmse([0.0, 2.0], [1.0, 1.0])
    1.0
    """
    y, mean = _validated(y=y, mean=mean)
    if np.all(y == y.flat[0]):
        raise ValueError("y is constant, so the normalised error is not defined; use the MSE.")
    return float(np.mean((y - mean) ** 2) / np.var(y))


def nlpd(y: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Negative log predictive density, averaged: ``mean(-log N(y; mean, std^2))``.

    Parameters
    ----------
    y, mean, std : array-like of the same shape
        Targets, predicted means and standard deviations (positive, noise included).

    Returns
    -------
    float
        In nats; smaller is better. Scaling all three by c adds log c.

    Examples
    --------
    >>> from greedygp.metrics import nlpd
    >>> round(nlpd([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    y, mean, std = _validated(y=y, mean=mean, std=std)
    return float(np.mean(0.5 * ((y - mean) / std) ** 2 + np.log(std)) + 0.5 * np.log(2 * np.pi))


def crps(y: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    r"""Continuous ranked probability score of Gaussian predictions, averaged.

    The score of one prediction is the integral of ``(F(t) - [t >= y])^2`` over all ``t``, where
    ``F`` is the predictive distribution function. For a Gaussian, with ``z = (y - mean) / std``
    and the standard normal's distribution function Phi and density phi, it is

    .. math:: \mathrm{std}\,\bigl(z\,(2 \Phi(z) - 1) + 2 \phi(z) - 1 / \sqrt{\pi}\bigr).

    It asks for the right distribution like :func:`nlpd`, but is in the target's units and grows
    only linearly with an outlier.

    Parameters
    ----------
    y, mean, std : array-like of the same shape
        Targets, predicted means and standard deviations (positive, noise included).

    Returns
    -------
    float
        In the units of ``y``; smaller is better. It tends to the mean absolute error as ``std``
        tends to zero.

    References
    ----------
    Gneiting and Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal of
    the American Statistical Association 102 (2007), 359-378.

    Examples
    --------
    >>> from greedygp.metrics import crps
    >>> round(crps([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    y, mean, std = _validated(y=y, mean=mean, std=std)
    z = (y - mean) / std
    twice_density = np.sqrt(2 / np.pi) * np.exp(-0.5 * z**2)
    return float(np.mean(std * (z * (2 * ndtr(z) - 1) + twice_density - 1 / np.sqrt(np.pi))))


def coverage(y: ArrayLike, mean: ArrayLike, std: ArrayLike, level: float = 0.95) -> float:
    """Share of the targets inside the central predictive interval of the given level.

    Parameters
    ----------
    y, mean, std : array-like of the same shape
    level : float in (0, 1)
        Nominal level; calibrated predictions cover about this share.

    Returns
    -------
    float
    """
    y, mean, std = _validated(y=y, mean=mean, std=std)
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1; got {level}.")
    return float(np.mean(np.abs(y - mean) <= ndtri(0.5 + 0.5 * level) * std))


def pit(y: ArrayLike, mean: ArrayLike, std: ArrayLike) -> FloatArray:
    """Probability integral transform: the predictive distribution function at each target.

    Parameters
    ----------
    y, mean, std : array-like of the same shape

    Returns
    -------
    ndarray
        Uniform on [0, 1] when the predictive distributions are right.
    """
    y, mean, std = _validated(y=y, mean=mean, std=std)
    return np.asarray(ndtr((y - mean) / std))


def _validated(**arrays: ArrayLike) -> list[FloatArray]:
    """The named arrays as float64, checked: same shape, not empty, finite, ``std`` positive."""
    checked = []
    shape = np.shape(arrays["y"])
    for name, values in arrays.items():
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers: {error}.") from error
        if array.shape != shape:
            raise ValueError(
                f"{name} has shape {array.shape}, y has shape {shape}; make them the same."
            )
        if array.size == 0:
            raise ValueError(f"{name} is empty.")
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} holds NaN or infinite values.")
        if name == "std" and not np.all(array > 0):
            raise ValueError("std must be positive everywhere.")
        checked.append(array)
    return checked
