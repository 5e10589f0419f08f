"""BLAS's routines on NumPy's arrays: any layout, or False with nothing done."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp import blas
from greedygp.triangular import add_product_in_place
from tolerances import assert_close


@pytest.fixture(params=["routine", "wrapper"])
def way(request, monkeypatch):
    """With BLAS's routines, and where they are not to be had."""
    if request.param == "wrapper":
        monkeypatch.setattr(blas, "_routine", lambda name: None)
    return request.param


def stored(matrix, how):
    """Return the same matrix as it may lie in memory."""
    if how == "fortran":
        return np.asfortranarray(matrix)
    if how == "part":
        wide = np.full(tuple(np.array(matrix.shape) + 3), 4.0)
        wide[1:-2, 2:-1] = matrix
        return wide[1:-2, 2:-1]
    if how == "every other":
        return np.repeat(matrix, 2, axis=1)[:, ::2]
    if how == "backwards":
        return np.ascontiguousarray(matrix[::-1])[::-1]
    return np.ascontiguousarray(matrix)


LAYOUTS = ["plain", "fortran", "part", "every other", "backwards"]
SHAPES = [(5, 3, 7), (1, 3, 7), (5, 1, 7), (5, 3, 1), (1, 1, 1), (40, 30, 300)]


class TestAddProduct:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=2)))
    def test_against_numpy(self, way, layouts, shape):
        rng = np.random.default_rng(0)
        m, k, width = shape
        left = stored(rng.normal(size=(m, k)), layouts[0])
        right = stored(rng.normal(size=(k, width)), layouts[1])
        out = rng.normal(size=(m, width))
        expected = 0.5 * out - 2.0 * (left @ right)
        add_product_in_place(out, left, right, factor=-2.0, times=0.5)
        assert_close(out, expected, size=k)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_where_it_is_added_to(self, way, layout):
        rng = np.random.default_rng(0)
        left, right = rng.normal(size=(5, 3)), rng.normal(size=(3, 7))
        out = stored(np.ones((5, 7)), layout)
        add_product_in_place(out, left, right)
        assert_close(out, 1.0 + left @ right)

    def test_only_that_part_changes(self, way):
        wide = np.full((8, 20), 4.0)
        rng = np.random.default_rng(0)
        left, right = rng.normal(size=(5, 3)), rng.normal(size=(3, 7))
        add_product_in_place(wide[1:6, 3:10], left, right)
        assert_close(wide[1:6, 3:10], 4.0 + left @ right)
        wide[1:6, 3:10] = 4.0
        assert np.all(wide == 4.0)

    @pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
    def test_nothing_to_add(self, way, shape):
        m, k, width = shape
        out = np.ones((m, width))
        add_product_in_place(out, np.ones((m, k)), np.ones((k, width)), times=2.0)
        assert_array_equal(out, np.full((m, width), 2.0))

    def test_the_routine_is_used_for_rows_and_columns(self):
        """Not the way around it, which would be right, too."""
        out, left, right = np.ones((5, 7)), np.ones((5, 3)), np.ones((3, 7))
        assert blas.add_product(out, left, right, 1.0, 1.0)
        assert blas.add_product(out, np.asfortranarray(left), np.asfortranarray(right), 1.0, 1.0)
        assert_array_equal(out, np.full((5, 7), 7.0))

    @pytest.mark.parametrize("which", [0, 1, 2])
    def test_false_leaves_everything_as_it_was(self, which):
        arrays = [np.ones((5, 7)), np.ones((5, 3)), np.ones((3, 7))]
        arrays[which] = stored(arrays[which], "every other")
        assert not blas.add_product(*arrays, 1.0, 1.0)
        assert_array_equal(arrays[0], np.ones((5, 7)))

    @pytest.mark.parametrize("which", [0, 1, 2])
    def test_numbers_of_another_kind_are_not_taken_for_float64(self, which):
        """BLAS would read them as they lie there."""
        arrays = [np.ones((5, 7)), np.full((5, 3), 2.0), np.full((3, 7), 3.0)]
        arrays[which] = arrays[which].astype(np.float32)
        assert not blas.add_product(*arrays, 1.0, 1.0)
        add_product_in_place(*arrays)
        assert_array_equal(arrays[0], np.full((5, 7), 19.0))


@pytest.mark.parametrize("which", [0, 1])
def test_a_triangle_of_another_kind_is_not_taken_for_float64(which):
    arrays = [np.tril(np.ones((3, 3))), np.ones((3, 4))]
    arrays[which] = arrays[which].astype(np.float32)
    assert not blas.triangular("dtrmm", arrays[0], False, arrays[1])
    assert_array_equal(arrays[1], np.ones((3, 4)))


@pytest.mark.parametrize("name", ["dtrsm", "dtrmm", "dgemm"])
def test_the_routines_are_to_be_had(name):
    """SciPy exports them with integers of C, in all versions that are allowed."""
    assert blas._routine(name) is not None


def test_none_where_integers_are_longer(monkeypatch):
    monkeypatch.setitem(blas._ROUTINES, "dgemm", (blas._ROUTINES["dgemm"][0], 4))
    assert blas._routine.__wrapped__("dgemm") is None
    assert blas._routine.__wrapped__("dtrsm") is not None
