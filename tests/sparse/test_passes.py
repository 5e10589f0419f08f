"""Rows that only pass by give what rows whose state is kept give."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.arrays import Backend
from greedygp.data import TargetScale, WholeData
from greedygp.kernels import Gaussian, Linear, Matern
from greedygp.rows import ArrayRows, survey
from greedygp.sparse import passes
from greedygp.sparse.left_out import LeftOut
from greedygp.sparse.loo import loo_scale
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.passes import StreamedObjective, fitted_model, rows_at_once
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.state import SparseState
from names import APPROXIMATIONS, OBJECTIVES

CASES = [(n, a) for n in OBJECTIVES for a in APPROXIMATIONS if n != "vfe" or a == "dtc"]
KERNEL = Gaussian(1.3, [0.6, 0.9])
NOISE = 0.05
LIMIT = 2.0**30

each_case = pytest.mark.parametrize(("name", "approximation"), CASES)


class Problem:
    """Rows, a basis that is no part of them, and both ways to an objective."""

    def __init__(self, n=300, m=9, p=1, weights=False, dtype=np.float64, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(-1, 1, size=(n, 2)).astype(dtype)
        y = np.sin(3 * self.X @ rng.normal(size=(2, p))) + 0.2 * rng.normal(size=(n, p))
        self.y = (4.0 + 3.0 * y).astype(dtype)
        self.weights = rng.uniform(0.2, 2.5, size=n) if weights else None
        self.basis = rng.uniform(-1, 1, size=(m, 2)).astype(dtype)
        self.store = ArrayRows(self.X, self.y, self.weights)
        self.survey = survey(self.store)
        self.scale = TargetScale.of(self.survey.mean, self.survey.variance)
        self.whole = WholeData(self.store, self.survey, self.scale)
        self.targets = self.scale.normalised(self.y).T.astype(dtype)

    def kept(self, name, approximation, guard=0.0):
        return SparseObjective(
            name,
            self.X,
            self.targets,
            None if self.weights is None else self.weights.astype(self.X.dtype),
            approximation=approximation,
            capacity=len(self.basis),
            guard=guard,
        )

    def streamed(self, name, approximation, guard=0.0):
        objective = StreamedObjective(
            name, self.whole, approximation=approximation, memory_limit=LIMIT
        )
        objective.guard = guard
        return objective


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of 64 rows, the last one shorter."""
    monkeypatch.setattr(passes, "MOST_ROWS", 64)


def assert_same_evaluation(got, expected, rtol=1e-10):
    for part in ("value", "theta", "log_noise", "basis"):
        a, b = np.asarray(getattr(got, part)), np.asarray(getattr(expected, part))
        scale = max(np.max(np.abs(b)), 1e-3)
        assert_allclose(a, b, rtol=0, atol=rtol * scale, err_msg=part)


@each_case
@pytest.mark.parametrize("guard", [0.0, 0.3])
def test_value_and_gradient(name, approximation, guard):
    problem = Problem()
    expected = problem.kept(name, approximation, guard)(KERNEL, NOISE, problem.basis)
    got = problem.streamed(name, approximation, guard)(KERNEL, NOISE, problem.basis)
    assert_same_evaluation(got, expected)


@each_case
def test_weights_and_several_targets(name, approximation):
    problem = Problem(p=2, weights=True)
    kernel = Matern(1.5, 0.9, 0.7) + Linear(0.4)
    expected = problem.kept(name, approximation, 0.1)(kernel, NOISE, problem.basis)
    got = problem.streamed(name, approximation, 0.1)(kernel, NOISE, problem.basis)
    assert_same_evaluation(got, expected)


@each_case
def test_value_alone(name, approximation):
    problem = Problem()
    objective = problem.streamed(name, approximation, 0.2)
    value = objective.value(KERNEL, NOISE, problem.basis)
    assert_allclose(value, objective(KERNEL, NOISE, problem.basis).value, rtol=1e-12)


@each_case
def test_float32(name, approximation):
    problem = Problem(dtype=np.float32)
    expected = problem.kept(name, approximation)(KERNEL, NOISE, problem.basis)
    got = problem.streamed(name, approximation)(KERNEL, NOISE, problem.basis)
    assert_same_evaluation(got, expected, rtol=2e-4)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("weights", [False, True])
