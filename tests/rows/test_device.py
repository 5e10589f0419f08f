"""Rows that are sent to a device of torch a chunk at a time; here the device is the processor."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import DaskRows, DeviceRows, RowSource, SparseGPRegressor
from greedygp.arrays import Backend, to_numpy
from greedygp.kernels import Gaussian
from greedygp.rows import ArrayRows, memory, survey
from greedygp.sparse import given

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

FIXED = {"kernel": Gaussian(1.0, [0.4, 0.6]), "noise_variance": 0.05, "objective": None}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(memory, "READ_ROWS", 90)
    monkeypatch.setattr(given, "FEWEST_ROWS", 150)


def data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = 5 + 3 * (np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n))
    return X, y, rng.integers(0, 3, size=n).astype(float)


def mapped(folder, array):
    np.save(folder / "X.npy", array)
    return np.load(folder / "X.npy", mmap_mode="r")


def fitted(*rows, **options):
    defaults = {"max_basis": 12, "max_iter": 4, "random_state": 0, "learning_rows": 200}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SparseGPRegressor(**(defaults | options)).fit(*rows)


def assert_same(model, other, rows, X, tolerance=1e-8):
    for got, expected in zip(model.predict(rows, return_std=True), other.predict(X, True)):
        assert isinstance(got, torch.Tensor)
        assert_allclose(to_numpy(got), expected, rtol=tolerance, atol=tolerance)


class TestStore:
    def test_what_a_store_does(self, tmp_path):
        X, y, weights = data()
        here = ArrayRows(X, y, weights)
        there = DeviceRows(mapped(tmp_path, X), list(y), list(weights), device="cpu")
        assert there.check() == ()
        assert survey(there).fingerprint == survey(here).fingerprint
        for chunk in there.chunks():
            assert isinstance(chunk.X, torch.Tensor)
            assert isinstance(chunk.y, torch.Tensor)
            assert chunk.where.endswith("X.npy")
        places = np.array([0, 3, 4, 120, 399])
        for got, known in zip(there.gather(places), here.gather(places)):
            assert_array_equal(to_numpy(got), known)
        for got, known in zip(there.everything(), here.everything()):
            assert_array_equal(to_numpy(got), known)

    def test_sentences(self):
        X, y, _ = data()
        with pytest.raises(TypeError, match="X is an array of torch already; give it to the est"):
            DeviceRows(torch.asarray(X), y, device="cpu")
        with pytest.raises(ValueError, match="brings its own targets"):
            DeviceRows(ArrayRows(X, y), y, device="cpu")
        X[555, 1] = np.nan
        with pytest.raises(ValueError, match="NaN in row 555"):
            fitted(DeviceRows(X, y, device="cpu"))


class TestFit:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("options", [{}, {"noise_model": "constant"}, {"learning_rows": None}])
    def test_as_an_array(self, tmp_path, weighted, options):
        X, y, weights = data()
        rows = X, y, weights if weighted else None
        model = fitted(*rows, **FIXED, **options)
        there = DeviceRows(mapped(tmp_path, X), *rows[1:], device="cpu")
        other = fitted(there, **FIXED, **options)
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert isinstance(other.basis_, torch.Tensor)
        assert_same(other, model, there, X)
        for got, expected in zip(other.loo_predict(), model.loo_predict()):
            assert_allclose(to_numpy(got), expected, rtol=1e-8, atol=1e-8)
        for got, expected in zip(other.loo_predict(there), model.loo_predict()):
            assert_allclose(to_numpy(got), expected, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("objective", ["nlgpp", "nlml"])
    def test_learning_in_passes(self, objective):
        X, y, weights = data()
        options = {"objective": objective, "learning_rows": None, "memory_limit": 0}
        options |= {"noise_model": "constant"}
        model = fitted(X, y, weights, **options)
        there = DeviceRows(X, y, weights, device="cpu")
        other = fitted(there, **options)
        assert_allclose(other.objective_value_, model.objective_value_, rtol=0, atol=1e-5)
        assert_same(other, model, there, X, 1e-4)

    def test_files(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        X, y, _ = data()
        table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
        table.to_csv(tmp_path / "a.csv", index=False)
        source = RowSource(tmp_path / "a.csv", target="y")
        there = DeviceRows(source, device="cpu")
        other = fitted(there, **FIXED)
        assert list(other.feature_names_in_) == ["a", "b"]
        assert_same(other, fitted(X, y, **FIXED), there, X)

    def test_single_precision_and_several_targets(self, tmp_path):
        X, y, _ = data()
        Y = np.column_stack([y, y**2])
        there = DeviceRows(mapped(tmp_path, X.astype(np.float32)), Y, device="cpu")
        other = fitted(there, **FIXED)
        mean = other.predict(there)
        assert mean.dtype == torch.float32
        assert_allclose(to_numpy(mean), fitted(X, Y, **FIXED).predict(X), rtol=0.01, atol=0.1)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


class TestCluster:
    """Workers with a device each."""

    def rows(self, client, *arrays):
        da = pytest.importorskip("dask.array")
        chunked = (
            None if a is None else da.from_array(a, chunks=(130, *a.shape[1:])) for a in arrays
        )
        return DaskRows(*chunked, client=client, device="cpu")

    @pytest.mark.parametrize("weighted", [False, True])
    def test_as_an_array(self, client, weighted):
        X, y, weights = data()
        arrays = X, y, weights if weighted else None
        model = fitted(*arrays, **FIXED)
        there = self.rows(client, *arrays)
        worked_on = list(there.map(lambda chunk: type(chunk.X), 100))
        assert set(worked_on) == {torch.Tensor}
        assert isinstance(next(there.chunks()).X, torch.Tensor)
        other = fitted(there, **FIXED)
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert_same(other, model, torch.asarray(X), X)
        for got, expected in zip(other.loo_predict(there), model.loo_predict()):
            assert_allclose(got.compute(), expected, rtol=1e-8, atol=1e-8)

    def test_learning_in_passes(self, client):
        X, y, weights = data()
        options = {"learning_rows": None, "memory_limit": 0, "noise_model": "constant"}
        model = fitted(X, y, weights, **options)
        other = fitted(self.rows(client, X, y, weights), **options)
        assert_allclose(other.objective_value_, model.objective_value_, rtol=0, atol=1e-5)


def test_a_gpu_takes_more_rows_at_once():
    from greedygp.rows.store import READ_ROWS
    from greedygp.sparse.passes import MOST_ROWS, rows_at_once

    class Accelerator(Backend):
        is_accelerator = True

    here, there = Backend(np.zeros(1)), Accelerator(np.zeros(1))
    assert rows_at_once(100, here, 1e12) == MOST_ROWS
    assert rows_at_once(100, there, 1e12) == READ_ROWS
