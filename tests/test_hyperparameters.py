"""Hyperparameters of a regression as points: what a common factor of kernel and noise does."""

import numpy as np
import pytest

from greedygp.hyperparameters import Point, rescaled
from greedygp.kernels import Gaussian


def test_a_common_factor_of_kernel_and_noise():
    X, basis = np.linspace(0, 1, 5)[:, None], np.array([[0.5]])
    point = Point(Gaussian(2.0, 0.3), 0.1, basis)
    scaled = rescaled(point, 3.0)
    np.testing.assert_allclose(scaled.kernel(X), 3.0 * point.kernel(X), rtol=1e-12)
    assert scaled.noise_variance == pytest.approx(0.3)
    assert scaled.basis is basis
    assert point.noise_variance == 0.1


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_a_factor_that_is_no_positive_number(factor):
    assert rescaled(Point(Gaussian(2.0, 0.3), 0.1), factor) is None


def test_bounds_and_kernels_without_a_scale_forbid_it():
    bounded = Gaussian(2.0, 0.3, variance_bounds=(1.0, 4.0))
    assert rescaled(Point(bounded, 0.1), 1.5) is not None
    assert rescaled(Point(bounded, 0.1), 3.0) is None
    assert rescaled(Point(Gaussian(2.0, 0.3, fixed="variance"), 0.1), 1.5) is None
