"""Values of the objectives against their definitions, gradients against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import (
    central_differences,
    full_sites,
    problem_with_two_length_scales,
)
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.objectives import OBJECTIVES, Basis
from greedygp.kernels import Constant
from reference.classification import gaussian_kernel, log_evidence, nlp, posterior


def evaluate(objective, kernel, bias, basis):
    return OBJECTIVES[objective].evaluate(LatentPoint(kernel, bias), basis)


@pytest.mark.parametrize("m", [4, 30])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("optimise", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradients(objective, optimise, weights, m):
    problem = problem_with_two_length_scales(weights)
    if m == 4:
        problem.kernel = problem.kernel + Constant(0.3)
    state = problem.grown(m, optimise=optimise)
    basis = Basis.of(state)
    got = evaluate(objective, problem.kernel, 0.3, basis)

    def by_theta(theta):
        return evaluate(objective, problem.kernel.with_theta(theta), 0.3, basis).value

    def by_bias(bias):
        return evaluate(objective, problem.kernel, bias[0], basis).value

    rtol = 1e-4 if optimise else 1e-6  # sharp sites: differences lose digits
    numeric = central_differences(by_theta, problem.kernel.theta)
    assert_allclose(got.theta, numeric, atol=1e-7, rtol=rtol)
    assert_allclose(
        got.bias, central_differences(by_bias, np.array([0.3]))[0], atol=1e-7, rtol=rtol
    )


def test_values(problem):
    state = problem.grown(8)
    basis = Basis.of(state)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    f, A = posterior(K, *full_sites(state))
    outside = nlp(f, A, problem.y, problem.bias, state.outside)
    assert_allclose(evaluate("nlp", problem.kernel, 0.3, basis).value, outside, rtol=1e-9)
    assert_allclose(evaluate("loo", problem.kernel, 0.3, basis).value, state.loo_loss(), rtol=1e-9)
    u = np.array(state.indices)
    of_basis = log_evidence(K[np.ix_(u, u)], *state.sites, problem.y[u], 0.3)
    expected = (22 * outside - of_basis) / 30
    assert_allclose(evaluate("nlml", problem.kernel, 0.3, basis).value, expected, rtol=1e-6)


def test_a_basis_of_all_rows_has_a_loss(problem):
    basis = Basis.of(problem.grown(30))
    loo = evaluate("loo", problem.kernel, 0.3, basis).value
    assert evaluate("nlp", problem.kernel, 0.3, basis).value == loo
