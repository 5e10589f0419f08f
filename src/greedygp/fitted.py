"""What can be read off any fitted model, whatever its family: for summaries, pictures and reports.

A model may come as it is, in a scikit-learn pipeline (its last step is meant), in a
`greedygp.tables.TableModel`, or in an `AutoGPRegressor`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from greedygp.arrays import to_numpy
from greedygp.inputs import n_inputs
from greedygp.kernels import Kernel

__all__ = ["each", "estimator_of", "relevance"]


def estimator_of(model: Any) -> Any:
    """Return the fitted estimator inside a pipeline, a table model or a choice among models."""
    if hasattr(model, "encoder") and hasattr(model, "estimator"):
        return estimator_of(model.estimator)
    if hasattr(model, "model_"):
        return estimator_of(model.model_)
    return estimator_of(model.steps[-1][1]) if hasattr(model, "steps") else model


def each(value: Any) -> list[Any]:
    """Return the values of an attribute that may have one for each class."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def relevance(model: Any, X: ArrayLike | None = None) -> np.ndarray | None:
    """Return how strongly the function that is learnt varies with each feature.

    This is automatic relevance determination (ARD), read off the kernel: the root of the prior
    variance of the slope along the feature (for one Gaussian kernel, root variance over length
    scale), times the feature's standard deviation where `X` is given, relative to the largest. A
    feature with a strong but straight effect gets a long length scale and looks weak here; see
    :func:`greedygp.plotting.curves.slopes`.

    Parameters
    ----------
    model : fitted estimator
    X : (rows, features) array, optional
        Inputs that tell the features' scales; None: they are taken to be alike.

    Returns
    -------
    (features,) array or None
        None where the kernel treats all features alike.
    """
    estimator = estimator_of(model)
    kernels = [k for k in each(getattr(estimator, "kernel_", None)) if isinstance(k, Kernel)]
    n_features = n_inputs(estimator)
    asked = [
        kernel.relevances(D)
        for kernel in kernels
        if not kernel.treats_features_alike and (D := kernel.n_features or n_features) is not None
    ]
    found = [relevances for relevances in asked if relevances is not None]
    if not found:
        return None
    slopes = np.sqrt(np.mean(np.square(found), axis=0))
    if X is not None:
        slopes = slopes * np.std(to_numpy(X), axis=0)
    return slopes / np.max(slopes) if np.max(slopes) > 0 else slopes
