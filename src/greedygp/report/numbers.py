"""Numbers as people write them: 37,400 and 0.021, not 3.74e4 and 2.1e-2."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["LARGEST", "SMALLEST", "counted", "percent", "plain", "tick_labels", "ticks"]

SUPERSCRIPTS = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)
LARGEST, SMALLEST = 1e15, 1e-5  # beyond them powers of ten are easier to read
UNITS = ((1e12, " tn"), (1e9, " bn"), (1e6, " M"))


def plain(value: float, digits: int = 4) -> str:
    """Return a number with a few significant digits and commas between thousands.

    Numbers below 10,000 have no comma, so that years look like years.

    Examples
    --------
    >>> from greedygp.report.numbers import plain
    >>> plain(37412.3, 3), plain(0.02116), plain(1969.0), plain(-3.0)
    ('37,400', '0.02116', '1969', '-3')
    """
    value = float(value)
    if not math.isfinite(value):
        return "\u2013"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not SMALLEST <= abs(value) < LARGEST:
        mantissa = f"{value / 10.0**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
        return f"{mantissa} \u00d7 10{str(exponent).translate(SUPERSCRIPTS)}"
    rounded = round(value, digits - 1 - exponent)
    decimals = max(0, digits - 1 - exponent)
    return _trimmed(f"{rounded:{_comma(rounded)}.{decimals}f}")


def percent(share: float, decimals: int = 1) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> from greedygp.report.numbers import percent
    >>> percent(0.944), percent(1.0)
    ('94.4 %', '100 %')
    """
    return f"{_trimmed(f'{100 * share:.{decimals}f}')} %"


def counted(number: int, what: str) -> str:
    """Return a number of things; "row" becomes "rows" where there is not exactly one.

    Examples
    --------
    >>> from greedygp.report.numbers import counted
    >>> counted(1, "row"), counted(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{number:{_comma(number)}} {what}{'' if number == 1 else 's'}"


def ticks(low: float, high: float, most: int = 6) -> np.ndarray:
    """Return round numbers between two ends.

    Examples
    --------
    >>> from greedygp.report.numbers import ticks
    >>> ticks(0.0, 1.0).tolist()
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return np.array([low])
    raw = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(k * scale for k in (1, 2, 2.5, 5, 10) if k * scale >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return np.round(np.arange(first, last + 1) * step, 12)


def tick_labels(values: Sequence[float] | np.ndarray) -> list[str]:
    """Return how the numbers along an axis are written: all alike, millions as M.

    Examples
    --------
    >>> from greedygp.report.numbers import tick_labels
    >>> tick_labels([0.0, 0.25, 0.5]), tick_labels([0.0, 20000.0]), tick_labels([1e6, 2.5e6])
    (['0.00', '0.25', '0.50'], ['0', '20,000'], ['1.0 M', '2.5 M'])
    """
    largest = max((abs(float(value)) for value in values), default=0.0)
    if largest >= LARGEST or 0 < largest < SMALLEST:
        return [plain(value, 3) for value in values]
    unit, suffix = next(((u, s) for u, s in UNITS if largest >= u), (1.0, ""))
    scaled = [float(value) / unit for value in values]
    close = 1e-9 * largest / unit
    decimals = next(
        (d for d in range(9) if all(abs(round(v, d) - v) <= close for v in scaled)), 9
    )  # fmt: skip
    comma = _comma(largest / unit)
    return [f"{value:{comma}.{decimals}f}{suffix if value else ''}" for value in scaled]


def _comma(value: float) -> str:
    return "," if abs(value) >= 1e4 else ""


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
