"""After learning, error bars are widened by what learning has spent; the mean stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from greedygp import GPRegressor, SparseGPRegressor
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from greedygp.left_out_rows import LeftOutRows
from greedygp.metrics import coverage
from greedygp.noise import learn_noise
from greedygp.widening import widened, widening
from reference.sparse_regression import SparseGP, gaussian_kernel

KINDS = (GPRegressor, SparseGPRegressor)


def rows(n=80, D=6, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=n)


# ------------------------------------------------------------------------------------ the factor


def test_the_factor_is_akaikes():
    assert widening(100, 10) == pytest.approx(110 / 90)
    assert widening(1e6, 10) == pytest.approx(1.0, abs=1e-4)


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_the_factor_is_between_one_and_two(n, spent):
    assert 1.0 <= widening(n, spent) <= 2.0 + 1e-12


@given(st.floats(1.0, 1e5), st.floats(0.0, 1e5), st.floats(0.0, 1e5))
def test_the_factor_grows_with_what_is_spent(n, spent, more):
    assert widening(n, spent) <= widening(n, spent + more)
    assert widening(n + more, spent) <= widening(n, spent)


def test_least_squares_is_the_case_that_it_comes_from():
    """New rows are predicted so much worse than those that p coefficients were fitted to."""
    n, p, shown, new = 40, 8, [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        X, fresh = rng.normal(size=(2, n, p))
        y, other = rng.normal(size=(2, n))
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        shown.append(np.mean((y - X @ w) ** 2))
        new.append(np.mean((other - fresh @ w) ** 2))
    assert np.mean(new) / np.mean(shown) == pytest.approx(widening(n, p), rel=0.1)


def test_what_a_point_has_spent():
    point = Point(Gaussian(1.5, [1.0, 2.0]), 0.1)
    found, factor = widened(point, 50.0, 2.5)
    assert factor == widening(50.0, 3 + 1 + 2.5)  # a variance, two length scales, the noise
    assert found.noise_variance == pytest.approx(0.1 * factor)
    assert_allclose(found.kernel.variance, 1.5 * factor)
    assert_allclose(found.kernel.length_scale, [1.0, 2.0])


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(1.0, 1.0, fixed="variance"), Gaussian(1.0, 1.0, variance_bounds=(0.5, 1.0))],
)
def test_a_kernel_that_may_not_grow(kernel):
    point = Point(kernel, 0.1)
    assert widened(point, 10.0) == (point, 1.0)


# ----------------------------------------------------------------------------------- fitted models


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_stays_and_every_variance_grows_by_the_factor(kind):
    X, y = rows()
    model = kind(noise_model="constant", random_state=0).fit(X, y)
    factor = model.widening_
    assert factor > 1.1
    options = {"kernel": model.kernel_.scaled(1 / factor), "objective": None}
    if kind is SparseGPRegressor:
        options |= {"approximation": model.approximation_, "criterion": "random"}
        options |= {"max_basis": model.n_basis_, "patience": None}
    plain = kind(noise_variance=model.noise_variance_ / factor, **options)
    plain.fit(X, y, **({"candidates": model.basis_} if kind is SparseGPRegressor else {}))
    assert plain.widening_ == 1.0
    new = rows(30, seed=1)[0]
    mean, std = model.predict(new, return_std=True)
    other_mean, other_std = plain.predict(new, return_std=True)
    assert_allclose(mean, other_mean, rtol=1e-6, atol=1e-8)
    assert_allclose(std, np.sqrt(factor) * other_std, rtol=1e-6)
    assert_allclose(
        model.predict(new, return_cov=True)[1],
        factor * plain.predict(new, return_cov=True)[1],
        rtol=1e-5,
        atol=1e-8,
    )
    assert_allclose(model.loo_predict()[1], np.sqrt(factor) * plain.loo_predict()[1], rtol=1e-6)


def test_predictions_are_those_of_the_kernel_and_noise_that_the_model_shows():
    X, y = rows()
    model = SparseGPRegressor(approximation="dtc", noise_model="constant", random_state=0).fit(X, y)
    new = rows(20, seed=1)[0]
    target = (y - y.mean()) / y.std()
    kernel = gaussian_kernel(model.kernel_.variance, model.kernel_.length_scale)
    mean, cov = SparseGP(kernel, model.basis_, X, target, model.noise_variance_).predict(new)
    found_mean, found_std = model.predict(new, return_std=True)
    assert_allclose(found_mean, y.mean() + y.std() * mean[:, 0], rtol=1e-6)
    assert_allclose(found_std, y.std() * np.sqrt(np.diag(cov)), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"noise_variance": 0.1},
        {"kernel": Gaussian(1.0, 1.0), "noise_variance": 0.1, "objective": None},
        {"kernel": Gaussian(1.0, 1.0, fixed="variance")},
    ],
)
def test_what_was_given_stays(kind, options):
    model = kind(random_state=0, **options).fit(*rows())
    assert model.widening_ == 1.0
    if "noise_variance" in options:
        assert model.noise_variance_ == 0.1


def test_moved_basis_inputs_have_spent_more():
    X, y = rows(120)
    moved = SparseGPRegressor(max_basis=20, noise_model="constant", random_state=0).fit(X, y)
    kept = SparseGPRegressor(
        max_basis=20, refine_basis=False, noise_model="constant", random_state=0
    ).fit(X, y)
    free = len(kept.kernel_.theta) + 1
    assert kept.widening_ == pytest.approx(widening(120, free))
    assert widening(120, free) < moved.widening_ <= widening(120, free + 10)


def test_weights_and_targets_count():
    X, y = rows()
    options = {"noise_model": "constant", "refine_basis": False, "max_basis": 10, "random_state": 0}
    model = SparseGPRegressor(**options).fit(X, np.stack([y, -y], axis=1))
    free = len(model.kernel_.theta) + 1
    assert model.widening_ == pytest.approx(widening(160, free))
    model = SparseGPRegressor(**options).fit(X, y, sample_weight=np.full(80, 3.0))
    assert model.widening_ == pytest.approx(widening(240, free))


# ------------------------------------------------------------------------------ noise, and its use


def left_out_rows(factor=1.0):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(300, 1))
    std = 0.1 + 0.4 * (X[:, 0] > 0)
    y = std[:, None] * rng.normal(size=(300, 1))
    variance = np.full(300, factor * (0.02 + 0.09))
    return LeftOutRows.of(X, y, None, np.zeros((300, 1)), variance, factor * 0.09, factor)


def test_the_noise_is_learnt_without_the_factor_and_has_it():
    plain, wide = (
        learn_noise(left_out_rows(factor), np.random.default_rng(0)) for factor in (1.0, 1.7)
    )
    X = np.linspace(-3, 3, 20)[:, None]
    assert_allclose(wide(X, np.zeros((20, 1))), 1.7 * plain(X, np.zeros((20, 1))), rtol=1e-6)
    assert wide.noise_variance == pytest.approx(1.7 * 0.09)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_with_few_rows_and_many_features(kind):
    """Nominal 95 %; without the factor it is 90 % and less."""
    covered, without = [], []
    for seed in range(6):
        X, y = rows(1080, 12, seed)
        model = kind(random_state=seed).fit(X[:80], y[:80])
        mean, std = model.predict(X[80:], return_std=True)
        covered.append(coverage(y[80:], mean, std, 0.95))
        without.append(coverage(y[80:], mean, std / np.sqrt(model.widening_), 0.95))
    assert np.mean(without) < np.mean(covered)
    assert 0.90 < np.mean(covered) < 0.985
