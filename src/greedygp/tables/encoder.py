"""Columns into numbers, by scikit-learn's encoders: decided once, done the same way ever after.

`plans.py` decides what each column is, and a `ColumnTransformer` does the rest. Numbers are centred
and scaled to unit variance (`StandardScaler`); a missing one becomes the median, and a feature says
that it was missing (`SimpleImputer(add_indicator=True)`). A column of words becomes one 0/1 feature
per word (`OneHotEncoder`), and a missing word is a word of its own. A date becomes its year,
month, day of the week, hour and the days since the first one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from greedygp.tables.columns import OTHERS, Column
from greedygp.tables.plans import FEWEST_ROWS_OF_A_WORD, MOST_WORDS, Plan, plans_for
from greedygp.tables.problems import ColumnProblem, DataProblem, did_you_mean
from greedygp.tables.readers import MARK, DateReader, NumberReader, WordReader
from greedygp.tables.values import MISSING, to_numbers, to_words, with_another_sign
from greedygp.versions import plain_lists

if TYPE_CHECKING:
    import pandas

__all__ = ["TableEncoder", "make_pipeline"]

MOST_NOTES = 1000


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a table into a matrix of features; a transformer of scikit-learn.

    Parameters
    ----------
    categories : iterable of str
        Columns to treat as words, whatever they look like.
    most_words : int
        The most features of a column of words. Where it has more words, the rare ones share a
        feature; a column of rare words only is left out: it is free text, or an identifier.
    numbers : iterable of str
        Columns to treat as numbers, whatever they look like.

    Attributes
    ----------
    transformer_ : ColumnTransformer
        What does the work: scikit-learn's encoders on the columns that are used.
    columns_ : list of Column
        What was found out about each column that is used.
    left_out_ : dict of str to str
        Columns that are not used, and why.
    assumptions_ : list of str
        Sentences about what had to be guessed.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedygp.tables import TableEncoder
    >>> table = pd.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"]})
    >>> encoder = TableEncoder().fit(table)
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
        self.categories = categories
        self.most_words = most_words
        self.numbers = numbers

    # ------------------------------------------------------------------------ training rows

    def fit(self, X: Any, y: Any = None, *, train: np.ndarray | None = None) -> TableEncoder:
        """Decide about every column of a table; return self.

        Parameters
        ----------
        X : DataFrame
        y : ignored
        train : int array, optional
            Places of the rows to learn from; None: all. What a column holds is decided from all
            rows, means and words come from these.
        """
        table = as_table(X)
        categories, numbers = list(self.categories), list(self.numbers)
        for name in (*categories, *numbers):
            if name not in table.columns:
                kind = "a category" if name in categories else "a number"
                hint = did_you_mean(name, list(table.columns))
                raise DataProblem(f"There is no column {name!r} to treat as {kind}; {hint}")
        plans = plans_for(table, categories, numbers, self.most_words)
        self.left_out_ = dict(plans.left_out)
        self.assumptions_ = list(plans.assumptions)
        rows = table if train is None else table.iloc[train]
        used = {}
        for name, plan in plans.columns.items():
            why_not = _says_nothing(plan, rows[name])
            if why_not is None:
                used[name] = _plan_for(plan, rows[name])
            else:
                self.left_out_[name] = why_not
        if not used:
            reasons = "".join(f"; {name!r}: {why}" for name, why in self.left_out_.items())
            raise DataProblem(f"No column is left to learn from{reasons}.")
        self.transformer_ = _transformer(used, self.most_words).fit(rows[list(used)])
        self.columns_ = [self._column(name, plan, rows[name]) for name, plan in used.items()]
        return self

    def _column(self, name: str, plan: Plan, values: pandas.Series) -> Column:
        """Return what the fitted encoders know of a column."""
        missing = int(values.isna().sum())
        if plan.kind == "category":
            return Column(name, "category", missing, self._words(name, plan))
        if plan.kind == "date":
            steps = self.transformer_.named_transformers_[f"date {name}"]
            reader = steps["read"]
            centres, widths = steps["scale"].mean_, steps["scale"].scale_
            parts = tuple(
                Column(_part_name(name, part), "number", 0, [], 0.0, float(centre), float(width))
                for part, centre, width in zip(reader.parts_, centres, widths, strict=True)
            )
            return Column(name, "date", missing, day_first=plan.day_first, origin=reader.origin_,
                          marks_missing=MARK in reader.parts_, parts=parts)  # fmt: skip
        steps, place = self._place("numbers", name)
        unit, scaler = steps["read"].scales_[place], steps["scale"]
        centre, width = unit * scaler.mean_[place], unit * scaler.scale_[place]
        middle = centre + width * steps["fill"].statistics_[place]
        return Column(name, "number", missing, [], float(middle), float(centre), float(width),
                      grouped=plan.grouped, marks_missing=missing > 0, unit=plan.unit,
                      sign=plan.sign)  # fmt: skip

    def _place(self, group: str, name: str) -> tuple[Any, int]:
        """Return the encoders of a group of columns, and the place of a column among them."""
        for label, steps, names in self.transformer_.transformers_:
            if label == group and name in names:
                return steps, list(names).index(name)
        raise KeyError(name)

    def _words(self, name: str, plan: Plan) -> list[str]:
        """Return the words that have features, in the order of the features."""
        steps, place = self._place("many words" if plan.many else "words", name)
        encoder = steps["encode"]
        rare = encoder.infrequent_categories_[place] if plan.many else None
        if rare is None:
            return [str(word) for word in encoder.categories_[place]]
        frequent = [str(word) for word in encoder.categories_[place] if word not in set(rare)]
        return [*frequent, OTHERS]

    # ----------------------------------------------------------------------------- new rows

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the matrix."""
        return [name for _, name in self._features()]

    @property
    def groups(self) -> np.ndarray:
        """The place in `columns_` that each feature comes from."""
        return np.array([place for place, _ in self._features()], dtype=np.intp)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features as scikit-learn wants them."""
        return np.array(self.feature_names, dtype=object)

    def _features(self) -> list[tuple[int, str]]:
        """Return the column and the name of each feature: numbers, marks, words, dates."""
        check_is_fitted(self)
        places = {column.name: k for k, column in enumerate(self.columns_)}
        found: list[tuple[int, str]] = []
        for label, _, names in self.transformer_.transformers_:
            if label == "remainder":
                continue
            columns = [self.columns_[places[name]] for name in names]
            if label == "numbers":
                found += [(places[c.name], c.name) for c in columns]
                found += [(places[c.name], c.mark) for c in columns if c.marks_missing]
            else:
                found += [(places[c.name], name) for c in columns for name in c.feature_names]
        return found

    def check_columns(self, table: pandas.DataFrame, where: str = "The table") -> None:
        """Raise a ColumnProblem unless the table has every column that is needed."""
        check_columns(self.columns_, table, where)

    def transform(
        self, X: Any, notes: dict[str, int] | None = None, first_row: int | None = None
    ) -> np.ndarray:
        """Return the features of the rows.

        Parameters
        ----------
        X : DataFrame
            With the columns of the training table, in any order; others are passed over.
        notes : dict, optional
            Counts of what was met and filled in are added to it.
        first_row : int, optional
            Number of the first row in messages; None: rows are numbered by the table's index.

        Returns
        -------
        (rows, features) array
        """
        check_is_fitted(self)
        table = as_table(X)
        self.check_columns(table)
        rows = table[[column.name for column in self.columns_]]
        if len(rows) == 0:
            return np.empty((0, len(self.feature_names)))
        if first_row is not None or not _are_numbers(rows.index):
            first = 0 if first_row is None else first_row - 1
            rows = rows.set_axis(range(first, first + len(rows)), axis=0)
        features = np.asarray(self.transformer_.transform(rows), dtype=np.float64)
        if notes is not None:
            take_notes(self.columns_, rows, notes)
        return features


def make_pipeline(estimator: Any, **options: Any) -> Pipeline:
    """Return a pipeline of a :class:`TableEncoder` and an estimator: tables in, predictions out.

    Parameters
    ----------
    estimator : estimator
    **options
        Parameters of the encoder.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedygp import SparseGPRegressor
    >>> from greedygp.tables import make_pipeline
    >>> table = pd.DataFrame({"size": range(30), "colour": ["red", "blue", None] * 10})
    >>> price = table["size"] + 5.0 * (table["colour"] == "red")
    >>> model = make_pipeline(SparseGPRegressor(random_state=0)).fit(table, price)
    >>> model.predict(table[:2]).round(1).tolist()
    [5.0, 1.0]
    """
    return Pipeline([("table", TableEncoder(**options)), ("model", estimator)])


# ------------------------------------------------------------------------------- the parts


def _transformer(plans: dict[str, Plan], most_words: int) -> ColumnTransformer:
    """Return scikit-learn's encoders for columns with these plans, not fitted."""
    numbers = [name for name, plan in plans.items() if plan.kind == "number"]
    words = [n for n, plan in plans.items() if plan.kind == "category" and not plan.many]
    many = [n for n, plan in plans.items() if plan.kind == "category" and plan.many]
    grouped = [name for name in numbers if plans[name].grouped]
    units = {name: plan.unit for name, plan in plans.items() if plan.unit}
    steps: list[tuple[str, Any, list[str]]] = [
        ("numbers", _numbers(NumberReader(grouped, units), add_indicator=True), numbers),
        ("words", _one_hot(), words),
        ("many words", _one_hot(max_categories=most_words,
                                min_frequency=FEWEST_ROWS_OF_A_WORD), many),
    ]  # fmt: skip
    for name, plan in plans.items():
        if plan.kind == "date":
            reader = DateReader(plan.day_first, plan.time_only)
            steps.append((f"date {name}", _numbers(reader), [name]))
    used = [step for step in steps if step[2]]
    return ColumnTransformer(
        used, sparse_threshold=0.0, verbose_feature_names_out=False, **plain_lists(sklearn)
    )


