"""The relevance vector classifier."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from greedygp import FastRVMClassifier
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from reference import sparse_linear as reference
from scikit_versions import parametrize_with_checks

KERNEL = Gaussian(length_scale=0.6)


@parametrize_with_checks([FastRVMClassifier(kernel=Gaussian(length_scale=2.0))])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def moons(n=200, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def test_learns_the_moons():
    X, y = moons(400)
    X_new, y_new = moons(1000, seed=1)
    for kernel in (KERNEL, None):
        model = FastRVMClassifier(kernel=kernel, random_state=0).fit(X, y)
        assert model.score(X_new, y_new) > 0.91
        assert model.n_basis_ < 60
        chances = model.predict_proba(X_new)
        assert_allclose(chances.sum(axis=1), 1.0)
        assert -np.mean(np.log(chances[np.arange(1000), y_new])) < 0.25
        assert_array_equal(model.predict(X_new), model.decision_function(X_new) > 0)
        assert_array_equal(model.predict(X_new), chances[:, 1] > 0.5)


def log_evidence(Phi, y, alpha):
    """Laplace's approximation with a flat intercept, from the definition."""
    w = reference.laplace_mode(Phi, y, alpha, np.ones(len(y)), True)
    A = np.column_stack([Phi, np.ones(len(y))])
    f = A @ w
    H = (A.T * (expit(f) * expit(-f))) @ A + np.diag(np.append(alpha, 0.0))
    value = np.sum(y * f - np.logaddexp(0, f)) - 0.5 * alpha @ w[:-1] ** 2
    value += 0.5 * np.sum(np.log(alpha)) - 0.5 * np.linalg.slogdet(H)[1]
    return value + 0.5 * np.log(2 * np.pi)


def test_evidence_is_as_defined_and_nearly_a_maximum():
    """Laplace's approximation at other precisions is not clearly better."""
    X, y = moons(100)
    model = FastRVMClassifier(kernel=KERNEL).fit(X, y)
    Phi, alpha = KERNEL(X)[:, model.relevance_], model.alpha_[0]
    now = log_evidence(Phi, y, alpha)
    assert now == pytest.approx(model.log_evidence_[0], abs=1e-4)
    for place in range(len(alpha)):
        for factor in (0.3, 3.0):
            other = alpha.copy()
            other[place] *= factor
            assert log_evidence(Phi, y, other) < now + 0.3
        rest = np.delete(np.arange(len(alpha)), place)
        assert log_evidence(Phi[:, rest], y, alpha[rest]) < now + 0.3


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = FastRVMClassifier(random_state=0, cv=3).fit(X, names)
    assert model.score(X, names) > 0.95
    assert model.coef_.shape == model.alpha_.shape == (3, model.n_basis_)
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (150, 3)
    assert_array_equal(model.basis_, X[model.relevance_])
    latent = model.kernel_(X, model.basis_) @ model.coef_.T + model.intercept_
    assert_array_equal(np.sign(latent), np.sign(model.decision_function(X)))
    assert np.all(np.abs(latent) >= np.abs(model.decision_function(X)))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_weights_are_repetitions():
    X, y = moons(60)
    weights = np.random.default_rng(0).integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weights)
    weighted = FastRVMClassifier(kernel=KERNEL).fit(X, y, weights.astype(float))
    repeated = FastRVMClassifier(kernel=KERNEL).fit(X[rows], y[rows])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-2)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-2)


def test_design_matrix_and_working_set():
    X, y = moons(150)
    Phi = KERNEL(X)
    model = FastRVMClassifier(kernel="precomputed").fit(Phi, y)
    by_kernel = FastRVMClassifier(kernel=KERNEL).fit(X, y)
    assert_allclose(model.predict_proba(Phi), by_kernel.predict_proba(X), atol=1e-6)
    some = FastRVMClassifier(kernel=KERNEL, working_set=20, random_state=0).fit(X, y)
    assert some.score(X, y) > 0.9


@pytest.mark.parametrize("n", [2, 5])
def test_few_and_separable_rows(n):
    X = np.linspace(-1, 1, n)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = FastRVMClassifier(kernel=KERNEL).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    with pytest.raises(ValueError, match=r"one class"):
        FastRVMClassifier(kernel=KERNEL).fit(X, np.zeros(n))


def test_zero_and_duplicate_columns():
    X, y = moons(80)
    Phi = KERNEL(X)[:, :20]
    odd = np.column_stack([Phi, Phi, np.zeros(80), np.ones(80)])
    model = FastRVMClassifier(kernel="precomputed").fit(odd, y)
    assert np.all(model.relevance_ < 40)
    assert len(set(model.relevance_ % 20)) == model.n_basis_
    plain = FastRVMClassifier(kernel="precomputed").fit(Phi, y)
    assert_allclose(model.predict_proba(odd), plain.predict_proba(Phi), atol=0.05)


class StopAtOnce:
    def __init__(self, error=None):
        self.error = error

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.max_subtasks == 0 and self.error is not None:
            raise self.error
        return context.max_subtasks == 0


def test_callback_stops_the_fit():
    X, y = moons(150)
    model = FastRVMClassifier(kernel=KERNEL).set_callbacks(StopAtOnce()).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert len(model.path_) < len(FastRVMClassifier(kernel=KERNEL).fit(X, y).path_)


def test_interrupt_between_renewals_leaves_a_model():
    X, y = moons(150)
    model = FastRVMClassifier(kernel=KERNEL).set_callbacks(StopAtOnce(KeyboardInterrupt()))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.n_basis_ > 0
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("kernel", [KERNEL, None])
def test_a_time_limit_of_next_to_nothing(kernel):
    X, y = moons(150)
    model = FastRVMClassifier(kernel=kernel, time_limit=1e-9, random_state=0).fit(X, y)
    assert model.stop_reason_ == "time_limit"
    assert len(model.path_) == 1
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_a_class_without_weight_is_no_class():
    X, y = make_moons(60, noise=0.2, random_state=0)
    three = np.where(np.arange(60) < 5, "none", np.where(y > 0, "high", "low"))
    weights = np.where(three == "none", 0.0, 1.0)
    model = FastRVMClassifier(kernel=Gaussian(length_scale=1.0)).fit(X, three, weights)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.predict_proba(X).shape == (60, 2)
