"""Columns into numbers: decided once on the training rows, done the same way ever after.

Numbers are centred and scaled to unit variance, a missing one is the median. A column of words
becomes one 0/1 feature a word; a missing word is a word of its own where it was met in training.
Dates, free text and columns of unclear kind are refused with a sentence that says what to do;
columns that say nothing (constant, empty) are left out, and that is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.problems import ColumnProblem, DataProblem, did_you_mean

if TYPE_CHECKING:
    import pandas

__all__ = ["Column", "Encoder", "to_numbers", "to_words"]

MISSING = "(missing)"
MOST_WORDS = 50
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)


@dataclass
class Column:
    """How one column becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "category"}
    missing : int
        Missing values among the training rows.
    words : list of str
        Of a category, in order; each has a feature.
    middle, centre, width : float
        Of a number: its median, mean and standard deviation.
    """

    name: str
    kind: str
    missing: int
    words: list[str] = field(default_factory=list)
    middle: float = 0.0
    centre: float = 0.0
    width: float = 1.0


class Encoder:
    """Turns a table into a matrix of features.

    Parameters
    ----------
    categories : iterable of str
        Columns to treat as words although they hold numbers.
    most_words : int
        A column with more different words is refused: it is free text, or an identifier.

    Attributes
    ----------
    columns : list of Column
    left_out : dict of str to str
        Columns that say nothing, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedygp.tables import Encoder
    >>> table = pd.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"]})
    >>> encoder = Encoder().fit(table)
    >>> encoder.feature_names
    ['size', 'colour=blue', 'colour=red']
    >>> encoder.transform(table)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """

    def __init__(self, categories: Iterable[str] = (), most_words: int = MOST_WORDS):
        self.categories = list(categories)
        self.most_words = most_words
        self.columns: list[Column] = []
        self.left_out: dict[str, str] = {}

    def fit(self, table: pandas.DataFrame) -> Encoder:
        """Decide about every column of the table; return self."""
        for name in self.categories:
            if name not in table.columns:
                raise DataProblem(
                    f"There is no column {name!r} to treat as a category; "
                    + did_you_mean(name, list(table.columns))
                )
        self.columns, self.left_out = [], {}
        for name in table.columns:
            values = table[name]
            n_missing = int(values.isna().sum())
            if n_missing == len(values):
                self.left_out[name] = "it is empty"
                continue
            column = self._decide(name, values, n_missing)
            if column is None:
                self.left_out[name] = "every row has the same value"
            else:
                self.columns.append(column)
        if not self.columns:
            raise DataProblem(
                "No column is left to learn from"
                + "".join(f"; {name!r}: {why}" for name, why in self.left_out.items())
                + "."
            )
        return self

    def _decide(self, name: str, values: pandas.Series, n_missing: int) -> Column | None:
        numbers, wrong = to_numbers(values)
        if name in self.categories or len(wrong) == len(values) - n_missing:
            return self._category(name, values, n_missing)
        if len(wrong):
            return self._mixed(name, values, n_missing, wrong)
        _refuse_infinite(name, numbers)
        seen = numbers[~np.isnan(numbers)]
        if np.all(seen == seen[0]) and not n_missing:
            return None
        middle = float(np.median(seen))
        filled = np.where(np.isnan(numbers), middle, numbers)
        centre, width = float(np.mean(filled)), float(np.std(filled))
        if not width > 1e-12 * abs(centre):
            return None
        return Column(name, "number", n_missing, [], middle, centre, width)

    def _mixed(self, name, values, n_missing: int, wrong: np.ndarray) -> Column | None:
        """Decide about a column that holds numbers and other words."""
        words = to_words(values)
        n_words, first = len(set(words) - {MISSING}), int(wrong[0])
        if n_words <= self.most_words and len(wrong) > 0.1 * (len(values) - n_missing):
            return self._category(name, values, n_missing)
        raise DataProblem(
            f"Column {name!r} holds numbers, but {len(wrong)} of its values are none, the first "
            f"{words[first]!r} in row {first + 1}; mend them, or leave the column out with --drop "
            f"{name!r}, or read it as words with --categorical {name!r}."
        )

    def _category(self, name: str, values: pandas.Series, n_missing: int) -> Column | None:
        words = to_words(values)
        distinct = sorted(set(words) - {MISSING})
        sample = [word for word in words if word != MISSING][:200]
        dated = sum(bool(_DATE.fullmatch(word.strip())) for word in sample) >= 0.9 * len(sample)
        if dated and name not in self.categories:
            raise DataProblem(
                f"Column {name!r} holds dates or times ({sample[0]!r}), which are not learnt from; "
                "turn it into numbers (year, month, days since the first), or leave it out with "
                f"--drop {name!r}."
            )
        if len(distinct) > self.most_words:
            long = np.mean([len(word) for word in sample]) > 30
            what = "free text" if long else f"{len(distinct)} different words"
            raise DataProblem(
                f"Column {name!r} holds {what} (such as {sample[0][:40]!r}), too many to learn "
                f"from; leave it out with --drop {name!r}, group the words, or raise "
                f"--max-categories above {self.most_words}."
            )
        if n_missing:
            distinct.append(MISSING)
        return Column(name, "category", n_missing, distinct) if len(distinct) > 1 else None

    # ------------------------------------------------------------------------- new rows

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the matrix: `size`, `colour=red`."""
        names: list[str] = []
        for column in self.columns:
            many = [f"{column.name}={word}" for word in column.words]
            names += many or [column.name]
        return names

    @property
    def groups(self) -> np.ndarray:
        """The place in `columns` that each feature comes from."""
        sizes = [len(column.words) or 1 for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def check_columns(self, table: pandas.DataFrame, where: str = "The table") -> None:
        """Raise a ColumnProblem unless the table has every column that is needed."""
        names = [str(name) for name in table.columns]
        missing = [column.name for column in self.columns if column.name not in names]
        if missing:
            raise ColumnProblem(
                f"{where} lacks the column{'s' if len(missing) > 1 else ''} "
                f"{', '.join(map(repr, missing))} that the model was fitted with; "
                + did_you_mean(missing[0], names)
            )

    def transform(
        self, table: pandas.DataFrame, notes: dict[str, int] | None = None, first_row: int = 1
    ) -> np.ndarray:
        """Return the features of the rows.

        Parameters
        ----------
        table : DataFrame
            With the columns of the training table, in any order; others are passed over.
        notes : dict, optional
            Counts of what was met and mended are added to it.
        first_row : int
            Number of the first row in messages.

        Returns
        -------
        (rows, features) array
        """
        self.check_columns(table)
        notes = {} if notes is None else notes
        parts = [self._features(column, table, notes, first_row) for column in self.columns]
        return np.concatenate(parts, axis=1)

    def _features(self, column: Column, table, notes: dict[str, int], first_row: int):
        values = table[column.name]
        if column.kind == "category":
            words = np.array(to_words(values), dtype=object)
            known = np.array(column.words, dtype=object)
            hot = (words[:, None] == known[None, :]).astype(np.float64)
            unknown = hot.sum(axis=1) == 0
            for word in words[unknown]:
                _count(notes, f"{column.name}: {word!r} was not seen in training")
            return hot
        numbers, wrong = to_numbers(values)
        if len(wrong):
            first = int(wrong[0])
            raise ColumnProblem(
                f"Column {column.name!r} must hold numbers, as it did in training; row "
                f"{first_row + first} has {str(values.iloc[first])!r}."
            )
        _refuse_infinite(column.name, numbers, first_row, ColumnProblem)
        absent = np.isnan(numbers)
        _count(notes, f"{column.name}: missing, filled by the median", int(absent.sum()))
        filled = np.where(absent, column.middle, numbers)
        return ((filled - column.centre) / column.width)[:, None]


def to_numbers(values: pandas.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as float64, NaN where missing, and the places that hold no number."""
    import pandas

    if pandas.api.types.is_bool_dtype(values.dtype):
        values = values.astype(object)
    if pandas.api.types.is_datetime64_any_dtype(values.dtype) or isinstance(
        values.dtype, pandas.PeriodDtype
    ):
        return np.full(len(values), np.nan), np.flatnonzero(values.notna())
    if pandas.api.types.is_numeric_dtype(values.dtype) and not pandas.api.types.is_complex_dtype(
        values.dtype
    ):
        return np.asarray(values.astype("float64"), dtype=np.float64), np.array([], dtype=int)
    numbers = np.array([_number(value) for value in values.astype(object)], dtype=np.float64)
    present = np.asarray(values.notna())
    wrong = np.flatnonzero(np.isneginf(numbers) & present & ~_spelt_infinite(values))
    numbers[wrong] = np.nan
    numbers[~present] = np.nan
    return numbers, wrong


def _number(value: Any) -> float:
    """Return the number that a value is or spells; minus infinity where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return -np.inf


def _spelt_infinite(values: pandas.Series) -> np.ndarray:
    spelt = {"-inf", "-infinity"}
    return np.array([str(value).strip().casefold() in spelt for value in values.astype(object)])


def to_words(values: pandas.Series) -> list[str]:
    """Return a column as words; whole numbers are written without a decimal point."""
    present = values.notna()
    return [
        _word(value) if there else MISSING for value, there in zip(values.astype(object), present)
    ]


def _word(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _count(notes: dict[str, int], what: str, times: int = 1) -> None:
    if times and (what in notes or len(notes) < 1000):
        notes[what] = notes.get(what, 0) + times


def _refuse_infinite(name: str, numbers: np.ndarray, first_row: int = 1, kind=DataProblem) -> None:
    places = np.flatnonzero(np.isinf(numbers))
    if len(places):
        raise kind(
            f"Column {name!r} holds {len(places)} infinite values, the first in row "
            f"{first_row + int(places[0])}; leave them empty or mend them."
        )
