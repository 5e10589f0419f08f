"""Inputs with holes and words, where an estimator is asked to take them (`missing="indicator"`).

A missing number becomes the median of its column, and a feature says that it was missing
(scikit-learn's `SimpleImputer(add_indicator=True)`). A column of words, or a categorical one of
pandas, becomes a 0/1 feature per word (`OneHotEncoder`); a missing word is a word of its own. Dates
are refused: a feature per day would explain every row, and no new one. So an estimator works on
more columns than it is given. Kernels, the basis and its relevances are about these; `input_names`
has what they are called.
"""

from __future__ import annotations

import warnings
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from greedygp.exceptions import ModelAdvice
from greedygp.messages import said_plainly
from greedygp.rows.memory import is_mapped

__all__ = [
    "MISSING",
    "HolesMixin",
    "InputEncoder",
    "encoded",
    "explained",
    "held",
    "input_names",
    "n_inputs",
    "takes_holes",
]

MISSING = ("error", "indicator")  # values of the parameter `missing`
BLANK = "(missing)"
FLOATS = (np.float64, np.float32)
MANY_WORDS = 50  # in a column; more, most of them in one row, are likely to be names of the rows


class HolesMixin:
    """An estimator that takes missing values and words, if its parameter `missing` says so."""

    missing: str = "error"  # of models from before this was a parameter
    _input_encoder: InputEncoder | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = tags.input_tags.categorical = takes_holes(self)
        return tags


def takes_holes(estimator: Any) -> bool:
    """Tell whether an estimator takes missing values and words."""
    return getattr(estimator, "missing", "error") == "indicator"


def explained(error: Exception, estimator: Any, X: Any) -> Exception:
    """Say what helps against missing values and words, where these are what is wrong with X."""
    if str(error).startswith("Input X contains NaN"):
        known = "missing='indicator' fills and marks missing values; or impute"
        helps = known if hasattr(estimator, "missing") else "impute"
        return ValueError(f"Input X contains NaN: {helps} or remove those rows.")
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        if str(error).startswith("could not convert string"):
            helps = "; missing='indicator' encodes words" * hasattr(estimator, "missing")
            return ValueError(f"X must hold numbers: {said_plainly(error)}{helps}.")
        return error
    kinds = [getattr(dtype, "kind", "O") for dtype in dtypes]
    wrong = [str(c) for c, kind in zip(X.columns, kinds, strict=True) if kind not in "biuf"]
    if not wrong:
        return error
    return ValueError(
        f"These columns of X are not numbers: {', '.join(map(repr, wrong))}. Encode them "
        "(missing='indicator' of the GP models does it for words, greedygp.tables.TableEncoder for "
        f"dates, too) or leave them out. ({said_plainly(error)})"
    )


def held(estimator: Any, X: Any) -> Any:
    """Return inputs in memory where an estimator has to look for holes in them."""
    return np.array(X) if takes_holes(estimator) and is_mapped(X) else X


