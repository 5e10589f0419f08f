"""Partial dependence, and where values stand along an axis."""

import re

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402

from greedygp import GPRegressor  # noqa: E402
from greedygp.report import page  # noqa: E402
from greedygp.report.effects import _average_of, along_column, effects, top_columns  # noqa: E402
from greedygp.report.noise_figures import sharpness  # noqa: E402
from greedygp.report.places import is_truth, places_of, steps_along  # noqa: E402
from greedygp.report.subject import Subject  # noqa: E402
from greedygp.tables import TableEncoder  # noqa: E402
from greedygp.tables.training import Recipe, train  # noqa: E402
from report_problems import QUICK, fitted_by, table  # noqa: E402


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "size": rng.uniform(10, 20, n),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "garden": rng.random(n) < 0.4,
            "sold": pandas.Timestamp("2020-01-01")
            + pandas.to_timedelta(rng.integers(0, 900, n), "D"),
            "rooms": rng.integers(1, 6, n),
        }
    )
    frame["price"] = (
        2000 * frame["size"] + 5000.0 * (frame["town"] == "Ulm") + 3000.0 * frame["garden"]
    )
    return frame


def column_of(frame, name):
    return next(c for c in TableEncoder().fit(frame).columns_ if c.name == name)


def test_lines_of_a_linear_model_are_straight():
    """The effect of a column is its slope, and of a word its coefficient."""
    frame = mixed()
    subject = Subject(fitted_by(LinearRegression(), "regression", "price", frame))
    columns = {c.name: c for c in subject.model.encoder.columns_}
    average = _average_of(subject.model.estimator, None)
    size = along_column(subject, columns["size"], average)
    slope = np.diff(size.lines[0]) / np.diff(size.places.x)
    np.testing.assert_allclose(slope, 2000, rtol=1e-6)
    assert size.reach is None
    town = along_column(subject, columns["town"], average)
    assert [name for _, name in town.places.names] == ["Bonn", "Kiel", "Ulm"]
    np.testing.assert_allclose(town.lines[0] - town.lines[0][0], [0, 0, 5000], atol=1e-3)
    garden = along_column(subject, columns["garden"], average)
    assert [name for _, name in garden.places.names] == ["no", "yes"]
    np.testing.assert_allclose(np.diff(garden.lines[0]), 3000, atol=1e-3)


def test_band_is_that_of_the_average():
    """The variance of a mean is the mean of the covariance; samples of the posterior agree."""
    frame = mixed(80)
    subject = Subject(fitted_by(GPRegressor(random_state=0), "regression", "price", frame))
    estimator, X = subject.model.estimator, subject.X
    mean, deviation = _average_of(estimator, None)(X)
    samples = np.asarray(estimator.sample_y(X, 4000, random_state=0, noise=False)).mean(axis=0)
    assert deviation == pytest.approx(np.std(samples), rel=0.06)
    assert mean[0] == pytest.approx(np.mean(samples), abs=4 * deviation / np.sqrt(4000))


def test_figure_of_numbers_and_of_classes():
    text = page(train(mixed(), Recipe("price", settings=QUICK)), "test rows")
    figure = re.search(r'<section id="effects".*?</section>', text, re.S)[0]
    assert figure.count("<svg") >= 3
    assert 'class="ribbon"' in figure or 'class="interval"' in figure
    assert ">Ulm<" in figure
    assert re.search(r">\d\d,\d00<", figure)  # 37,400
    frame = table(200).assign(
        c=lambda t: np.where(t["a"] > 1, "p", np.where(t["a"] < -1, "q", "r"))
    )
    three = effects(Subject(fitted_by(LogisticRegression(), "classification", "c", frame)))
    assert three.switches.count("swatch") == 3
    assert "line third" in three.charts[0]
    two = effects(Subject(fitted_by(LogisticRegression(), "classification", "c", table(200))))
    assert "line second" not in "".join(two.charts)


def test_all_charts_have_one_vertical_scale():
    """Those of words stood a little lower than those of numbers."""
    found = effects(Subject(fitted_by(LinearRegression(), "regression", "price", mixed())))
    heights = [
        {name: y for y, name in re.findall(r'y="([\d.]+)" text-anchor="end">([\d,]+)<', chart)}
        for chart in found.charts
        if "rotate(-32" not in chart  # slanted names need room
    ]
    assert len(heights) >= 2
    assert all(len(each) >= 3 and each == heights[0] for each in heights)


