"""Several targets, weights, leave-one-out predictions, and a start from an earlier fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dense.models import NAMES, data, dense, fixed
from greedygp.dense.estimator import GPRegressor

each_solver = pytest.mark.parametrize("solver", NAMES)


# ------------------------------------------------------------------------- targets and weights


@each_solver
@pytest.mark.parametrize("normalize_y", [True, False])
def test_several_targets(solver, normalize_y):
    X, Y = data(columns=3)
    Y = Y * [1.0, 10.0, 0.1] + [0.0, 5.0, -3.0]
    model = fixed(solver=solver, normalize_y=normalize_y, tol=1e-7).fit(X, Y)
    mean, std = model.predict(X[:7], return_std=True)
    assert mean.shape == std.shape == (7, 3)
    assert model.dual_coef_.shape == (24, 3)
    assert model.predict(X[:7], return_cov=True)[1].shape == (7, 7, 3)
    assert model.sample_y(X[:7], n_samples=4, random_state=0).shape == (7, 3, 4)
    assert model.loo_predict()[0].shape == (24, 3)
    for k in range(3):
        alone = fixed(normalize_y=normalize_y).fit(X, Y[:, k])
        width = np.std(Y[:, k]) if normalize_y else 1.0
        mean_k, std_k = alone.predict(X[:7], return_std=True)
        assert_allclose(mean[:, k], mean_k, rtol=0, atol=1e-4 * max(width, 1.0))
        assert_allclose(std[:, k], std_k, rtol=1e-6)


def test_one_column_keeps_its_dimension():
    X, y = data()
    model = fixed().fit(X, y[:, None])
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (24, 1)
    assert model.dual_coef_.shape == (24, 1)
    assert_array_equal(mean[:, 0], fixed().fit(X, y).predict(X))


@each_solver
def test_a_constant_column(solver):
    X, y = data()
    model = fixed(solver=solver, normalize_y=True).fit(X, np.column_stack([y, np.full(24, 7.0)]))
    assert_allclose(model.predict(X)[:, 1], 7.0, rtol=1e-12)
    only = fixed(solver=solver, normalize_y=True).fit(X, np.full(24, 7.0))
    assert_allclose(only.predict(X), 7.0, rtol=1e-12)
    assert only.n_iter_ == 0


@each_solver
def test_one_row(solver):
    model = fixed(solver=solver).fit([[0.5, 0.5]], [2.0])
    assert_allclose(model.predict([[0.5, 0.5]]), 2.0 / 2.0, rtol=1e-6)
    mean, std = model.loo_predict()
    assert_allclose(mean, 0.0, atol=1e-6)
    assert_allclose(std, np.sqrt(2.0), rtol=1e-6)


@each_solver
@pytest.mark.parametrize("normalize_y", [True, False])
def test_weights_are_repeated_rows(solver, normalize_y):
    X, y = data(n=20)
    weights = np.random.default_rng(0).integers(0, 4, size=20)
    rows = np.repeat(np.arange(20), weights)
    options = {"solver": solver, "normalize_y": normalize_y, "tol": 1e-8}
    weighted = fixed(**options).fit(X, y, sample_weight=weights)
    repeated = fixed(**options).fit(X[rows], y[rows])
    for a, b in zip(
        weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True
    ):
        assert_allclose(a, b, rtol=0, atol=1e-6)
    together = np.bincount(rows, repeated.dual_coef_, minlength=20)
    assert_allclose(weighted.dual_coef_, together, rtol=0, atol=1e-5)
    for a, b in zip(weighted.loo_predict(), repeated.loo_predict(), strict=True):
        assert_allclose(np.repeat(a, weights), b, rtol=0, atol=1e-5)


def test_learnt_weights_are_repeated_rows():
    X, y = data(n=20)
    weights = np.random.default_rng(0).integers(0, 4, size=20)
    rows = np.repeat(np.arange(20), weights)
    weighted = GPRegressor(random_state=0).fit(X, y, sample_weight=weights)
    repeated = GPRegressor(random_state=0).fit(X[rows], y[rows])
    assert_allclose(weighted.objective_value_, repeated.objective_value_, rtol=1e-6)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-3)


@each_solver
def test_rows_of_weight_zero_are_left_out(solver):
    X, y = data()
    weights = np.ones(24)
    weights[[0, 7, 23]] = 0.0
    y[7] = 1e6
    model = fixed(solver=solver).fit(X, y, sample_weight=weights)
    kept = fixed(solver=solver).fit(X[weights > 0], y[weights > 0])
    assert_array_equal(model.predict(X), kept.predict(X))
    assert_array_equal(model.dual_coef_[weights > 0], kept.dual_coef_)
    assert_array_equal(model.dual_coef_[weights == 0], 0.0)
    mean, std = model.loo_predict()
    expected_mean, expected_std = kept.predict(X[[0, 7, 23]], return_std=True)
    assert_allclose(mean[[0, 7, 23]], expected_mean, rtol=0, atol=1e-5)
    assert_allclose(std[[0, 7, 23]], expected_std, rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------ leave one out


@each_solver
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_refitting_without_the_row(solver, weighted):
    X, Y = data(n=20, columns=2)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=20) if weighted else None
    model = fixed(solver=solver, tol=1e-8).fit(X, Y, sample_weight=weights)
    mean, std = model.loo_predict()
    expected_mean, expected_variance = dense(X, Y, weights).leave_one_out()
    assert_allclose(mean, expected_mean, rtol=0, atol=1e-5)
    expected_std = np.broadcast_to(np.sqrt(expected_variance)[:, None], (20, 2))
    assert_allclose(std, expected_std, rtol=0, atol=1e-6)


def test_leave_one_out_in_the_units_of_y():
    X, y = data(n=20)
    model = fixed(normalize_y=True).fit(X, 100 + 10 * y)
    scaled = (y - np.mean(y)) / np.std(y)
    expected_mean, expected_variance = dense(X, scaled).leave_one_out()
    mean, std = model.loo_predict()
    back = 10 * np.std(y)
    assert_allclose(mean, 100 + 10 * np.mean(y) + back * expected_mean[:, 0], rtol=1e-9)
    assert_allclose(std, back * np.sqrt(expected_variance), rtol=1e-9)


def test_leave_one_out_beyond_the_memory_limit():
    X, y = data()
    model = fixed(solver="gbcd", memory_limit=1000).fit(X, y)
    message = r"factor of a 24 x 24 matrix.*memory_limit=1e\+03 does not allow.*Raise memory_limit"
    with pytest.raises(ValueError, match=message):
        model.loo_predict()
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


# --------------------------------------------------------------------------------- warm start


@each_solver
def test_warm_start(solver):
    X, Y = data(columns=2)
    model = fixed(solver=solver, warm_start=True).fit(X, Y)
    first = model.n_iter_
    assert first >= 1
    model.fit(X, Y)
    assert model.n_iter_ == 0
    assert model.converged_
    model.fit(X, Y + 1e-4)
    assert model.n_iter_ <= first
    fresh = fixed(solver=solver).fit(X, Y + 1e-4)
    assert_allclose(model.predict(X), fresh.predict(X), rtol=0, atol=1e-4)
    cold = fixed(solver=solver).fit(X, Y)
    assert cold.fit(X, Y).n_iter_ == first


def test_warm_start_with_other_rows_starts_anew():
    X, Y = data(columns=2)
    model = fixed(solver="cg", warm_start=True).fit(X, Y)
    for rows, targets in ((X[:18], Y[:18]), (X, Y[:, 0]), (X, Y)):
        model.fit(rows, targets)
        assert_array_equal(model.dual_coef_, fixed(solver="cg").fit(rows, targets).dual_coef_)


def test_warm_start_with_weights_of_zero():
    X, y = data()
    weights = np.ones(24)
    weights[:5] = 0.0
    model = fixed(solver="cg", warm_start=True).fit(X, y)
    model.fit(X, y, sample_weight=weights)
    expected = fixed(solver="cg").fit(X, y, sample_weight=weights)
    assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-4)
    assert model.fit(X, y, sample_weight=weights).n_iter_ == 0
