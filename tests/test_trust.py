"""Rows count by their noise: the weights, and when they are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from greedygp import GPRegressor, SparseGPRegressor
from greedygp.arrays import Backend
from greedygp.data import TrainingData
from greedygp.dense.loo import loo_residuals
from greedygp.kernels import Gaussian
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.state import SparseState
from greedygp.trust import predicts_better, row_trust
from reference.sparse_objectives import dense_kernel
from reference.sparse_regression import SparseGP


def test_a_row_counts_by_the_root_of_its_inverse_noise_and_one_on_average():
    noise, weights = np.array([0.1, 0.2, 0.4, 0.8]), np.array([1.0, 2.0, 1.0, 3.0])
    trust = row_trust(noise, weights)
    assert_allclose(np.average(trust, weights=weights), 1.0)
    assert_allclose(trust[0] / trust[2], 2.0)
    assert_allclose(row_trust(5.0 * noise, weights), trust)
    assert_allclose(row_trust(noise, weights, 0.25)[0] / row_trust(noise, weights, 0.25)[2], 2**0.5)
    far = row_trust(np.array([1e-9, 1.0, 1.0, 1.0, 1e9]), None)
    assert_allclose(far[0] / far[4], 30.0)


def test_more_probable_rows_with_means_that_are_not_clearly_worse():
    y = np.array([[0.0], [0.0]])
    old = np.array([[1.0], [1.0]]), np.array([1.0, 1.0])
    wide = old[0], np.array([2.0, 2.0])
    tight_but_far = np.array([[1.1], [1.1]]), np.array([1.21, 1.21])
    better = np.array([[0.9], [1.0]]), np.array([1.0, 1.0])
    assert not predicts_better(y, None, old, old)
    assert not predicts_better(y, None, wide, old)
    assert predicts_better(y, None, better, old)
    # More probable than with far too wide bars, but 1.21 times the squared error.
    assert not predicts_better(y, None, tight_but_far, (old[0], np.array([9.0, 9.0])))
    assert predicts_better(y, np.array([1.0, 0.0]), better, old)
    assert not predicts_better(y, np.array([0.0, 1.0]), better, old)


def test_trust_multiplies_weights_and_says_what_a_left_out_row_takes_along():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    trust = np.array([0.5, 2.0, 1.0, 0.5, 2.0, 1.0])
    plain = TrainingData(X, y, None, True)
    assert plain.left_out_weights is None
    once = plain.trusting(trust)
    assert_allclose(once.weights, trust)
    assert_allclose(once.left_out_weights, trust)  # whole rows
    weights = np.array([1.0, 1.0, 3.0, 0.5, 2.0, 0.25])
    given = TrainingData(X, y, weights, True).trusting(trust).trusting(trust)
    assert_allclose(given.weights, weights * trust**2)
    assert_allclose(given.left_out_weights, np.minimum(weights, 1.0) * trust**2)


# ------------------------------------------------------------------------------ in the estimator


def noisy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    noise = 0.05 + 0.6 * (X[:, 0] > 0.5)
    return X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=n), noise


@pytest.fixture(scope="module")
def models():
    """A model, the trust that its rows were given, and the model with constant noise."""
    X, y, _ = noisy()
    found = []

    def noted(*given):
        found.append(row_trust(*given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greedygp.sparse.ending.row_trust", noted)
        model = SparseGPRegressor(objective="vfe", random_state=0, max_basis=15).fit(X, y)
    constant = clone(model).set_params(noise_model="constant").fit(X, y)
    return model, found[-1], constant


def test_the_mean_of_quiet_rows_is_better(models):
    model, _, constant = models
    assert model.noise_model_ == "input"
    X, _, noise = noisy(2000, seed=1)
    quiet = X[noise < 0.1]
    errors = [np.mean((m.predict(quiet) - np.sin(2 * quiet[:, 0])) ** 2) for m in (model, constant)]
    assert errors[0] < 0.8 * errors[1]


def test_left_out_rows_are_those_of_refits_without_the_row(models):
    """Brute force, with hyperparameters, trust and noise function held."""
    model, trust, _ = models
    X, y, _ = noisy()
    centre, width = np.mean(y), np.std(y)
    s2 = model.noise_variance_
    kernel = dense_kernel(model.kernel_)
    whole = SparseGP(kernel, model.basis_, X, (y - centre) / width, s2, "dtc", trust)
    mean, std = model.loo_predict()
    for i in (0, 17, 123, 299):
        left_mean, covariance = whole.without_row(i).predict(X[i : i + 1], noise=False)
        noise = model._noise(X[i : i + 1], left_mean)[0]
        assert_allclose(mean[i], left_mean[0, 0] * width + centre, rtol=1e-6, atol=1e-7)
        assert_allclose(std[i], np.sqrt(covariance[0, 0] + noise) * width, rtol=1e-6)


def test_given_noise_leaves_the_rows_alone():
    X, y, _ = noisy()
    model = SparseGPRegressor(
        noise_variance=0.1, noise_model="input", max_basis=10, max_iter=5, random_state=0
    ).fit(X, y)
    constant = clone(model).set_params(noise_model="constant").fit(X, y)
    assert model.noise_model_ == "input"
    assert_allclose(model.predict(X), constant.predict(X))


def test_left_out_parts_of_weights_against_the_definition():
    """Where weights are copies times trust, the trust of one copy is left out, or the row."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    counts, trust = rng.integers(1, 4, size=12).astype(float), rng.uniform(0.3, 3.0, size=12)
    kernel, basis, s2 = Gaussian(1.3, [0.8, 1.5]), X[:4], 0.2
    for approximation in ("dtc", "fitc", "sor"):
        state = SparseState(
            kernel,
            s2,
            X,
            y[None, :],
            counts * trust,
            approximation=approximation,
            capacity=4,
            backend=Backend(X),
            keep_v=True,
        )
        state.set_basis(basis, [0, 1, 2, 3])
        (found,) = state.rows.map(lambda block: loo_rows(state, block, trust))  # noqa: B023
        whole = SparseGP(dense_kernel(kernel), basis, X, y, s2, approximation, counts * trust)
        for i in range(12):
            left = counts * trust
            left[i] -= trust[i]
            part = replace(whole, weights=left) if left[i] > 1e-12 else whole.without_row(i)
            mean, covariance = part.predict(X[i : i + 1])
            assert_allclose(found[0][0, i], y[i] - mean[0, 0], rtol=1e-9, atol=1e-10)
            assert_allclose(found[1][i], covariance[0, 0], rtol=1e-9)


