"""AutoGPRegressor: which model it takes, that it says why, that it answers as that model does."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedygp
from greedygp import AutoGPRegressor, GPRegressor, SparseGPRegressor
from greedygp.exceptions import FitInterrupted
from greedygp.fitted import estimator_of, relevance
from greedygp.kernels import Gaussian
from scikit_versions import ProgressBar, parametrize_with_checks


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def quick(**options):
    """A choice between models that have little to learn."""
    given = {"kernel": Gaussian(), "noise_variance": 0.05, "random_state": 0}
    return AutoGPRegressor(**(given | options))


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({}, GPRegressor, "A full GP: 60 rows are no more than full_rows=4000."),
        ({"full_rows": 60}, GPRegressor, "A full GP: 60 rows are no more than full_rows=60."),
        ({"full_rows": 59}, SparseGPRegressor, "A sparse GP: 60 rows are more than full_rows=59."),
        ({"max_basis": 7}, SparseGPRegressor, "A sparse GP: max_basis=7 was given."),
        ({"model": "sparse"}, SparseGPRegressor, "A sparse GP: model='sparse' was given."),
        (
            {"model": "full", "max_basis": 7, "full_rows": 3},
            GPRegressor,
            "A full GP: model='full' was given.",
        ),
    ],
)
def test_which_model_and_why(options, kind, reason):
    X, y = data()
    model = AutoGPRegressor(random_state=0, **options).fit(X, y)
    assert type(model.model_) is kind
    assert model.reason_ == reason
    facts = dict(model.summary().facts)
    assert facts["model"] == f"{kind.__name__}: {reason.partition(': ')[2][:-1]}"
    if kind is SparseGPRegressor and "max_basis" in options:
        assert model.model_.n_basis_ == 7


def test_rows_without_weight_do_not_count():
    X, y = data()
    weights = np.r_[np.zeros(20), np.ones(40)]
    assert type(quick(full_rows=40).fit(X, y, weights).model_) is GPRegressor
    assert type(quick(full_rows=39).fit(X, y, weights).model_) is SparseGPRegressor
    assert "60 rows" in quick().fit(X, y, 2.0).reason_  # one weight for all


def test_rows_outside_the_memory(tmp_path):
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = quick().fit(mapped, y)
    assert type(model.model_) is SparseGPRegressor
    assert model.reason_ == "A sparse GP: the rows are not in memory."


@pytest.mark.parametrize("full_rows", [1000, 10])
def test_it_answers_as_its_model_does(full_rows):
    X, y = data()
    model = AutoGPRegressor(full_rows=full_rows, random_state=0).fit(X, y)
    kind = GPRegressor if full_rows > 60 else SparseGPRegressor
    own = kind(random_state=0).fit(X, y)
    new = data(9, seed=1)[0]
    for ours, theirs in (
        (model.predict(new), own.predict(new)),
        (model.predict(new, return_std=True)[1], own.predict(new, return_std=True)[1]),
        (
            model.predict(new, return_cov=True, noise=False)[1],
            own.predict(new, return_cov=True, noise=False)[1],
        ),
        (model.predict_interval(new, 0.8)[0], own.predict_interval(new, 0.8)[0]),
        (
            model.predict_interval(new, method="jackknife+")[1],
            own.predict_interval(new, method="jackknife+")[1],
        ),
        (model.predict_quantiles(new, [0.1, 0.6]), own.predict_quantiles(new, [0.1, 0.6])),
        (model.sample_y(new, 3), own.sample_y(new, 3)),
        (model.loo_predict()[1], own.loo_predict()[1]),
        (model.noise_variance_at(new), own.noise_variance_at(new)),
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert model.kernel_ == own.kernel_
    assert (model.noise_variance_, model.noise_model_) == (own.noise_variance_, own.noise_model_)


def test_several_targets_and_names_of_columns():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = pandas.DataFrame(X, columns=["a", "b"])
    model = quick().fit(table, np.column_stack([y, -y]))
    assert model.predict(table).shape == (60, 2)
    assert list(model.feature_names_in_) == ["a", "b"]
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("full_rows", [1000, 10])
def test_it_can_be_saved(full_rows, tmp_path):
    pytest.importorskip("skops")
    X, y = data()
    model = quick(full_rows=full_rows).fit(X, y)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.summary()) == str(model.summary())
    assert again.reason_ == model.reason_


class Watcher:
    """A callback that notes whose tasks it is told of."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context, **given):
        self.seen.append(type(estimator).__name__)

    def on_fit_task_end(self, estimator, context, **given):
        return False


def test_callbacks_hear_of_the_model_that_is_fitted():
    X, y = data()
    watcher = Watcher()
    model = quick(full_rows=10).set_callbacks(watcher).fit(X, y)
    assert (watcher.seen[0], watcher.seen[-1]) == ("setup", "teardown")
    assert set(watcher.seen[1:-1]) == {"SparseGPRegressor"}
    assert not hasattr(model.model_, "_skl_callbacks")


def test_a_progress_bar_of_a_pipeline():
    pytest.importorskip("rich")
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), quick()).set_callbacks(ProgressBar())
    assert pipeline.fit(X, y).predict(X).shape == (60,)


def test_an_interrupted_fit_leaves_its_model(monkeypatch):
    X, y = data(120)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("greedygp.noise.learn_noise", interrupted)
    model = AutoGPRegressor(random_state=0)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.predict(X).shape == (120,)
    assert model.reason_.startswith("A full GP")


def test_what_others_read_off_it():
    X, y = data()
    model = AutoGPRegressor(random_state=0).fit(X, y)
    assert estimator_of(make_pipeline(StandardScaler(), model)) is model.model_
    np.testing.assert_array_equal(relevance(model, X), relevance(model.model_, X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "dense"}, "model must be one of 'auto', 'full', 'sparse'; got 'dense'"),
        ({"full_rows": -1}, "full_rows must be an integer of at least 0; got -1"),
        ({"max_basis": 0}, "max_basis must be an integer of at least 1, or 'auto' or None; got 0"),
        ({"noise_model": "loud"}, "noise_model must be one of"),
        ({"time_limit": 0}, "time_limit must be a finite number above 0"),
    ],
)
def test_what_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        AutoGPRegressor(**options).fit(*data(20))


def test_before_the_fit():
    model = AutoGPRegressor()
    for method in (
        "predict",
        "predict_interval",
        "predict_quantiles",
        "noise_variance_at",
        "sample_y",
    ):
        with pytest.raises(NotFittedError):
            getattr(model, method)(data(3)[0])
    for method in ("loo_predict", "summary"):
        with pytest.raises(NotFittedError):
            getattr(model, method)()
    assert clone(AutoGPRegressor(full_rows=5)).full_rows == 5


@parametrize_with_checks([quick()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
