"""Leave-one-out residuals and variances of a full GP: against refits without the row."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dense.rows import WEIGHTS, make_problem
from greedygp.dense import loo
from greedygp.dense.loo import loo_residuals

each_weights = pytest.mark.parametrize("weights", WEIGHTS)


@each_weights
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("noise_variance", [1e-3, 0.05, 10.0])
def test_residuals_are_those_of_refits(weights, p, noise_variance):
    problem = make_problem(1, p=p, weights=weights, noise_variance=noise_variance)
    r, t = loo_residuals(*problem.factor(), noise_variance, problem.weights)
    r_refit, t_refit = problem.left_out()
    assert_allclose(r, r_refit, rtol=1e-9, atol=1e-10)
    assert_allclose(t, t_refit, rtol=1e-9)


def test_residuals_of_copies_are_those_of_the_weighted_row():
    problem = make_problem(2, p=2, weights="integer")
    r, t = loo_residuals(*problem.factor(), 0.05, problem.weights)
    copies = problem.repeated()
    r_copies, t_copies = loo_residuals(*copies.factor(), 0.05, None)
    rows = np.repeat(np.arange(14), problem.weights.astype(int))
    assert_allclose(r[rows], r_copies, rtol=1e-8)
    assert_allclose(t[rows], t_copies, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 13, 14])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_may_lie_either_way_and_is_left_alone(monkeypatch, n, order):
    monkeypatch.setattr(loo, "BLOCK", 5)
    problem = make_problem(n=n, weights="fractional")
    L, alpha = problem.factor()
    given = np.array(L + np.triu(np.full((n, n), np.nan), 1), order=order)
    before = given.copy()
    r, t = loo_residuals(given, alpha, 0.05, problem.weights)
    assert_array_equal(given, before)
    r_refit, t_refit = problem.left_out()
    assert_allclose(r, r_refit, rtol=1e-9)
    assert_allclose(t, t_refit, rtol=1e-9)


def test_a_left_out_target_is_at_least_as_uncertain_as_noise():
    """Of rows that weigh next to nothing the variance is a small difference of large numbers."""
    weights = np.random.default_rng(3).uniform(1e-8, 3e-8, size=200)
    problem = replace(make_problem(3, n=200, noise_variance=1e12), weights=weights)
    _, t = loo_residuals(*problem.factor(), 1e12, weights)
    assert np.all(t >= 1e12)
    assert_allclose(t, 1e12, rtol=1e-6)
