"""The figures behind the pictures, against their definitions."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from greedygp import SparseGPRegressor
from greedygp.plotting.curves import (
    calibration,
    learning_traces,
    plane,
    ranking,
    reliability,
    selection_paths,
    slopes,
)
from greedygp.plotting.slices import feature_places, slice_of
from greedygp.threads import thread_count


@pytest.fixture(scope="module")
def fitted():
    X, y = make_friedman1(150, random_state=0)
    return SparseGPRegressor(max_basis=20, max_iter=10, random_state=0).fit(X, y), X, y


def test_path(fitted):
    model, _, _ = fitted
    (curve,) = selection_paths(model)
    np.testing.assert_array_equal(curve.value, model.path_["value"])
    np.testing.assert_array_equal(curve.size, np.arange(1, 21))
    assert curve.chosen == model.n_basis_
    assert selection_paths(make_pipeline(StandardScaler(), model))[0].chosen == model.n_basis_
    assert selection_paths(GaussianProcessRegressor()) == []


def test_path_that_goes_back():
    X, y = make_friedman1(120, noise=3.0, random_state=0)
    model = SparseGPRegressor(criterion="loo_cve", rounds=0, patience=5, random_state=0).fit(X, y)
    (curve,) = selection_paths(model)
    assert curve.chosen < len(curve.step)
    assert curve.value[curve.chosen - 1] == curve.value.min()


ACTIONS = np.array(
    [("add", 3, 2.0), ("add", 1, 1.5), ("reestimate", 3, 1.2), ("delete", 3, 1.1)],
    dtype=[("action", "U10"), ("index", int), ("value", float)],
)


def test_path_with_deletions():
    class Linear:
        path_, n_basis_, gcv_ = ACTIONS, 1, 1.1

    (curve,) = selection_paths(Linear())
    assert curve.size.tolist() == [1, 2, 2, 1]
    assert curve.chosen == 4
    assert curve.seconds is None
    assert curve.measure == "generalised cross-validation"


def test_path_of_additions_that_went_too_far():
    class Linear:
        path_, n_basis_, log_evidence_ = ACTIONS[:2], 1, 1.1

    (curve,) = selection_paths(Linear())
    assert curve.chosen == 1
    assert curve.measure == "log evidence"


def test_one_path_for_each_class():
    class Classes:
        path_, n_basis_ = [ACTIONS[:1], ACTIONS[:2], ACTIONS], [1, 2, 1]
        classes_ = np.array(["a", "b", "c"])

    found = selection_paths(Classes())
    assert [(curve.name, curve.chosen) for curve in found] == [("a", 1), ("b", 2), ("c", 4)]


def test_learning_traces(fitted):
    model, _, _ = fitted
    (trace,) = learning_traces(model)
    assert len(trace.x) == np.sum(model.rounds_["n_iter"] + 1)
    assert trace.y[-1] == model.rounds_["value"][-1]
    assert trace.x[-1] == model.rounds_["n_iter"].sum()

    class Saved:  # before iterations were kept
        rounds_ = model.rounds_

    (trace,) = learning_traces(Saved())
    assert len(trace.x) == 2 * len(model.rounds_)
    assert trace.y[-1] == model.rounds_["value"][-1]
    assert trace.x[-1] == model.rounds_["n_iter"].sum()

    class Dense:
        history_ = np.array(
            [(3.0, 1.0, 0.1), (2.0, 0.5, 0.2)],
            dtype=[("objective", float), ("gradient_norm", float), ("seconds", float)],
        )

    assert [t.name for t in learning_traces(Dense())] == ["objective", "gradient norm"]


class CountsThreads(LinearRegression):
    """Notes how many threads there are to predict with."""

    threads: set = set()

    def predict(self, X):
        self.threads.add(thread_count())
        return super().predict(X)


def test_slopes_take_one_thread():
    """On two cores beside another program, 500 columns took four times as long on two threads."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = CountsThreads().fit(X, X[:, 0])
    with threadpool_limits(2, user_api="blas"):
        slopes(model, X)
    assert model.threads == {1}


def test_slopes_of_a_line_and_of_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1.0, 10.0, 1.0]
    y = 2.0 * X[:, 0] + 0.1 * X[:, 1]
    scale = X.std(axis=0)
    expected = np.array([2.0, 0.1, 0.0]) * scale
    found = slopes(LinearRegression().fit(X, y), X)
    np.testing.assert_allclose(found, expected / expected.max(), atol=1e-9)
    classes = slopes(LogisticRegression().fit(X, y > 0), X)
    assert classes.argmax() == 0
    assert classes[2] < 0.1
    np.testing.assert_array_equal(slopes(LinearRegression().fit(X, 0 * y), X), np.zeros(3))


