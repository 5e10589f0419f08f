"""Where learning starts: the evidence of a full GP on a random subset of the rows.

The evidence (see `full_gp`) is minimised over the logarithms of the kernel's free parameters and of
the noise variance by L-BFGS. An evaluation costs O(n^3), so n is a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from greedygp.data import mean_variance, variances
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.full_gp import evidence
from greedygp.hyperparameters import Evaluation, Point, moving_parts
from greedygp.kernels import Gaussian, Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline

__all__ = ["default_kernel", "subset_evidence"]

SUBSET_ROWS = 500
NOTHING_LEARNT = 0.5  # the noise's share of the variance of y at which other starts are tried
SHORTER = (0.3, 0.1, 0.03)  # length scales of the other starts, relative to the default
CLEARLY = 0.02  # nats a row by which another start must be better
NOISE_LEVELS = np.array([0.01, 0.1, 0.5])  # to begin with, relative to the variance of y


def default_kernel(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Gaussian:
    """Return an ARD Gaussian scaled to the data.

    Parameters
    ----------
    X : (n, D) array
    y : (n, p) array
    weights : (n,) array or None
    """
    spread = np.sqrt(variances(X, weights))
    rounding = 8.0 * np.finfo(np.float64).eps * np.max(np.abs(X), axis=0)
    spread[spread <= np.maximum(rounding, 1e-300)] = 1.0
    length_scale = spread * np.sqrt(X.shape[1])
    square = float(np.mean(np.average(y**2, axis=0, weights=weights)))  # the prior mean is zero
    return Gaussian(variance=square if square > 1e-300 else 1.0, length_scale=length_scale)


def subset_evidence(
    kernel: Kernel | None,
    noise_variance: float | None,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    n_rows: int = SUBSET_ROWS,
    max_iter: int = 100,
    learn_kernel: bool = True,
    deadline: Deadline = NEVER,
    random_state: np.random.Generator | int | None = None,
) -> Minimum:
    """Learn hyperparameters by the evidence of a full GP on at most `n_rows` random rows.

    Parameters
    ----------
    kernel : Kernel or None
        The start; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed; None: learnt.
    X, y : (n, D) and (n, p) or (n,) arrays
    weights : (n,) array, optional
    n_rows, max_iter : int
    learn_kernel : bool
        False: only the noise is learnt.
    deadline : Deadline
        When to stop with what there is.
    random_state : Generator, int or None
        Chooses the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.start import subset_evidence
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> learnt = subset_evidence(None, None, X, np.sin(X[:, 0]), random_state=0)
    >>> learnt.point.noise_variance < 1e-3
    True
    """
    y = y[:, None] if y.ndim == 1 else y
    given = kernel is not None
    kernel = kernel if kernel is not None else default_kernel(X, y, weights)
    if X.shape[0] > n_rows:
        rows = np.sort(np.random.default_rng(random_state).choice(len(X), n_rows, replace=False))
        X, y = X[rows], y[rows]
        weights = None if weights is None else weights[rows]
    variance = mean_variance(y, weights)
    levels = variance * NOISE_LEVELS if noise_variance is None else [noise_variance]

    def search(kernel: Kernel, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Minimum:
        def objective(point: Point) -> Evaluation:
            return evidence(point.kernel, point.noise_variance, X, y, weights)

        point = _best_start(objective, [Point(kernel, float(level)) for level in levels])
        coordinates = moving_parts(
            point, variance, kernel=learn_kernel, noise=noise_variance is None
        )
        return minimise(objective, coordinates, max_iter=max_iter, deadline=deadline)

    found = search(kernel, X, y, weights)
    learnt = found.point.noise_variance < NOTHING_LEARNT * variance
    if given or not learn_kernel or learnt or found.interrupted:
        return found
    # Nothing but noise was found: perhaps the function changes over shorter distances. It must
    # show clearly, for a kernel of tiny length scales is noise by another name; and it must show
    # among rows that differ, for such a kernel explains copies of a row perfectly.
    distinct = _distinct_rows(X, y, weights)
    best, least = found, evidence(found.point.kernel, found.point.noise_variance, *distinct).value
    least -= CLEARLY * len(distinct[0])
    for factor in SHORTER:
        other = search(_shortened(kernel, factor), *distinct)
        if other.interrupted:
            return other
        if other.value < least:
            best, least = other, other.value
    return best


def _distinct_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return every row once, whether it came as copies or with a weight above one."""
    _, first = np.unique(np.hstack([X, y]), axis=0, return_index=True)
    first = np.sort(first)
    return X[first], y[first], None if weights is None else np.minimum(weights[first], 1.0)


def _shortened(kernel: Kernel, factor: float) -> Kernel:
    """Return the kernel with other length scales."""
    return kernel.with_theta(kernel.theta + np.log(factor) * kernel.is_length_scale)


def _best_start(objective: Callable[[Point], Evaluation], points: list[Point]) -> Point:
    """Return the point of the lowest value; those that cannot be evaluated are passed over."""
    values = []
    for point in points:
        try:
            values.append(objective(point).value)
        except NotPositiveDefiniteError:
            values.append(np.inf)
    return points[int(np.argmin(values))] if np.isfinite(min(values)) else points[-1]
