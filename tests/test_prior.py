"""The prior of kernel and noise: a density, and its slopes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from greedygp.hyperparameters import Evaluation, Point
from greedygp.kernels import Constant, Gaussian, Linear
from greedygp.prior import NOISE_SHARE, HyperparameterPrior

KERNELS = {
    "ARD": Gaussian(2.0, [0.5, 3.0, 1.0]),
    "one length scale": Gaussian(0.7, 2.0),
    "fixed variance": Gaussian(2.0, [0.5, 3.0], fixed="variance"),
    "no length scale": Constant(1.3) + Linear(0.4),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def moved(kernel, seed=0):
    rng = np.random.default_rng(seed)
    return Point(kernel.with_theta(kernel.theta + rng.normal(size=len(kernel.theta))), 0.3)


def test_it_is_the_density_that_it_says():
    """Deviations from the mean, the mean, the variance and the noise are normal."""
    kernel = KERNELS["ARD"]
    prior = HyperparameterPrior(kernel, 1.7, 0.9, 1.1, 1.3, 1.9)

    def density(point):
        variance, *scales = point.kernel.theta - kernel.theta
        apart = np.array(scales) - np.mean(scales)
        noise = np.log(point.noise_variance) - np.log(NOISE_SHARE * 1.7)
        return (
            norm.logpdf(apart, scale=0.9).sum()
            + norm.logpdf(np.mean(scales), scale=1.1)
            + norm.logpdf(variance, scale=1.3)
            + norm.logpdf(noise, scale=1.9)
        )

    start, other = Point(kernel, NOISE_SHARE * 1.7), moved(kernel)
    assert_allclose(prior.loss(start)[0], 0.0, atol=1e-12)
    assert_allclose(prior.loss(other)[0], density(start) - density(other), rtol=1e-10)


@each_kernel
def test_slopes(kernel):
    prior, at, h = HyperparameterPrior(kernel, 2.0), moved(kernel), 1e-6
    _, theta, log_noise = prior.loss(at)

    def value(step, noise=0.0):
        return prior.loss(
            Point(at.kernel.with_theta(at.kernel.theta + step), at.noise_variance * np.exp(noise))
        )[0]

    for k in range(len(theta)):
        step = h * np.eye(len(theta))[k]
        assert_allclose(theta[k], (value(step) - value(-step)) / (2 * h), atol=1e-7)
    zero = np.zeros(len(theta))
    assert_allclose(log_noise, (value(zero, h) - value(zero, -h)) / (2 * h), atol=1e-7)


@each_kernel
def test_it_is_added_to_an_objective(kernel):
    prior, at = HyperparameterPrior(kernel, 2.0), moved(kernel)
    plain = Evaluation(5.0, np.arange(1.0, len(kernel.theta) + 1), -2.0)
    both = prior.added_to(lambda point: plain)(at)
    value, theta, log_noise = prior.loss(at)
    assert both.value == 5.0 + value
    assert_allclose(both.theta, plain.theta + theta)
    assert both.log_noise == -2.0 + log_noise


def test_a_factor_of_three_costs_little():
    """For one length scale among many, for all together, for the variance and for the noise."""
    kernel = Gaussian(1.0, np.ones(10))
    prior = HyperparameterPrior(kernel, 1.0)
    for step in (np.eye(11)[3], np.r_[0.0, np.ones(10)], np.eye(11)[0]):
        theta = kernel.theta + np.log(3.0) * step
        assert prior.loss(Point(kernel.with_theta(theta), NOISE_SHARE))[0] < 0.7
    assert prior.loss(Point(kernel, 3 * NOISE_SHARE))[0] < 0.5
