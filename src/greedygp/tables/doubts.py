"""What a table may mean besides what it says: sentences about things that are easily overlooked.

A number that stands for "missing", words that differ in capitals only, a column that tells the
target, rows that are there twice, a line of totals. Nothing is changed silently: each sentence says
what was assumed and what to do if it is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.values import to_numbers, to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["alike_words", "copies", "footers", "few_of_a_class", "stand_ins", "telling_columns"]

STAND_INS = (-99999, -9999, -999, -99, 99, 999, 9999, 99999, 999999)
FEWEST_STAND_INS = 2  # rows
SHARE_OF_COPIES = 0.1  # of the rows
FEWEST_TO_JUDGE = 3  # rows of a rare class, held out
RARE = 15  # rows
TOTALS = ("total", "totals", "grand total", "sum", "average", "mean", "gesamt", "summe")
FEWEST_TO_TELL = 20  # rows


def stand_ins(what: str, numbers: np.ndarray) -> str | None:
    """Say that a number far from all others may mean that a value is missing."""
    present = numbers[np.isfinite(numbers)]
    for number in STAND_INS:
        here = present == number
        others = present[~here]
        if here.sum() < FEWEST_STAND_INS or len(others) < FEWEST_STAND_INS:
            continue
        gap = np.min(np.abs(others - number))
        if gap > max(np.ptp(others), 0.5 * abs(number)):
            return (
                f"{what} is {number} in {int(here.sum())} rows, far from its other values "
                f"({np.min(others):g} to {np.max(others):g}), and this was taken for a number; if "
                f"it means missing, give --missing={number}."
            )
    return None


def alike_words(what: str, words: list[str]) -> str | None:
    """Say that some words differ only in capitals or spaces."""
    found = defaultdict(set)
    for word in words:
        found[" ".join(word.casefold().split())].add(word)
    several = sorted(sorted(group) for group in found.values() if len(group) > 1)
    if not several:
        return None
    listed = " and ".join(repr(word) for word in several[0])
    return (
        f"{what} has words that differ only in capitals or spaces, such as {listed}; they were "
        "taken for different words. If they are the same, correct the file."
    )


def telling_columns(rows: pandas.DataFrame, target: np.ndarray) -> list[str]:
    """Return sentences about columns from which the target can be read off."""
    if len(rows) < FEWEST_TO_TELL:
        return []
    return [
        f"Column {name!r} tells the target exactly and was used. If it will not be known of new "
        f"rows, give --drop {name!r}."
        for name in rows.columns
        if _tells(rows[name], target)
    ]


def _tells(values: pandas.Series, target: np.ndarray) -> bool:
    """Tell whether a column is the target, scaled or in other words."""
    if values.isna().any():
        return False
    if target.dtype.kind == "f":
        numbers, wrong = to_numbers(values)
        if len(wrong) or not np.all(np.isfinite(numbers)) or np.ptp(numbers) == 0:
            return False
        with np.errstate(all="ignore"):
            first = (numbers - np.mean(numbers)) / np.std(numbers)
            second = (target - np.mean(target)) / np.std(target)
            return bool(abs(np.mean(first * second)) > 1 - 1e-9)
    words = to_words(values)
    pairs = set(zip(words, target.tolist()))
    return len(pairs) == len(set(words)) == len(np.unique(target))


def copies(rows: pandas.DataFrame, target: np.ndarray) -> str | None:
    """Say that many rows are exact copies of others."""
    try:
        count = int(rows.assign(**{"\0": target}).duplicated().sum())
    except TypeError:  # cells that cannot be compared, such as lists
        return None
    if count <= SHARE_OF_COPIES * len(rows):
        return None
    return (
        f"{count} of {len(rows)} rows are exact copies of others and were kept. Copies of rows "
        "that are held out may be learnt from, so the scores may be too good."
    )


def few_of_a_class(labels: np.ndarray, test: np.ndarray) -> str | None:
    """Say that a class has too few rows among those held out to be judged."""
    classes, counts = np.unique(labels, return_counts=True)
    held_out = [int(np.sum(labels[test] == label)) for label in classes]
    rare = int(np.argmin(held_out))
    if len(test) == 0 or held_out[rare] >= FEWEST_TO_JUDGE or counts[rare] > RARE:
        return None
    return (
        f"The class {str(classes[rare])!r} has {counts[rare]} rows, and {held_out[rare]} of them "
        "are held out: the scores say next to nothing about it."
    )


def footers(table: pandas.DataFrame, target: str) -> dict[int, str]:
    """Return the rows that are no data, and why: rows with nothing but a target, and totals."""
    found: dict[int, str] = {}
    others = table.drop(columns=target)
    if not len(others.columns) or not len(table):
        return found
    known = table[target].notna().to_numpy()
    for place in np.flatnonzero(others.isna().all(axis=1).to_numpy() & known):
        found[int(place)] = "has a target and nothing else"
    last: Any = others.iloc[-1]
    for name, value in last.items():
        if isinstance(value, str) and value.strip().rstrip(":").casefold() in TOTALS:
            again = others[name].iloc[:-1].astype(str).str.strip()
            if not (again == value.strip()).any():
                found[len(table) - 1] = f"looks like a line of totals ({value!r} in {name!r})"
    return found
