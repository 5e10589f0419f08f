"""The classifier by GCV: calibrated values of left-out rows, and scikit-learn's contract."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from greedygp import FastGCVClassifier
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from greedygp.linear.labels import left_out_values
from reference import sparse_linear as reference
from scikit_versions import parametrize_with_checks

KERNEL = Gaussian(length_scale=0.6)


def expected_failures(estimator):
    """Return what may fail, and why: forward selection's ridge, as for the regressor."""
    if estimator.start != "rfs":
        return {}
    reason = "the ridge of classes that can be separated amplifies rounding errors"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(
    [
        FastGCVClassifier(kernel=Gaussian(length_scale=2.0), tol=1e-3),
        FastGCVClassifier(kernel=Gaussian(length_scale=2.0), tol=1e-3, start="empty"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def moons(n=150, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


@pytest.mark.parametrize("start", ["rfs", "empty", "paper"])
def test_learns_the_moons(start):
    X, y = moons(200)
    X_new, y_new = moons(1000, seed=1)
    model = FastGCVClassifier(kernel=KERNEL, start=start).fit(X, y)
    assert model.score(X_new, y_new) > 0.91
    chances = model.predict_proba(X_new)
    assert_allclose(chances.sum(axis=1), 1.0)
    assert -np.mean(np.log(chances[np.arange(1000), y_new])) < 0.3
    assert_array_equal(model.predict(X_new), model.decision_function(X_new) > 0)
    assert_array_equal(model.predict(X_new), chances[:, 1] > 0.5)


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_values_are_those_of_a_fit_without_the_row(intercept):
    """One of the copies of a row is left out, the ridges held."""
    rng = np.random.default_rng(0)
    Phi, t = rng.normal(size=(20, 4)), np.sign(rng.normal(size=20))
    zeta, weights = rng.uniform(0.1, 2.0, size=4), rng.integers(1, 4, size=20).astype(float)
    expected = np.empty(20)
    for i in range(20):
        left = weights.copy()
        left[i] -= 1.0
        expected[i] = reference.ridge_value(Phi, t, zeta, left, Phi[i], intercept)
    mean = np.average(t, weights=weights) if intercept else 0.0
    columns = Phi - (np.average(Phi, axis=0, weights=weights) if intercept else 0.0)
    inverse = np.linalg.inv((columns.T * weights) @ columns + np.diag(zeta))
    w = inverse @ columns.T @ (weights * (t - mean))
    extra = 1.0 / weights.sum() if intercept else 0.0
    found = mean + left_out_values(columns.T, t - mean, w, inverse, extra)
    assert_allclose(found, expected, rtol=1e-8)


def test_probabilities_are_calibrated_on_left_out_values():
    """The whole model from its functions and ridges alone, by refitting without each row."""
    X, y = moons(40)
    model = FastGCVClassifier(kernel=KERNEL).fit(X, y)
    Phi, t = KERNEL(X)[:, model.relevance_], 2.0 * y - 1.0
    centred = reference.centred(Phi, None, True)
    # zeta = alpha s2, and s2 is (8), which depends on zeta: a fixed point
    noise = scipy.optimize.brentq(
        lambda s2: noise_of(centred, t, model.alpha_[0] * s2) - s2, 1e-6, 2
    )
    zeta = model.alpha_[0] * noise
    assert model.gcv_[0] == pytest.approx(
        reference.gcv(centred, t - t.mean(), zeta, 40, 39), rel=1e-4
    )
    ones = np.ones(40)
    values = np.array(
        [
            reference.ridge_value(
                np.delete(Phi, i, 0), np.delete(t, i), zeta, ones[1:], Phi[i], True
            )
            for i in range(40)
        ]
    )
    positive, negative = np.sum(y == 1), np.sum(y == 0)
    soft = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(ab):
        f = ab[0] * values + ab[1]
        return np.sum(np.logaddexp(0, f) - soft * f)

    slope, offset = scipy.optimize.minimize(loss, [1.0, 0.0], tol=1e-10).x
    by_hand = (
        slope * np.array([reference.ridge_value(Phi, t, zeta, ones, row, True) for row in Phi])
        + offset
    )
    assert_allclose(model.decision_function(X), by_hand, rtol=1e-3, atol=1e-3)


def noise_of(Phi, t, zeta):
    P = reference.projection(Phi, zeta)
    return np.sum((P @ (t - t.mean())) ** 2) / (np.trace(P) - 1)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = FastGCVClassifier(kernel=Gaussian(length_scale=2.0)).fit(X, names)
    assert model.score(X, names) > 0.95
    assert model.coef_.shape == model.alpha_.shape == (3, model.n_basis_)
    assert model.gcv_.shape == model.intercept_.shape == (3,)
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (150, 3)
    assert_array_equal(model.basis_, X[model.relevance_])
    latent = model.kernel_(X, model.basis_) @ model.coef_.T + model.intercept_
    assert_allclose(latent, model.decision_function(X), rtol=1e-6, atol=1e-8)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_width_by_cross_validation():
    X, y = moons(100)
    model = FastGCVClassifier(random_state=0, cv=3).fit(X, y)
    assert model.score(*moons(500, seed=1)) > 0.88


def test_weights_are_repetitions():
    X, y = moons(60)
    weights = np.random.default_rng(0).integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weights)
    options = {"kernel": KERNEL, "start": "empty", "tol": 1e-4}
    weighted = FastGCVClassifier(**options).fit(X, y, weights.astype(float))
    repeated = FastGCVClassifier(**options).fit(X[rows], y[rows])
    assert weighted.gcv_ == pytest.approx(repeated.gcv_, rel=1e-2)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=2e-2)


@pytest.mark.parametrize("n", [2, 5])
def test_few_and_separable_rows(n):
    X = np.linspace(-1, 1, n)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = FastGCVClassifier(kernel=KERNEL).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    with pytest.raises(ValueError, match=r"one class"):
        FastGCVClassifier(kernel=KERNEL).fit(X, np.zeros(n))


def test_columns_that_say_nothing_leave_the_shares_of_the_classes():
    y = np.repeat([0, 1], [10, 30])
    model = FastGCVClassifier(kernel="precomputed").fit(np.ones((40, 3)), y)
    assert model.n_basis_ == 0
    assert_allclose(model.predict_proba(np.ones((1, 3)))[0, 1], 31 / 42)


@pytest.mark.parametrize(
    ("name", "value"),
    [("start", "rvm"), ("first", 3), ("tol", -1.0), ("kernel", "gaussian"), ("cv", 1)],
)
def test_bad_parameters(name, value):
    with pytest.raises((ValueError, TypeError), match=name) as error:
        FastGCVClassifier(**{name: value}).fit(*moons(20))
    assert str(value) in str(error.value)


class Stop:
    """Asks to stop after some actions; or interrupts."""

    def __init__(self, steps, error=None):
        self.steps, self.error, self.names = steps, error, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.max_subtasks == 0:
            self.names.append(context.task_name)
            if len(self.names) == self.steps:
                if self.error:
                    raise self.error
                return True
        return False


def test_callback_and_interrupt_leave_a_model():
    X, y = moons()
    stop = Stop(4)
    model = FastGCVClassifier(kernel=KERNEL).set_callbacks(stop).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert_array_equal(stop.names, model.path_["action"])
    model = FastGCVClassifier(kernel=KERNEL).set_callbacks(Stop(6, KeyboardInterrupt()))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("kernel", [KERNEL, None])
def test_a_time_limit_of_next_to_nothing(kernel):
    X, y = moons()
    model = FastGCVClassifier(kernel=kernel, time_limit=1e-9, random_state=0).fit(X, y)
    assert model.stop_reason_ == "time_limit"
    assert len(model.path_) == 1
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_saved_reported_and_found_by_the_program(tmp_path):
    pytest.importorskip("skops")
    from greedygp import load, save
    from greedygp.tables.families import family_named

    X, y = moons(60)
    model = FastGCVClassifier(kernel=KERNEL).fit(X, y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert "generalised cross-validation" in str(model.summary())
    assert family_named("fastgcv", "classification") is FastGCVClassifier
