"""Kernels of some columns: `active_dims` by number and by name, and sums over features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.kernels import (
    Additive,
    Categorical,
    Constant,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    Sum,
)

KINDS = [Gaussian, Matern, RationalQuadratic, Periodic, Categorical, Linear, Constant]
each_kind = pytest.mark.parametrize("kind", KINDS)


def inputs(n=6, D=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, D))


@each_kind
@pytest.mark.parametrize("columns", [(2,), (1, 2), (3, 0)])
def test_a_kernel_of_some_columns_is_the_kernel_of_their_table(kind, columns):
    A, B = inputs(), inputs(seed=1)
    of_some, whole = kind(variance=1.7, active_dims=columns), kind(variance=1.7)
    a, b = A[:, columns], B[:, columns]
    assert_allclose(of_some(A, B), whole(a, b), rtol=1e-13)
    assert_allclose(of_some(A), whole(a), rtol=1e-13)
    assert_allclose(of_some.diag(A), whole.diag(a), rtol=1e-13)
    W = np.random.default_rng(2).normal(size=(6, 6))
    theta, moved = of_some.gradients(W, A, B)
    expected_theta, expected_moved = whole.gradients(W, a, b)
    assert_allclose(theta, expected_theta, rtol=1e-12)
    assert_allclose(moved[:, columns], expected_moved, rtol=1e-12)
    others = np.delete(np.arange(4), columns)
    assert_array_equal(moved[:, others], 0.0)
    by_diagonal = of_some.diag_input_gradient(W[0], A)
    assert_allclose(by_diagonal[:, columns], whole.diag_input_gradient(W[0], a), rtol=1e-13)
    assert_array_equal(by_diagonal[:, others], 0.0)


def test_a_value_per_feature_is_one_per_active_column():
    A = inputs()
    kernel = Gaussian(length_scale=[0.5, 2.0], active_dims=[3, 1])
    assert_allclose(kernel(A), Gaussian(length_scale=[0.5, 2.0])(A[:, [3, 1]]), rtol=1e-13)
    assert_array_equal(kernel.length_scales(4), [np.inf, 2.0, np.inf, 0.5])
    assert_array_equal(kernel.relevances(4), [0.0, 0.5, 0.0, 2.0])
    with pytest.raises(ValueError, match="length_scale of Gaussian has 3 values, but active_dims"):
        Gaussian(length_scale=[1.0, 2.0, 3.0], active_dims=[0, 1])


def test_columns_by_name():
    A = inputs()
    kernel = Gaussian(active_dims=["height", "age"]) + Linear(active_dims="age")
    bound = kernel.for_inputs(4, ["age", "sex", "weight", "height"])
    assert_allclose(bound(A), (Gaussian(active_dims=[3, 0]) + Linear(active_dims=0))(A))
    assert bound == kernel  # which columns they are is no part of what was asked for
    assert "active_dims=('height', 'age')" in repr(bound)
    moved = bound.with_theta(bound.theta + 0.1)
    assert_allclose(moved.for_inputs(4, ["age", "sex", "weight", "height"])(A), moved(A))
    # The same names at other places.
    other = bound.for_inputs(4, ["height", "age", "sex", "weight"])
    assert_allclose(other(A[:, [3, 0, 1, 2]]), bound(A))


def test_what_is_said_of_columns_that_are_not_there():
    A = inputs()
    named = Gaussian(active_dims=["age", "size"])
    with pytest.raises(ValueError, match=r"names the column 'age', but the inputs have no column"):
        named(A)
    with pytest.raises(ValueError, match="fit on a DataFrame"):
        named.for_inputs(4)
    with pytest.raises(ValueError, match=r"names 'size', but the columns are age, b, c, d$"):
        named.for_inputs(4, ["age", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"has the column 4, but the inputs have 4 features"):
        Gaussian(active_dims=[0, 4])(A)
    with pytest.raises(ValueError, match=r"names a column twice: \('a', 0\)"):
        Gaussian(active_dims=["a", 0]).for_inputs(4, list("abcd"))


@each_kind
@pytest.mark.parametrize("bad", [[], -1, [0, 0], 1.5, [True], [None], {"a": 1}.items()], ids=repr)
def test_columns_that_cannot_be(kind, bad):
    with pytest.raises(ValueError, match=f"active_dims of {kind.__name__} must be None, or the"):
        kind(active_dims=bad)


# --- additive ----------------------------------------------------------------------------------


def test_additive_is_a_sum_over_features():
    A, B = inputs(), inputs(seed=1)
    template = Matern(nu=1.5, variance=0.7, length_scale=[0.5, 1.0, 2.0, 4.0]) * Constant(2.0)
    additive = Additive(template)
    expected = sum(
        2.0 * Matern(nu=1.5, variance=0.7, length_scale=scale)(A[:, [k]], B[:, [k]])
        for k, scale in enumerate([0.5, 1.0, 2.0, 4.0])
    )
    bound = additive.for_inputs(4)
    assert isinstance(bound, Sum)
    assert len(bound.theta) == 4 * 3
    for kernel in (additive, bound):
        assert_allclose(kernel(A, B), expected, rtol=1e-12)
        assert_allclose(kernel.diag(A), 4 * 1.4, rtol=1e-12)
    assert not additive.treats_features_alike


def test_additive_of_some_features():
    bounds = [(0.1, 1.0), (0.2, 2.0)]
    additive = Additive(
        Gaussian(length_scale=[0.5, 2.0], length_scale_bounds=bounds), active_dims=["b", "d"]
    )
    bound = additive.for_inputs(4, list("abcd"))
    assert bound == Sum(
        Gaussian(length_scale=0.5, length_scale_bounds=(0.1, 1.0), active_dims="b"),
        Gaussian(length_scale=2.0, length_scale_bounds=(0.2, 2.0), active_dims="d"),
    )
    A = inputs()
    expected = Gaussian(length_scale=0.5)(A[:, [1]]) + Gaussian(length_scale=2.0)(A[:, [3]])
    assert_allclose(bound(A), expected)
    both = (additive + Constant(2.0)).for_inputs(4, list("abcd"))
    assert_allclose(both(A), expected + 2.0)
    assert_array_equal(Additive(Categorical(), [0, 2]).has_categories(3), [True, False, True])


def test_additive_is_what_it_says():
    additive = Additive(Gaussian(2.0), active_dims=[0, 2])
    assert eval(repr(additive)) == additive
    assert additive != Additive(Gaussian(2.0))
    assert additive != Gaussian()
    for call in (
        lambda: additive.theta,
        lambda: additive.gradient(np.ones((6, 6)), inputs()),
        lambda: additive.diag_gradient(np.ones(6), inputs()),
        lambda: additive.diag_input_gradient(np.ones(6), inputs()),
    ):
        with pytest.raises(ValueError, match="before the number of features is known"):
            call()
    with pytest.raises(TypeError, match="Additive takes a kernel, got 'Gaussian'"):
        Additive("Gaussian")
    with pytest.raises(ValueError, match="Gaussian has active_dims already"):
        Additive(Gaussian(active_dims=1)).for_inputs(3)
    with pytest.raises(ValueError, match="length_scale of Gaussian has 2 values, but there are 3"):
        Additive(Gaussian(length_scale=[1.0, 2.0])).for_inputs(3)


def test_a_kernel_that_knows_no_columns():
    class Own(Kernel):
        pass

    with pytest.raises(NotImplementedError, match="derive it from ParametricKernel"):
        Additive(Own()).for_inputs(2)
