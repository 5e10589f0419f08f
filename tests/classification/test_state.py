"""The incremental posterior against the dense one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem, full_sites
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.state import ClassificationState
from greedygp.kernels import Constant, Gaussian, Linear
from reference.classification import gaussian_kernel, leave_one_out_nlp, posterior


def append(state, index, mean=None, precision=None):
    """Append a row with the site of moment matching, or a given one."""
    if mean is None:
        moments = state.moments(np.array([index]))
        mean, precision = moments.site_mean[0], moments.site_precision[0]
    state.append(index, mean, precision, state.columns(np.array([index]))[0])


def assert_dense(state, K, tol=1e-8):
    f, A = posterior(K, *full_sites(state))
    assert_allclose(state.f, f, atol=tol, rtol=tol)
    assert_allclose(state.a, np.diag(A), atol=tol, rtol=tol)
    m, n = state.size, len(state.y)
    assert_allclose(K - state.M[:m].T @ state.M[:m], A, atol=tol * K.max())
    root = np.sqrt(state.sites[1])
    inner = np.eye(m) + root[:, None] * K[np.ix_(state.indices, state.indices)] * root
    assert_allclose(state.L.lower @ state.L.lower.T, inner, atol=tol * max(1, inner.max()))
    assert state.outside.sum() == n - m


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_every_step_is_the_dense_posterior(order, weights):
    problem = SmallProblem(weights=weights)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    state = problem.state()
    for index in np.random.default_rng(order).permutation(30):
        append(state, index)
        assert_dense(state, K)


@pytest.mark.parametrize(
    ("variance", "length_scale"),
    [(1e4, 0.5), (1e-6, 0.5), (100.0, 50.0), (3.0, 1e-3), (1e6, 100.0)],
)
def test_ill_conditioned(variance, length_scale):
    problem = SmallProblem(variance=variance, length_scale=length_scale)
    K = gaussian_kernel(problem.X, problem.X, variance, length_scale)
    state = problem.state()
    for index in range(30):
        append(state, index)
    f, A = posterior(K, *full_sites(state))
    assert_allclose(state.f, f, atol=1e-7 * np.sqrt(variance) + 1e-9)
    assert_allclose(state.a, np.diag(A), atol=1e-9 * variance)
    assert np.all(state.a >= 0)


@pytest.mark.parametrize("precision", [1e-8, 1.0, 1e6])
def test_given_sites(problem, precision):
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    state = problem.state()
    for index in (4, 9, 2, 17):
        append(state, index, 0.7, precision)
    assert_dense(state, K, 1e-7)


def test_duplicate_rows():
    problem = SmallProblem()
    problem.X[1], problem.X[2] = problem.X[0], problem.X[0]
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    state = problem.state()
    for index in (0, 1, 2, 5):
        append(state, index)
        assert_dense(state, K)


def test_one_row():
    data = LabelledRows(np.zeros((1, 1)), np.ones(1))
    state = ClassificationState(LatentPoint(Gaussian(), 0.0), data, capacity=1)
    append(state, 0)
    assert_dense(state, np.ones((1, 1)))


def test_rebuild_and_truncate(problem):
    state = problem.grown(12)
    f, a, M = state.f.copy(), state.a.copy(), state.M[:12].copy()
    state.rebuild()
    for kept, again in ((f, state.f), (a, state.a), (M, state.M[:12])):
        assert_allclose(again, kept, atol=1e-10)
    eight = problem.grown(8)
    state.truncate(8)
    assert state.indices == eight.indices
    assert_allclose(state.f, eight.f, atol=1e-10)
    assert_allclose(state.log_probability, eight.log_probability, atol=1e-10)
    append(state, int(np.flatnonzero(state.outside)[0]))
    assert_dense(state, gaussian_kernel(problem.X, problem.X, 3.0, 0.8))
    state.truncate(0)
    assert_allclose(state.f, 0.0)
    assert_allclose(state.a, 3.0)


def test_many_columns_are_columns_of_the_posterior(problem):
    state = problem.grown(7)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    _, A = posterior(K, *full_sites(state))
    index = np.array([3, 11, 0, 29])
    assert_allclose(state.columns(index), A[index], atol=1e-12)
    assert_allclose(state.columns(index[:1]), A[index[:1]], atol=1e-12)


def test_kernels_without_a_constant_diagonal():
    problem = SmallProblem()
    problem.kernel = Linear(2.0) + Constant(0.5)
    K = 2.0 * problem.X @ problem.X.T + 0.5
    state = problem.state()
    for index in range(8):
        append(state, index)
        assert_dense(state, K)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("m", [1, 9, 30])
def test_leave_one_out_loss(m, weights):
    problem = SmallProblem(weights=weights)
    state = problem.grown(m)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    expected = leave_one_out_nlp(K, *full_sites(state), problem.y, problem.bias, problem.weights)
    assert_allclose(state.loo_loss(), expected, rtol=1e-8)


def test_loss_bounds_the_training_error(problem):
    """Equation (6)."""
    state = problem.grown(10)
    error = np.mean(np.sign(state.f + state.bias) != problem.y)
    assert error <= -np.mean(state.log_probability) / np.log(2)
