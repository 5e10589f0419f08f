"""summary(): the facts it states are those of the fitted attributes, for every family."""

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import greedygp
from greedygp.kernels import Gaussian
from greedygp.summary import Summary

QUICK = {
    "SparseGPRegressor": {"max_basis": 6, "max_iter": 3},
    "SparseGPClassifier": {"max_basis": 6, "max_iter": 3},
}
ESTIMATORS = [
    name
    for name in greedygp.__all__
    if isinstance(getattr(greedygp, name), type)
    and issubclass(getattr(greedygp, name), BaseEstimator)
]


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 10.0 * np.sin(X[:, 1]) + rng.normal(size=n)


def fitted(name, n_classes=2):
    X, y = problem()
    if name.endswith("Classifier"):
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return getattr(greedygp, name)(random_state=0, **QUICK.get(name, {})).fit(X, y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_tells_what_it_is(name, capsys):
    model = fitted(name)
    summary = model.summary()
    facts = dict(summary.facts)
    assert str(summary).startswith(name + "\n")
    assert capsys.readouterr().out == ""
    assert facts["features"] == "3"
    if hasattr(model, "n_basis_"):
        assert facts["basis"].startswith(f"{model.n_basis_} vectors")
    if name.endswith("Classifier"):
        assert facts["classes"] == "2: 0, 1"
    if name in ("SparseGPRegressor", "GPRegressor"):
        assert facts["rows"] == "40"
        assert facts["most relevant features"].startswith("x1 (1.00)")
    assert all(isinstance(value, str) and "nan" not in value for value in facts.values())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_that_is_not_fitted(name):
    with pytest.raises(NotFittedError):
        getattr(greedygp, name)().summary()


@pytest.mark.parametrize("name", ["SparseGPClassifier", "FastRVMClassifier", "FastGCVClassifier"])
def test_three_classes(name):
    model = fitted(name, n_classes=3)
    facts = dict(model.summary().facts)
    assert facts["classes"] == "3: 0, 1, 2"
    if isinstance(model.n_basis_, list):
        assert facts["basis"].startswith(", ".join(map(str, model.n_basis_)) + " vectors")


def test_noise_in_the_units_of_the_targets():
    X, y = problem(60)
    model = greedygp.GPRegressor(kernel=Gaussian(), noise_variance=0.04, objective=None)
    facts = dict(model.fit(X, y).summary().facts)
    stated = float(facts["noise"].split()[2])
    assert stated == pytest.approx(0.2 * np.std(y), rel=1e-3)
    assert facts["objective"] == "none: held as given"
    assert facts["kernel"] == "Gaussian(variance=1, length_scale=1)"
    assert "most relevant features" not in facts  # one length scale for all


def test_weights_several_targets_and_names():
    X, y = problem()
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    weights = np.r_[np.zeros(5), np.ones(35)]
    model = greedygp.SparseGPRegressor(max_basis=5, max_iter=2, random_state=0)
    facts = dict(model.fit(table, np.column_stack([y, -y]), weights).summary().facts)
    assert facts["targets"] == "2"
    assert facts["rows"] == "40"
    assert facts["most relevant features"].startswith("b (1.00)")


def test_a_table_of_html_is_escaped():
    summary = Summary("<b>", [("a & b", "<script>")])
    html = summary._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert str(Summary("nothing", [])) == "nothing"


def test_the_diagram_of_scikit_learn_stays():
    model = fitted("SparseGPRegressor")
    assert "sk-estimator" in model._repr_html_()


def test_a_loaded_model_says_the_same(tmp_path):
    pytest.importorskip("skops")
    model = fitted("SparseGPRegressor")
    again = greedygp.load(greedygp.save(model, tmp_path / "model.skops"))
    assert str(again.summary()) == str(model.summary())
