"""Losses of candidates, and sites that are optimised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem, full_sites
from greedygp.classification import loss
from greedygp.classification.loss import coefficients, losses, losses_and_curvature
from greedygp.classification.search import _box, _derivatives, optimised_sites
from greedygp.classification.sites import probit_moments
from reference.classification import gaussian_kernel, nlp, posterior


def candidates(problem, m=6, count=5):
    state = problem.grown(m)
    index = np.flatnonzero(state.outside)[:count]
    weights = None if state.weights is None else state.weights[index]
    moments = probit_moments(state.f[index], state.a[index], state.y[index], state.bias, weights)
    return state, index, state.columns(index), (moments.site_mean, moments.site_precision)


def dense_loss(problem, state, index, mean, precision, only_outside):
    """The loss after including one row, from the definition."""
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    means, precisions = full_sites(state)
    means[index], precisions[index] = mean, precision
    f, A = posterior(K, means, precisions)
    rows = state.outside.copy() if only_outside else np.ones(len(f), dtype=bool)
    rows[index] = rows[index] and not only_outside
    return nlp(f, A, problem.y, problem.bias, rows, problem.weights)


@pytest.mark.parametrize("tile", [16384, 40])
@pytest.mark.parametrize("only_outside", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_losses(weights, only_outside, tile, monkeypatch):
    monkeypatch.setattr(loss, "TILE", tile)
    problem = SmallProblem(n=150, weights=weights)
    state, index, ktilde, sites = candidates(problem)
    got = losses(
        state, index, ktilde, *coefficients(state, index, *sites), only_outside=only_outside
    )
    expected = [dense_loss(problem, state, j, m, p, only_outside) for j, m, p in zip(index, *sites)]
    assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("weights", [True, False])
def test_derivatives_by_coefficients(weights):
    problem = SmallProblem(weights=weights)
    state, index, ktilde, sites = candidates(problem)
    alpha, eta = coefficients(state, index, *sites)
    here = losses_and_curvature(state, ktilde, alpha, eta)
    direct = losses(state, index, ktilde, alpha, eta, only_outside=False)
    assert_allclose(here.value, direct, rtol=1e-12)
    step = 1e-5
    for k, shift in enumerate(np.eye(2) * step):
        up = losses_and_curvature(state, ktilde, alpha + shift[0], eta + shift[1])
        down = losses_and_curvature(state, ktilde, alpha - shift[0], eta - shift[1])
        assert_allclose(here.slope[:, k], (up.value - down.value) / (2 * step), atol=1e-8)
        assert_allclose(here.bend[:, :, k], (up.slope - down.slope) / (2 * step), atol=1e-7)


def test_derivatives_by_sites(problem):
    state, index, ktilde, sites = candidates(problem)
    x = np.stack([sites[0], np.log(sites[1])], axis=1)
    here = _derivatives(state, index, ktilde, x)
    step = 1e-5
    for k, shift in enumerate(np.eye(2) * step):
        up = _derivatives(state, index, ktilde, x + shift)
        down = _derivatives(state, index, ktilde, x - shift)
        assert_allclose(here.slope[:, k], (up.value - down.value) / (2 * step), atol=1e-8)
        assert_allclose(here.bend[:, :, k], (up.slope - down.slope) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("m", [0, 3, 15])
@pytest.mark.parametrize("seed", range(4))
def test_never_above_moment_matching_never_negative_variance(seed, m):
    problem = SmallProblem(seed=seed, n=40, weights=seed % 2 == 1, variance=10.0 ** (seed - 1))
    state, index, ktilde, sites = candidates(problem, m=m, count=10)
    found = optimised_sites(state, index, ktilde, *sites)
    matched = losses(state, index, ktilde, *coefficients(state, index, *sites), only_outside=False)
    alpha, eta = coefficients(state, index, *found)
    optimised = losses(state, index, ktilde, alpha, eta, only_outside=False)
    assert np.all(optimised <= matched + 1e-12)
    assert np.mean(optimised) < np.mean(matched)
    assert np.all(state.a - eta[:, None] * ktilde**2 >= -1e-12)
    assert np.all(found[1] > 0)


def test_optimised_sites_are_minima(problem):
    """No point of a fine grid inside the box is better."""
    state, index, ktilde, sites = candidates(problem, count=3)
    found = optimised_sites(state, index, ktilde, *sites)
    start = np.stack([sites[0], np.log(sites[1])], axis=1)
    low, high = _box(state, index, ktilde, start)
    for c in range(3):
        one = index[c : c + 1], ktilde[c : c + 1]
        best = _derivatives(state, *one, np.array([[found[0][c], np.log(found[1][c])]])).value[0]
        grid_m, grid_p = np.meshgrid(
            np.linspace(low[c, 0], high[c, 0], 60), np.linspace(low[c, 1], high[c, 1], 60)
        )
        x = np.stack([grid_m.ravel(), grid_p.ravel()], axis=1)
        grid = _derivatives(
            state, np.repeat(one[0], len(x)), np.repeat(one[1], len(x), axis=0), x
        ).value
        assert best <= grid.min() + 2e-4


def test_optimised_posterior_is_the_dense_one(problem):
    state = problem.grown(15, optimise=True)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    f, A = posterior(K, *full_sites(state))
    assert_allclose(state.f, f, atol=1e-8)
    assert_allclose(state.a, np.diag(A), atol=1e-8)
    assert np.all(state.a >= 0)
