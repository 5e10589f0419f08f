"""What is read off fitted models of any family."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedygp import SparseGPRegressor
from greedygp.fitted import estimator_of, relevance
from greedygp.kernels import Constant, Gaussian, Linear, Matern


class WithKernel:
    def __init__(self, kernel):
        self.kernel_ = kernel


def slope_variance(kernel, D, k, h=1e-4):
    """Prior variance of the slope along feature k, by differences of the kernel."""
    a, b = np.zeros((1, D)), np.zeros((1, D))
    a[0, k], b[0, k] = h, -h
    gram = kernel(np.vstack([a, b]))
    return (gram[0, 0] + gram[1, 1] - 2 * gram[0, 1]) / (2 * h) ** 2


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.0, [0.5, 1.0, 4.0]),
        Gaussian(2.0, [0.5, 1.0, 4.0]) + Linear(0.7) + Constant(3.0),
        Gaussian(1.0, [0.5, 1.0, 4.0]) + Gaussian(0.3, [3.0, 0.2, 1.0]),
    ],
    ids=repr,
)
def test_relevance_is_the_slope(kernel):
    expected = np.sqrt([slope_variance(kernel, 3, k) for k in range(3)])
    np.testing.assert_allclose(relevance(WithKernel(kernel)), expected / expected.max(), rtol=1e-3)


def test_relevance_with_scales_and_without():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 10.0]
    found = relevance(WithKernel(Matern(nu=1.5, length_scale=[1.0, 10.0])), X)
    np.testing.assert_allclose(found, X.std(axis=0) / [1, 10] / max(X.std(axis=0) / [1, 10]))
    assert relevance(WithKernel(Gaussian())) is None
    assert relevance(WithKernel(None)) is None
    several = [Gaussian(1.0, [1.0, 2.0]), Gaussian(1.0, [2.0, 1.0])]
    np.testing.assert_allclose(relevance(WithKernel(several)), [1.0, 1.0])


def test_estimator_inside():
    model = SparseGPRegressor()
    assert estimator_of(make_pipeline(StandardScaler(), model)) is model
