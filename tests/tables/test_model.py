"""Models that take tables."""

import numpy as np
import pytest

import greedygp
from greedygp import SparseGPRegressor

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    Encoder,
    TableModel,
)
from greedygp.tables.targets import take_target  # noqa: E402
from greedygp.tables.training import Recipe, train  # noqa: E402
from tests.tables.examples import table  # noqa: E402


def test_model_of_classes(tmp_path):
    from sklearn.linear_model import LogisticRegression

    frame = table(100)
    target = take_target(frame, "colour")
    encoder = Encoder().fit(frame.drop(columns="colour"))
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
    encoder = Encoder().fit(frame.drop(columns="price"))
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
