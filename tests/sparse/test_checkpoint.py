"""The file of a sparse fit: what is interrupted goes on and ends at the same model, bit for bit."""

import errno
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from greedygp import SparseGPRegressor
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from greedygp.sparse import checkpoint, fewer_rows, given
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.passes import StreamedObjective
from recorders import InterruptAfter

SETTINGS = {
    "refined": {},
    "rounds": {"rounds": 3, "refine_basis": False, "criterion": "nlgpp"},
    "prepared": {"rounds": 2},
    "evidence": {"objective": "nlml", "approximation": "dtc"},
    "error": {"objective": "loo_cve", "noise_model": "constant"},
    "streamed": {"memory_limit": 0, "learning_rows": None},
    "sampled": {"learning_rows": 150},
    "few rows first": {"max_iter": 40},
}


class GivesUpError(Exception):
    """Something breaks."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(given, "FEWEST_ROWS", 120)
    monkeypatch.setattr(fewer_rows, "FEWEST", 90)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.npz"


def data(n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def estimator(**parameters):
    defaults = {"max_basis": 8, "max_iter": 20, "random_state": 3}
    return SparseGPRegressor(**(defaults | parameters))


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(**parameters).fit(X, y)


class Evaluations:
    """Counts the values and gradients that are computed; one of them may break."""

    def __init__(self, monkeypatch):
        self.count, self.last = 0, np.inf
        for kind in (SparseObjective, StreamedObjective):
            monkeypatch.setattr(kind, "__call__", self._counted(kind.__call__))

    def _counted(self, evaluate):
        def counted(*arguments, **options):
            if self.count >= self.last:
                raise GivesUpError
            self.count += 1
            return evaluate(*arguments, **options)

        return counted


@pytest.fixture
def evaluations(monkeypatch):
    return Evaluations(monkeypatch)


def assert_same_model(model, other, X):
    assert_array_equal(model.kernel_.theta, other.kernel_.theta)
    assert model.noise_variance_ == other.noise_variance_
    assert_array_equal(model.basis_, other.basis_)
    for got, expected in zip(model.predict(X, return_std=True), other.predict(X, return_std=True)):
        assert_array_equal(got, expected)
    assert_array_equal(model.trace_, other.trace_)
    for name in ("index", "value", "score"):
        assert_array_equal(model.path_[name], other.path_[name])
    assert model.objective_value_ == other.objective_value_
    for got, expected in zip(model.loo_predict(), other.loo_predict()):
        assert_array_equal(got, expected)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_fit_that_broke_goes_on(path, evaluations, setting):
    X, y = data()
    options = SETTINGS[setting]
    expected = fitted(X, y, **options)
    total, evaluations.count = evaluations.count, 0
    for share in (0.3, 0.8):
        evaluations.last = int(share * total)
        with pytest.raises(GivesUpError):
            fitted(X, y, checkpoint=path, **options)
        assert path.exists()
    evaluations.last = np.inf
    assert_same_model(fitted(X, y, checkpoint=path, **options), expected, X)
    assert evaluations.count == total
    assert not path.exists()


def test_without_interruption_nothing_changes(path, tmp_path):
    X, y = data()
    assert_same_model(fitted(X, y, checkpoint=str(path)), fitted(X, y), X)
    assert os.listdir(tmp_path) == []


def test_what_killed_writers_left_behind_goes_with_the_file(path, tmp_path):
    for name in ("fit.npzab_1x9zk.part", "fit.npz.part", "fit.npz2ab_1x9zk.part"):
        (tmp_path / name).write_text("half")
    fitted(*data(), checkpoint=path)
    assert sorted(os.listdir(tmp_path)) == ["fit.npz.part", "fit.npz2ab_1x9zk.part"]


def test_ctrl_c(path, evaluations):
    X, y = data()
    expected = fitted(X, y)
    total, evaluations.count = evaluations.count, 0
    model = estimator(checkpoint=path).set_callbacks(InterruptAfter(12))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert 0 < evaluations.count < total
    assert_same_model(fitted(X, y, checkpoint=path), expected, X)
    assert evaluations.count == total


def test_a_time_limit_leaves_the_file(path):
    X, y = data()
    fitted(X, y, checkpoint=path, time_limit=1e-6)
    assert path.exists()
    assert_same_model(fitted(X, y, checkpoint=path), fitted(X, y), X)


def test_a_seed_that_nobody_gave_is_kept(path, evaluations):
    X, y = data()
    evaluations.last = 8
    with pytest.raises(GivesUpError):
        fitted(X, y, checkpoint=path, random_state=None)
    with np.load(path) as stored:
        seed = int(stored["seed"])
    evaluations.last = np.inf
    model = fitted(X, y, checkpoint=path, random_state=None)

    class Seeded(np.random.RandomState):
        def randint(self, most):
            return seed

    assert_array_equal(model.basis_, fitted(X, y, random_state=Seeded(0)).basis_)


@pytest.mark.parametrize(
    "other",
    [
        {"max_basis": 7},
        {"kernel": Gaussian(1.0, [0.5, 0.5])},
        {"kernel": RBF(0.5)},
        {"random_state": 4},
        {"data": 1},
        {"row": 200},
    ],
    ids=lambda other: next(iter(other)),
)
@pytest.mark.parametrize("sampled", [False, True])
def test_the_file_of_another_fit_is_refused(path, evaluations, other, sampled):
    X, y = data()
    options = {"checkpoint": path, "learning_rows": 150 if sampled else None}
    evaluations.last = 5
    with pytest.raises(GivesUpError):
        fitted(X, y, **options)
    evaluations.last, other, kept = np.inf, dict(other), path.read_bytes()
    X, y = data(seed=other.pop("data", 0))
    y[other.pop("row", [])] += 1e-9
    for _ in range(2):
        with pytest.raises(ValueError, match=r"is of another fit \(other data, parameters or rel"):
            fitted(X, y, **(options | other))
        assert path.read_bytes() == kept


def test_kernels_of_scikit_learn_that_look_the_same(path, evaluations):
    X, y = data()
    evaluations.last = 5
    assert repr(RBF(0.5)) == repr(RBF(0.5 + 1e-9))
    for width, error in ((0.5, GivesUpError), (0.5 + 1e-9, ValueError)):
        with pytest.raises(error):
            fitted(X, y, checkpoint=path, kernel=RBF(width))


def test_another_start_by_rounding(path, evaluations):
    """As with another number of threads: the fit goes on from the start that the file has."""
    X, y = data()
    expected = fitted(X, y)
    total, evaluations.count, evaluations.last = evaluations.count, 0, 10
    with pytest.raises(GivesUpError):
        fitted(X, y, checkpoint=path)
    with np.load(path) as stored:
        parts = {name: stored[name] for name in stored.files}
    parts["start"] = parts["start"] * (1 + 1e-14)
    np.savez(path, **parts)
    evaluations.last = np.inf
    model = fitted(X, y, checkpoint=path)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=0.05)
    assert evaluations.count > total  # its way was another one: nothing of it was known


def full_disk(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


class TestDisk:
    def test_full_at_once(self, path, monkeypatch, recwarn):
        monkeypatch.setattr(np, "savez", full_disk)
        with pytest.raises(OSError, match=r"fit\.npz cannot be written \(No space left on device"):
            estimator(checkpoint=path).fit(*data())
        assert [str(warning.message) for warning in recwarn] == []  # that the fit goes on, say

    def test_full_later_on(self, path, tmp_path, monkeypatch):
        X, y = data()
        monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
        save, write = checkpoint.FitCheckpoint.save, np.savez

        def full(self):
            with monkeypatch.context() as patched:
                patched.setattr(np, "savez", full_disk)
                save(self)

        monkeypatch.setattr(checkpoint.FitCheckpoint, "save", full)
        with pytest.warns(RuntimeWarning, match="cannot be written .No space left.* The fit goes"):
            model = estimator(checkpoint=path).fit(X, y)
        assert np.savez is write
        assert os.listdir(tmp_path) == []
        assert_same_model(model, fitted(X, y), X)

    def test_a_file_that_is_none(self, path):
        path.write_bytes(b"PK nonsense")
        with pytest.raises(ValueError, match=r"checkpoint: .*fit\.npz cannot be read .*remove it"):
            fitted(*data(), checkpoint=path)

    @pytest.mark.parametrize("value", [3, True])
    def test_no_path(self, value):
        with pytest.raises(TypeError, match="checkpoint must be a path, or None"):
            fitted(*data(), checkpoint=value)


PROGRAM = """
import os, signal, sys, time
import numpy as np
sys.path.insert(0, {tests!r})
from greedygp.sparse import checkpoint
from sparse.test_checkpoint import data, fitted
checkpoint.SECONDS = 0.0
X, y = data(2000)

