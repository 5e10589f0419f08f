"""Checks of what users pass in. A message names the thing, what was given, and what to do."""

from __future__ import annotations

import numbers
import os
import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from greedygp.arrays import Array, Backend, detached, is_foreign, namespace, to_numpy
from greedygp.exceptions import ModelAdvice
from greedygp.inputs import encoded, explained, takes_holes
from greedygp.kernels import Kernel
from greedygp.messages import said_plainly, shown
from greedygp.rows import RowStore
from greedygp.sizes import check_sizes

__all__ = [
    "check_brings_targets",
    "check_choice",
    "check_classification_data",
    "check_features",
    "check_flag",
    "check_integer",
    "check_kernel",
    "check_number",
    "check_path",
    "check_predict_inputs",
    "check_predict_store",
    "check_seed",
    "check_store",
    "check_training_data",
    "check_two_classes",
    "check_weight_sizes",
    "check_weights",
]

LARGEST_WEIGHT = 1e12
LITTLE_WEIGHT = 0.05  # of the rows: a total weight below it is advised against


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """Raise unless the value is one of the choices."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {shown(value)}.")


def check_path(name: str, value: Any) -> None:
    """Raise unless the value is a path, or None."""
    if not isinstance(value, str | os.PathLike | None):
        raise TypeError(f"{name} must be a path, or None; got {shown(value)}.")


def check_flag(name: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {shown(value)}.")


def check_kernel(kernel: Any, *, precomputed: bool = False) -> None:
    """Raise unless it is a kernel or None (or "precomputed", where that is allowed)."""
    if kernel is None or isinstance(kernel, Kernel | ScikitLearnKernel):
        return
    if precomputed and isinstance(kernel, str) and kernel == "precomputed":
        return
    others = ", 'precomputed' or None" if precomputed else " or None"
    raise TypeError(
        f"kernel must be a greedygp kernel, a scikit-learn kernel{others}; got {shown(kernel)}."
    )


def check_seed(random_state: Any) -> None:
    """Raise unless it is what scikit-learn takes for a source of randomness."""
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be an integer from 0 to 2**32 - 1, a numpy RandomState or "
            f"None; got {shown(random_state)}."
        ) from error


def check_integer(
    name: str, value: Any, least: int, *, or_none: bool = False, or_auto: bool = False
) -> None:
    """Raise unless the value is an integer of at least `least` (or None or "auto", if allowed)."""
    if (value is None and or_none) or (isinstance(value, str) and value == "auto" and or_auto):
        return
    others = ["'auto'"] * or_auto + ["None"] * or_none
    what = f"an integer of at least {least}" + (", or " + " or ".join(others) if others else "")
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {what}; got {shown(value)}.")
    if value < least:
        raise ValueError(f"{name} must be {what}; got {shown(value)}.")


def check_number(
    name: str, value: Any, *, above: float | None = None, least: float | None = None, or_none=False
) -> None:
    """Raise unless the value is a finite number above (or not below) a bound."""
    if value is None and or_none:
        return
    bound = f"above {above}" if above is not None else f"of at least {least}"
    what = f"a finite number {bound}" + (", or None" if or_none else "")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {what}; got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    low = (above is not None and number <= above) or (least is not None and number < least)
    if not np.isfinite(number) or low:
        raise ValueError(f"{name} must be {what}; got {shown(value)}.")


def check_training_data(estimator: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """Return X (n, D) and y (n,) or (n, p) as floating arrays of one namespace and dtype.

    What scikit-learn knows (arrays, lists, pandas) is validated by scikit-learn; arrays of other
    namespaces stay in theirs and are checked here, by the same rules.
    """
    if is_foreign(X):
        return _check_foreign_training_data(estimator, X, y)
    _check_held(estimator, X)
    _check_targets_given(estimator, y)
    y = _numeric_targets(y)
    X, y = _validated(estimator, X, y, multi_output=True, y_numeric=True)
    y = np.asarray(y, dtype=X.dtype)
    if not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; remove those rows.")
    check_sizes(X, y)
    return X, y


def check_classification_data(
    estimator: Any, X: Any, y: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X (n, D) as a floating array, the class of each row as a number, and the classes."""
    _check_held(estimator, X)
    _check_targets_given(estimator, y)
    if is_foreign(X):
        X = to_numpy(_check_foreign("X", X))
    y = to_numpy(y) if is_foreign(y) else y
    X, y = _validated(estimator, X, y)
    check_classification_targets(y)
    classes, places = np.unique(y, return_inverse=True)
    check_two_classes(classes)
    return X, places, classes


