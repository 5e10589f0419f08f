"""Hyperparameters of a regression as points: what a common factor of kernel and noise does."""

import numpy as np
import pytest

from greedygp.hyperparameters import Evaluation, Point, moving_parts, rescaled
from greedygp.kernels import Categorical, Gaussian


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


def test_basis_inputs_move_except_along_categories():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(4, 3))
    kernel = Gaussian(active_dims=[0, 2]) * Categorical(active_dims=1)
    start = Point(kernel, 0.1, basis)
    box, units = np.array([[-5.0] * 3, [5.0] * 3]), np.array([1.0, 2.0, 4.0])
    coordinates = moving_parts(start, 1.0, noise=False, basis_box=box, basis_units=units)
    x = coordinates.vector(start)
    assert len(x) == len(coordinates.bounds()) == len(kernel.theta) + 4 * 2
    np.testing.assert_allclose(coordinates.point(x).basis, basis)
    moved = coordinates.point(x + 1.0).basis  # a step of one is a tenth of a unit
    np.testing.assert_allclose(moved - basis, 0.1 * np.tile([1.0, 0.0, 4.0], (4, 1)), atol=1e-12)
    slopes = rng.normal(size=(4, 3))
    found = coordinates.gradient(Evaluation(0.0, np.zeros(len(kernel.theta)), 0.0, slopes))
    np.testing.assert_allclose(
        found[len(kernel.theta) :], 0.1 * (slopes * units)[:, [0, 2]].reshape(-1)
    )
