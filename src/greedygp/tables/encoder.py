"""Columns into numbers: decided once on the training rows, done the same way ever after.

Numbers are centred and scaled to unit variance. A missing one becomes the median, and a feature
says that it was missing. A column of words becomes one 0/1 feature per word; a missing word is a
word of its own where it was met in training. A date becomes its year, month, day of the week, hour
and the days since the first one. `plans.py` decides which column is which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.dates import date_parts, parsed_dates
from greedygp.tables.plans import MOST_WORDS, Plan, infinite_values, plans_for
from greedygp.tables.problems import ColumnProblem, DataProblem, did_you_mean, row_number
from greedygp.tables.values import MISSING, to_numbers, to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["Column", "Encoder"]

MOST_NOTES = 1000


@dataclass
class Column:
    """How one column becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date"}
    missing : int
        Missing values among the training rows.
    words : list of str
        Of a category, in order; each has a feature.
    middle, centre, width : float
        Of a number: its median, mean and standard deviation.
    grouped, day_first : bool
        See :class:`greedygp.tables.plans.Plan`.
    marks_missing : bool
        Whether a number has a second feature, 1 where it is missing.
    origin : str
        Of a date: when its days are counted from; empty: it is a time without a date.
    parts : tuple of Column
        Of a date: the numbers it becomes.
    """

    name: str
    kind: str
    missing: int
    words: list[str] = field(default_factory=list)
    middle: float = 0.0
    centre: float = 0.0
    width: float = 1.0
    # Files of version 0.1.0 lack what follows; these defaults serve them.
    grouped: bool = False
    day_first: bool = False
    marks_missing: bool = False
    origin: str = ""
    parts: tuple[Column, ...] = ()

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: `size`, `colour=red`, `sold: month`."""
        if self.kind == "category":
            return [f"{self.name}={word}" for word in self.words]
        if self.kind == "date":
            return [name for part in self.parts for name in part.feature_names]
        return [self.name, f"{self.name} is missing"] if self.marks_missing else [self.name]


