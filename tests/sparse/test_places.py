"""The same rows in arrays, memory maps, files and on a Dask cluster give the same model."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import DaskRows, RowSource, SparseGPRegressor
from greedygp.data import TargetScale, WholeData
from greedygp.kernels import Gaussian
from greedygp.rows import ArrayRows, RowStore, files, memory, survey
from greedygp.sparse import given, passes
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.passes import StreamedObjective

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

KERNEL = Gaussian(1.0, [0.5, 0.6, 2.0])
NOISE, N, BASIS = 0.05, 900, 10
CHUNKS = {"even": (300, 300, 300), "uneven": (1, 599, 37, 263), "one": (900,)}
PLACES = ["array", "mapped", "parquet", "csv", *(f"dask {name}" for name in CHUNKS)]
OBJECTIVES = [("nlgpp", "fitc"), ("loo_cve", "dtc"), ("nlml", "fitc"), ("vfe", "dtc")]


@dataclass
class Rows:
    X: np.ndarray
    y: np.ndarray
    store: dict[str, RowStore]

    def whole(self, place: str) -> WholeData:
        store = self.store[place]
        store.check()
        found = survey(store)
        return WholeData(store, found, TargetScale.of(found.mean, found.variance))


def stores(X: np.ndarray, y: np.ndarray, folder: Any) -> dict[str, RowStore]:
    """Return the same rows in every place."""
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    table["y"] = y
    for number, part in enumerate(np.array_split(np.arange(N), 3)):
        table.iloc[part].to_parquet(folder / f"{number}.parquet", row_group_size=110, index=False)
        table.iloc[part].to_csv(folder / f"{number}.csv", index=False)  # all digits
    np.save(folder / "X.npy", X)
    found = {
        "array": ArrayRows(X, y),
        "mapped": ArrayRows(np.load(folder / "X.npy", mmap_mode="r"), y),
        "parquet": RowSource(str(folder / "*.parquet"), target="y"),
        "csv": RowSource(str(folder / "*.csv"), target="y"),
    }
    for name, chunks in CHUNKS.items():
        found[f"dask {name}"] = DaskRows(da.from_array(X, chunks=(chunks, 2)), da.from_array(y))
    return found


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 3))
    y = 5 + 3 * (np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=N))
    return Rows(X, y, stores(X, y, tmp_path_factory.mktemp("rows")))


@pytest.fixture(scope="module")
def client():
    """A small cluster in this process."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(memory, "READ_ROWS", 256)
    monkeypatch.setattr(files, "READ_ROWS", 100)
    monkeypatch.setattr(passes, "MOST_ROWS", 64)
    monkeypatch.setattr(given, "FEWEST_ROWS", 300)


def fitted(store, **parameters):
    defaults = {"max_basis": BASIS, "max_iter": 12, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SparseGPRegressor(**(defaults | parameters)).fit(store)


def in_memory(rows, **parameters):
    defaults = {"max_basis": BASIS, "max_iter": 12, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SparseGPRegressor(**(defaults | parameters)).fit(rows.X, rows.y)


def assert_same_with_given_hyperparameters(rows, places):
    fixed = {"kernel": KERNEL, "noise_variance": NOISE, "objective": None, "criterion": "loo_cve"}
    for options in (fixed, fixed | {"learning_rows": 400}, fixed | {"noise_model": "input"}):
        expected = in_memory(rows, **options)
        for place in places:
            model = fitted(rows.store[place], **options)
            assert_array_equal(model.basis_indices_, expected.basis_indices_)
            values = model.predict(rows.X, return_std=True)
            for got, known in zip(values, expected.predict(rows.X, return_std=True)):
                assert_allclose(got, known, rtol=1e-8, atol=1e-8)


def assert_same_evaluations(rows, places):
    basis = np.random.default_rng(1).uniform(-1, 1, size=(BASIS, 3))
    scale = TargetScale.from_data(rows.y[:, None], None, True)
    targets = scale.normalised(rows.y[:, None]).T
    for name, approximation in OBJECTIVES:
        kept = SparseObjective(
            name, rows.X, targets, None, approximation=approximation, capacity=BASIS
        )
        expected = kept(KERNEL, NOISE, basis)
        for place in places:
            objective = StreamedObjective(
                name, rows.whole(place), approximation=approximation, memory_limit=2.0**30
            )
            got = objective(KERNEL, NOISE, basis)
            assert got.value == pytest.approx(expected.value, rel=1e-10)
            for part in ("theta", "log_noise", "basis"):
                a, b = np.asarray(getattr(got, part)), np.asarray(getattr(expected, part))
                assert_allclose(a, b, rtol=0, atol=1e-10 * np.max(np.abs(b)), err_msg=part)


def assert_same_after_learning(rows, places, **options):
    options = {"learning_rows": None, "memory_limit": 0, "noise_model": "constant"} | options
    expected = in_memory(rows, **options)
    for place in places:
        model = fitted(rows.store[place], **options)
        nats = abs(model.objective_value_ - expected.objective_value_) / 2.0  # a mean over rows
        assert nats < 1e-5, (place, nats)


class TestHere:
    """Places in this process, and a cluster with two workers in it."""

    def test_given_hyperparameters(self, rows, client):
        assert_same_with_given_hyperparameters(rows, ["mapped", "parquet", "dask uneven"])

    def test_one_value_and_gradient(self, rows, client):
        assert_same_evaluations(rows, PLACES)

    def test_after_learning(self, rows, client):
        assert_same_after_learning(rows, ["parquet", "dask uneven"], max_iter=5)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_processes(rows, workers, paths_of_a_program):
    """All places, and a cluster of processes."""
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        of_dask = [place for place in PLACES if place.startswith("dask")]
        places = PLACES if workers == 1 else of_dask
        rows.store |= {p: s for p, s in fresh(rows).items() if p in of_dask}
        assert_same_with_given_hyperparameters(rows, places)
        assert_same_evaluations(rows, places)
        assert_same_after_learning(rows, places if workers == 2 else places[-2:])


def fresh(rows):
    """Return rows that no other cluster holds."""
    return {
        f"dask {name}": DaskRows(
            da.from_array(rows.X, chunks=(chunks, 2)), da.from_array(rows.y, chunks=250)
        )
        for name, chunks in CHUNKS.items()
    }