def _numbers(reader: Any, add_indicator: bool = False) -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=add_indicator)
    return Pipeline([("read", reader), ("scale", StandardScaler()), ("fill", fill)])


def _one_hot(**options: Any) -> Pipeline:
    encode = OneHotEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **options)
    return Pipeline([("read", WordReader()), ("encode", encode)])


def _plan_for(plan: Plan, values: pandas.Series) -> Plan:
    """Return the plan for a column's training rows: one number, or none, is a word."""
    if plan.kind == "number" and len(np.unique(_present(plan, values.dropna()))) == 1:
        return Plan("category")
    return plan


def _says_nothing(plan: Plan, values: pandas.Series) -> str | None:
    """Return why a column tells nothing: its values do not differ; None: it tells something.

    A missing value differs from the others, if there are a few of these.
    """
    present = values.dropna()
    if len(present) == 0:
        return "it is empty in the rows to learn from"
    if plan.kind == "number":
        numbers = _present(plan, present)
        size = float(np.max(np.abs(numbers))) or 1.0
        same = len(present.unique()) == 1
        if not same and np.std(numbers / size) <= 1e-12 * abs(np.mean(numbers / size)):
            return f"its values, such as {present.iloc[0]}, differ by less than rounding"
    else:
        same = len(set(to_words(present))) == 1
    if not same:
        return None
    if len(present) == len(values):
        return "every row has the same value"
    if len(present) < FEWEST_ROWS_OF_A_WORD:
        return f"only {len(present)} of the rows to learn from have a value, always the same"
    return None


