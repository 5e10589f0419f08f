"""Where the values of a column stand along an axis, and what is written there.

Numbers stand at their value, dates at their day, words and truth values side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.report.numbers import plain
from greedygp.tables.dates import date_parts, parsed_dates
from greedygp.tables.values import to_numbers, to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["Places", "Steps", "is_truth", "places_of", "steps_along"]

MOST_NAMES = 12
FEW_NUMBERS = 12  # different whole numbers that are told apart by a little scatter
STEPS = 25
OTHER = "other"
TRUTH = {"true": "yes", "false": "no"}


@dataclass
class Places:
    """Where rows stand along a column.

    Attributes
    ----------
    x : (rows,) array
    label : str
        Of the axis.
    names : list of pairs of a place and a name, or None
        What stands along the axis in place of numbers.
    texts : list of str
        Each row's value as people write it.
    scatter : (rows,) array
        To be added to `x` so that equal values do not hide each other.
    side_by_side : bool
        Whether they are words, at 0, 1, 2, ..., with nothing between them.
    """

    x: np.ndarray
    label: str
    names: list[tuple[float, str]] | None
    texts: list[str]
    scatter: np.ndarray
    side_by_side: bool = False


@dataclass
class Steps:
    """Values of a column to try one after the other.

    Attributes
    ----------
    raw : list
        As they stand in a table.
    places : Places
    """

    raw: list[Any]
    places: Places


def is_truth(values: pandas.Series) -> bool:
    """Tell whether a column holds only true and false, and blanks."""
    present = {str(value).strip().casefold() for value in values[values.notna()].unique()}
    return bool(present) and present <= set(TRUTH)


def places_of(values: pandas.Series, column: Any) -> Places:
    """Return where rows stand along a column.

    Parameters
    ----------
    values : Series
    column : greedygp.tables.columns.Column
    """
    if is_truth(values):
        return _of_words(values, column, sorted(TRUTH), TRUTH)
    if column.kind == "category":
        return _of_words(values, column, _commonest(values), {})
    if column.kind == "date":
        return _of_dates(values, column)
    numbers, _ = to_numbers(values, column.grouped, column.unit)
    missing = np.isnan(numbers)
    x = np.where(missing, column.middle, numbers)
    texts = ["missing" if gone else plain(value) for gone, value in zip(missing, x)]
    distinct = np.unique(x)
    scatter = np.zeros(len(x))
    if len(distinct) <= FEW_NUMBERS and np.all(distinct == np.round(distinct)):
        scatter = _scattered(len(x), 0.2)
    return Places(x, column.name, None, texts, scatter)


def _of_words(
    values: pandas.Series, column: Any, words: list[str], shown: dict[str, str]
) -> Places:
    """Return places side by side; words that are not listed stand together at the end."""
    found = to_words(values)
    if shown:
        found = [word.casefold() if word.casefold() in shown else word for word in found]
    place = {word: k for k, word in enumerate(words)}
    x = np.array([place.get(word, len(place)) for word in found], dtype=float)
    names = [(float(k), shown.get(word, word)) for word, k in place.items()]
    if np.any(x == len(place)):
        names.append((float(len(place)), "missing" if shown else OTHER))
    texts = [shown.get(word, word) for word in found]
    return Places(x, column.name, names, texts, _scattered(len(x), 0.3), side_by_side=True)


def _of_dates(values: pandas.Series, column: Any) -> Places:
    times, _ = parsed_dates(values, column.day_first)
    since = list(date_parts(times, column.origin).values())[-1]
    x = np.where(np.isnan(since), np.nanmedian(since), since)
    texts = [str(value) for value in values]
    if not column.origin:
        return Places(x, f"{column.name} (hours)", None, texts, np.zeros(len(x)))
    begin = datetime.fromisoformat(column.origin[:19])
    names = _calendar_names(begin, float(np.min(x)), float(np.max(x)))
    return Places(x, column.name, names, texts, np.zeros(len(x)))


def _calendar_names(begin: datetime, low: float, high: float) -> list[tuple[float, str]]:
    """Return the beginnings of years, months or days within a stretch of time."""
    first, last = begin + timedelta(days=low), begin + timedelta(days=high)
    days = high - low
    if days > 900:
        step = max(1, round(days / 365 / 5))
        found = [datetime(year, 1, 1) for year in range(first.year, last.year + 1, step)]
        form = "%Y"
    elif days > 75:
        months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
        chosen = months[:: max(1, len(months) // 5)]
        found = [datetime(month // 12, month % 12 + 1, 1) for month in chosen]
        form = "%b %Y"
    else:
        step = max(1, round(days / 5))
        start = datetime(first.year, first.month, first.day)
        found = [start + timedelta(days=k) for k in range(0, int(days) + 2, step)]
        form = "%d %b"
    places = [((day - begin).total_seconds() / 86_400, day.strftime(form)) for day in found]
    return [(place, name) for place, name in places if low <= place <= high]


def _commonest(values: pandas.Series) -> list[str]:
    """Return the words that have a place of their own, in alphabetical order."""
    return sorted(word for word, _ in Counter(to_words(values)).most_common(MOST_NAMES))


def _scattered(count: int, reach: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(-reach, reach, count)


def steps_along(values: pandas.Series, column: Any) -> Steps:
    """Return values from the low end of a column to its high end, or its words.

    The outermost hundredth of the rows at either end does not count.
    """
    present = values[values.notna()]
    if is_truth(values):
        raw = sorted(present.unique(), key=lambda value: str(value).casefold())
    elif column.kind == "category":
        words = to_words(present)
        raw = [present.iloc[words.index(word)] for word in _commonest(present)]
    elif column.kind == "date":
        when = places_of(present, column).x
        near = _between_hundredths(when)
        raw = [present.iloc[int(np.argmin(np.abs(when - place)))] for place in near]
        raw = list(dict.fromkeys(raw))
    else:
        numbers, _ = to_numbers(present, column.grouped, column.unit)
        distinct = np.unique(numbers)
        whole = len(distinct) <= FEW_NUMBERS
        raw = (distinct if whole else _between_hundredths(numbers)).tolist()
    series = type(values)(raw)
    return Steps(raw, places_of(series, column))


def _between_hundredths(numbers: np.ndarray) -> np.ndarray:
    low, high = np.quantile(numbers, [0.01, 0.99])
    return np.linspace(float(low), float(high), STEPS)
