"""Dates and times: recognised, read the same way ever after, and expanded into numbers."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.values import to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["PARTS", "Calendar", "are_day_numbers", "calendar_of", "date_parts", "parsed_dates"]

PARTS = ("year", "month", "day of week", "hour", "elapsed days")
SAMPLE = 200
FEWEST_DAYS = 5
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}([-/])\d{1,2}\2\d{2}"
    r"|\d{2}\.\d{2}\.\d{2})([ T]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)
MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Months, quarters and weeks without a day: 2020-01, 1/2020, Jan 2020, Jan-20, 2020Q1, 2020-W05.
PERIODS = (
    re.compile(r"(?P<year>(?:19|20)\d\d)[-/.](?P<month>0?[1-9]|1[0-2])"),
    re.compile(r"(?P<month>0?[1-9]|1[0-2])[-/.](?P<year>(?:19|20)\d\d)"),
    re.compile(rf"(?P<name>{MONTH})[- ./]?'?(?P<year>\d{{4}}|\d\d)", re.I),
    re.compile(r"(?P<year>(?:19|20)\d\d)[- ]?Q(?P<quarter>[1-4])", re.I),
    re.compile(r"Q(?P<quarter>[1-4])[-/ ]?(?P<year>(?:19|20)\d\d)", re.I),
    re.compile(r"(?P<year>(?:19|20)\d\d)-?W(?P<week>0[1-9]|[1-4]\d|5[0-3])", re.I),
)
SEASON = re.compile(r"(\d\d)(\d\d)[-/](\d\d)")  # 2010-11: two years
TIME_ALONE = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.I)
TWO_FIELDS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})[-/.]\d{2,4}")


@dataclass
class Calendar:
    """How the dates of a column are written.

    Attributes
    ----------
    day_first : bool
        Whether 1/2/2020 is in February.
    sure : bool
        Whether the values tell; otherwise it is an assumption.
    example : str
    time_only : bool
        Whether they are times, or durations, without a date.
    """

    day_first: bool
    sure: bool
    example: str
    time_only: bool = False


def calendar_of(values: pandas.Series) -> Calendar | None:
    """Return how the dates of a column are written; None: it holds none."""
    import pandas

    present = values[values.notna()]
    if pandas.api.types.is_datetime64_any_dtype(values.dtype) or isinstance(
        values.dtype, pandas.PeriodDtype
    ):
        return Calendar(False, True, str(present.iloc[0]))
    words = to_words(present)
    sample = words[:SAMPLE]
    if sum(bool(TIME_ALONE.fullmatch(word)) for word in sample) >= 0.9 * len(sample):
        return Calendar(False, True, sample[0], time_only=True)
    if _are_seasons(words):
        return None
    if sum(bool(DATE.fullmatch(word) or _first_day(word)) for word in sample) < 0.9 * len(sample):
        return None
    fields = [match for match in map(TWO_FIELDS.match, words) if match]
    first = any(int(match[1]) > 12 for match in fields)
    second = any(int(match[3]) > 12 for match in fields)
    dotted = any(match[2] == "." for match in fields)
    sure = not fields or dotted or first != second
    unsure = next((word for word in words if TWO_FIELDS.match(word)), sample[0])
    return Calendar(first or (dotted and not second), sure, sample[0] if sure else unsure)


def _are_seasons(words: list[str]) -> bool:
    """Tell whether all words are pairs of years, such as 2010-11."""
    pairs = [SEASON.fullmatch(word) for word in words]
    return all(pair and (int(pair[2]) + 1) % 100 == int(pair[3]) for pair in pairs)


def _first_day(word: str) -> str | None:
    """Return the first day of a month, a quarter or a week; None: it is none of these."""
    found = next((match for match in (kind.fullmatch(word) for kind in PERIODS) if match), None)
    if found is None:
        return None
    parts = found.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000 if year < 69 else 1900
    if parts.get("week"):
        with contextlib.suppress(ValueError):  # not every year has 53 weeks
            return f"{date.fromisocalendar(year, int(parts['week']), 1)}"
        return None
    if parts.get("quarter"):
        month = 3 * int(parts["quarter"]) - 2
    elif parts.get("name"):
        month = NAMES.index(parts["name"][:3].lower()) + 1
    else:
        month = int(parts["month"])
    return f"{year}-{month:02d}-01"


def are_day_numbers(numbers: np.ndarray) -> bool:
    """Tell whether numbers spell dates, as 20201231 does."""
    if len(numbers) < FEWEST_DAYS or not np.all((numbers >= 19_000_101) & (numbers <= 21_001_231)):
        return False
    month, day = numbers // 100 % 100, numbers % 100
    whole = np.all(numbers == np.round(numbers))
    return bool(whole and np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))


def parsed_dates(values: pandas.Series, day_first: bool) -> tuple[pandas.Series, np.ndarray]:
    """Return a column as times in UTC without a zone, and the places that hold no date.

    A time without a date is one after the beginning of 1970.
    """
    import pandas

    if isinstance(values.dtype, pandas.PeriodDtype):
        values = values.dt.to_timestamp()
    if not pandas.api.types.is_datetime64_any_dtype(values.dtype):
        if pandas.api.types.is_numeric_dtype(values.dtype):  # 20201231
            values = values.map(lambda number: f"{number:.0f}", na_action="ignore")
        values = values.astype(object).map(_with_date, na_action="ignore")
    times = pandas.to_datetime(
        values, format="mixed", dayfirst=day_first, utc=True, errors="coerce"
    ).dt.tz_localize(None)
    return times, np.flatnonzero(np.asarray(times.isna() & values.notna()))


def _with_date(value: Any) -> str:
    """Return a date as text; a month alone gets a day, a time alone (of any hours) a date."""
    word = str(value).strip()
    match = TIME_ALONE.fullmatch(word)
    if match is None:
        return _first_day(word) or word
    days, hours = divmod(int(match[1]), 24)
    if match[4]:  # 12:30 am is half an hour after midnight
        hours = hours % 12 + 12 * (match[4].lower() == "p")
    day = datetime(1970, 1, 1) + timedelta(days=days)
    return f"{day:%Y-%m-%d} {hours:02d}:{match[2]}:{match[3] or '00'}"


def date_parts(times: pandas.Series, origin: str) -> dict[str, np.ndarray]:
    """Return the numbers that times become, NaN where one is missing.

    Parameters
    ----------
    times : Series
        From `parsed_dates`.
    origin : str
        The time from which days are counted; empty: these are times without a date, which become
        hours.
    """
    import pandas

    if not origin:
        since = (times - pandas.Timestamp(0)).dt.total_seconds() / 3600
        return {"hour": np.asarray(since, dtype=np.float64)}
    elapsed = (times - pandas.Timestamp(origin)).dt.total_seconds() / 86_400
    hour = times.dt.hour + times.dt.minute / 60 + times.dt.second / 3600
    columns = (times.dt.year, times.dt.month, times.dt.day_of_week, hour, elapsed)
    return {
        name: np.asarray(column, dtype=np.float64)
        for name, column in zip(PARTS, columns, strict=True)
    }
