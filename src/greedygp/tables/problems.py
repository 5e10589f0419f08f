"""What can be wrong with a table, and help for the sentences that say so."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

__all__ = [
    "ColumnProblem",
    "DataProblem",
    "FileProblem",
    "MissingPackage",
    "TableProblem",
    "did_you_mean",
    "row_number",
]


class TableProblem(ValueError):
    """One sentence about a table: what was found, where, and what to do."""


class FileProblem(TableProblem):
    """The file cannot be read as a table."""


class DataProblem(TableProblem):
    """The table can be read, but nothing can be learnt from it as it is."""


class ColumnProblem(TableProblem):
    """The columns are not those that the model was fitted with."""


class MissingPackage(TableProblem):
    """A package that this kind of file needs is not installed."""


def did_you_mean(name: str, names: Sequence[str], most: int = 12) -> str:
    """Return a phrase that helps with a name that is not there: the nearest ones, or all.

    Examples
    --------
    >>> from greedygp.tables.problems import did_you_mean
    >>> did_you_mean("prise", ["price", "area"])
    "did you mean 'price'?"
    """
    folded = {other.casefold(): other for other in names}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(repr(folded[key]) for key in near)}?"
    listed = ", ".join(repr(other) for other in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"its columns are {listed}{more}."


def row_number(values: pandas.Series, place: int, first_row: int | None = None) -> int:
    """Return the number of a row in its file, where the first row below the names is 1.

    Parameters
    ----------
    values : Series
        Its index holds the rows' places in the file, from 0, unless `first_row` is given.
    place : int
    first_row : int, optional
        The number of the first value's row.
    """
    return int(values.index[place]) + 1 if first_row is None else first_row + place
