"""Orthogonal least squares and regularised forward selection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import OLSRegressor, RFSRegressor
from greedygp.kernels import Gaussian
from reference import sparse_linear as reference

KERNEL = Gaussian(length_scale=0.6)


def data(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.7 + 0.1 * rng.normal(size=n)


def test_orthogonal_least_squares_is_forward_selection_by_refitting():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(40, 25))
    y = Phi[:, :5] @ rng.normal(size=5) + 0.3 * rng.normal(size=40)
    model = OLSRegressor(kernel="precomputed", patience=None, max_basis=8).fit(Phi, y)
    expected = reference.orthogonal_least_squares(Phi - Phi.mean(axis=0), y - y.mean(), 8)
    assert_array_equal(model.path_["index"], expected)
    A = np.column_stack([np.ones(40), Phi[:, model.relevance_]])
    weights = np.linalg.lstsq(A, y, rcond=None)[0]
    assert_allclose(model.coef_, weights[1:], rtol=1e-8)
    assert model.intercept_ == pytest.approx(weights[0])
    for m in (1, 4, 8):
        A = np.column_stack([np.ones(40), Phi[:, expected[:m]]])
        error = np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2)
        assert model.path_["value"][m - 1] == pytest.approx(40 * error / (39 - m) ** 2, rel=1e-8)


def test_criteria_of_orthogonal_least_squares():
    X, y = data(n=100)
    sizes = {
        criterion: OLSRegressor(kernel=KERNEL, criterion=criterion, tol=tol).fit(X, y).n_basis_
        for criterion, tol in (("gcv", 1e-4), ("bic", 1e-4), ("err", 0.2))
    }
    assert sizes["bic"] <= sizes["gcv"]
    model = OLSRegressor(kernel=KERNEL, criterion="err", tol=0.2).fit(X, y)
    assert model.path_["value"][-1] < 0.2
    assert np.all(model.path_["value"][:-1] >= 0.2)
    assert np.sum((y - model.predict(X)) ** 2) / np.sum((y - y.mean()) ** 2) < 0.2


def test_ridge_of_forward_selection_is_the_minimum_of_gcv():
    X, y = data(n=60)
    model = RFSRegressor(kernel=KERNEL, max_basis=6, patience=None).fit(X, y)
    Phi = reference.centred(KERNEL(X)[:, model.relevance_], None, True)
    t = y - y.mean()

    def gcv(ridge):
        return reference.gcv(Phi, t, np.full(Phi.shape[1], ridge), 60, 59)

    assert gcv(model.ridge_) == pytest.approx(model.gcv_, rel=1e-8)
    around = model.ridge_ * np.geomspace(1e-4, 1e4, 81)
    assert min(gcv(r) for r in around) >= model.gcv_ * (1 - 1e-6)
    Phi_all = reference.centred(KERNEL(X), None, True)
    P = reference.projection(Phi, np.full(Phi.shape[1], model.ridge_))
    weights = np.linalg.solve(Phi.T @ Phi + model.ridge_ * np.eye(Phi.shape[1]), Phi.T @ t)
    assert_allclose(model.coef_, weights, rtol=1e-6)
    assert np.trace(P) < 60
    # the first column is the one of the largest projection on the target
    norms = np.sum(Phi_all**2, axis=0)
    assert model.path_["index"][0] == np.argmax((Phi_all.T @ t) ** 2 / norms)


def test_err_has_converged_where_little_enough_is_left():
    X, y = data(n=60)
    model = OLSRegressor(kernel=KERNEL, criterion="err", tol=0.2)
    assert model.fit(X, y).stop_reason_ == "converged"
    constant = model.fit(X, np.ones(60))
    assert constant.stop_reason_ == "exhausted"
    assert constant.n_basis_ == 0


@pytest.mark.parametrize("kind", [OLSRegressor, RFSRegressor])
def test_the_model_is_that_of_the_best_size(kind):
    """What follows the minimum is in the path, and nowhere else."""
    X, y = data(n=60)
    model = kind(kernel=KERNEL, patience=6).fit(X, y)
    values = model.path_["value"]
    size = int(np.argmin(values)) + 1
    assert model.stop_reason_ == "patience"
    assert len(values) > size == model.n_basis_
    assert_array_equal(model.relevance_, model.path_["index"][:size])
    alone = kind(kernel=KERNEL, max_basis=size, patience=None).fit(X, y)
    assert_allclose(alone.predict(X), model.predict(X), rtol=1e-9)
    assert alone.noise_variance_ == pytest.approx(model.noise_variance_, rel=1e-9)
    value = "criterion_value_" if kind is OLSRegressor else "gcv_"
    assert getattr(model, value) == pytest.approx(values[size - 1], rel=1e-9)
