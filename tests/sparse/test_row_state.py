"""The rows' state in blocks: what is taken from the data, whitening, room for a basis."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.arrays import Backend
from greedygp.kernels import Gaussian
from greedygp.rows import RowBlock
from greedygp.sparse.row_state import SparseRows

KERNEL = Gaussian(variance=1.3, length_scale=0.6)


def rows(weights=True, dtype=np.float64, keep_v=True):
    """Return rows 3 to 7 of ten."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 2)).astype(dtype), rng.normal(size=(3, 10)).astype(dtype)
    weight = rng.uniform(0.5, 2.0, size=10).astype(dtype) if weights else None
    block = RowBlock(number=1, start=3, stop=8)
    made = SparseRows.of(block, Backend(X), X, y, weight, capacity=4, keep_v=keep_v)
    made.set_kernel(KERNEL)
    made.clear()
    made.whiten(np.linspace(0.1, 0.5, 5))
    return made, X[3:8], y[:, 3:8], None if weight is None else weight[3:8]


def test_a_part_of_the_data():
    made, X, y, weight = rows()
    assert (made.number, made.start, made.stop, made.width) == (1, 3, 8, 5)
    assert_array_equal(made.X, X)
    assert_array_equal(made.y, y)
    assert_array_equal(made.weight, weight)
    assert made.Z.shape == made.V.shape == (4, 5)
    assert_allclose(made.prior, 1.3)
    assert_allclose(made.cross(X[:2]), KERNEL(X[:2], X))
    assert made.fit.shape == (3, 5)
    for array in (made.fit, made.leverage, made.explained):
        assert not np.any(array)
    assert rows(keep_v=False)[0].V is None


@pytest.mark.parametrize("weights", [False, True])
def test_whitening(weights):
    made, _, y, weight = rows(weights)
    expected = np.sqrt((1.0 if weight is None else weight) / np.linspace(0.1, 0.5, 5))
    assert_allclose(made.scale, expected)
    assert_allclose(made.yt, y * expected)
    assert_allclose(made.weights, np.ones(5) if weight is None else weight)
    assert_allclose(made.weighted_sum(np.arange(5.0)), np.sum(made.weights * np.arange(5.0)))


def test_what_goes_into_products_has_the_dtype_of_the_data():
    made = rows(dtype=np.float32)[0]
    assert {made.X.dtype, made.Z.dtype, made.row_scale.dtype, made.row_yt.dtype} == {
        np.dtype(np.float32)
    }
    exact = (made.y, made.weight, made.prior, made.scale, made.yt, made.fit, made.leverage)
    assert {array.dtype for array in exact} == {np.dtype(np.float64)}


def test_unexplained():
    made = rows()[0]
    made.explained = 0.5 * made.prior * made.scale**2
    assert_allclose(made.unexplained, 0.5 * made.prior)


def test_room_of_its_own():
    made = rows()[0]
    made.Z[:], made.V[:] = 1.0, 2.0
    other = made.with_room(7)
    other.Z[:], other.V[:] = 3.0, 4.0
    assert other.Z.shape == other.V.shape == (7, 5)
    assert other.X is made.X
    assert np.all(made.Z == 1.0)
    assert np.all(made.V == 2.0)
    assert rows(keep_v=False)[0].with_room(7).V is None
