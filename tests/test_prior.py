"""The priors of kernel and noise: densities, and their slopes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from greedygp.hyperparameters import Evaluation, Point
from greedygp.kernels import Constant, Gaussian, Linear
from greedygp.prior import KernelPrior, NoisePrior

KERNELS = {
    "ARD": Gaussian(2.0, [0.5, 3.0, 1.0]),
    "one length scale": Gaussian(0.7, 2.0),
    "fixed variance": Gaussian(2.0, [0.5, 3.0], fixed="variance"),
    "no length scale": Constant(1.3) + Linear(0.4),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def moved(kernel, seed=0):
    rng = np.random.default_rng(seed)
    return kernel.with_theta(kernel.theta + rng.normal(size=len(kernel.theta)))


@pytest.mark.parametrize("level", [1.1, np.inf])
def test_the_kernels_prior_is_the_density_that_it_says(level):
    """Deviations from the mean, the mean and the variance are normal."""
    kernel = KERNELS["ARD"]
    prior = KernelPrior(kernel, 0.9, level, 1.3)

    def density(other):
        variance, *scales = other.theta - kernel.theta
        found = norm.logpdf(np.array(scales) - np.mean(scales), scale=0.9).sum()
        found += norm.logpdf(variance, scale=1.3)
        return found if np.isinf(level) else found + norm.logpdf(np.mean(scales), scale=level)

    other = moved(kernel)
    assert prior.loss(kernel)[0] == 0.0
    assert_allclose(prior.loss(other)[0], density(kernel) - density(other), rtol=1e-10)


def test_the_noises_prior_is_the_density_that_it_says():
    prior = NoisePrior(1.7, 0.1, 1.9)
    middle, other = (norm.logpdf(np.log(noise / 0.17), scale=1.9) for noise in (0.17, 0.6))
    assert_allclose(prior.loss(0.17)[0], 0.0, atol=1e-12)
    assert_allclose(prior.loss(0.6)[0], middle - other, rtol=1e-10)


@each_kernel
@pytest.mark.parametrize("level", [0.8, np.inf])
def test_slopes_of_the_kernel(kernel, level):
    prior, at, h = KernelPrior(kernel, level=level), moved(kernel), 1e-6
    theta = prior.loss(at)[1]
    for k in range(len(theta)):
        step = h * np.eye(len(theta))[k]
        up, down = (prior.loss(at.with_theta(at.theta + s))[0] for s in (step, -step))
        assert_allclose(theta[k], (up - down) / (2 * h), atol=1e-7)


def test_slope_of_the_noise():
    prior, h = NoisePrior(2.0), 1e-6
    up, down = (prior.loss(0.3 * np.exp(step))[0] for step in (h, -h))
    assert_allclose(prior.loss(0.3)[1], (up - down) / (2 * h), atol=1e-7)


@each_kernel
def test_they_are_added_to_an_objective(kernel):
    at = Point(moved(kernel), 0.3)
    plain = Evaluation(5.0, np.arange(1.0, len(kernel.theta) + 1), -2.0)
    value, theta = KernelPrior(kernel).loss(at.kernel)
    both = KernelPrior(kernel).added_to(lambda point: plain, total=4.0)(at)
    assert both.value == 5.0 + value / 4.0
    assert_allclose(both.theta, plain.theta + theta / 4.0)
    assert both.log_noise == plain.log_noise
    value, slope = NoisePrior(2.0).loss(0.3)
    both = NoisePrior(2.0).added_to(lambda point: plain)(at)
    assert (both.value, both.log_noise) == (5.0 + value, -2.0 + slope)
    assert both.theta is plain.theta


def test_a_factor_of_three_costs_little():
    """For one length scale among many, for all together, for the variance and for the noise."""
    kernel = Gaussian(1.0, np.ones(10))
    for step in (np.eye(11)[3], np.r_[0.0, np.ones(10)], np.eye(11)[0]):
        theta = kernel.theta + np.log(3.0) * step
        assert KernelPrior(kernel).loss(kernel.with_theta(theta))[0] < 0.7
    assert NoisePrior(1.0).loss(0.15)[0] < 0.5
