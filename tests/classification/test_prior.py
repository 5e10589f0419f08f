"""The prior of the default kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from classification.models import data
from greedygp import SparseGPClassifier
from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint
from greedygp.classification.start import default_prior, starting_kernel
from greedygp.kernels import Gaussian

CENTRE = Gaussian(variance=4.0, length_scale=[0.5, 2.0, 7.0])


def moved(shift):
    return CENTRE.with_theta(CENTRE.theta + np.asarray(shift))


def test_it_is_a_normal_density_of_logarithms():
    prior = default_prior(CENTRE)
    assert prior.loss(CENTRE)[0] == 0.0
    assert_allclose(prior.loss(moved([0.6, 0, 0, 0]))[0], 0.5 * (0.6 / 2.0) ** 2)
    deviations = np.array([0.2, -0.2, 0.0])
    expected = 0.5 * np.sum(deviations**2)
    assert_allclose(prior.loss(moved([0.0, *deviations]))[0], expected)
    assert_allclose(prior.loss(moved([0.0, *(deviations + 3.0)]))[0], expected)


def test_its_derivatives():
    prior, at = default_prior(CENTRE), np.array([0.7, -0.4, 1.1, 0.3])
    slope = approx_fprime(at, lambda shift: prior.loss(moved(shift))[0], 1e-6)
    assert_allclose(prior.loss(moved(at))[1], slope, rtol=0, atol=1e-5)


def test_it_is_added_for_every_row():
    prior = default_prior(CENTRE)
    plain = LatentEvaluation(0.3, np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    both = prior.added_to(lambda point: plain, 20.0)(LatentPoint(moved([0.1, 0.2, 0.0, 0.0]), 0.0))
    value, theta = prior.loss(moved([0.1, 0.2, 0.0, 0.0]))
    assert both.value == 0.3 + value / 20.0
    assert_allclose(both.theta, plain.theta + theta / 20.0, rtol=1e-12)
    assert both.bias == 0.5
    assert plain.value == 0.3


@pytest.mark.parametrize("given", [False, True])
def test_separable_classes_do_not_let_the_variance_run_away(given):
    """By the evidence alone it grows to its bound; so it does where the user gives the kernel."""
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    y = (X[:, 0] > 0.0).astype(int)
    kernel = starting_kernel(X, None) if given else None
    model = SparseGPClassifier(kernel=kernel, random_state=0).fit(X, y)
    assert (model.kernel_.variance > 500.0) == given


def test_units_do_not_matter():
    X, y = data(60)
    a = SparseGPClassifier(random_state=0).fit(X, y)
    b = SparseGPClassifier(random_state=0).fit(X * [1e3, 1e-3], y)
    assert_allclose(b.predict_proba(X * [1e3, 1e-3]), a.predict_proba(X), rtol=0, atol=1e-4)
