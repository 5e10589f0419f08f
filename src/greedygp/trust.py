"""How much rows count for the mean where their noise is known to vary.

A mean that is fitted with one noise level follows noisy rows as closely as quiet ones. With the
noise variance `n_i` of each row, left-out rows are the most probable where a row counts `1 / n_i`
times. But then the mean follows the many quiet rows, and over all rows its squared error may rise.
The root, `n_i^(-1/2)`, has most of the one at next to none of the other. It is used where left-out
rows are more probable, and their means not clearly worse; else the fourth root is tried.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, to_numpy

__all__ = ["POWERS", "judged", "predicts_better", "row_trust"]

POWERS = (0.5, 0.25)  # of the inverse noise, to be tried in turn
FARTHEST = 30.0  # factor from the median noise beyond which a row's trust does not change
WORSE_MEAN = 1.03  # factor by which the squared error of left-out rows may rise


def row_trust(
    noise: np.ndarray, weights: np.ndarray | None, power: float = POWERS[0]
) -> np.ndarray:
    """Return how much each row is to count for the mean (n,), one on average.

    Parameters
    ----------
    noise : (n,) array
        Each row's noise variance, up to a common factor.
    weights : (n,) array or None
        How many rows each one stands for.
    power : float
        Of the inverse noise.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.trust import row_trust
    >>> row_trust(np.array([1.0, 1.0, 4.0]), None).round(2)
    array([1.2, 1.2, 0.6])
    """
    ratio = np.clip(noise / np.median(noise), 1.0 / FARTHEST, FARTHEST)
    trust = ratio**-power
    return trust / np.average(trust, weights=weights)


def predicts_better(
    y: np.ndarray,
    weights: np.ndarray | None,
    new: tuple[Array, Array],
    old: tuple[Array, Array],
) -> bool:
    """Tell whether left-out rows are more probable, and their means not clearly worse.

    Parameters
    ----------
    y : (n, p) array
    weights : (n,) array or None
    new, old : tuples of arrays
        Mean (n, p) and variance (n,) of each left-out target, noise included.
    """
    (loss, error), (old_loss, old_error) = (judged(y, weights, each) for each in (new, old))
    return loss < old_loss and error <= WORSE_MEAN * old_error


def judged(
    y: np.ndarray, weights: np.ndarray | None, left_out: tuple[Array, Array]
) -> tuple[float, float]:
    """Return what left-out targets cost in nats each, less a constant, and their squared error.

    The parameters are those of :func:`predicts_better`.
    """
    mean, variance = (to_numpy(part).astype(np.float64) for part in left_out)
    square = np.mean((y - mean) ** 2, axis=1)
    loss = 0.5 * (np.log(variance) + square / variance)
    return float(np.average(loss, weights=weights)), float(np.average(square, weights=weights))
