"""The evidence of a full GP against its definition, and its gradient against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from full_gp_problem import KERNELS, data
from greedygp.full_gp import evidence, evidence_value, factor_and_solve


@pytest.fixture(autouse=True)
def serial_blas():
    """Matrices this small are not worth a second thread."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_value_is_the_density_of_the_targets(kernel, p):
    X, y = data(p=p)
    density = multivariate_normal(cov=kernel(X) + 0.05 * np.eye(len(X)))
    expected = -sum(density.logpdf(column) for column in y.T)
    assert_allclose(evidence(kernel, 0.05, X, y, None).value, expected, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gradient_is_that_of_the_value(kernel, p, weighted):
    X, y = data(p=p)
    weights = np.random.default_rng(3).uniform(0.3, 2.5, size=len(X)) if weighted else None
    noise, h = 0.05, 1e-5

    def value(theta, log_noise):
        return evidence(kernel.with_theta(theta), np.exp(log_noise), X, y, weights).value

    found = evidence(kernel, noise, X, y, weights)
    assert evidence_value(kernel, noise, X, y, weights) == found.value
    d_theta, d_noise = found.theta, found.log_noise
    theta, log_noise = kernel.theta, np.log(noise)
    assert d_theta.shape == theta.shape
    for i, step in enumerate(h * np.eye(len(theta))):
        slope = (value(theta + step, log_noise) - value(theta - step, log_noise)) / (2 * h)
        assert_allclose(d_theta[i], slope, rtol=1e-6, atol=1e-6)
    slope = (value(theta, log_noise + h) - value(theta, log_noise - h)) / (2 * h)
    assert_allclose(d_noise, slope, rtol=1e-6, atol=1e-6)


def test_a_weight_repeats_the_row():
    X, y = data()
    copies = np.random.default_rng(1).integers(1, 4, size=len(X))
    kernel = KERNELS["ARD Gaussian"]
    weighted = evidence(kernel, 0.05, X, y, copies.astype(float))
    rows = np.repeat(np.arange(len(X)), copies)
    repeated = evidence(kernel, 0.05, X[rows], y[rows], None)
    for part in ("value", "theta", "log_noise"):
        assert_allclose(getattr(weighted, part), getattr(repeated, part), rtol=1e-8)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3.0, 25)])
def test_the_factor_is_that_of_the_noisy_kernel_matrix(weights):
    X, y = data()
    kernel = KERNELS["ARD Gaussian"]
    C = kernel(X) + 0.05 * np.diag(1.0 / (np.ones(25) if weights is None else weights))
    L, A = factor_and_solve(kernel, 0.05, X, y, weights)
    assert_allclose(np.tril(L) @ np.tril(L).T, C, rtol=1e-12, atol=1e-12)
    assert_allclose(C @ A, y, rtol=1e-9, atol=1e-10)
