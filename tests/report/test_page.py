"""The page: what it must hold, for numbers and for classes, whatever the columns are called."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

from greedygp.report import page, write_report  # noqa: E402
from greedygp.report.importance import (  # noqa: E402
    _MixedRows,
    _place_of_each_feature,
    permutation_importance,
)
from greedygp.report.rows import judge_again  # noqa: E402
from greedygp.report.subject import Subject  # noqa: E402
from greedygp.tables import ColumnProblem, DataProblem, TableEncoder  # noqa: E402
from greedygp.tables.training import (  # noqa: E402
    Recipe,
    relevance_of_columns,
    train,
)
from report_problems import QUICK, fitted_by, table  # noqa: E402


@pytest.fixture(scope="module")
def trained():
    return train(table(), Recipe("y", settings=QUICK), known={"command": "greedygp fit <data>"})


def sections(text):
    return re.findall(r'<section id="([a-z]+)"', text)


class Checker(HTMLParser):
    """Checks that tags are closed in order."""

    VOID = {"meta", "input", "path", "rect", "circle"}

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attributes):
        self.outside += [v for k, v in attributes if k in ("src", "href") and "://" in (v or "")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def check(text):
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.outside == []
    assert "http" not in re.sub(r"http-equiv", "", text)  # nothing is fetched
    assert "nan" not in re.findall(r"<svg.*?</svg>", text, re.S)


def test_numbers(trained, tmp_path):
    text = write_report(trained, tmp_path / "r.html").read_text(encoding="utf-8")
    check(text)
    found = [name for name in sections(text) if name != "noise"]  # where error bars differ enough
    assert found == [
        *("predictions", "relevance", "effects", "calibration"),
        *("residuals", "path", "learning", "basis", "made"),
    ]
    assert "Judged on 16 rows that were held out" in text
    assert "greedygp fit &lt;data&gt;" in text
    assert text.count('class="point"') > 16
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_lines_end_inside_their_chart():
    """A few targets are far from what is predicted."""
    frame = table(120)
    frame.loc[::7, "y"] += 30.0
    text = page(train(frame, Recipe("y", settings=QUICK)), "test rows")
    for chart in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        width, height = (float(v) for v in re.search(r'viewBox="0 0 (\S+) (\S+)"', chart).groups())
        for path in re.findall(r'<path class="ideal" d="([^"]*)"', chart):
            places = np.array(re.findall(r"[ML](\S+) (\S+?)(?=[ML]|$)", path), dtype=float)
            assert np.all((places >= 0.0) & (places <= [width, height]))


def test_a_roc_curve_begins_at_nothing_found():
    text = page(fitted_by(LogisticRegression(), "classification", "c", table(60)), "test rows")
    chart = re.search(r'<svg[^>]*aria-label="ROC.*?</svg>', text, re.DOTALL)[0]
    chance, curve = re.findall(r'<path class="(?:ideal|line)" d="M([^L]*)L', chart)
    assert curve == chance


def test_coverage_of_rows_with_missing_values_is_told_apart():
    frame = table(120)
    frame.loc[::4, "a"] = np.nan
    trained = train(frame, Recipe("y", test=0.5, settings=QUICK))
    told = trained.model.facts["where_missing"]
    said, holes = trained.predictions, trained.rows["a"].isna().to_numpy()
    assert told["rows"] == holes.sum() > 5
    inside = np.abs(said.y - said.mean)[holes] <= 1.959964 * said.std[holes]
    assert told["coverage_95"] == pytest.approx(inside.mean())
    text = page(trained, "test rows")
    assert f"Of the {holes.sum()} rows with missing values, which were filled, it holds" in text
    assert train(table(), Recipe("y", settings=QUICK)).model.facts["where_missing"] is None


def test_leave_one_out():
    text = page(train(table(), Recipe("y", test=0.0, settings=QUICK)), "the training rows")
    check(text)
    assert "calibration" in sections(text)


def test_classes():
    text = page(fitted_by(LogisticRegression(), "classification", "c", table(200)), "test rows")
    check(text)
    assert sections(text) == [
        *("predictions", "relevance", "effects", "ranking", "residuals", "calibration", "made"),
    ]
    counts = [int(c) for c in re.findall(r'style="--share:[^"]*">(\d+)</td>', text)]
    assert sum(counts) == 40
    assert "error rate" in text


def test_model_without_error_bars_or_probabilities():
    from sklearn.svm import LinearSVC

    text = page(fitted_by(Ridge(), "regression", "y", table()), "test rows")
    check(text)
    assert "calibration" not in sections(text)
    text = page(fitted_by(LinearSVC(), "classification", "c", table()), "test rows")
    check(text)
    assert sections(text) == ["predictions", "relevance", "made"]
    assert "This model predicts classes only." in text


def test_hostile_names():
    nasty = "<script>alert('x')</script>&\"'"
    frame = table().rename(columns={"a": nasty, "y": nasty + "y"})
    frame["c"] = frame["c"].replace("x", "<img src=x onerror=alert(1)>")
    trained = train(frame, Recipe(nasty + "y", settings=QUICK), known={"command": nasty})
    text = page(trained, nasty)
    check(text)
    assert text.count("<script") == 1
    assert "<img" not in text


def test_one_feature_and_many_rows():
    x = np.linspace(0, 6, 4000)
    frame = pandas.DataFrame({"x": x, "y": np.sin(x)})
    trained = train(frame, Recipe("y", test=0.5, settings=QUICK))
    text = page(trained, "test rows")
    check(text)
    assert "1200 of 2000 rows, drawn at random" in text
    assert len(text) < 2_000_000


def shuffled(trained):
    subject = Subject(trained)
    slopes = relevance_of_columns(trained.model, subject.slopes)
    return permutation_importance(trained, subject.X, slopes)


def test_shuffling_finds_what_matters(trained):
    found = shuffled(trained)
    assert next(iter(found.values())) == 1.0
    assert list(found)[-1] == "b"


def test_features_of_a_column_are_shuffled_together(trained):
    """Mixed rows are those that the encoder makes of a table whose columns were mixed."""
    model, rows = trained.model, trained.rows
    names = ["c", "a"]
    places = _place_of_each_feature(model.encoder, names)
    mixed = _MixedRows(model.estimator, model.encoder.transform(rows), places)
    rng = np.random.default_rng(0)
    sources = np.column_stack([rng.permutation(len(rows)) for _ in names])
    table = rows.copy()
    for name, order in zip(names, sources.T):
        table[name] = rows[name].to_numpy()[order]
    np.testing.assert_array_equal(mixed.predict(sources), model.predict(table))
    np.testing.assert_array_equal(mixed.predict(mixed.unshuffled(2)), model.predict(rows))


def test_shuffling_looks_at_every_column_of_a_wide_table():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(120, 60)), columns=[f"x{k}" for k in range(60)])
    frame["y"] = 3 * frame["x58"] + rng.normal(size=120) * 0.1
    found = shuffled(fitted_by(Ridge(), "regression", "y", frame))
    assert next(iter(found)) == "x58"
    assert len(found) == 40


def test_tile_and_caption_tell_the_same_coverage():
    """The figure draws a sample of the rows; its caption speaks of all of them."""
    x = np.linspace(0, 6, 3000)
    frame = pandas.DataFrame({"x": x, "y": np.sin(x) + np.random.default_rng(0).normal(size=3000)})
    text = page(train(frame, Recipe("y", test=0.5, settings=QUICK)), "test rows")
    tile = re.search(r"inside the 95 % interval</dt><dd>([\d.]+ %)", text)[1]
    assert f"here it holds {tile}." in text


# ---------------------------------------------------------------------------- judged again


def test_the_same_file_gives_the_same_rows():
    frame = table()
    known = {"data": {"name": "t.csv", "sha256": "same"}}
    trained = train(frame, Recipe("y", settings=QUICK, seed=5), known=known)
    again, which = judge_again(trained.model, frame, "same")
    assert "held out" in which
    np.testing.assert_array_equal(again.predictions.y, trained.predictions.y)
    np.testing.assert_array_equal(again.predictions.mean, trained.predictions.mean)
    other, which = judge_again(trained.model, frame, "another")
    assert "all 80 rows" in which
    assert len(other.predictions.y) == 80
    without = train(frame, Recipe("y", test=0.0, settings=QUICK), known=known)
    loo, which = judge_again(without.model, frame, "same")
    assert "predicted from the others" in which
    np.testing.assert_array_equal(loo.predictions.mean, without.predictions.mean)


def test_rows_of_classes():
    model = fitted_by(LogisticRegression(), "classification", "c", table()).model
    again, _ = judge_again(model, table(20, seed=1), "")
    assert len(again.predictions.y) == 20
    new = table(20)
    new.loc[3, "c"] = "xy"
    with pytest.raises(ColumnProblem, match="does not know: xy"):
        judge_again(model, new, "")


def test_tables_that_cannot_judge(trained):
    with pytest.raises(ColumnProblem, match="target 'y'"):
        judge_again(trained.model, table().drop(columns="y"), "")
    with pytest.raises(DataProblem, match="No row has"):
        judge_again(trained.model, table().assign(y=None), "")
    with pytest.raises(ColumnProblem, match="must hold numbers"):
        judge_again(trained.model, table().assign(y="high"), "")


def test_encoder_is_that_of_the_model(trained):
    assert isinstance(trained.model.encoder, TableEncoder)