def test_straight_effects_count_by_slope(fitted):
    model, X, _ = fitted
    found = slopes(model, X)
    assert found[:5].min() > found[5:].max()


def test_calibration_of_the_truth_and_of_errors():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=20_000), rng.uniform(0.5, 2.0, 20_000)
    y = mean + std * rng.normal(size=20_000)
    right = calibration(y, mean, std)
    assert np.all(np.abs(right.density - 1) < 2 * right.band)
    np.testing.assert_allclose(right.shares, right.levels, atol=0.02)
    np.testing.assert_allclose(right.density.sum() / 10, 1.0)
    narrow = calibration(y, mean, std / 2)
    assert narrow.density[0] > 2
    assert np.all(narrow.shares < narrow.levels)
    counts = np.histogram(norm.cdf(y, mean, std), bins=10, range=(0, 1))[0]
    np.testing.assert_allclose(right.density, counts / 2000)


def test_reliability_of_the_truth_and_of_errors():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0, 1.0], 20_000)
    labels = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in p]]
    right = reliability(labels, p, ["a", "b", "c"])
    np.testing.assert_allclose(right.accuracy, right.confidence, atol=0.05)
    assert right.error < 0.02
    assert right.count.sum() == 20_000
    sure = p**4 / (p**4).sum(axis=1, keepdims=True)
    assert reliability(labels, sure, ["a", "b", "c"]).error > 0.1


def test_planes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * [1.0, 5.0, 2.0]
    rows, vectors, labels = plane(X, X[:4], np.array([0.1, 0.5, 1.0]), ["a", "b", "c"])
    assert labels == ("c", "b")
    np.testing.assert_array_equal(rows, X[:, [2, 1]])
    np.testing.assert_array_equal(vectors, X[:4][:, [2, 1]])
    rows, vectors, labels = plane(X, X[:4], None, ["a", "b", "c"])
    assert "principal" in labels[0]
    assert rows[:, 0].var() > rows[:, 1].var()
    np.testing.assert_allclose(rows[:4], vectors)
    rows, vectors, _ = plane(X[:, :1], X[:2, :1], None, ["a"])
    assert rows.shape == (100, 2)


def test_slices(fitted):
    model, X, _ = fitted
    line = slice_of(model, X, (3,), points=30)
    rows = np.tile(np.median(X, axis=0), (30, 1))
    rows[:, 3] = line.grid[0]
    mean, std = model.predict(rows, return_std=True)
    np.testing.assert_allclose(line.mean, mean)
    np.testing.assert_allclose(line.band(0.95)[1], mean + norm.ppf(0.975) * std)
    assert np.all(slice_of(model, X, (3,), 30, noise=False).std < line.std)
    area = slice_of(model, X, (0, 1), points=7)
    rows = np.median(X, axis=0)
    rows[[0, 1]] = area.grid[0][2], area.grid[1][5]
    np.testing.assert_allclose(area.mean[5, 2], model.predict(rows[None])[0])


def test_slices_of_other_models():
    X, y = make_friedman1(40, random_state=0)
    classes = slice_of(GaussianProcessClassifier().fit(X, y > y.mean()), X, (0,), 5)
    assert classes.std is None
    assert classes.band(0.9) is None
    assert np.all((classes.mean > 0) & (classes.mean < 1))
    other = slice_of(GaussianProcessRegressor().fit(X, y), X, (0,), 5)
    assert other.std is not None
    from sklearn.linear_model import Ridge

    assert slice_of(Ridge().fit(X, y), X, (0,), 5).std is None


@pytest.mark.parametrize("features", ["z", 3, -1, (0, 0), (0, 1, 2)])
def test_features_that_are_not_there(features):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.zeros((2, 3)), columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"feature"):
        feature_places(X, features)
    assert feature_places(X, ("c", 0)) == (2, 0)


def test_ranking_is_that_of_scikit_learn():
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(0)
    true = rng.random(300) < 0.2
    score = np.round(rng.normal(size=300) + true, 1)  # with ties
    found = ranking(true, score)
    assert found.roc_auc == pytest.approx(roc_auc_score(true, score))
    assert found.average_precision == pytest.approx(average_precision_score(true, score))
    for threshold, recall, precision, false_alarms in zip(
        found.threshold, found.recall, found.precision, found.false_alarms
    ):
        said = score >= threshold
        assert recall == pytest.approx(np.mean(said[true]))
        assert precision == pytest.approx(np.mean(true[said]))
        assert false_alarms == pytest.approx(np.mean(said[~true]))
