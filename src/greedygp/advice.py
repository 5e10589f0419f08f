"""What to do better next time, said by a warning at the end of a fit.

Each function looks at one thing and returns a sentence, or None where all is well. They are silent
unless something was lost: features of very different scales under one length scale, error bars made
too narrow by a bound of the noise, a basis that ended while the criterion was still falling. Each
costs less than one step of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.data import TrainingData
from greedygp.exceptions import ModelAdvice
from greedygp.hyperparameters import NOISE_BOUNDS, highest_noise
from greedygp.inputs import input_names
from greedygp.kernels.conversion import kernel_and_noise

__all__ = [
    "high_noise",
    "improving_at_limit",
    "low_noise",
    "of_classifier",
    "of_dense",
    "of_sparse",
    "uneven_scales",
    "warn",
]

Sentences = Iterator[str | None]

LARGEST_RATIO = 1000.0  # of the spreads of two features that share a length scale
ROWS_LOOKED_AT = 10_000
LARGEST_ERROR = 4.0  # mean square of left-out errors, in units of the error bars
SMALLEST_SHARE = 0.01  # of a criterion's whole fall, that its last steps must have


def warn(sentences: Iterable[str | None]) -> None:
    """Warn with every sentence there is, on behalf of the caller of `fit`."""
    for sentence in sentences:
        if sentence is not None:
            warnings.warn(sentence, ModelAdvice, stacklevel=4)


def of_sparse(
    model: Any,
    data: TrainingData,
    loo: tuple[Array, Array],
    start_noise: float,
    n_inputs: int,
    chooses_size: bool,
) -> Sentences:
    """Yield what there is to say of a fitted `SparseGPRegressor`.

    Parameters
    ----------
    model : SparseGPRegressor
    data : TrainingData
    loo : tuple of arrays
        Mean (n, p) and variance (n,) of the data's rows, each left out.
    start_noise : float
        The noise variance that learning began with.
    n_inputs : int
        Candidates for the basis.
    chooses_size : bool
        Whether the criterion has a minimum.
    """
    yield uneven_scales(model.kernel, data.X, _names(model))
    if chooses_size:
        yield improving_at_limit(model.path_["value"], model.stop_reason_, model.patience, n_inputs)
    if model.noise_variance is None and model.objective is not None and model.n_basis_ > 0:
        noise, variance = model.noise_variance_, data.spread**2
        yield high_noise(noise, variance, start_noise, model.n_basis_, data.X.shape[0])
        mean, spread = (to_numpy(part).astype(np.float64) for part in loo)
        error = float(np.mean((to_numpy(data.y).T - mean) ** 2 / spread[:, None]))
        yield low_noise(noise, variance, error)


def of_dense(model: Any, data: TrainingData) -> Sentences:
    """Yield what there is to say of a fitted `GPRegressor`."""
    yield uneven_scales(model.kernel, data.X, _names(model))
    if model.noise_variance is None and model.status_ == "stalled":
        yield low_noise(model.noise_variance_, data.spread**2, None)


def of_classifier(model: Any, X: np.ndarray) -> Sentences:
    """Yield what there is to say of a fitted `SparseGPClassifier`."""
    yield uneven_scales(model.kernel, X, _names(model))
    several = isinstance(model.path_, list)
    paths = model.path_ if several else [model.path_]
    reasons = model.stop_reason_ if several else [model.stop_reason_]
    found = (
        improving_at_limit(path["value"], reason, model.patience, len(X))
        for path, reason in zip(paths, reasons)
    )
    yield next((sentence for sentence in found if sentence is not None), None)


def _names(model: Any) -> Any:
    """Return the names of the columns, where a model knows them."""
    return input_names(model)


def uneven_scales(kernel: Any, X: Array, names: Any = None) -> str | None:
    """Say so where one length scale has to serve features of very different scales.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
        As the user gave it.
    X : (n, D) array
    names : sequence of str, optional
        Those of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.advice import uneven_scales
    >>> from greedygp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(9, 2)) * [1.0, 1e5]
    >>> uneven_scales(Gaussian(length_scale=[1.0, 1e5]), X) is None
    True
    >>> print(uneven_scales(Gaussian(), X)[:51])
    The kernel has one length scale for all features, b
    """
    kernel, _ = kernel_and_noise(kernel, X.shape[1], names)
    if kernel is None:
        return None
    groups = kernel.features_sharing_length_scale(X.shape[1])
    if not groups:
        return None
    some = to_numpy(X[:: -(-X.shape[0] // ROWS_LOOKED_AT), :]).astype(np.float64)
    found = (_uneven_group(some, group) for group in groups)
    return next((sentence for sentence in found if sentence is not None), None)


def _uneven_group(X: np.ndarray, group: np.ndarray) -> str | None:
    """Say so where a group of features with one length scale has very different scales."""
    spread = np.std(X, axis=0)
    varying = group[spread[group] > 1e-12 * np.max(np.abs(X[:, group]), axis=0)]
    if len(varying) < 2:
        return None
    least = varying[np.argmin(spread[varying])]
    most = varying[np.argmax(spread[varying])]
    if spread[most] <= LARGEST_RATIO * spread[least]:
        return None
    which = "all features" if len(group) == X.shape[1] else f"{len(group)} features"
    return (
        f"The kernel has one length scale for {which}, but their standard deviations range "
        f"from {spread[least]:.4g} (feature {least}) to {spread[most]:.4g} (feature {most}): the "
        "small ones hardly count. Scale the features (StandardScaler in a pipeline), or give the "
        "kernel one length scale per feature."
    )


def low_noise(noise_variance: float, variance: float, error: float | None) -> str | None:
    """Say so where the noise was learnt to be at its lower bound, to the harm of the error bars.

    Parameters
    ----------
    noise_variance : float
        As learnt.
    variance : float
        Of the targets, in the same units.
    error : float or None
        Mean square of left-out residuals over their predicted variance, about 1 in a good model;
        None: not known, but the system could not be solved as accurately as asked for.
    """
    if noise_variance > 1.01 * NOISE_BOUNDS[0] * variance or (
        error is not None and not error > LARGEST_ERROR
    ):
        return None
    harm = (
        "the system is then too ill-conditioned for an accurate solution"
        if error is None
        else f"yet predictions of left-out rows miss by {np.sqrt(error):.1f} standard deviations "
        "(root mean square)"
    )
    return (
        f"The noise variance was learnt to be {noise_variance:.1e}, the least allowed; {harm}. "
        "Pass a larger noise_variance; if the targets are free of noise, try a kernel that fits "
        "them better (Matern), and look for columns that give the target away."
    )


def high_noise(
    noise_variance: float, variance: float, start: float, n_basis: int, n_rows: int
) -> str | None:
    """Say so where the noise rose to its upper bound, because the basis explains too little.

    Parameters
    ----------
    noise_variance, variance : float
        As learnt; of the targets.
    start : float
        The noise that learning began with.
    n_basis, n_rows : int
    """
    highest = highest_noise(variance, start)
    if noise_variance < 0.999 * highest or start >= 0.5 * variance or n_basis >= n_rows:
        return None
    return (
        f"The noise variance rose from {start:.2g} to {noise_variance:.2g}, the most allowed: "
        f"{n_basis} basis vectors explain much less of the targets than a full Gaussian process on "
        "some of the rows did. Raise max_basis, or give a kernel with longer length scales."
    )


def improving_at_limit(
    values: np.ndarray, reason: str, patience: Any, n_inputs: int | None = None
) -> str | None:
    """Say so where a selection with patience came to `max_basis` while its criterion was falling.

    Parameters
    ----------
    values : (steps,) array
        The criterion after each step.
    reason : str
        Why the selection stopped.
    patience : object
        The estimator's parameter; only an integer asks for the size that is best.
    n_inputs : int, optional
        Candidates there were; a basis of all of them has no limit to raise.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.advice import improving_at_limit
    >>> falling = -np.arange(29.0)
    >>> improving_at_limit(falling, "patience", 5) is None
    True
    >>> print(improving_at_limit(falling, "max_basis", 5)[:53])
    The basis reached its limit of 29 vectors while the c
    """
    size = len(values)
    asked = isinstance(patience, int | np.integer) and not isinstance(patience, bool)
    if reason != "max_basis" or not asked or size < 2 or size == n_inputs:
        return None
    before = float(np.min(values[: max(1, size - int(patience))]))
    gain, fall = before - float(np.min(values)), float(values[0] - np.min(values))
    if not np.isfinite(fall) or not gain > SMALLEST_SHARE * fall:
        return None
    steps = min(int(patience), size - 1)
    return (
        f"The basis reached its limit of {size} vectors while the criterion was still falling "
        f"(by {gain / fall:.0%} of its whole fall in the last {steps} steps): "
        "raise max_basis to let patience find the size."
    )