def _present(plan: Plan, values: pandas.Series) -> np.ndarray:
    return to_numbers(values, plan.grouped, plan.unit)[0]


def _part_name(name: str, part: str) -> str:
    return f"{name} {part}" if part == MARK else f"{name}: {part}"


def _are_numbers(index: pandas.Index) -> bool:
    return index.dtype.kind in "iu"


def as_table(X: Any) -> pandas.DataFrame:
    """Return a table as pandas has it: other data frames are converted, arrays get names."""
    import pandas

    if isinstance(X, pandas.DataFrame):
        return X
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    values = np.asarray(X)
    if values.ndim != 2:
        raise DataProblem(f"A table has rows and columns; got an array of shape {values.shape}.")
    return pandas.DataFrame(values, columns=[f"x{k}" for k in range(values.shape[1])])


def check_columns(columns: list[Column], table: pandas.DataFrame, where: str) -> None:
    """Raise a ColumnProblem unless the table has every column."""
    names = [str(name) for name in table.columns]
    missing = [column.name for column in columns if column.name not in names]
    if missing:
        raise ColumnProblem(
            f"{where} lacks the column{'s' if len(missing) > 1 else ''} "
            f"{', '.join(map(repr, missing))} that the model was fitted with; "
            + did_you_mean(missing[0], names)
        )


def take_notes(columns: list[Column], rows: pandas.DataFrame, notes: dict[str, int]) -> None:
    """Count, in `notes`, the values that were filled and the words that were not known."""

    def note(what: str, times: int) -> None:
        if times and (what in notes or len(notes) < MOST_NOTES):
            notes[what] = notes.get(what, 0) + times

    for column in columns:
        values = rows[column.name]
        if column.kind != "category":
            note(f"{column.name}: missing, filled with the median", int(values.isna().sum()))
            if column.sign:
                what = f"{column.name}: not in {column.sign} as in training, but read as if it were"
                note(what, with_another_sign(values, column.sign))
        elif OTHERS not in column.words:
            for word, times in zip(*np.unique(to_words(values), return_counts=True)):
                if word == MISSING and word not in column.words:
                    note(f"{column.name}: missing, which it never was in training", int(times))
                elif word not in column.words:
                    note(f"{column.name}: {str(word)!r} was not seen in training", int(times))
