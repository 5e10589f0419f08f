"""The small drawing code: ticks, places, escaping."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from greedygp.report.svg import Chart, horizontal_bars, short, ticks


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3.2, 7.9), (1e-9, 3e-9), (12345, 98765), (-1e6, 1e6), (5, 5)]
)
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 9
    assert np.all((found >= low - 1e-12) & (found <= high + 1e-12))
    if len(found) > 2:
        np.testing.assert_allclose(np.diff(found, 2), 0, atol=1e-9 * (high - low))


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.5, "0.5"), (1e-7, "1e-7"), (3e6, "3e6")])
def test_short(value, text):
    assert short(value) == text


def circles(svg):
    return [
        (float(x), float(y)) for x, y in re.findall(r'<circle[^>]*cx="([^"]+)" cy="([^"]+)"', svg)
    ]


def test_points_are_in_their_places():
    chart = Chart([0, 10], [0, 100], "x", "y", label="test", margin=0.0)
    chart.points([0, 5, 10], [0, 50, 100])
    (x0, y0), (x1, y1), (x2, y2) = circles(chart.svg())
    assert x1 == pytest.approx((x0 + x2) / 2)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert x0 < x2
    assert y0 > y2  # up is less in pixels


def test_drawings_are_well_formed_and_escaped():
    nasty = '<script>alert("1")</script> & co'
    chart = Chart([1, 1], [2, 2], nasty, nasty, label=nasty)
    chart.line([0, np.nan, 1], [1, 2, np.inf])
    chart.points([1], [2], [nasty])
    chart.crosses([1], [2])
    chart.intervals([1], [-np.inf], [np.inf])
    chart.columns(np.array([0.5, 1.5]), np.array([2.0]), [nasty])
    chart.band(1, 3)
    chart.mark(1, 2, nasty)
    for svg in (chart.svg(), horizontal_bars([nasty], [0.5], [nasty], label=nasty)):
        ET.fromstring(svg)
        assert "<script" not in svg
        assert "nan" not in svg
        assert "inf" not in svg.replace("info", "")