def check_two_classes(classes: np.ndarray) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {shown(classes[0])}; a classifier needs at least two."
        )


def _check_targets_given(estimator: Any, y: Any) -> None:
    """Raise unless there are targets, in an array that is not sparse."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target "
            "y is None."
        )
    if scipy.sparse.issparse(y):
        raise TypeError("y is a sparse matrix; pass it dense, with y.toarray().")


def _validated(estimator: Any, X: Any, *y: Any, reset: bool = True, **options: Any) -> Any:
    """Return what scikit-learn makes of X (and y); an error says what helps."""
    _check_held(estimator, X)
    if takes_holes(estimator):
        features = encoded(estimator, X, reset)
        options |= {"dtype": [np.float64, np.float32], "estimator": estimator}
        return check_X_y(features, *y, **options) if y else check_array(features, **options)
    try:
        return validate_data(
            estimator, X, *y, reset=reset, dtype=[np.float64, np.float32], **options
        )
    except (ValueError, TypeError) as error:
        raise explained(error, estimator, X) from error


def _check_held(estimator: Any, X: Any) -> None:
    """Raise if X is no array but rows that live elsewhere."""
    if isinstance(X, RowStore):
        raise TypeError(
            f"X is a {type(X).__name__}, whose rows are not in memory; {type(estimator).__name__} "
            "needs arrays here: X, y, weights = rows.everything() gives them, if they fit. "
            "SparseGPRegressor fits and predicts rows wherever they are."
        )


def _numeric_targets(y: Any) -> Any:
    """Return y as numbers, also where it came as objects; raise if it holds anything else."""
    kind = getattr(np.asarray(y).dtype, "kind", "O")
    if kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers.")
    if kind not in "OUSMm":
        return y
    try:
        return np.asarray(y).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers for regression; {said_plainly(error)}.") from error


def _check_foreign_training_data(estimator: Any, X: Array, y: Any) -> tuple[Array, Array]:
    _check_targets_given(estimator, y)
    _check_no_holes_asked_for(estimator)
    X = _check_foreign("X", X)
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)  # of an earlier fit on a table
    backend = Backend(X)
    if is_foreign(y) and namespace(y) is not backend.xp:
        raise TypeError(
            f"X and y come from different array libraries ({backend.xp.__name__} and "
            f"{namespace(y).__name__}); pass both from one."
        )
    y = detached(y) if is_foreign(y) else backend.asarray(np.asarray(_numeric_targets(y)))
    if y.ndim not in (1, 2) or y.shape[0] != X.shape[0]:
        raise ValueError(
            f"y must have shape ({X.shape[0]},) or ({X.shape[0]}, n_targets) to go with X; got "
            f"{tuple(y.shape)}."
        )
    if backend.xp.isdtype(y.dtype, "complex floating"):
        raise ValueError("Complex data not supported: y has complex numbers.")
    y = backend.xp.astype(y, X.dtype, copy=False)
    _check_finite("y", y)
    return X, y


def _check_no_holes_asked_for(estimator: Any) -> None:
    """Raise where missing values are to be marked in rows that are not looked at for that."""
    if takes_holes(estimator):
        raise ValueError(
            "missing='indicator' takes NumPy arrays, lists and pandas tables in memory; mark and "
            "fill missing values of other rows first, and leave missing='error'."
        )


def _check_foreign(name: str, X: Array) -> Array:
    """Return a two-dimensional, finite, floating array of X's own namespace and device."""
    xp = namespace(X)
    X = detached(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} has shape {tuple(X.shape)}. "
            "Reshape your data with X.reshape(-1, 1) if it has a single feature."
        )
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise ValueError(
            f"{name} has shape {tuple(X.shape)}: at least one row and one feature are required."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported.")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    elif X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float32)
    _check_finite(name, X)
    return X


def _check_finite(name: str, array: Array) -> None:
    xp = namespace(array)
    if bool(xp.any(xp.isnan(array))):
        raise ValueError(f"Input {name} contains NaN; impute or remove those rows.")
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"Input {name} contains infinity; remove those rows.")


