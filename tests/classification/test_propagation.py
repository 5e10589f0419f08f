"""Expectation propagation against its fixed point, its evidence against the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import (
    SmallProblem,
    central_differences,
    full_sites,
    problem_with_two_length_scales,
)
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.propagation import propagate, propagated_evidence, propagated_sites
from reference.classification import gaussian_kernel, log_evidence, sequential_propagation


@pytest.mark.parametrize(("variance", "length_scale"), [(3.0, 0.8), (50.0, 0.5), (0.1, 2.0)])
def test_propagation_reaches_the_fixed_point(variance, length_scale):
    problem = SmallProblem(n=15, variance=variance, length_scale=length_scale)
    state = problem.grown(15)
    made = propagate(state, 200, tol=1e-10)
    assert 0 < made < 200
    K = gaussian_kernel(problem.X, problem.X, variance, length_scale)
    expected = sequential_propagation(K, problem.y, problem.bias, sweeps=60)
    means, precisions = full_sites(state)
    assert_allclose(precisions, expected[1], rtol=1e-6, atol=1e-8)
    assert_allclose(means, expected[0], rtol=1e-5, atol=1e-6)
    assert propagate(state, 200, tol=1e-9) <= 1


def test_propagation_forgets_the_order():
    problem = SmallProblem(weights=True)
    states = [problem.grown(30, criterion="random", seed=seed) for seed in (0, 1)]
    assert np.max(np.abs(states[0].f - states[1].f)) > 1e-3
    for state in states:
        propagate(state, 200, tol=1e-10)
    assert_allclose(states[0].f, states[1].f, atol=1e-7)
    assert_allclose(states[0].a, states[1].a, atol=1e-7)


def test_no_passes_leave_the_sites(problem):
    state = problem.grown(5)
    before = state.sites
    assert propagate(state, 0) == 0
    assert_allclose(state.sites, before)


def test_propagation_from_nothing(problem):
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    state = problem.grown(30)
    propagate(state, 200, tol=1e-10)
    zeros = np.zeros(30)
    found = propagated_sites(K, problem.y, problem.bias, None, zeros, zeros, passes=300, tol=1e-10)
    expected = full_sites(state)
    assert_allclose(found.precisions, expected[1], rtol=1e-6)
    assert_allclose(found.means, expected[0], rtol=1e-6)


@pytest.mark.parametrize("weights", [False, True])
def test_evidence_of_a_full_process(weights, monkeypatch):
    """Its derivative is whole: sites are not held fixed in the differences."""
    monkeypatch.setattr("greedygp.classification.propagation.EVIDENCE_TOL", 1e-11)
    monkeypatch.setattr("greedygp.classification.propagation.EVIDENCE_PASSES", 500)
    problem = problem_with_two_length_scales(weights, n=20)
    zeros = np.zeros(20)

    def at(theta, bias):
        point = LatentPoint(problem.kernel.with_theta(theta), bias)
        return propagated_evidence(point, problem.data, zeros, zeros)

    theta = problem.kernel.theta
    got, means, precisions = at(theta, 0.3)
    numeric = central_differences(lambda t: at(t, 0.3)[0].value, theta)
    assert_allclose(got.theta, numeric, atol=1e-6)
    numeric = central_differences(lambda b: at(theta, b[0])[0].value, np.array([0.3]))[0]
    assert_allclose(got.bias, numeric, atol=1e-6)
    if not weights:
        K = np.asarray(problem.kernel(problem.X))
        expected = -log_evidence(K, means, precisions, problem.y, 0.3) / 20
        assert_allclose(got.value, expected, rtol=1e-6)