def test_columns_that_tell_nothing_are_not_drawn():
    subject = Subject(fitted_by(LinearRegression(), "regression", "price", mixed()))
    subject.model.facts["relevance"] = {
        "size": 1.0, "town": 0.3, "garden": 0.009, "sold": 0.001, "rooms": 0.0
    }  # fmt: skip
    assert [column.name for column in top_columns(subject)] == ["size", "town", "garden"]


def test_error_bars_that_follow_the_input_are_shown():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 600)
    frame = pandas.DataFrame({"x": x, "b": rng.normal(size=600)})
    frame["y"] = np.sin(x) + (0.02 + 0.1 * x) * rng.normal(size=600)
    trained = train(
        frame, Recipe("y", test=0.3, settings={"noise_model": "input", "max_basis": 20})
    )
    figure = sharpness(Subject(trained))
    assert "Errors by error bars" in figure.charts[0]
    assert "Noise along x" in figure.charts[1]
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', figure.charts[1])]
    assert heights[-1] < heights[0] - 50  # up is less: the noise grows along x
    assert "They vary with the input" in page(trained, "test rows")


# ------------------------------------------------------------------------------- places


def test_truth_values():
    assert is_truth(pandas.Series([True, False, None]))
    assert is_truth(pandas.Series(["True", "false"]))
    assert not is_truth(pandas.Series([0, 1]))
    assert not is_truth(pandas.Series([None, None]))
    frame = mixed()
    places = places_of(frame["garden"], column_of(frame, "garden"))
    assert places.names == [(0.0, "no"), (1.0, "yes")]
    np.testing.assert_array_equal(places.x, frame["garden"].astype(float))


def test_words_stand_in_their_places():
    frame = table().assign(c=["x", None] * 40)
    places = places_of(pandas.Series(["x", None, "x"]), column_of(frame, "c"))
    np.testing.assert_array_equal(places.x, [1, 0, 1])
    assert places.names == [(0.0, "(missing)"), (1.0, "x")]
    assert np.max(np.abs(places.scatter)) < 0.5


def test_rare_words_share_a_place():
    words = [f"w{k:02d}" for k in range(20)]
    frame = pandas.DataFrame({"c": words[:12] * 5 + words[12:], "y": np.arange(68.0)})
    places = places_of(frame["c"], column_of(frame, "c"))
    assert len(places.names) == 13
    assert places.names[-1] == (12.0, "other")
    assert np.all(places.x[-8:] == 12)


@pytest.mark.parametrize(
    ("days", "name"), [(2000, "2022"), (300, "2020"), (20, "Jan")], ids=["years", "months", "days"]
)
def test_dates_stand_at_their_days(days, name):
    when = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(np.arange(0, days, days / 40), "D")
    frame = pandas.DataFrame({"d": when, "y": np.arange(40.0)})
    places = places_of(frame["d"], column_of(frame, "d"))
    np.testing.assert_allclose(places.x, np.arange(40) * days / 40, atol=1e-6)
    assert 2 <= len(places.names) <= 8
    assert any(name in shown for _, shown in places.names)


def test_missing_numbers_stand_where_they_are_filled():
    frame = pandas.DataFrame({"a": [1.5, None, 3.5, 100.0], "y": np.arange(4.0)})
    places = places_of(frame["a"], column_of(frame, "a"))
    assert places.x.tolist() == [1.5, 3.5, 3.5, 100.0]
    assert places.texts[1] == "missing"


def test_steps_leave_out_the_last_hundredth():
    frame = pandas.DataFrame({"a": np.r_[np.linspace(0, 1, 999), 1e6], "y": np.arange(1000.0)})
    steps = steps_along(frame["a"], column_of(frame, "a"))
    assert len(steps.raw) == 25
    assert max(steps.raw) < 1.0
    whole = pandas.DataFrame({"a": [1, 2, 3, 4] * 10, "y": np.arange(40.0)})
    assert steps_along(whole["a"], column_of(whole, "a")).raw == [1, 2, 3, 4]
