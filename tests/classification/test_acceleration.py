"""Anderson's acceleration on iterations whose fixed point is known."""

import numpy as np
import pytest

from greedygp.classification.acceleration import Anderson


def passes(residual, x, step=1.0, most=200, tol=1e-10):
    """Return how many steps it took, and where they led."""
    search, scale = Anderson(step), np.ones(len(x))
    for made in range(most):
        r = residual(x)
        if np.max(np.abs(r)) < tol:
            return made, x
        x = search.next(x, r, scale)
    return most, x


def linear(eigenvalues, seed=0):
    """Return `x -> (target - x) A` with these eigenvalues of A, and the target."""
    rng = np.random.default_rng(seed)
    n = len(eigenvalues)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A, target = Q @ np.diag(eigenvalues) @ Q.T, rng.normal(size=n)
    return lambda x: (target - x) @ A, target


def test_a_linear_iteration_ends_when_its_dimensions_are_known():
    residual, target = linear([0.2, 0.5, 1.0, 1.4])
    made, x = passes(residual, np.zeros(4))
    assert made <= 6
    np.testing.assert_allclose(x, target, atol=1e-9)


def test_an_iteration_that_diverges_by_itself():
    """Plain steps multiply the error by up to -2."""
    residual, target = linear([0.1, 0.4, 1.0, 2.0, 3.0, 2.5, 0.7, 1.6])
    made, x = passes(residual, np.zeros(8))
    assert made < 60
    np.testing.assert_allclose(x, target, atol=1e-8)


@pytest.mark.parametrize("start", [-3.0, 0.5, 4.0])
def test_a_curved_iteration(start):
    """x = cos x, and in units in which the entries differ by far."""
    made, x = passes(lambda x: np.cos(x) - x, np.full(3, start))
    assert made < 20
    np.testing.assert_allclose(np.cos(x), x, atol=1e-9)


def test_a_residual_that_is_not_finite_leads_back_to_the_best():
    search, scale = Anderson(), np.ones(2)
    first = search.next(np.zeros(2), np.ones(2), scale)
    np.testing.assert_allclose(first, 1.0)
    back = search.next(first, np.array([np.nan, 1.0]), scale)
    np.testing.assert_allclose(back, 0.5)


def test_nothing_is_left_to_do():
    search, scale = Anderson(), np.ones(2)
    x = search.next(np.zeros(2), np.zeros(2), scale)
    np.testing.assert_allclose(search.next(x, np.zeros(2), scale), 0.0)
