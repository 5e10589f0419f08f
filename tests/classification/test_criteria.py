"""Who is proposed, and what a candidate is worth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from classification.problems import SmallProblem, full_sites
from greedygp.classification.criteria import CRITERIA
from greedygp.greedy import Stopping, run
from reference.classification import (
    gaussian_kernel,
    kl_of_marginals,
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
    model = problem.model(criterion)
    run(model, Stopping(max_size=4))
    index, score = model.candidates()
    _, f, A = dense(problem, model.state)
    scores = {}
    for i in np.flatnonzero(model.state.outside):
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


@pytest.mark.parametrize("weights", [False, True])
def test_the_most_violated_row(weights):
    """The least `Phi(y (f + b) / sqrt(1 + A_ii))` outside the basis, with f and A from scratch."""
    problem = SmallProblem(weights=weights)
    model = problem.model("violated")
    run(model, Stopping(max_size=4))
    index, score = model.candidates()
    _, f, A = dense(problem, model.state)
    z = problem.y * (f + problem.bias) / np.sqrt(1.0 + np.diag(A))
    outside = np.flatnonzero(model.state.outside)
    best = outside[np.argmin(z[outside])]
    assert index.tolist() == [best]
    assert_allclose(score, [log_ndtr(z[best])], rtol=1e-6)


@pytest.mark.parametrize("criterion", ["validation", "adaptive", "random"])
def test_predictive_criteria(criterion):
    problem = SmallProblem()
    model = problem.model(criterion, working_set=6)
    run(model, Stopping(max_size=4))
    index, score = model.candidates()
    assert len(index) == len(set(index)) == 6
    assert np.all(model.state.outside[index])
    K, f, A = dense(problem, model.state)
    for i, got in zip(index, score):
        means, precisions = full_sites(model.state)
        means[i], precisions[i] = matching_site(f[i], A[i, i], problem.y[i], problem.bias)
        rows = model.state.outside.copy() if criterion != "adaptive" else np.ones(30, bool)
        rows[i] = criterion == "adaptive"
        expected = nlp(*posterior(K, means, precisions), problem.y, problem.bias, rows)
        assert_allclose(got, expected, rtol=1e-6)
    value = model.add(int(index[0]))
    assert value == model.state.loo_loss()


def test_adaptive_draws_by_the_chance_of_error():
    problem = SmallProblem()
    model = problem.model("adaptive", working_set=1)
    run(model, Stopping(max_size=5))
    chance = (1 - np.exp(model.state.log_probability)) * model.state.outside
    counts = np.zeros(30)
    for _ in range(4000):
        counts[CRITERIA["adaptive"].propose(model.state, 1, model.rng)] += 1
    assert_allclose(counts / 4000, chance / chance.sum(), atol=0.03)
    assert np.all(counts[model.state.indices] == 0)


def test_adaptive_when_every_row_is_certain():
    state = SmallProblem().state()
    state._log_probability = np.zeros(30)
    drawn = CRITERIA["adaptive"].propose(state, 3, np.random.default_rng(0))
    assert len(set(drawn)) == 3
