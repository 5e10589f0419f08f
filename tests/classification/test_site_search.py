"""Sites that are optimised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem, candidates, full_sites
from greedygp.classification.candidate_losses import coefficients, losses
from greedygp.classification.site_search import _box, _derivatives, optimised_sites
from reference.classification import gaussian_kernel, posterior


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


def test_a_loss_that_can_be_small_is_brought_close_to_zero():
    """A candidate has settled when it gains little of what is left, however little that is."""
    problem = SmallProblem(variance=100.0, length_scale=5.0)
    problem.y = np.ones(30)
    state, index, ktilde, sites = candidates(problem, m=0)
    found = optimised_sites(state, index, ktilde, *sites)
    alpha, eta = coefficients(state, index, *found)
    assert np.all(losses(state, index, ktilde, alpha, eta, only_outside=False) < 1e-9)