def check_brings_targets(X: RowStore, y: Any, sample_weight: Any) -> None:
    """Raise if targets or weights are given beside rows that have their own."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"X brings its own targets and weights (it is a {type(X).__name__}); leave y and "
            "sample_weight out."
        )


def check_store(estimator: Any, store: RowStore, with_targets: bool = True) -> tuple[int, ...]:
    """Check what a store of rows says of itself; return the shape of a row's targets.

    What its rows hold is looked at when they pass by. Sets what the estimator knows of features.
    """
    _check_no_holes_asked_for(estimator)
    shape = store.check()
    if with_targets and shape is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires targets, but the rows have none; "
            "say which column they are in, or pass y."
        )
    estimator.n_features_in_ = store.n_features
    vars(estimator).pop("feature_names_in_", None)  # of an earlier fit on a table
    if store.feature_names is not None:
        estimator.feature_names_in_ = np.array(store.feature_names, dtype=object)
    return shape or ()


def check_predict_inputs(estimator: Any, X: Any) -> Array:
    """Return X checked against what the estimator was fitted with."""
    if not is_foreign(X):
        return _validated(estimator, X, reset=False)
    X = _check_foreign("X", X)
    check_feature_count(estimator, X.shape[1])
    return X


def check_predict_store(estimator: Any, store: RowStore) -> None:
    """Raise unless a store's rows have the features that the estimator was fitted with."""
    store.check()
    check_features(estimator, store.feature_names, store.n_features)


def check_features(estimator: Any, given: list[str] | None, count: int) -> None:
    """Raise unless names (None: there are none) and number of features are those of the fit."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and given is not None and list(names) != given:
        raise ValueError(
            f"The features must be those of the fit, in the same order: {', '.join(names)}; "
            f"got {', '.join(given)}."
        )
    check_feature_count(estimator, count)


def check_feature_count(estimator: Any, count: int) -> None:
    """Raise unless there are as many features as the estimator was fitted with."""
    if count != estimator.n_features_in_:
        raise ValueError(
            f"X has {count} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def check_weights(sample_weight: Any, X: Array) -> np.ndarray | None:
    """Return the weights on the host in float64, or None where all of them are one."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    try:
        weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers; {error}.") from error
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected ({X.shape[0]},): one weight per row."
        )
    if not np.all(np.isfinite(weights)):
        what = "NaN" if np.any(np.isnan(weights)) else "infinity"
        raise ValueError(f"Input sample_weight contains {what}; weights must be finite.")
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight must not be negative; got {float(np.min(weights))!r} in row "
            f"{int(np.argmin(weights))}."
        )
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    row, total = int(np.argmax(weights)), float(np.sum(weights))
    check_weight_sizes(float(weights[row]), total, int(np.count_nonzero(weights)), f" in row {row}")
    return None if np.all(weights == 1.0) else weights


def check_weight_sizes(largest: float, total: float, rows: int, where: str = "") -> None:
    """Raise where weights cannot be computed with; advise where they are hardly what was meant.

    Given are the largest of them, their sum, and how many are positive.
    """
    means = "a weight of w counts the row w times"
    if largest > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has {largest:.3g}{where}; {means}, and {LARGEST_WEIGHT:g} is the most: "
            "divide all weights by a common number."
        )
    if total < 1.0 / LARGEST_WEIGHT:
        raise ValueError(
            f"The weights in sample_weight add up to {total:.3g}; {means}, so there is nothing to "
            "learn from: multiply all weights by a common number."
        )
    if total < LITTLE_WEIGHT * rows:
        warnings.warn(
            f"The weights of {rows} rows add up to {total:.3g}; {means}, so they count as "
            "almost no data. If only their ratios matter, divide them by their mean.",
            ModelAdvice,
            stacklevel=4,
        )
