"""Values of a column as numbers or as words, however they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

__all__ = [
    "BEHIND",
    "CURRENCY",
    "MISSING",
    "has_decimal_commas",
    "is_grouped",
    "signs_of",
    "mixed_signs",
    "to_numbers",
    "to_words",
    "units_of",
    "with_another_sign",
]

MISSING = "(missing)"
CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|JPY|CHF|INR)"
SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
MARKED = re.compile(rf"{CURRENCY}|%")
# What may stand behind a number: a sign, a unit.
BEHIND = rf"(\s*(?:{CURRENCY}|%|[^\W\d_][^\d,;:]{{0,11}}|\u00b0\w?)?\s*\)?)"
# 1,234 or 1 234 or 1'234 or $1,234.50 or 12 % or (1,200): what `ungrouped` makes numbers of.
BETWEEN = "[,' \u00a0\u202f\u2019]"  # thousands
# 12,34,567 is how India writes it.
DIGITS = rf"(?:\d{{1,3}}(?:{BETWEEN}\d{{3}})+|\d{{1,2}}(?:,\d\d)+,\d{{3}}|\d+)(?:\.\d*)?"
GROUPED = re.compile(rf"[-+(]?\s*{CURRENCY}?\s*[-+]?{DIGITS}-?\s*(?:{CURRENCY}|%)?\s*\)?")
# 5 cm or 12kg: a number and a unit.
WITH_UNIT = re.compile(rf"([-+]?{DIGITS}(?:[eE][-+]?\d+)?)\s*([^\W\d][^\d,;:]{{0,11}}|\u00b0\w?)")
MINUS = "\u2212"  # as text processors write it
# 1,5 or 1.234,56: a decimal comma. 1,234 alone may also be a thousand and more.
DECIMAL_COMMA = re.compile(
    rf"[-+(]?\s*{CURRENCY}?\s*[-+]?(?:\d+|\d{{1,3}}(?:\.\d{{3}})+),\d+(?:[eE][-+]?\d+)?{BEHIND}"
)


def to_numbers(
    values: pandas.Series, grouped: bool = False, unit: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as float64, NaN where missing, and the places that hold no number.

    Parameters
    ----------
    values : Series
    grouped : bool
        Whether text may have currency signs, percent signs and commas between thousands.
    unit : str
        What may stand behind a number.
    """
    import pandas

    kind = values.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":  # nearly always; quick for wide tables
        return values.to_numpy(dtype=np.float64), np.array([], dtype=int)
    present = np.asarray(values.notna())
    if pandas.api.types.is_datetime64_any_dtype(kind) or isinstance(kind, pandas.PeriodDtype):
        return np.full(len(values), np.nan), np.flatnonzero(present)
    if pandas.api.types.is_timedelta64_dtype(kind):
        return np.asarray(values.dt.total_seconds(), dtype=np.float64), np.array([], dtype=int)
    if not pandas.api.types.is_numeric_dtype(kind):
        values = values.astype(object).map(_with_minus, na_action="ignore")
        if unit:
            values = values.map(lambda value: _without(value, unit), na_action="ignore")
        if grouped or unit:
            values = values.map(_ungrouped, na_action="ignore")
    numbers = pandas.to_numeric(values, errors="coerce")
    if pandas.api.types.is_complex_dtype(numbers.dtype):
        return np.full(len(values), np.nan), np.flatnonzero(present)
    found = np.asarray(numbers.astype("float64"), dtype=np.float64)
    lost = np.flatnonzero(np.isnan(found) & present)
    wrong = [place for place in lost if not _spells_nan(values.iloc[place])]
    return found, np.array(wrong, dtype=int)


def _spells_nan(value: Any) -> bool:
    return str(value).strip().casefold().lstrip("+-") == "nan"


def _ungrouped(value: Any) -> Any:
    """Return a text without currency and percent signs and commas between thousands.

    Percentages become numbers of percent: 12 % is 12. Brackets, or a minus behind it, make a number
    negative.
    """
    if not isinstance(value, str) or not GROUPED.fullmatch(value.strip()):
        return value
    plain = re.sub(rf"{CURRENCY}|{BETWEEN}|[%()\s]", "", value)
    sign = "-" if value.strip().startswith("(") or plain.endswith("-") else ""
    return sign + plain.removesuffix("-")


def _with_minus(value: Any) -> Any:
    return value.replace(MINUS, "-") if isinstance(value, str) else value


def _without(value: Any, unit: str) -> Any:
    """Return a text without the unit at its end."""
    if not isinstance(value, str) or WITH_UNIT.fullmatch(value.strip()) is None:
        return value
    return value.strip().removesuffix(unit).strip()


def units_of(values: pandas.Series) -> list[str]:
    """Return the units behind the numbers of a column; empty: not all are numbers with a unit."""
    found = [WITH_UNIT.fullmatch(_with_minus(word).strip()) for word in to_words(values)]
    if not found or not all(found):
        return []
    return sorted({str(match[2]).strip() for match in found if match})


def is_grouped(values: pandas.Series, wrong: np.ndarray) -> bool:
    """Tell whether all values that are not plain numbers have currency signs or grouped digits."""
    written = [str(value).strip() for value in values.iloc[wrong]]
    return bool(written) and all(map(GROUPED.fullmatch, written))


def signs_of(values: pandas.Series) -> list[str]:
    """Return the currency of each value, or %; "" where there is none, or nothing to have one."""
    import pandas

    if pandas.api.types.is_numeric_dtype(values.dtype):
        return [""] * len(values)
    found = [MARKED.search(value) if isinstance(value, str) else None for value in values]
    return [SIGNS.get(mark[0], mark[0]) if mark is not None else "" for mark in found]


def mixed_signs(values: pandas.Series) -> str:
    """Say what is mixed in a column of numbers: currencies, or percentages and others; else ''."""
    found: dict[str, str] = {}
    for sign, value in zip(signs_of(values), values):
        if sign or is_something(value):
            found.setdefault(sign, _word(value))
    if "%" in found and len(found) > 1:
        other = next(word for sign, word in found.items() if sign != "%")
        return f"percentages and other numbers, such as {found['%']!r} and {other!r}"
    several = sorted(set(found) - {""})
    if len(several) > 1:
        return f"numbers in different currencies ({', '.join(several)})"
    return ""


def is_something(value: Any) -> bool:
    """Tell whether a value is neither missing nor zero, which needs no sign."""
    return value == value and bool(_word(value).strip("-+0. "))


def with_another_sign(values: pandas.Series, sign: str) -> int:
    """Return how many values have another sign than those of training; money may have none."""
    present = values[values.notna()]
    return sum(
        other != sign and (bool(other) or (sign == "%" and is_something(value)))
        for other, value in zip(signs_of(present), present)
    )


def has_decimal_commas(values: pandas.Series, wrong: np.ndarray) -> bool:
    """Tell whether all values that are not plain numbers have a decimal comma."""
    written = [str(value).strip() for value in values.iloc[wrong]]
    return bool(written) and all(map(DECIMAL_COMMA.fullmatch, written))


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
