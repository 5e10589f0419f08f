"""Columns as people write them into what scikit-learn's encoders take: the first steps.

Each is a transformer of scikit-learn. What cannot be read is said with the row of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from greedygp.tables.dates import date_parts, parsed_dates
from greedygp.tables.plans import MEANS_MISSING, infinite_values
from greedygp.tables.problems import ColumnProblem, row_number
from greedygp.tables.values import has_decimal_commas, to_numbers, to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["MARK", "DateReader", "NumberReader", "WordReader"]

MARK = "is missing"


class NumberReader(TransformerMixin, BaseEstimator):
    """Columns as float64, NaN where missing, scaled so that squares neither overflow nor vanish.

    Parameters
    ----------
    grouped : sequence of str
        Columns with currency signs, percent signs, or commas between thousands.
    units : dict of str to str
        What stands behind the numbers of a column.

    Attributes
    ----------
    scales_ : (columns,) array
        Powers of two, which round nothing.
    """

    def __init__(self, grouped: Any = (), units: Any = None):
        self.grouped = grouped
        self.units = units

    def fit(self, X: pandas.DataFrame, y: Any = None) -> NumberReader:
        """Choose the scales; return self."""
        largest = np.nanmax(np.abs(self.numbers_of(X)), axis=0)
        self.scales_ = 2.0 ** np.minimum(np.frexp(largest)[1], 1023)
        return self

    def transform(self, X: pandas.DataFrame) -> np.ndarray:
        """Return the numbers, (rows, columns)."""
        return self.numbers_of(X) / self.scales_

    def numbers_of(self, X: pandas.DataFrame) -> np.ndarray:
        """Return the numbers as they are written, (rows, columns)."""
        return np.column_stack([self._numbers(name, X[name]) for name in X.columns])

    def _numbers(self, name: str, values: pandas.Series) -> np.ndarray:
        numbers, wrong = to_numbers(values, name in self.grouped, (self.units or {}).get(name, ""))
        if len(wrong):
            raise ColumnProblem(_not_as_before("number", values, int(wrong[0])))
        if np.any(np.isinf(numbers)):
            raise ColumnProblem(infinite_values(name, values, numbers))
        return numbers


class WordReader(TransformerMixin, BaseEstimator):
    """Columns as words; a missing value is a word, too."""

    def fit(self, X: pandas.DataFrame, y: Any = None) -> WordReader:
        """Learn nothing; return self."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: pandas.DataFrame) -> np.ndarray:
        """Return the words, (rows, columns)."""
        words = np.empty(X.shape, dtype=object)
        for k, name in enumerate(X.columns):
            words[:, k] = to_words(X[name])
        return words


class DateReader(TransformerMixin, BaseEstimator):
    """A column of dates as numbers: year, month, day of the week, hour, days since the first one.

    Parts that are the same in every row are left out. Where dates are missing, a last column says
    in which rows.

    Parameters
    ----------
    day_first : bool
        Dates in which 1/2/2020 is in February.
    time_only : bool
        Times, or durations, without a date.

    Attributes
    ----------
    origin_ : str
        When days are counted from; empty: these are times without a date.
    parts_ : list of str
    missing_ : int
        Dates that are missing.
    """

    def __init__(self, day_first: bool = False, time_only: bool = False):
        self.day_first, self.time_only = day_first, time_only

    def fit(self, X: pandas.DataFrame, y: Any = None) -> DateReader:
        """Choose the parts; return self."""
        times = self.times_of(X)
        self.origin_ = "" if self.time_only else str(times.min())
        parts = date_parts(times, self.origin_)
        self.missing_ = int(times.isna().sum())
        self.parts_ = [name for name, part in parts.items() if np.nanmax(part) > np.nanmin(part)]
        if (times.dropna().dt.day == 1).all() and "day of week" in self.parts_:
            self.parts_.remove("day of week")  # dates of months have none
        if self.missing_:
            self.parts_.append(MARK)
        return self

    def transform(self, X: pandas.DataFrame) -> np.ndarray:
        """Return the numbers, (rows, parts)."""
        times = self.times_of(X)
        parts = date_parts(times, self.origin_) | {MARK: times.isna().to_numpy(dtype=np.float64)}
        return np.column_stack([parts[name] for name in self.parts_])

    def times_of(self, X: pandas.DataFrame) -> pandas.Series:
        """Return the only column as times."""
        values = X.iloc[:, 0]
        times, wrong = parsed_dates(values, self.day_first)
        if len(wrong):
            raise ColumnProblem(_not_as_before("date", values, int(wrong[0])))
        return times


def _not_as_before(kind: str, values: pandas.Series, place: int) -> str:
    """Say that a value is not of the kind that the column held in training."""
    word = str(values.iloc[place]).strip()
    remedy = ""
    if word.casefold() in MEANS_MISSING:
        remedy = f" If that means missing, give --missing {word!r}."
    elif kind == "number" and has_decimal_commas(values, np.array([place])):
        remedy = " If that is a decimal comma, give --decimal ','."
    return (
        f"Column {values.name!r} must hold {kind}s, as it did in training; row "
        f"{row_number(values, place)} has {word!r}.{remedy}"
    )