class TestModel:
    def models(self, problem, approximation):
        kept = SparseState(
            KERNEL,
            NOISE,
            problem.X,
            problem.targets,
            problem.weights,
            approximation=approximation,
            capacity=len(problem.basis),
            backend=Backend(problem.X),
            keep_v=True,
        )
        kept.set_model(approximation, KERNEL, NOISE, problem.basis)
        model, _ = fitted_model(problem.whole, KERNEL, NOISE, approximation, problem.basis, LIMIT)
        return kept, model

    def test_predictions(self, approximation, weights):
        problem = Problem(weights=weights)
        kept, model = self.models(problem, approximation)
        new = np.random.default_rng(1).uniform(-1, 1, size=(20, 2))
        for a, b in zip(
            Posterior(model).mean_and_variance(new), Posterior(kept).mean_and_variance(new)
        ):
            assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        assert_allclose(model.nlml(), kept.nlml(), rtol=1e-10)

    def test_scale_of_left_out_rows(self, approximation, weights):
        problem = Problem(weights=weights)
        kept, _ = self.models(problem, approximation)
        objective = problem.streamed("loo_cve", approximation)
        objective.value(KERNEL, NOISE, problem.basis)
        assert_allclose(objective.loo_scale(), loo_scale(kept), rtol=1e-10)

    def test_empty_basis(self, approximation, weights):
        problem = Problem(weights=weights, m=0)
        _, model = self.models(problem, approximation)
        mean, variance = Posterior(model).mean_and_variance(problem.X[:3])
        assert_allclose(mean, 0.0)
        assert np.all(variance >= 0)
        chunk = next(problem.store.chunks())
        mean, variance = LeftOut(model, problem.scale)(chunk)
        assert np.all(np.isfinite(mean))
        assert np.all(variance > 0)


def test_rows_of_weight_zero_do_not_count():
    problem = Problem(weights=True)
    problem.weights[::3] = 0.0
    problem.weights[64:128] = 0.0  # a whole piece
    store = ArrayRows(problem.X, problem.y, problem.weights)
    found = survey(store)
    used = problem.weights > 0
    assert (found.n_rows, found.n_used) == (300, int(used.sum()))
    whole = WholeData(store, found, problem.scale)
    model, _ = fitted_model(whole, KERNEL, NOISE, "dtc", problem.basis, LIMIT)
    other = ArrayRows(problem.X[used], problem.y[used], problem.weights[used])
    whole = WholeData(other, survey(other), problem.scale)
    expected, _ = fitted_model(whole, KERNEL, NOISE, "dtc", problem.basis, LIMIT)
    assert_allclose(Posterior(model).alpha, Posterior(expected).alpha, rtol=1e-8)
    chunk = next(store.chunks())
    mean, variance = LeftOut(model, problem.scale)(chunk)
    ordinary, latent = Posterior(model).mean_and_variance(problem.X[~used])
    assert_allclose(mean[~used], ordinary, rtol=1e-10)
    assert_allclose(variance[~used], latent + NOISE, rtol=1e-10)


@each_case
def test_passes_travel(name, approximation):
    """What another process makes of a chunk is the same."""
    problem = Problem()
    objective = problem.streamed(name, approximation, 0.1)
    sent = []
    reduce = problem.whole.reduce

    def there_and_back(one_pass, rows):
        sent.append(type(one_pass).__name__)
        return reduce(pickle.loads(pickle.dumps(one_pass)), rows)

    expected = objective(KERNEL, NOISE, problem.basis)
    problem.whole.reduce = there_and_back
    got = objective(KERNEL, NOISE, problem.basis)
    assert_same_evaluation(got, expected, rtol=1e-12)
    judged = ["Judgement"] if name not in ("nlml", "vfe") else []
    assert sent == ["Factors", *judged, "Contraction"]


def test_rows_at_once(monkeypatch):
    monkeypatch.setattr(passes, "MOST_ROWS", 8192)
    backend = Backend(np.zeros(1))
    backend.threads = 2
    assert rows_at_once(10, backend, 2.0**31) == 8192
    assert 256 < rows_at_once(500, backend, 2.0**28) < 8192
    assert rows_at_once(10_000, backend, 2.0**20) == passes.FEWEST_ROWS