def begun(name):
    child = os.fork()
    if child == 0:
        model = fitted(X, y, max_basis=30, max_iter=40, rounds=2, checkpoint=name + ".ckpt.npz")
        found = {{"theta": model.kernel_.theta, "basis": model.basis_, "mean": model.predict(X)}}
        np.savez(name + ".npz", **found)
        os._exit(0)
    return child

begin = time.perf_counter()
os.waitpid(begun("whole"), 0)
seconds = time.perf_counter() - begin
rng, kills, ends, killed = np.random.default_rng(0), 0, 0, True
while killed or kills < {kills}:
    child = begun(str(ends))
    if kills < {kills}:
        time.sleep(rng.uniform(0.0, 0.8) * seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status)
    kills, ends = kills + killed, ends + (not killed)
    assert killed or os.waitstatus_to_exitcode(status) == 0
print(kills, ends)
"""
KILLS = 20


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills(tmp_path):
    """Killed at twenty random moments, fits end at the model of one that nobody killed."""
    tests = os.path.dirname(os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(tests=tests, kills=KILLS)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    kills, ends = map(int, done.stdout.split())
    assert kills == KILLS
    with np.load(tmp_path / "whole.npz") as whole:
        for end in range(ends):
            with np.load(tmp_path / f"{end}.npz") as killed:
                for name in whole.files:
                    assert_array_equal(killed[name], whole[name])
    assert not list(tmp_path.glob("*ckpt*"))