class Encoder:
    """Turns a table into a matrix of features.

    Parameters
    ----------
    categories : iterable of str
        Columns to treat as words, whatever they look like.
    most_words : int
        A column with more different words is left out: it is free text, or an identifier.
    numbers : iterable of str
        Columns to treat as numbers, whatever they look like.

    Attributes
    ----------
    columns : list of Column
    left_out : dict of str to str
        Columns that are not used, and why.
    assumptions : list of str
        Sentences about what had to be guessed.

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

    def __init__(
        self,
        categories: Iterable[str] = (),
        most_words: int = MOST_WORDS,
        numbers: Iterable[str] = (),
    ):
        self.categories = list(categories)
        self.numbers = list(numbers)
        self.most_words = most_words
        self.columns: list[Column] = []
        self.left_out: dict[str, str] = {}
        self.assumptions: list[str] = []

    # ------------------------------------------------------------------------ training rows

    def fit(self, table: pandas.DataFrame, train: np.ndarray | None = None) -> Encoder:
        """Decide about every column of the table; return self.

        Parameters
        ----------
        table : DataFrame
        train : int array, optional
            Places of the rows to learn from; None: all. What a column holds is decided from all
            rows, means and words come from these.
        """
        for name in (*self.categories, *self.numbers):
            if name not in table.columns:
                kind = "a category" if name in self.categories else "a number"
                hint = did_you_mean(name, list(table.columns))
                raise DataProblem(f"There is no column {name!r} to treat as {kind}; {hint}")
        plans = plans_for(table, self.categories, self.numbers, self.most_words)
        self.columns, self.left_out = [], dict(plans.left_out)
        self.assumptions = list(plans.assumptions)
        rows = table if train is None else table.iloc[train]
        for name, plan in plans.columns.items():
            column = _fitted(name, plan, rows[name])
            if column is None:
                self.left_out[name] = "every row has the same value"
            else:
                self.columns.append(column)
        if not self.columns:
            reasons = "".join(f"; {name!r}: {why}" for name, why in self.left_out.items())
            raise DataProblem(f"No column is left to learn from{reasons}.")
        return self

    # ----------------------------------------------------------------------------- new rows

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the matrix."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def groups(self) -> np.ndarray:
        """The place in `columns` that each feature comes from."""
        sizes = [len(column.feature_names) for column in self.columns]
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
        self,
        table: pandas.DataFrame,
        notes: dict[str, int] | None = None,
        first_row: int | None = None,
    ) -> np.ndarray:
        """Return the features of the rows.

        Parameters
        ----------
        table : DataFrame
            With the columns of the training table, in any order; others are passed over.
        notes : dict, optional
            Counts of what was met and filled in are added to it.
        first_row : int, optional
            Number of the first row in messages; None: rows are numbered by the table's index.

        Returns
        -------
        (rows, features) array
        """
        self.check_columns(table)
        told: dict[str, int] = {} if notes is None else notes

        def note(what: str, times: int = 1) -> None:
            if times and (what in told or len(told) < MOST_NOTES):
                told[what] = told.get(what, 0) + times

        parts = [_features(column, table[column.name], note, first_row) for column in self.columns]
        return np.concatenate(parts, axis=1)


# ---------------------------------------------------------------------------------- fitting


def _fitted(name: str, plan: Plan, values: pandas.Series) -> Column | None:
    """Return how a column becomes features; None: it is constant or empty."""
    n_missing = int(values.isna().sum())
    if n_missing == len(values):
        return None
    if plan.kind == "category":
        words = sorted(set(to_words(values)) - {MISSING}) + [MISSING] * (n_missing > 0)
        return Column(name, "category", n_missing, words) if len(words) > 1 else None
    if plan.kind == "date":
        return _fitted_date(name, plan, values)
    column = _fitted_number(name, to_numbers(values, plan.grouped)[0])
    if column is not None:
        column.grouped, column.marks_missing = plan.grouped, column.missing > 0
    return column


def _fitted_date(name: str, plan: Plan, values: pandas.Series) -> Column | None:
    """Return how dates become features; None: they are all the same."""
    times, _ = parsed_dates(values, plan.day_first)
    origin = "" if plan.time_only else str(times.min())
    numbers = date_parts(times, origin)
    parts = [_fitted_number(f"{name}: {part}", each) for part, each in numbers.items()]
    told = tuple(part for part in parts if part is not None)
    n_missing = int(values.isna().sum())
    date = Column(name, "date", n_missing, day_first=plan.day_first, origin=origin, parts=told)
    return date if told else None


def _fitted_number(name: str, numbers: np.ndarray) -> Column | None:
    """Return the median, mean and standard deviation of a column; None: it is constant."""
    absent = np.isnan(numbers)
    seen = numbers[~absent]
    if np.all(seen == seen[0]) and not absent.any():
        return None
    # A power of two, which rounds nothing, so that squares neither overflow nor vanish.
    size = float(2.0 ** min(np.frexp(np.max(np.abs(seen)))[1], 1023))
    middle = float(np.median(seen))
    filled = np.where(absent, middle, numbers) / size
    centre, width = size * float(np.mean(filled)), size * float(np.std(filled))
    if not width > 1e-12 * abs(centre):
        return None
    return Column(name, "number", int(absent.sum()), [], middle, centre, width)


# --------------------------------------------------------------------------------- features


def _features(
    column: Column, values: pandas.Series, note: Callable[..., None], first_row: int | None
) -> np.ndarray:
    """Return the features of a column's values, (rows, features of the column)."""
    if column.kind == "category":
        return _features_of_words(column, values, note)
    numbers, wrong, times = np.empty(0), np.empty(0), None
    if column.kind == "date":
        times, wrong = parsed_dates(values, column.day_first)
    else:
        numbers, wrong = to_numbers(values, column.grouped)
    if len(wrong):
        first = int(wrong[0])
        raise ColumnProblem(
            f"Column {column.name!r} must hold {column.kind}s, as it did in training; row "
            f"{row_number(values, first, first_row)} has {str(values.iloc[first])!r}."
        )
    absent = values.isna() if times is not None else np.isnan(numbers)
    note(f"{column.name}: missing, filled by the median", int(absent.sum()))
    if times is not None:
        found = date_parts(times, column.origin)
        of_part = {f"{column.name}: {name}": part for name, part in found.items()}
        return np.column_stack([_scaled(part, of_part[part.name]) for part in column.parts])
    if np.any(np.isinf(numbers)):
        raise ColumnProblem(infinite_values(column.name, values, numbers, first_row))
    if not column.marks_missing:
        return _scaled(column, numbers)[:, None]
    return np.column_stack([_scaled(column, numbers), np.isnan(numbers)])


def _scaled(column: Column, numbers: np.ndarray) -> np.ndarray:
    return (np.where(np.isnan(numbers), column.middle, numbers) - column.centre) / column.width


def _features_of_words(
    column: Column, values: pandas.Series, note: Callable[..., None]
) -> np.ndarray:
    words = np.array(to_words(values), dtype=object)
    known = np.array(column.words, dtype=object)
    hot = (words[:, None] == known[None, :]).astype(np.float64)
    for word in words[hot.sum(axis=1) == 0]:
        note(f"{column.name}: {word!r} was not seen in training")
    return hot
