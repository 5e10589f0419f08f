"""Numbers as people write them."""

import numpy as np
import pytest

from greedygp.report.numbers import counted, percent, plain, tick_labels, ticks


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (37412.0, "37,410"),
        (1969, "1969"),
        (-1234567.0, "-1,235,000"),
        (0.00012345, "0.0001234"),
        (9.9999, "10"),
        (3e6, "3,000,000"),
        (1e-7, "1 \u00d7 10\u207b\u2077"),
        (2.5e18, "2.5 \u00d7 10\u00b9\u2078"),
        (float("nan"), "\u2013"),
    ],
)
def test_plain(value, text):
    assert plain(value) == text


@pytest.mark.parametrize("value", [1.0, 12.5, 0.125, 98765.0, 0.3333333])
@pytest.mark.parametrize("digits", [2, 3, 6])
def test_plain_is_right_to_its_digits(value, digits):
    shown = float(plain(value, digits).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))


def test_percent_and_counts():
    assert (percent(0.9499), percent(0.5, 0), percent(0.0)) == ("95 %", "50 %", "0 %")
    assert (counted(0, "row"), counted(1, "row"), counted(9999, "row")) == (
        "0 rows", "1 row", "9999 rows")  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3.2, 7.9), (1e-9, 3e-9), (12345, 98765), (-1e6, 1e6), (5, 5)]
)
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 9
    assert np.all((found >= low - 1e-12) & (found <= high + 1e-12))
    if len(found) > 2:
        np.testing.assert_allclose(np.diff(found, 2), 0, atol=1e-9 * (high - low))


def test_tick_labels_are_alike():
    assert tick_labels([-0.5, 0.0, 0.5]) == ["-0.5", "0.0", "0.5"]
    assert tick_labels([1900.0, 2000.0]) == ["1900", "2000"]
    assert tick_labels([0.0, 5000.0, 10000.0]) == ["0", "5,000", "10,000"]
    assert tick_labels([0.0, 2e6]) == ["0", "2 M"]
    assert tick_labels([5e9, 6.5e9]) == ["5.0 bn", "6.5 bn"]
    assert "\u00d7" in tick_labels([1e-9, 2e-9])[0]
