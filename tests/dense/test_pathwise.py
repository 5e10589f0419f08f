"""Samples of the posterior from samples of the prior, against the joint Gaussian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dense.posteriors import new_inputs, posterior
from greedygp import GPRegressor
from greedygp.dense import pathwise as module
from greedygp.dense.pathwise import pathwise_samples, prior_samples
from greedygp.kernels import Gaussian, Linear

MANY = 20_000


def draws(fitted, X, count=MANY, seed=0):
    return np.asarray(pathwise_samples(fitted, X, count, np.random.RandomState(seed)))


def assert_moments(samples, mean, covariance):
    """Of lines of many samples, to about four standard errors."""
    largest = np.max(np.diag(covariance))
    error = np.sqrt(largest / samples.shape[1])
    assert_allclose(samples.mean(axis=1), mean, rtol=0, atol=4 * error)
    assert_allclose(np.cov(samples), covariance, rtol=0, atol=6 * largest / np.sqrt(MANY))


@pytest.mark.parametrize("solver", ["cholesky", "pcg", "gbcd"])
@pytest.mark.parametrize("options", [{}, {"p": 2, "weighted": True}, {"duplicates": True}])
def test_moments_are_those_of_the_joint_gaussian(Problem, solver, options):
    problem, X = Problem(n=24, **options), new_inputs(4)
    mean, covariance = problem.dense().predict(X)
    samples = draws(posterior(problem, solver), X)
    assert samples.shape == (4, problem.p, MANY)
    for target in range(problem.p):
        assert_moments(samples[:, target], mean[:, target], covariance)


def test_targets_are_drawn_independently(Problem):
    samples = draws(posterior(Problem(n=24, p=2), "cholesky"), new_inputs(1))
    assert abs(np.corrcoef(samples[0])[0, 1]) < 4 / np.sqrt(MANY)


def test_any_kernel(Problem):
    problem, X = Problem(n=24, kernel=Linear([0.7, 1.4]) + Gaussian(0.5, 0.4)), new_inputs(3)
    mean, covariance = problem.dense().predict(X)
    assert_moments(draws(posterior(problem, "cholesky"), X)[:, 0], mean[:, 0], covariance)


def test_the_prior_keeps_its_variances_whatever_the_rank(Problem, monkeypatch):
    """What a factor of low rank leaves is drawn row by row."""
    monkeypatch.setattr(module, "LEAST_RANK", 3)
    monkeypatch.setattr(module, "default_rank", lambda n, share: 3)
    problem, X = Problem(n=24), new_inputs(3)
    drawn = prior_samples(posterior(problem, "cg"), X, MANY, np.random.default_rng(0))
    assert drawn.shape == (MANY, 27)
    assert_allclose(drawn.var(axis=0), 1.3, rtol=0.06)
    both = np.concatenate([problem.X, X])
    whole = problem.kernel(both)
    assert np.linalg.norm(np.cov(drawn.T) - whole) < 0.7 * np.linalg.norm(whole - 1.3 * np.eye(27))


def test_the_same_seed_gives_the_same_samples(Problem):
    fitted, X = posterior(Problem(n=24), "gbcd"), new_inputs(5)
    assert_array_equal(draws(fitted, X, 3), draws(fitted, X, 3))
    assert not np.array_equal(draws(fitted, X, 3), draws(fitted, X, 3, seed=1))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_draw_the_same(Problem, library):
    xp = pytest.importorskip(library)
    problem, X = Problem(n=24), new_inputs(5)
    expected = draws(posterior(problem, "pcg", tol=1e-9), X, 3)
    fitted = posterior(problem, "pcg", tol=1e-9, to=xp.asarray)
    assert_allclose(draws(fitted, xp.asarray(X), 3), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("noise", [False, True])
def test_of_the_estimator(targets, noise):
    """In the units of y; the two ways of drawing agree."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    y = 100 + 10 * np.sin(5 * X[:, 0]) + rng.normal(size=40)
    y = y if targets == 1 else np.stack([y, -2 * y], axis=1)
    model = GPRegressor(kernel=Gaussian(1.0, 0.5), noise_variance=0.05, objective=None).fit(X, y)
    new = rng.uniform(size=(3, 2))
    ways = [model.sample_y(new, 4000, 0, noise=noise, pathwise=way) for way in (False, True)]
    assert ways[0].shape == ways[1].shape
    spread = ways[0].std(axis=-1)
    assert_allclose(ways[1].mean(axis=-1), ways[0].mean(axis=-1), atol=0.1 * np.max(spread))
    assert_allclose(ways[1].std(axis=-1), spread, rtol=0.1)


def test_bad_input():
    model = GPRegressor(kernel=Gaussian(), noise_variance=0.1, objective=None)
    model.fit(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_y(np.zeros((1, 2)), 0, pathwise=True)
    with pytest.raises(ValueError, match="features"):
        model.sample_y(np.zeros((1, 3)), pathwise=True)
