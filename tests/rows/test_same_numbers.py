"""The same rows and seed give the same model wherever the rows live."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import DaskRows, RowSource, SparseGPRegressor, metrics
from greedygp.data import TargetScale, WholeData
from greedygp.kernels import Gaussian
from greedygp.rows import ArrayRows, files, memory, survey
from greedygp.sparse import given, passes
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.passes import StreamedObjective

# Files name their columns, and the arrays that are predicted here have no names.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

KERNEL, NOISE = Gaussian(1.0, [0.4, 0.6]), 0.05
GIVEN = {"kernel": KERNEL, "noise_variance": NOISE, "objective": None, "learning_rows": 200}
LEARNT = {"max_iter": 5, "learning_rows": None, "memory_limit": 0, "noise_model": "constant"}
CHUNKS = {"even": 128, "uneven": (1, 199, 250, 60, 90), "one": 600}


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, 5 + 3 * (np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Several reads, pieces that differ from them, and few rows to select from."""
    for module in (files, memory):
        monkeypatch.setattr(module, "READ_ROWS", 90)
    monkeypatch.setattr(passes, "MOST_ROWS", 64)
    monkeypatch.setattr(given, "FEWEST_ROWS", 150)


@pytest.fixture(scope="module", params=[1, 2, 4], ids="{} workers".format)
def client(request):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=request.param, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


def mapped(folder):
    X, y = rows()
    np.save(folder / "X.npy", X)
    return ArrayRows(np.load(folder / "X.npy", mmap_mode="r"), y)


def parquet(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = rows()
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    for number, part in enumerate((slice(0, 250), slice(250, 600))):
        table[part].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=70)
    return RowSource(str(folder / "*.parquet"), target="y")


@pytest.fixture(params=[mapped, parquet], ids=lambda make: make.__name__)
def stored(request, tmp_path):
    """Rows in files."""
    return request.param(tmp_path)


@pytest.fixture(params=CHUNKS.values(), ids=CHUNKS)
def distant(request, client):
    """Rows on the workers of a cluster."""
    da = pytest.importorskip("dask.array")
    X, y = rows()
    return DaskRows(
        da.from_array(X, chunks=(request.param, 1)), da.from_array(y, chunks=77), client=client
    )


def fitted(*data, **options):
    return SparseGPRegressor(max_basis=12, random_state=0, **options).fit(*data)


def assert_given(store):
    """With given hyperparameters: the same basis, and predictions to 1e-8."""
    X, _ = rows(300, seed=1)
    model, expected = fitted(store, **GIVEN), fitted(*rows(), **GIVEN)
    assert_array_equal(model.basis_indices_, expected.basis_indices_)
    for got, known in zip(model.predict(X, return_std=True), expected.predict(X, return_std=True)):
        assert_allclose(got, known, rtol=1e-8, atol=1e-8)


def assert_evaluated(store):
    """One value and gradient: 1e-10 of those of rows whose state is kept."""
    X, y = rows()
    basis = np.random.default_rng(2).uniform(-1, 1, size=(9, 2))
    store.check()
    found = survey(store)
    scale = TargetScale.of(found.mean, found.variance)
    targets = scale.normalised(y[:, None]).T
    kept = SparseObjective("nlgpp", X, targets, None, approximation="fitc", capacity=9)
    whole = WholeData(store, found, scale)
    there = StreamedObjective("nlgpp", whole, approximation="fitc", memory_limit=2.0**30)
    got, known = there(KERNEL, NOISE, basis), kept(KERNEL, NOISE, basis)
    for part in ("value", "theta", "log_noise", "basis"):
        expected = np.asarray(getattr(known, part))
        most = float(np.max(np.abs(expected)))
        assert_allclose(getattr(got, part), expected, rtol=0, atol=1e-10 * most, err_msg=part)


def assert_learnt(store):
    """Rounding steers a descent: the objective to 1e-5 nats a row, the test NLPD to 0.005."""
    X, y = rows(2000, seed=1)
    model, expected = fitted(store, **LEARNT), fitted(*rows(), **LEARNT)
    assert_allclose(model.objective_value_, expected.objective_value_, rtol=0, atol=1e-5)
    got, known = (metrics.nlpd(y, *each.predict(X, return_std=True)) for each in (model, expected))
    assert got == pytest.approx(known, abs=0.005)


class TestFiles:
    def test_given(self, stored):
        assert_given(stored)

    def test_one_evaluation(self, stored):
        assert_evaluated(stored)

    def test_learnt(self, stored):
        assert_learnt(stored)


class TestDask:
    def test_given(self, distant):
        assert_given(distant)

    def test_one_evaluation(self, distant):
        assert_evaluated(distant)

    def test_learnt(self, distant):
        assert_learnt(distant)


def test_streamed_from_memory(monkeypatch):
    """As where all state is kept; a basis is selected from one row less."""
    assert_evaluated(ArrayRows(*rows()))
    monkeypatch.setattr(given, "FEWEST_ROWS", 599)
    X, y = rows(2000, seed=1)
    got, known = (
        metrics.nlpd(y, *fitted(*rows(), **options).predict(X, return_std=True))
        for options in (LEARNT, LEARNT | {"memory_limit": 2**31})
    )
    assert got == pytest.approx(known, abs=0.005)
