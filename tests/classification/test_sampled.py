"""Classes of rows that are not in memory: a random sample learns, chunks are predicted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import RowSource, SparseGPClassifier
from greedygp.classification import sampled
from greedygp.rows import ArrayRows, files

pandas = pytest.importorskip("pandas")


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, size=(2, n))
    c = (np.sin(3 * a) + b + 0.2 * rng.normal(size=n) > 0).astype(int)
    return pandas.DataFrame({"a": a, "b": b, "c": 3 + 2 * c, "w": rng.integers(0, 3, size=n)})


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "READ_ROWS", 64)
    rows = table()
    rows[:100].to_csv(tmp_path / "0.csv", index=False)
    rows[100:].to_csv(tmp_path / "1.csv", index=False)
    return RowSource(tmp_path, target="c", weight="w")


def classifier(**options):
    defaults = {"max_basis": 8, "rounds": 1, "max_iter": 5, "random_state": 0}
    return SparseGPClassifier(**(defaults | options))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_few_rows_are_all_learnt_from(source):
    rows = table()
    X = rows[["a", "b"]].to_numpy()
    model = classifier().fit(X, rows["c"], rows["w"])
    other = classifier().fit(source)
    assert_array_equal(other.classes_, [3, 5])
    assert list(other.feature_names_in_) == ["a", "b"]
    assert_array_equal(other.basis_indices_, model.basis_indices_)
    assert_array_equal(other.path_["index"], model.path_["index"])
    assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert_allclose(other.predict_proba(source), model.predict_proba(X), rtol=1e-12)
    assert_array_equal(other.predict(source), model.predict(X))
    assert_allclose(other.decision_function(source), model.decision_function(X), rtol=1e-10)


def test_a_sample_of_many(source, monkeypatch):
    monkeypatch.setattr(sampled, "MOST_ROWS", 120)
    rows = table()
    model = classifier().fit(source)
    X = rows[["a", "b"]].to_numpy()
    assert_array_equal(model.basis_, X[model.basis_indices_])
    assert np.all(rows["w"][model.basis_indices_] > 0)
    assert np.max(model.basis_indices_) > 120
    assert np.mean(model.predict(source) == rows["c"]) > 0.85
    assert_array_equal(classifier().fit(source).basis_indices_, model.basis_indices_)


def test_on_a_cluster(source):
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    from greedygp import DaskRows

    rows = table()
    X, y = rows[["a", "b"]].to_numpy(), rows["c"].to_numpy()
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        there = DaskRows(da.from_array(X, chunks=(70, 2)), y, client=client)
        model = classifier().fit(there)
        assert_array_equal(model.predict(there), model.predict(X))
    assert_array_equal(model.basis_indices_, classifier().fit(X, y).basis_indices_)


def test_sentences(source, tmp_path):
    with pytest.raises(ValueError, match="brings its own targets"):
        classifier().fit(source, np.zeros(300))
    with pytest.raises(ValueError, match="one column of classes as target; got none"):
        classifier().fit(RowSource(tmp_path))
    with pytest.raises(ValueError, match="one column of classes as target; got 2 columns"):
        classifier().fit(RowSource(tmp_path, target=["c", "w"]))
    X, y = np.zeros((300, 2)), np.arange(300.0) % 2
    X[250, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 250"):
        classifier().fit(ArrayRows(X, y))
    with pytest.raises(ValueError, match="y has only one class"):
        classifier().fit(ArrayRows(np.zeros((30, 2)), np.ones(30)))
    model = classifier().fit(source)
    with pytest.raises(ValueError, match="those of the fit"):
        model.predict(RowSource(tmp_path, features=["b", "a"]))
    with pytest.raises(ValueError, match="requires y to be passed"):
        classifier().fit(X)
