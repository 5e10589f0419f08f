"""The small drawing code: ticks, places, escaping."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from greedygp.report.svg import NORMAL, SMALL, Chart, horizontal_bars


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


def texts(svg):
    """Return place, anchor and words of the ticks along the x axis that are not slanted."""
    found = re.findall(
        r'<text class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]*)', svg
    )
    return [(float(x), words) for x, words in found]


@pytest.mark.parametrize("size", [NORMAL, SMALL])
@pytest.mark.parametrize("high", [1.0, 0.001, 123456.0, 98765432.0, 4e-9])
def test_numbers_along_an_axis_do_not_overprint(size, high):
    svg = Chart([0, high], [0, high], "x", "y", label="test", size=size).svg()
    ticks = texts(svg)
    assert len(ticks) >= 2
    for (a, left), (b, right) in pairwise(ticks):
        assert b - a > 5.8 * (len(left) + len(right)) / 2
    assert not re.search(r"\de[+-]?\d", svg)  # 100,000, not 1e5


def test_names_along_an_axis_are_slanted_where_they_are_long():
    names = [(0.0, "a"), (1.0, "b")]
    short = Chart([-0.5, 1.5], [0, 1], "x", "y", label="test", x_names=names)
    long = Chart([-0.5, 1.5], [0, 1], "x", "y", label="test",
                 x_names=[(0.0, "a" * 40), (0.1, "b" * 40)])  # fmt: skip
    assert [words for _, words in texts(short.svg())] == ["a", "b"]
    assert texts(long.svg()) == []
    assert long.svg().count("rotate(-32") == 2
    assert "a" * 17 + "\u2026" in long.svg()
    assert long.height > short.height  # room for them under the axis


def test_logarithmic_axis():
    chart = Chart([0, 2], [0.01, 100.0], "x", "y", label="test", margin=0.0, y_log=True)
    chart.points([0, 1, 2], [0.01, 1.0, 100.0])
    (_, y0), (_, y1), (_, y2) = circles(chart.svg())
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert ">0.01<" in chart.svg()
    narrow = Chart([0, 1], [2.0, 5.0], "x", "y", label="test", y_log=True).svg()
    assert narrow.count('class="grid"') >= 2


def test_ribbon_and_rug_stay_inside():
    chart = Chart([0, 1], [0, 1], "x", "y", label="test", margin=0.0)
    chart.ribbon([0, 1], [-5, -5], [0.5, 9])
    chart.rug([0.2, 0.4])
    ribbon = re.search(r'class="ribbon" d="M([^"]*)Z"', chart.svg())[1]
    heights = [float(point.split()[1]) for point in ribbon.split("L")]
    assert min(heights) >= 12
    assert max(heights) <= chart.height - chart.bottom
    assert chart.svg().count("v-5") == 2
