"""What a table may mean besides what it says: sentences about things that are easily overlooked.

A number or a date that stands for "missing", words that differ in capitals only, a column that
tells the target, rows that are there twice, lines of units or totals. Nothing is changed silently:
each sentence says what was assumed and what to do if it is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.values import to_numbers, to_words

if TYPE_CHECKING:
    import pandas

__all__ = [
    "alike_words",
    "copies",
    "few_of_a_class",
    "no_data",
    "stand_in_dates",
    "stand_ins",
    "telling_columns",
]

STAND_INS = (-99999, -9999, -999, -99, 99, 999, 9999, 99999, 999999)
FEWEST_STAND_INS = 2  # rows
STAND_IN_DAYS = ("1753-01-01", "1899-12-30", "1900-01-01", "1970-01-01", "2099-12-31", "9999-12-31")
SHARE_OF_COPIES = 0.1  # of the rows
FEWEST_TO_JUDGE = 3  # rows of a rare class, held out
RARE = 15  # rows
TOTALS = ("total", "totals", "grand total", "sum", "average", "mean", "gesamt", "summe")
FEWEST_BELOW_UNITS = 4  # rows
FEWEST_TO_TELL = 20  # rows
EXACT, NEARLY_EXACT = 1e-9, 1e-5  # from a correlation of one


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
                f"({np.min(others):g} to {np.max(others):g}). It was read as a number; if it "
                f"means missing, give --missing={number}."
            )
    return None


def stand_in_dates(what: str, written: pandas.Series, times: pandas.Series) -> str | None:
    """Say that a date far from all others may mean that there is none."""
    for day in STAND_IN_DAYS:
        here = (times.dt.strftime("%Y-%m-%d") == day).to_numpy()
        others = times[~here]
        if here.sum() < FEWEST_STAND_INS or len(others) < FEWEST_STAND_INS:
            continue
        first, last = others.min(), others.max()
        year = int(day[:4])
        if min(abs(first.year - year), abs(last.year - year)) <= max(10, last.year - first.year):
            continue
        word = str(written.iloc[int(np.argmax(here))])
        return (
            f"{what} is {word} in {int(here.sum())} rows, far from its other dates "
            f"({first:%Y-%m-%d} to {last:%Y-%m-%d}). It was read as a date; if it means missing, "
            f"give --missing={word}."
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
        f"Column {name!r} determines the target {how}, and was used. If it will not be known for "
        f"new rows, give --drop {name!r}."
        for name in rows.columns
        if (how := _tells(rows[name], target))
    ]


def _tells(values: pandas.Series, target: np.ndarray) -> str:
    """Say whether a column is the target, scaled or in other words: 'exactly', 'almost exactly'."""
    if values.isna().any():
        return ""
    if target.dtype.kind == "f":
        numbers, wrong = to_numbers(values)
        if len(wrong) or not np.all(np.isfinite(numbers)) or np.ptp(numbers) == 0:
            return ""
        with np.errstate(all="ignore"):
            first = (numbers - np.mean(numbers)) / np.std(numbers)
            second = (target - np.mean(target)) / np.std(target)
            apart = 1 - abs(np.mean(first * second))
        return "exactly" if apart < EXACT else "almost exactly" if apart < NEARLY_EXACT else ""
    words = to_words(values)
    pairs = set(zip(words, target.tolist()))
    return "exactly" if len(pairs) == len(set(words)) == len(np.unique(target)) else ""


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


def no_data(table: pandas.DataFrame, target: str) -> dict[int, str]:
    """Return the rows that are no data, and why: units on top, totals, nothing but a target."""
    found: dict[int, str] = {}
    others = table.drop(columns=target)
    if not len(others.columns) or not len(table):
        return found
    known = table[target].notna().to_numpy()
    for place in np.flatnonzero(others.isna().all(axis=1).to_numpy() & known):
        found[int(place)] = "has a target and nothing else"
    if _are_units_on_top(table, target):
        example = f"{table[target].iloc[0].strip()!r} in {target!r}"
        found[0] = f"holds words where all other rows have numbers ({example})"
    last: Any = others.iloc[-1]
    for name, value in last.items():
        if isinstance(value, str) and value.strip().rstrip(":").casefold() in TOTALS:
            again = others[name].iloc[:-1].astype(str).str.strip()
            if not (again == value.strip()).any():
                found[len(table) - 1] = f"looks like a line of totals ({value!r} in {name!r})"
    return found


def _are_units_on_top(table: pandas.DataFrame, target: str) -> bool:
    """Tell whether the first row has a word in every column that else holds numbers."""
    first: Any = table[target].iloc[0]
    if not isinstance(first, str) or len(table) < FEWEST_BELOW_UNITS:
        return False
    if list(to_numbers(table[target])[1]) != [0]:
        return False
    others = [to_numbers(table[name])[1] for name in table.columns if name != target]
    known = table.drop(columns=target).iloc[0].notna()
    if any(len(wrong) == 0 and here for wrong, here in zip(others, known, strict=True)):
        return False
    return any(list(wrong) == [0] for wrong in others)
