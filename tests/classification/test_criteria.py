"""Who is proposed, and by what score."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from classification.problems import SmallProblem, full_sites
from greedygp.classification.criteria import CRITERIA
from greedygp.classification.objectives import loo_loss
from greedygp.greedy import Stopping, run
from reference.classification import (
    gaussian_kernel,
    kl_of_marginals,
    leave_one_out_nlp,
    matching_site,
    nlp,
    posterior,
    tilted_moments,
)


def dense(problem, state):
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    return K, *posterior(K, *full_sites(state))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("criterion", ["entropy", "info_gain"])
def test_marginal_criteria(criterion, weights):
    problem = SmallProblem(weights=weights)
    selector = problem.selector(criterion)
    run(selector, Stopping(max_size=4))
    index, score = selector.candidates()
    _, f, A = dense(problem, selector.state)
    scores = {}
    for i in np.flatnonzero(selector.state.outside):
        w = 1.0 if problem.weights is None else problem.weights[i]
        _, mean, variance = tilted_moments(f[i], A[i, i], problem.y[i], problem.bias, w)
        scores[i] = (
            np.log(variance / A[i, i])
            if criterion == "entropy"
            else -kl_of_marginals(mean, variance, f[i], A[i, i])
        )
    best = min(scores, key=scores.get)
    assert index[0] == best
    assert_allclose(score[0], scores[best], rtol=1e-6)


@pytest.mark.parametrize("criterion", ["validation", "adaptive", "random"])
def test_predictive_criteria(criterion):
    problem = SmallProblem()
    selector = problem.selector(criterion, working_set=6)
    run(selector, Stopping(max_size=4))
    index, score = selector.candidates()
    assert len(index) == len(set(index)) == 6
    assert np.all(selector.state.outside[index])
    K, f, A = dense(problem, selector.state)
    for i, got in zip(index, score):
        means, precisions = full_sites(selector.state)
        means[i], precisions[i] = matching_site(f[i], A[i, i], problem.y[i], problem.bias)
        rows = selector.state.outside.copy() if criterion != "adaptive" else np.ones(30, bool)
        rows[i] = criterion == "adaptive"
        expected = nlp(*posterior(K, means, precisions), problem.y, problem.bias, rows)
        assert_allclose(got, expected, rtol=1e-6)
    value = selector.add(int(index[0]))
    assert value == loo_loss(selector.state)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("m", [1, 9, 30])
def test_leave_one_out_loss(m, weights):
    problem = SmallProblem(weights=weights)
    state = problem.grown(m)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    expected = leave_one_out_nlp(K, *full_sites(state), problem.y, problem.bias, problem.weights)
    assert_allclose(loo_loss(state), expected, rtol=1e-8)


def test_adaptive_draws_by_the_chance_of_error():
    problem = SmallProblem()
    selector = problem.selector("adaptive", working_set=1)
    run(selector, Stopping(max_size=5))
    chance = (1 - np.exp(selector.state.log_probability)) * selector.state.outside
    counts = np.zeros(30)
    for _ in range(4000):
        counts[selector._draw_by_chance_of_error()] += 1
    assert_allclose(counts / 4000, chance / chance.sum(), atol=0.03)
    assert np.all(counts[selector.state.indices] == 0)


def test_adaptive_when_every_row_is_certain():
    problem = SmallProblem()
    selector = problem.selector("adaptive", working_set=3)
    selector.state._log_probability = np.zeros(30)
    assert len(set(selector._draw_by_chance_of_error())) == 3


@pytest.mark.parametrize("optimise", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_row_can_enter(criterion, optimise):
    problem = SmallProblem(n=12)
    selector = problem.selector(criterion, working_set=3, optimise=optimise)
    path = run(selector, Stopping(max_size=20))
    assert path.reason == "exhausted"
    assert_array_equal(np.sort(selector.state.indices), np.arange(12))
    assert np.all(np.isfinite(path.as_array()["value"]))


def test_loss_bounds_the_training_error(problem):
    """Equation (6)."""
    state = problem.grown(10)
    error = np.mean(np.sign(state.f + state.bias) != problem.y)
    assert error <= -np.mean(state.log_probability) / np.log(2)


def test_patience_goes_back_to_the_minimum():
    problem = SmallProblem(n=60)
    selector = problem.selector("validation", working_set=10)
    stopping = Stopping(max_size=30, patience=5)
    path = run(selector, stopping)
    values = path.as_array()["value"]
    if path.reason == "patience":
        assert len(path) - stopping.best_size == 5
    assert np.min(values) == stopping.best
