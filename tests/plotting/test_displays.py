"""The displays draw what the figures say."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedygp import SparseGPRegressor
from greedygp.plotting import (
    PosteriorDisplay,
    RegressionCalibrationDisplay,
    RelevanceDisplay,
    SelectionPathDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_friedman1(150, random_state=0)
    return SparseGPRegressor(max_basis=20, max_iter=10, random_state=0).fit(X, y), X, y


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def drawn(display):
    display.figure_.canvas.draw()
    return display


def test_selection_path(fitted):
    model, _, _ = fitted
    display = drawn(SelectionPathDisplay.from_estimator(model, color="red"))
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), model.path_["value"])
    assert display.lines_[0].get_color() == "red"
    assert display.chosen_[0].get_xdata()[0] == model.n_basis_
    assert display.ax_.get_ylabel() == "negative log posterior"
    _, ax = plt.subplots()
    assert SelectionPathDisplay.from_estimator(model, ax=ax).ax_ is ax


def test_calibration(fitted):
    model, X, y = fitted
    display = drawn(RegressionCalibrationDisplay.from_estimator(model, X, y, bins=8))
    assert len(display.figures.density) == 8
    assert len(display.axes_) == 2
    mean, std = model.predict(X, return_std=True)
    other = RegressionCalibrationDisplay.from_predictions(y, mean, std, bins=8, name="mine")
    np.testing.assert_array_equal(other.figures.shares, display.figures.shares)
    with pytest.raises(ValueError, match="2 axes"):
        other.plot(ax=plt.figure().add_subplot())


def test_relevance(fitted):
    model, X, _ = fitted
    display = drawn(RelevanceDisplay.from_estimator(model, X, most=4))
    assert len(display.bars_) == 4
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(widths)
    assert widths[-1] == 1.0
    assert "by slope" in display.ax_.get_xlabel()
    assert "ARD" in RelevanceDisplay.from_estimator(model).ax_.get_xlabel()
    with pytest.raises(ValueError, match="method must be one of"):
        RelevanceDisplay.from_estimator(model, method="luck")
    with pytest.raises(ValueError, match="needs X"):
        RelevanceDisplay.from_estimator(model, method="slope")
    with pytest.raises(ValueError, match="2 names for 10 features"):
        RelevanceDisplay.from_estimator(model, feature_names=["a", "b"])


def test_posterior_line(fitted):
    model, X, y = fitted
    display = drawn(PosteriorDisplay.from_estimator(model, X, y, features=3, points=20))
    labels = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert labels == ["mean", "95% interval", "rows", "basis"]


def test_posterior_map_with_names():
    pandas = pytest.importorskip("pandas")
    X, y = make_friedman1(60, random_state=0)
    table = pandas.DataFrame(X[:, :2], columns=["u", "v"])
    model = SparseGPRegressor(max_basis=8, max_iter=3, random_state=0).fit(table, y)
    display = drawn(PosteriorDisplay.from_estimator(model, table, y, points=12))
    assert [ax.get_title() for ax in display.axes_] == ["mean", "standard deviation"]
    assert display.axes_[0].get_xlabel() == "u"
    one = drawn(PosteriorDisplay.from_estimator(model, table, y, features="v", points=12))
    assert one.axes_[0].get_xlabel() == "v"


def test_posterior_of_a_pipeline_and_of_classes():
    X, y = make_friedman1(60, random_state=0)
    model = make_pipeline(StandardScaler(), SparseGPRegressor(max_basis=5, max_iter=3))
    assert drawn(PosteriorDisplay.from_estimator(model.fit(X, y), X, y)).slice.std is not None
    classifier = LogisticRegression().fit(X[:, :2], y > y.mean())
    assert len(drawn(PosteriorDisplay.from_estimator(classifier, X[:, :2])).axes_) == 1


def test_models_with_nothing_to_show(fitted):
    with pytest.raises(NotFittedError):
        SelectionPathDisplay.from_estimator(SparseGPRegressor())
    X, y = make_friedman1(30, random_state=0)
    with pytest.raises(ValueError, match="LogisticRegression has no path"):
        SelectionPathDisplay.from_estimator(LogisticRegression().fit(X, y > y.mean()))
    with pytest.raises(ValueError, match="no kernel with one length scale"):
        RelevanceDisplay.from_estimator(LogisticRegression().fit(X, y > y.mean()))


def test_without_matplotlib():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from greedygp.plotting import RegressionCalibrationDisplay as D\n"
        "try:\n"
        "    D.from_predictions([0.0, 1.0], [0.0, 0.5], [1.0, 1.0])\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "pip install 'greedygp[plot]'" in done.stdout