def test_trust_that_predicts_no_better_is_taken_back(monkeypatch):
    X, y, _ = noisy()
    tried = []

    def refused(*given):
        tried.append(given)
        return False

    monkeypatch.setattr("greedygp.sparse.ending.predicts_better", refused)
    model = SparseGPRegressor(random_state=0, max_basis=15).fit(X, y)
    constant = clone(model).set_params(noise_model="constant").fit(X, y)
    assert len(tried) == 2  # both powers
    assert_allclose(model.predict(X), constant.predict(X), rtol=1e-9, atol=1e-9)
    assert model.noise_model_ == "input"


# ------------------------------------------------------------------------------------ the full GP


@pytest.fixture(scope="module")
def full_models():
    """A full GP, the trust that its rows were given, and the one with constant noise."""
    X, y, _ = noisy(200)
    found = []

    def noted(*given):
        found.append(row_trust(*given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greedygp.dense.fitting.row_trust", noted)
        model = GPRegressor(random_state=0).fit(X, y)
    return model, found[-1], clone(model).set_params(noise_model="constant").fit(X, y)


def test_the_full_mean_of_quiet_rows_is_better(full_models):
    model, _, constant = full_models
    assert model.noise_model_ == "input"
    X, _, noise = noisy(2000, seed=1)
    quiet = X[noise < 0.1]
    errors = [np.mean((m.predict(quiet) - np.sin(2 * quiet[:, 0])) ** 2) for m in (model, constant)]
    assert errors[0] < 0.8 * errors[1]


def test_left_out_rows_of_the_full_gp_are_those_of_refits(full_models):
    model, trust, _ = full_models
    X, y, _ = noisy(200)
    centre, width = np.mean(y), np.std(y)
    target = (y - centre) / width
    mean, std = model.loo_predict()
    K = model.kernel_(X, X) + model.noise_variance_ * np.diag(1.0 / trust)
    for i in (0, 17, 123, 199):
        rest = np.arange(200) != i
        k = model.kernel_(X[rest], X[i : i + 1])[:, 0]
        solved = np.linalg.solve(K[np.ix_(rest, rest)], np.stack([target[rest], k], axis=1))
        left_mean, latent = k @ solved[:, 0], model.kernel_.diag(X[i : i + 1])[0] - k @ solved[:, 1]
        noise = model._noise(X[i : i + 1], np.array([[left_mean]]))[0]
        assert_allclose(mean[i], left_mean * width + centre, rtol=1e-6, atol=1e-7)
        assert_allclose(std[i], np.sqrt(latent + noise) * width, rtol=1e-6)


def test_left_out_parts_of_weights_of_a_full_gp():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    counts, trust = rng.integers(1, 4, size=12).astype(float), rng.uniform(0.3, 3.0, size=12)
    K, s2, weights = Gaussian(1.3, [0.8, 1.5])(X, X), 0.2, counts * trust
    C = K + s2 * np.diag(1.0 / weights)
    r, t = loo_residuals(np.linalg.cholesky(C), np.linalg.solve(C, y), s2, weights, trust)
    for i in range(12):
        left = weights.copy()
        left[i] -= trust[i]
        some = left > 1e-12
        smoother = np.linalg.solve(
            (K + s2 * np.diag(1.0 / np.maximum(left, 1e-12)))[some][:, some], K[some, i]
        )
        assert_allclose(r[i, 0], y[i, 0] - smoother @ y[some, 0], rtol=1e-8, atol=1e-9)
        assert_allclose(t[i], K[i, i] - smoother @ K[some, i] + s2, rtol=1e-8)
