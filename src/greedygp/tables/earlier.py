"""The encoder inside models that version 0.1.0 saved: they predict as they did.

Its features are those of `TableEncoder`, column by column, from the statistics in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.columns import Column
from greedygp.tables.dates import date_parts
from greedygp.tables.encoder import as_table, check_columns, take_notes
from greedygp.tables.readers import DateReader, NumberReader
from greedygp.tables.values import to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["EarlierEncoder"]


class EarlierEncoder:
    """What `TableEncoder` was. None is made any more; files have them.

    Attributes
    ----------
    columns_, left_out_, assumptions_
        As in :class:`greedygp.tables.TableEncoder`.
    """

    columns_: list[Column]
    left_out_: dict[str, str]
    assumptions_: list[str]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.columns_ = state.get("columns_", state.get("columns", []))
        self.left_out_ = state.get("left_out_", state.get("left_out", {}))
        self.assumptions_ = state.get("assumptions_", state.get("assumptions", []))

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the matrix."""
        return [name for column in self.columns_ for name in column.feature_names]

    @property
    def groups(self) -> np.ndarray:
        """The place in `columns_` that each feature comes from."""
        sizes = [len(column.feature_names) for column in self.columns_]
        return np.repeat(np.arange(len(sizes)), sizes)

    def check_columns(self, table: pandas.DataFrame, where: str = "The table") -> None:
        """Raise a ColumnProblem unless the table has every column that is needed."""
        check_columns(self.columns_, table, where)

    def transform(
        self, X: Any, notes: dict[str, int] | None = None, first_row: int | None = None
    ) -> np.ndarray:
        """Return the features of the rows; see :meth:`TableEncoder.transform`."""
        table = as_table(X)
        self.check_columns(table)
        rows = table[[column.name for column in self.columns_]]
        if first_row is not None:
            rows = rows.set_axis(range(first_row - 1, first_row - 1 + len(rows)), axis=0)
        parts = [_features(column, rows[[column.name]]) for column in self.columns_]
        if notes is not None:
            take_notes(self.columns_, rows, notes)
        return np.concatenate(parts, axis=1)


def _features(column: Column, rows: pandas.DataFrame) -> np.ndarray:
    """Return the features of one column, (rows, features of the column)."""
    if column.kind == "category":
        words = np.array(to_words(rows[column.name]), dtype=object)
        return (words[:, None] == np.array(column.words, dtype=object)).astype(np.float64)
    if column.kind == "date":
        found = date_parts(DateReader(column.day_first).times_of(rows), column.origin)
        of_part = {f"{column.name}: {name}": part for name, part in found.items()}
        return np.column_stack([_scaled(part, of_part[part.name]) for part in column.parts])
    numbers = NumberReader([column.name] * column.grouped).numbers_of(rows)[:, 0]
    if not column.marks_missing:
        return _scaled(column, numbers)[:, None]
    return np.column_stack([_scaled(column, numbers), np.isnan(numbers)])


def _scaled(column: Column, numbers: np.ndarray) -> np.ndarray:
    return (np.where(np.isnan(numbers), column.middle, numbers) - column.centre) / column.width
