"""Models that take tables."""

import numpy as np
import pytest

import greedygp
from greedygp import SparseGPRegressor

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    TableEncoder,
    TableModel,
)
from greedygp.tables.targets import take_target  # noqa: E402
from greedygp.tables.training import Recipe, train  # noqa: E402
from tests.tables.examples import table  # noqa: E402


def test_model_of_classes(tmp_path):
    from sklearn.linear_model import LogisticRegression

    frame = table(100)
    target = take_target(frame, "colour")
    encoder = TableEncoder().fit(frame.drop(columns="colour"))
    estimator = LogisticRegression().fit(encoder.transform(frame), target.values)
    model = TableModel(encoder, estimator, "colour", "classification", {"a": [1, None]})
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    ours, theirs = again.table_of_predictions(frame), model.table_of_predictions(frame)
    pandas.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert list(ours)[1:] == ["probability_blue", "probability_green", "probability_red"]
    np.testing.assert_allclose(ours.iloc[:, 1:].sum(axis=1), 1.0)
    assert again.facts == {"a": [1, None]}
    assert not again.gives_std


def test_model_of_numbers(tmp_path):
    from scipy.stats import norm

    frame = table(60)
    encoder = TableEncoder().fit(frame.drop(columns="price"))
    estimator = SparseGPRegressor(max_basis=10, max_iter=3, random_state=0)
    estimator.fit(encoder.transform(frame), frame["price"])
    model = TableModel(encoder, estimator, "price", "regression", {})
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    ours = again.table_of_predictions(frame, interval=0.8)
    pandas.testing.assert_frame_equal(ours, model.table_of_predictions(frame, 0.8))
    mean, std = estimator.predict(encoder.transform(frame), return_std=True)
    np.testing.assert_allclose(ours["lower"], norm.ppf(0.1, mean, std))
    np.testing.assert_allclose(ours["upper"], norm.ppf(0.9, mean, std))


def test_basis_vectors_of_several_classes_count_once():
    frame = table(60)
    trained = train(frame, Recipe("colour", settings={"max_basis": 20, "objective": None}))
    estimator = trained.model.estimator
    distinct = len(np.unique(np.concatenate(estimator.basis_indices_)))
    assert trained.model.facts["basis"] == distinct < sum(estimator.n_basis_)
    assert distinct <= trained.model.facts["rows_train"]


def test_the_default_for_numbers_says_which_model_it_took():
    x = np.linspace(0, 6, 40)
    frame = pandas.DataFrame({"x": x, "y": np.sin(x)})
    trained = train(frame, Recipe("y"))
    assert type(trained.model.estimator).__name__ == trained.model.facts["model"] == "GPRegressor"
    assert trained.model.facts["model_because"].startswith("A full GP: 32 rows")
    small = train(frame, Recipe("y", settings={"max_basis": 5}))
    assert small.model.facts["model"] == "SparseGPRegressor"
    assert small.model.facts["basis"] == 5
    named = train(frame, Recipe("y", model="fastrvm"))
    assert named.model.facts["model_because"] is None


def test_every_kind_of_column_is_saved(tmp_path):
    """Numbers, holes, money, words, rare words, dates: all of scikit-learn's encoders."""
    frame = table(80)
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "colour"] = None
    frame["tax"] = [f"${k},250" for k in range(1, 81)]
    frame["town"] = ["Ulm", "Bonn"] * 35 + [f"w{k}" for k in range(10)]
    frame["day"] = pandas.date_range("2020-01-01", periods=80, freq="17D").strftime("%Y-%m-%d")
    frame.loc[::11, "day"] = None
    encoder = TableEncoder(most_words=5).fit(frame.drop(columns="price"))
    estimator = SparseGPRegressor(max_basis=5, max_iter=2, random_state=0, objective=None)
    estimator.fit(encoder.transform(frame), frame["price"])
    model = TableModel(encoder, estimator, "price", "regression", {})
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.encoder.transform(frame), encoder.transform(frame))
    assert again.encoder.feature_names == encoder.feature_names
    assert {column.kind for column in again.encoder.columns_} == {"number", "category", "date"}
    pandas.testing.assert_frame_equal(
        again.table_of_predictions(frame), model.table_of_predictions(frame), check_exact=True
    )