def encoded(estimator: Any, X: Any, reset: bool) -> np.ndarray:
    """Return inputs as numbers without holes; with `reset`, decide how.

    Sets what the estimator knows of the columns that it is given.
    """
    if not _is_table(X):
        X = check_array(
            X, dtype=FLOATS, ensure_all_finite="allow-nan", estimator=estimator, input_name="X"
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        estimator._input_encoder = InputEncoder().fit(X)
    return estimator._input_encoder.transform(X)


def input_names(estimator: Any) -> Any:
    """Return the names of the columns that an estimator works on; None: they have none."""
    encoder = getattr(estimator, "_input_encoder", None)
    if encoder is not None and takes_holes(estimator):
        return encoder.names(getattr(estimator, "feature_names_in_", None))
    return getattr(estimator, "feature_names_in_", None)


def n_inputs(estimator: Any) -> int | None:
    """Return the number of columns that an estimator works on; None: it is not fitted."""
    encoder = getattr(estimator, "_input_encoder", None)
    if encoder is not None and takes_holes(estimator):
        return len(encoder.names(None))
    return getattr(estimator, "n_features_in_", None)


class InputEncoder:
    """Turns inputs into numbers without holes, by scikit-learn's encoders."""

    transformer_: ColumnTransformer

    def fit(self, X: Any) -> InputEncoder:
        """Decide what becomes of each column of an array or a table; return self."""
        _check_no_dates(X)
        words = _columns_of_words(X)
        _advise_against_names(X, words)
        numbers = [k for k in range(X.shape[1]) if k not in words]
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        encode = OneHotEncoder(handle_unknown="warn", sparse_output=False)
        parts = [("numbers", fill, numbers), ("words", encode, words)]
        used = [part for part in parts if part[2]]
        self.words_ = words
        self.transformer_ = ColumnTransformer(used, sparse_threshold=0.0)
        self.transformer_.fit(self._prepared(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features, (rows, features)."""
        found = self.transformer_.transform(self._prepared(X))
        kind = X.dtype if getattr(X, "dtype", None) in FLOATS else np.float64
        return np.asarray(found, dtype=kind)

    def _prepared(self, X: Any) -> Any:
        """Return the inputs with words as text, also where they are missing."""
        if not _is_table(X):
            return X
        columns = {}
        for k in range(X.shape[1]):
            values = X.iloc[:, k].astype(object)
            there = values.notna()
            if k in self.words_:
                columns[k] = values.map(str).where(there, BLANK)
            else:
                columns[k] = values.where(there, np.nan).astype(np.float64)
        return type(X)(columns, index=X.index).set_axis([f"x{k}" for k in columns], axis=1)

    def names(self, given: Any) -> list[str]:
        """Return what the features are called, from the names of the columns."""
        columns = self.transformer_.n_features_in_
        called = [f"x{k}" for k in range(columns)] if given is None else [str(n) for n in given]
        found = []
        for label, encoder, places in self.transformer_.transformers_:
            if label == "numbers":
                found += [called[k] for k in places]
                found += [f"{called[places[k]]} is missing" for k in encoder.indicator_.features_]
            elif label == "words":
                for k, words in zip(places, encoder.categories_, strict=True):
                    found += [f"{called[k]}={word}" for word in words]
        return found


def _is_table(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2


def _columns_of_words(X: Any) -> list[int]:
    """Return the places of a table's columns that are not numbers."""
    if not _is_table(X):
        return []
    return [k for k in range(X.shape[1]) if _holds_words(X.iloc[:, k])]


def _holds_words(column: Any) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return False
    if hasattr(column, "cat"):
        return True
    try:
        column.astype(object).where(column.notna(), np.nan).astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def _check_no_dates(X: Any) -> None:
    """Raise where a table's column holds dates, times or durations."""
    if not _is_table(X):
        return
    found = [str(name) for k, name in enumerate(X.columns) if _holds_dates(X.iloc[:, k])]
    if found:
        raise ValueError(
            f"These columns of X hold dates or times: {', '.join(map(repr, found))}. Make numbers "
            "of them (greedygp.tables.TableEncoder does it) or leave them out."
        )


def _holds_dates(column: Any) -> bool:
    if hasattr(column, "dt"):
        return True
    first = column[column.notna()].head(1).tolist() if column.dtype == object else []
    return bool(first) and isinstance(first[0], date | time | timedelta)


def _advise_against_names(X: Any, places: list[int]) -> None:
    """Warn of columns of words that hardly ever come twice."""
    for k in places:
        different, n = X.iloc[:, k].nunique(), len(X)
        if different > MANY_WORDS and 2 * different > n:
            warnings.warn(
                f"Column {str(X.columns[k])!r} of X holds {different} different words in {n} rows, "
                "and each becomes a feature. Leave it out if it identifies the rows, or is free "
                "text.",
                ModelAdvice,
                stacklevel=2,
            )
