"""Moments of the probit likelihood and the sites that match them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from greedygp.classification.sites import mills, probit_moments
from reference.classification import matching_site, tilted_moments


def one(mean, variance, y, bias=0.2, weight=None):
    weights = None if weight is None else np.array([weight])
    return probit_moments(np.array([mean]), np.array([variance]), np.array([y]), bias, weights)


@pytest.mark.parametrize("weight", [None, 0.1, 0.5, 1.0, 2.0, 7.3])
@pytest.mark.parametrize("y", [1.0, -1.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (1.5, 0.01), (-2.0, 9.0), (3.0, 40.0)])
def test_moments_are_the_integrals(mean, variance, y, weight):
    moments = one(mean, variance, y, weight=weight)
    log_z, new_mean, new_variance = tilted_moments(mean, variance, y, 0.2, weight or 1.0)
    assert_allclose(moments.log_z[0], log_z, rtol=1e-7, atol=1e-9)
    assert_allclose(mean + variance * moments.alpha[0], new_mean, rtol=1e-6, atol=1e-7)
    assert_allclose(variance * moments.shrinkage[0], new_variance, rtol=1e-6)
    assert_allclose(moments.shrinkage[0], 1 - variance * moments.nu[0], atol=1e-9)


@pytest.mark.parametrize("weight", [1.0, 0.4, 3.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.3, 1.0), (-1.0, 4.0)])
def test_the_site_gives_the_moments(mean, variance, weight):
    moments = one(mean, variance, -1.0, weight=weight)
    site_mean, precision = matching_site(mean, variance, -1.0, 0.2, weight)
    assert_allclose(moments.site_precision[0], precision, rtol=1e-5)
    assert_allclose(moments.site_mean[0], site_mean, rtol=1e-5)


def test_derivatives_of_log_z():
    step = 1e-4
    for weight in (None, 0.7, 2.0):
        at = [one(0.4 + shift, 2.0, 1.0, weight=weight) for shift in (-step, 0.0, step)]
        log_z = [moments.log_z[0] for moments in at]
        assert_allclose(at[1].alpha[0], (log_z[2] - log_z[0]) / (2 * step), rtol=1e-6)
        curvature = -(log_z[2] - 2 * log_z[1] + log_z[0]) / step**2
        assert_allclose(at[1].nu[0], curvature, rtol=1e-5)


@pytest.mark.parametrize("z", [-1e9, -1e5, -250.0, -199.0, -30.0, -1.0, 0.0, 5.0, 40.0, 1e6])
def test_far_out_points(z):
    mean = np.array([z])
    moments = probit_moments(mean, np.ones(1), np.ones(1), 0.0)
    for name in ("log_z", "alpha", "nu", "shrinkage", "site_mean", "site_precision"):
        assert np.all(np.isfinite(getattr(moments, name))), name
    assert 0.0 <= moments.site_precision[0] <= 1.0
    assert 0.5 - 1e-12 <= moments.shrinkage[0] <= 1.0
    assert moments.site_mean[0] >= z


def test_series_and_differences_meet():
    r, gap, rest = mills(np.array([-200.0 * (1 + 1e-9), -200.0 * (1 - 1e-9)]))
    assert_allclose(r[0], r[1], rtol=1e-8)
    assert_allclose(gap[0], gap[1], rtol=1e-8)
    assert_allclose(rest[0], rest[1], rtol=1e-6)


def test_mills_is_the_derivative_of_log_ndtr():
    z = np.linspace(-50, 8, 59)
    step = 1e-5
    r, gap, rest = mills(z)
    slope = (log_ndtr(z + step) - log_ndtr(z - step)) / (2 * step)
    assert_allclose(r, slope, rtol=1e-6, atol=1e-12)
    assert_allclose(gap, r + z, atol=1e-10)
    assert_allclose(rest, 1 - r * gap, atol=1e-10)


def test_large_variances_keep_the_precision_below_one():
    moments = probit_moments(np.zeros(3), np.array([1e6, 1e12, 1e18]), np.ones(3), 0.0)
    assert_allclose(
        moments.site_precision,
        2 / np.pi / (1e-12 + (1 - 2 / np.pi) * np.array([1e6, 1e12, 1e18])),
        rtol=1e-5,
    )


def test_a_weight_of_one_is_no_weight():
    rng = np.random.default_rng(0)
    mean, y = rng.normal(size=5), np.array([1.0, -1, 1, -1, 1])
    plain = probit_moments(mean, np.full(5, 2.0), y, 0.1)
    weighted = probit_moments(mean, np.full(5, 2.0), y, 0.1, np.array([1.0, 1, 1, 1, 2]))
    assert_allclose(weighted.site_mean[:4], plain.site_mean[:4], rtol=0)
    close = probit_moments(mean, np.full(5, 2.0), y, 0.1, np.full(5, 1.0 + 1e-9))
    assert_allclose(close.site_precision, plain.site_precision, rtol=1e-6)


@pytest.mark.parametrize("weight", [0.01, 0.5, 3.0, 100.0])
def test_far_out_points_with_weights(weight):
    """Weighted moments stay finite and in order from one end to the other."""
    mean = np.array([-1e6, -300.0, -20.0, 0.0, 3.0, 20.0, 60.0])
    for variance in (1e-8, 0.5, 4.0, 1e4):
        ones = np.ones(len(mean))
        moments = probit_moments(mean, variance * ones, ones, 0.0, weight * ones)
        for name in ("log_z", "alpha", "nu", "shrinkage", "site_mean", "site_precision"):
            assert np.all(np.isfinite(getattr(moments, name))), name
        assert np.all(moments.site_precision >= 0)
        assert np.all(np.abs(moments.site_mean) < 1e12)
        assert np.all(np.diff(moments.log_z) >= 0)
