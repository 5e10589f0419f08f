"""Gradients by what `against` has prepared already, a part of it at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.kernels import Constant, Gaussian, Linear, Matern, RationalQuadratic
from greedygp.kernels.stationary import Stationary, StationaryCross
from greedygp.sparse.objectives import SparseObjective

TAKE = [
    Gaussian(1.3, [0.7, 0.9, 1.1]),
    Matern(0.5, 1.3, 0.8),
    Matern(1.5, 1.3, 0.8),
    Matern(2.5, 1.3, [0.7, 0.9, 1.1]),
    RationalQuadratic(1.3, 0.8, 1.5),
]
OTHERS = [
    Gaussian(active_dims=[0, 2]),
    Gaussian() + Constant(),
    Gaussian() * Linear(),
]


class Doubled(Gaussian):
    """Its gradients are its own."""

    def _contracted(self, W, A, B):
        theta_gradient, input_gradient = super()._contracted(W, A, B)
        return 2.0 * theta_gradient, 2.0 * input_gradient


class Tilted(Stationary):
    """A kernel whose cross has an array of its own for the columns."""

    def _cross(self, B):
        return TiltedCross(B, self)


class TiltedCross(StationaryCross):
    def __init__(self, B, kernel):
        super().__init__(B, kernel)
        self.of_columns = np.zeros(len(B))[None, :]

    def __call__(self, A, out=None):
        K = self.product(self.scaled(A), out)
        np.exp(K + self.of_columns, out=K)
        K *= self.variance
        return K

    def weighted(self, W, X):
        H = W * self.variance * np.exp(self.product(X, None) + self.of_columns)
        return {"variance": float(np.sum(H))}, -0.5 * H


def inputs(n=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 3)), rng.normal(size=(n, 3)) + 100.0, rng.normal(size=(7, n))


@pytest.mark.parametrize("kernel", [*TAKE, *OTHERS, Doubled(), Tilted()], ids=repr)
def test_prepared_or_not_is_the_same(kernel):
    A, B, W = inputs()
    A = A + 100.0
    part = slice(5, 33)
    prepared = kernel.against(B).part(part)
    assert (prepared is not None) == (kernel in TAKE or isinstance(kernel, Doubled))
    found = kernel.gradients(W[:, part], A, B[part], prepared=prepared)
    expected = kernel.gradients(W[:, part], A, B[part])
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.max(np.abs(other), initial=1.0))


@pytest.mark.parametrize("kernel", [TAKE[0], Doubled(), Tilted()], ids=repr)
def test_an_objective_of_several_tiles_has_the_kernels_own_gradient(kernel, monkeypatch):
    monkeypatch.setattr("greedygp.sparse.gradient.TILE", 16)
    monkeypatch.setattr("greedygp.sparse.gradient.ENTRIES", 0)
    A, B, _ = inputs(70)
    y = np.sin(B[None, :, 0])
    objective = SparseObjective("nlgpp", B, y, None, approximation="dtc", capacity=7, guard=0.1)
    found = objective(kernel, 0.1, A + 100.0)
    step, way = 1e-5, np.random.default_rng(1).normal(size=A.shape)
    values = [objective.value(kernel, 0.1, A + 100.0 + sign * step * way) for sign in (-1.0, 1.0)]
    slope = (values[1] - values[0]) / (2.0 * step)
    times = 2.0 if isinstance(kernel, Doubled) else 1.0
    assert_allclose(np.sum(found.basis * way), times * slope, rtol=1e-5)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_a_gradient_without_basis(approximation):
    _, B, _ = inputs()
    y = np.sin(B[None, :, 0])
    objective = SparseObjective("nlgpp", B, y, None, approximation=approximation, capacity=4)
    found = objective(TAKE[0], 0.1, np.zeros((0, 3)))
    assert np.isfinite(found.value)
    assert found.basis.shape == (0, 3)
