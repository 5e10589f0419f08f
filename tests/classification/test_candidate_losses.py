"""Losses of candidates against their definition, derivatives against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem, candidates, full_sites
from greedygp.classification import candidate_losses
from greedygp.classification.candidate_losses import coefficients, losses, losses_and_curvature
from reference.classification import gaussian_kernel, nlp, posterior


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
    monkeypatch.setattr(candidate_losses, "TILE", tile)
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
