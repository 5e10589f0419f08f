"""Workers are killed, schedulers are lost: the same numbers, or a sentence in time."""

import logging
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp import DaskRows, SparseGPRegressor
from greedygp.data import TargetScale, WholeData
from greedygp.exceptions import ClusterError
from greedygp.kernels import Gaussian
from greedygp.rows import cluster as module
from greedygp.rows import survey
from greedygp.sparse.passes import StreamedObjective

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

KERNEL = Gaussian(1.0, [0.5, 0.6])
MOST_SECONDS = 240.0
reduce = WholeData.reduce


@pytest.fixture
def cluster(paths_of_a_program):
    """Two workers in processes of their own."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def bounded():
    """No test lasts for ever."""

    def late(*_):
        raise AssertionError(f"no end within {MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(MOST_SECONDS))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def data(n=1200):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, y, da.from_array(X, chunks=(150, 2)), da.from_array(y, chunks=150)


def broken_in(monkeypatch, name, breaks):
    """Let `breaks` wrap the first pass of that name."""
    done = []

    def reduced(self, one_pass, rows):
        if type(one_pass).__name__ == name and not done:
            done.append(name)
            one_pass = breaks(one_pass)
        return reduce(self, one_pass, rows)

    monkeypatch.setattr(WholeData, "reduce", reduced)
    return done


def killing(flag):
    """Return what makes a pass kill its worker, once."""

    def breaks(one_pass):
        def killed(X, y, weights):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return one_pass(X, y, weights)
            os.kill(os.getpid(), signal.SIGKILL)

        return killed

    return breaks


def slowed(then):
    """Return what makes a pass slow, and meanwhile calls something here."""

    def breaks(one_pass):
        threading.Timer(0.1, then).start()

        def slow(X, y, weights):
            time.sleep(0.3)
            return one_pass(X, y, weights)

        return slow

    return breaks


@pytest.mark.parametrize("name", ["Factors", "Judgement", "Contraction"])
def test_a_worker_is_killed(client, monkeypatch, tmp_path, name):
    _, _, dX, dy = data()
    store = DaskRows(dX, dy)
    store.check()
    found = survey(store)
    whole = WholeData(store, found, TargetScale.of(found.mean, found.variance))
    objective = StreamedObjective("nlgpp", whole, approximation="fitc", memory_limit=2.0**30)
    basis = np.random.default_rng(1).uniform(-1, 1, size=(8, 2))
    expected = objective(KERNEL, 0.05, basis)
    flag = tmp_path / "killed"
    done = broken_in(monkeypatch, name, killing(str(flag)))
    got = objective(KERNEL, 0.05, basis)
    assert done == [name]
    assert flag.exists()
    assert got.value == pytest.approx(expected.value, rel=1e-12)
    for part in ("theta", "log_noise", "basis"):
        np.testing.assert_allclose(getattr(got, part), getattr(expected, part), rtol=1e-10)


def estimator(path=None):
    options = {"max_basis": 6, "max_iter": 9, "random_state": 0, "noise_model": "constant"}
    return SparseGPRegressor(learning_rows=None, memory_limit=0, checkpoint=path, **options)


def fitted(model, *rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*rows)


def test_the_connection_is_cut_and_the_cluster_dies(cluster, client, monkeypatch, tmp_path):
    """Each time a sentence, and a file from which the next fit goes on."""
    X, _, dX, dy = data()
    monkeypatch.setattr(module, "SECONDS_WITHOUT_SCHEDULER", 10.0)
    expected = fitted(estimator(), dX, dy)
    path = tmp_path / "fit.npz"

    def cut():
        client.loop.add_callback(client.scheduler_comm.comm.abort)

    done = broken_in(monkeypatch, "Contraction", slowed(cut))
    sentence = rf"The Dask cluster at .* failed: .*The fit then goes on from {path}\."
    with pytest.raises(ClusterError, match=sentence):
        fitted(estimator(path), dX, dy)
    assert done
    assert path.exists()

    def die():
        cluster.scheduler.loop.add_callback(cluster.scheduler.close)

    broken_in(monkeypatch, "Contraction", slowed(die))
    with pytest.raises(ClusterError, match=sentence):
        fitted(estimator(path), dX, dy)
    assert path.exists()
    monkeypatch.setattr(WholeData, "reduce", reduce)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as another,
        distributed.Client(another),
    ):
        model = fitted(estimator(path), dX, dy)
    assert_array_equal(model.basis_, expected.basis_)
    assert_array_equal(model.predict(X), expected.predict(X))
    assert not path.exists()
