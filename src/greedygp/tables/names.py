"""Names of columns, as a file gives them."""

from __future__ import annotations

from collections.abc import Iterable

from greedygp.tables.problems import FileProblem
from greedygp.tables.source import Source

__all__ = ["UNNAMED", "checked_names", "is_number"]

# What pandas calls a first column without a name: the index that `to_csv` writes.
UNNAMED = "Unnamed: 0"


def checked_names(names: Iterable[str], source: Source) -> list[str]:
    """Return the names of a table's columns, or raise a FileProblem.

    Line breaks and runs of spaces become one space. The first column may be without a name.
    """
    names = [" ".join(str(name).split()) for name in names]
    if names and not names[0] and len(names) > 1:
        names[0] = UNNAMED
    unnamed = [str(k + 1) for k, name in enumerate(names) if not name]
    if unnamed:
        raise FileProblem(f"{source.name}: column {', '.join(unnamed)} has no name.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileProblem(
            f"{source.name}: the column name {', '.join(map(repr, twice))} is there more than once."
        )
    if all(is_number(name) for name in names):
        raise FileProblem(
            f"{source.name}: the first line holds only numbers; column names must go there."
        )
    return names


def is_number(text: str) -> bool:
    """Tell whether a text spells a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
