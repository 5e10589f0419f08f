"""Kernels against their formulas, scikit-learn's kernels and central differences."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import kernels as sk

from greedygp import kernels
from greedygp.arrays import to_numpy
from greedygp.kernels import (
    Categorical,
    Constant,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Periodic,
    Product,
    RationalQuadratic,
    Sum,
    base,
    from_sklearn,
    noise_from_sklearn,
)
from greedygp.kernels.conversion import as_kernel
from greedygp.kernels.stationary import Stationary
from kernel_examples import KERNELS
from tolerances import assert_close, rounding

STATIONARY = [kernel for kernel in KERNELS if isinstance(kernel, Stationary)]
PERIODIC = [kernel for kernel in KERNELS if isinstance(kernel, Periodic)]


def name(kernel):
    return repr(kernel)


def each(kernels=KERNELS):
    return pytest.mark.parametrize("kernel", kernels, ids=name)


def inputs(a=7, b=9, D=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(a, D)), rng.normal(size=(b, D))


# --- values ------------------------------------------------------------------------------------


def value(kernel, x, y):
    """One value, straight from the formula on the page."""
    if isinstance(kernel, Sum):
        return math.fsum(value(term, x, y) for term in kernel.kernels)
    if isinstance(kernel, Product):
        return math.prod(value(factor, x, y) for factor in kernel.kernels)
    seen = range(len(x)) if kernel.active_dims is None else kernel.active_dims
    x, y = [x[k] for k in seen], [y[k] for k in seen]
    D = len(x)
    if isinstance(kernel, Constant):
        return kernel.variance
    if isinstance(kernel, Linear):
        variance = np.broadcast_to(kernel.variance, D)
        return math.fsum(variance[k] * x[k] * y[k] for k in range(D))
    scale = np.broadcast_to(kernel.length_scale, D)
    if isinstance(kernel, Categorical):
        return kernel.variance * math.exp(
            -math.fsum(1 / scale[k] for k in range(D) if x[k] != y[k])
        )
    if isinstance(kernel, Periodic):
        period = np.broadcast_to(kernel.period, D)
        sines = [math.sin(math.pi * (x[k] - y[k]) / period[k]) / scale[k] for k in range(D)]
        return kernel.variance * math.exp(-2.0 * math.fsum(sine**2 for sine in sines))
    r = math.sqrt(math.fsum(((x[k] - y[k]) / scale[k]) ** 2 for k in range(D)))
    if isinstance(kernel, Gaussian):
        return kernel.variance * math.exp(-0.5 * r**2)
    if isinstance(kernel, RationalQuadratic):
        return kernel.variance * (1.0 + r**2 / (2.0 * kernel.alpha)) ** -kernel.alpha
    s = math.sqrt(2 * kernel.nu) * r
    polynomial = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s**2 / 3.0}[kernel.nu]
    return kernel.variance * polynomial * math.exp(-s)


def matrix(kernel, A, B):
    return np.array([[value(kernel, x, y) for y in B] for x in A]).reshape(len(A), len(B))


@each()
def test_values_follow_the_formula(kernel):
    A, B = inputs()
    assert_close(kernel(A, B), matrix(kernel, A, B))
    assert_close(kernel(A), matrix(kernel, A, A))
    assert_allclose(kernel.diag(A), np.diagonal(matrix(kernel, A, A)), rtol=1e-12)


@each()
@pytest.mark.parametrize("block", [1, 3, 100])
def test_gram_matrix_is_exactly_symmetric_with_exact_diagonal(kernel, block, monkeypatch):
    monkeypatch.setattr(base, "GRAM_BLOCK", block)
    A, _ = inputs(a=11)
    A[4] = A[2]
    K = kernel(A)
    assert_array_equal(K, K.T)
    assert_array_equal(np.diagonal(K), kernel.diag(A))
    assert_close(K, kernel(A, A))


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.3), Matern(0.5, 0.3), Matern(2.5, 0.3), RationalQuadratic(0.3), Periodic(0.3)],
    ids=name,
)
def test_stationary_diagonal_is_exactly_the_variance(kernel):
    A, _ = inputs(a=30)
    assert_array_equal(np.diagonal(kernel(1e3 + A)), np.full(30, 0.3))


@each()
def test_empty_and_single_inputs(kernel):
    A, B = inputs(a=1)
    assert kernel(A[:0], B).shape == (0, 9)
    assert kernel(B, A[:0]).shape == (9, 0)
    assert kernel(A[:0]).shape == (0, 0)
    assert_array_equal(kernel(A), kernel.diag(A)[:, None])


def test_lists_and_integers_become_float64():
    K = Gaussian()([[0, 1], [2, 3]])
    assert K.dtype == np.float64
    assert_allclose(K[0, 1], math.exp(-4.0))
    assert Linear()(np.array([[1]]), np.array([[2.0]]))[0, 0] == 2.0


@pytest.mark.parametrize("kernel", [*STATIONARY, *PERIODIC], ids=name)
@pytest.mark.parametrize("offset", [2000.0, 1e6])
def test_a_large_offset_costs_no_accuracy(kernel, offset):
    # Inputs on a grid that the offset does not round.
    rng = np.random.default_rng(1)
    A, B = rng.integers(-64, 64, size=(2, 20, 3)) / 32.0
    assert_close(kernel(A + offset, B + offset), matrix(kernel, A, B))
    W = rng.normal(size=(20, 20))
    theta, moved = kernel.gradients(W, A + offset, B + offset)
    expected_theta, expected_moved = kernel.gradients(W, A, B)
    assert_allclose(theta, expected_theta, rtol=1e-10, atol=1e-11)
    assert_allclose(moved, expected_moved, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("kernel", [*STATIONARY, *PERIODIC], ids=name)
def test_years_in_float32(kernel):
    rng = np.random.default_rng(2)
    A, B = rng.integers(-64, 64, size=(2, 20, 3)) / 32.0
    K = kernel((A + 2000.0).astype(np.float32), (B + 2000.0).astype(np.float32))
    assert K.dtype == np.float32
    assert_allclose(K, matrix(kernel, A, B), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nearby_inputs(nu, dtype):
    A = inputs(a=40, D=8)[0].astype(dtype)
    nearby = np.concatenate([A, A + dtype(1e-4), A + dtype(1e-6)])
    kernel = Matern(nu=nu, length_scale=0.5)
    expected = matrix(kernel, A.astype(np.float64), nearby.astype(np.float64))
    assert_allclose(kernel(A, nearby), expected, rtol=0, atol=rounding(40, dtype=dtype))


# --- against -----------------------------------------------------------------------------------


@each()
def test_against_fills_out(kernel):
    A, B = inputs()
    cross, out = kernel.against(B), np.full((7, 9), np.nan)
    filled = cross(A, out=out)
    assert filled is out
    assert_close(out, kernel(A, B))
    assert_array_equal(cross(A), out)
    wide = np.full((9, 12), np.nan)
    cross(A, out=wide[1:8, 2:11])
    assert_close(wide[1:8, 2:11], out)
    assert np.isnan(wide[0]).all()
    assert np.isnan(wide[:, 11]).all()


def test_gaussian_against_makes_no_temporary_of_the_size_of_the_block():
    import tracemalloc

    A, B = inputs(a=100, b=5000)
    cross, out = Gaussian(2.0, [1.0, 2.0, 3.0]).against(B), np.empty((100, 5000))
    cross(A, out=out)
    tracemalloc.start()
    cross(A, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < out.nbytes / 50


def test_against_refuses_other_features():
    cross = Gaussian().against(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"shape \(rows, 3\), got \(5, 1\)"):
        cross(np.zeros((5, 1)))


# --- array libraries ---------------------------------------------------------------------------


BACKENDS = [
    (library, dtype)
    for library in ("numpy", "torch", "array_api_strict")
    for dtype in ("float64", "float32")
]


@each()
@pytest.mark.parametrize(("library", "dtype"), BACKENDS)
def test_array_libraries_agree(kernel, library, dtype, monkeypatch):
    xp = pytest.importorskip(library)
    monkeypatch.setattr(base, "GRAM_BLOCK", 3)
    rtol = 1e-12 if dtype == "float64" else 1e-4
    A, B = inputs()
    W = np.random.default_rng(5).normal(size=(7, 9))
    W_square, w = W[:, :7], W[:, 0]

    def move(array):
        return xp.asarray(array.copy(), dtype=getattr(xp, dtype))

    def check(array, expected):
        assert type(array) is type(move(A))
        assert array.dtype == getattr(xp, dtype)
        scale = max(1.0, np.abs(expected).max())
        assert_allclose(to_numpy(array), expected, rtol=rtol, atol=rtol * scale)

    check(kernel(move(A), move(B)), kernel(A, B))
    check(kernel(move(A)), kernel(A))
    check(kernel.diag(move(A)), kernel.diag(A))
    out = move(np.zeros((7, 9)))
    assert kernel.against(move(B))(move(A), out=out) is out
    check(out, kernel(A, B))
    check(kernel.input_gradient(move(W), move(A), move(B)), kernel.input_gradient(W, A, B))
    check(kernel.input_gradient(move(W_square), move(A)), kernel.input_gradient(W_square, A))
    check(kernel.diag_input_gradient(move(w), move(A)), kernel.diag_input_gradient(w, A))
    for got, expected in (
        (kernel.gradient(move(W), move(A), move(B)), kernel.gradient(W, A, B)),
        (kernel.diag_gradient(move(w), move(A)), kernel.diag_gradient(w, A)),
    ):
        assert type(got) is np.ndarray
        assert got.dtype == np.float64
        assert_allclose(got, expected, rtol=10 * rtol, atol=30 * rtol)


# --- gradients ---------------------------------------------------------------------------------


def central_difference(function, x, step=1e-6):
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


@each()
def test_gradients_against_central_differences(kernel):
    A, B = inputs()
    W = np.random.default_rng(3).normal(size=(7, 9))
    before = W.copy()
    theta = central_difference(lambda t: np.sum(W * kernel.with_theta(t)(A, B)), kernel.theta)
    moved = central_difference(lambda X: np.sum(W * kernel(X, B)), A)
    assert_allclose(kernel.gradient(W, A, B), theta, rtol=1e-6, atol=1e-7)
    assert_allclose(kernel.input_gradient(W, A, B), moved, rtol=1e-6, atol=1e-7)
    assert_array_equal(W, before)


@each()
def test_gradients_of_the_gram_matrix(kernel):
    A, _ = inputs()
    W = np.random.default_rng(4).normal(size=(7, 7))
    theta = central_difference(lambda t: np.sum(W * kernel.with_theta(t)(A)), kernel.theta)
    moved = central_difference(lambda X: np.sum(W * kernel(X)), A)
    assert_allclose(kernel.gradient(W, A), theta, rtol=1e-6, atol=1e-7)
    assert_allclose(kernel.input_gradient(W, A), moved, rtol=1e-6, atol=1e-7)


@each()
def test_gradients_of_the_diagonal(kernel):
    A, _ = inputs()
    w = np.random.default_rng(4).normal(size=7)
    theta = central_difference(lambda t: np.sum(w * kernel.with_theta(t).diag(A)), kernel.theta)
    moved = central_difference(lambda X: np.sum(w * kernel.diag(X)), A)
    assert_allclose(kernel.diag_gradient(w, A), theta, rtol=1e-6, atol=1e-7)
    assert_allclose(kernel.diag_input_gradient(w, A), moved, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_input_gradient_is_zero_where_all_inputs_coincide(nu):
    A = np.tile(np.random.default_rng(0).normal(size=3), (4, 1))
    kernel = Matern(nu=nu, length_scale=0.01)
    theta, moved = kernel.gradients(np.ones((4, 4)), A)
    assert_allclose(moved, 0.0, atol=1e-10)
    assert_allclose(theta, [16.0, 0.0], atol=1e-10)


# --- parameters --------------------------------------------------------------------------------


@each()
def test_theta_round_trip(kernel):
    again = kernel.with_theta(kernel.theta)
    assert type(again) is type(kernel)
    assert_close(again.theta, kernel.theta, scale=1.0)
    assert again.theta_names == kernel.theta_names
    assert kernel.theta.shape == (len(kernel.theta_names),)
    assert kernel.theta.dtype == np.float64
    assert kernel.bounds.shape == (len(kernel.theta), 2)
    assert np.all(kernel.bounds[:, 0] < kernel.theta)
    assert np.all(kernel.theta < kernel.bounds[:, 1])
    before = copy.deepcopy(kernel)
    kernel.with_theta(kernel.theta + 1.0)
    assert kernel == before


@each()
def test_theta_names_are_paths_to_the_parameters(kernel):
    for path, log_value in zip(kernel.theta_names, kernel.theta):
        assert_allclose(eval(f"kernel.{path}"), math.exp(log_value))


@each()
def test_repr_is_the_kernel(kernel):
    again = eval(repr(kernel), vars(kernels))
    assert again == kernel
    assert again.theta_names == kernel.theta_names


def test_repr_shows_bounds_and_fixed():
    kernel = Gaussian(2, [1, 2], fixed="variance", length_scale_bounds=[(0.1, 3), (1, 9)])
    assert repr(kernel) == (
        "Gaussian(variance=2.0, length_scale=[1.0, 2.0], fixed=('variance',), "
        "length_scale_bounds=((0.1, 3.0), (1.0, 9.0)))"
    )
    assert eval(repr(kernel)) == kernel


@each()
def test_pickle_and_clone(kernel):
    class Holder(BaseEstimator):
        def __init__(self, kernel=None):
            self.kernel = kernel

    assert pickle.loads(pickle.dumps(kernel)) == kernel
    cloned = clone(Holder(kernel=kernel)).kernel
    assert cloned == kernel
    assert cloned is not kernel


def test_equality():
    assert Gaussian(1, 2) == Gaussian(1.0, 2.0)
    assert Gaussian() != Gaussian(length_scale=[1.0])
    assert Gaussian() != Gaussian(fixed="variance")
    assert Gaussian() != Gaussian(variance_bounds=(0.1, 10))
    assert Gaussian() != Matern()
    assert Matern(0.5) != Matern(1.5)
    assert Gaussian() + Constant() != Gaussian() * Constant()
    assert Gaussian() + Constant() == Sum(Gaussian(), Constant())
    assert Gaussian() != 1


def test_parameters_cannot_be_changed_through_the_callers_array():
    length_scale = np.array([1.0, 2.0])
    kernel = Gaussian(length_scale=length_scale)
    length_scale[0] = 5.0
    assert_array_equal(kernel.length_scale, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        kernel.length_scale[0] = 5.0


def test_bounds():
    kernel = Gaussian(
        2.0, [1.0, 3.0], variance_bounds=(0.5, 8.0), length_scale_bounds=[(0.1, 2.0), (1.0, 5.0)]
    )
    assert_allclose(np.exp(kernel.bounds), [[0.5, 8.0], [0.1, 2.0], [1.0, 5.0]])
    moved = kernel.with_theta(np.log([4.0, 1.0, 4.0]))
    assert_array_equal(moved.bounds, kernel.bounds)
    default = Gaussian(2.0, 1e6)
    assert_allclose(np.exp(default.bounds), [[2e-5, 2e5], [10.0, 1e11]])


def test_numbers_in_sums_and_products():
    A, B = inputs()
    kernel = Gaussian()
    assert_allclose((3.0 * kernel)(A, B), 3.0 * kernel(A, B))
    assert (kernel * 3).theta_names == ["kernels[0].variance", "kernels[0].length_scale"]
    assert kernel + 3 == kernel + Constant(3.0)
    assert 3 + kernel == Constant(3.0) + kernel
    with pytest.raises(TypeError):
        kernel + "Gaussian"
    with pytest.raises(TypeError, match="takes kernels"):
        Sum(kernel, "Gaussian")
    with pytest.raises(ValueError, match="at least one kernel"):
        Product()


def test_sums_and_products_are_flat():
    a, b, c = Gaussian(), Constant(), Linear()
    assert ((a + b) + c).kernels == (a + (b + c)).kernels == (a, b, c)
    assert (a * b * c).kernels == (a, b, c)
    assert repr((a + b) * c).startswith("(Gaussian(")


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [Gaussian, Matern, Constant, Linear, RationalQuadratic, Periodic, Categorical]
)
@pytest.mark.parametrize(
    "bad", [0.0, -1.0, math.nan, math.inf, "wide", None, True, [[1.0]], [], 1j], ids=repr
)
def test_bad_variance(kind, bad):
    with pytest.raises(ValueError, match=f"variance of {kind.__name__} must be a positive number"):
        kind(variance=bad)


@pytest.mark.parametrize("bad", [0.0, -2.5, math.nan, [1.0, -2.5], [[1.0]], [], "wide"], ids=repr)
def test_bad_length_scale(bad):
    with pytest.raises(ValueError, match="length_scale of Matern must be a positive number, or"):
        Matern(length_scale=bad)


def test_errors_show_the_value():
    with pytest.raises(ValueError, match=r"length_scale of Gaussian .*got \[1.0, -2.5\]"):
        Gaussian(length_scale=[1.0, -2.5])
    with pytest.raises(ValueError, match=r"variance of Gaussian .*got \[1.0, 2.0\]"):
        Gaussian(variance=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"nu of Matern must be 0\.5, 1\.5 or 2\.5, got 1"):
        Matern(nu=1)
    with pytest.raises(ValueError, match="'width'; its parameters are 'variance', 'length_scale'"):
        Gaussian(fixed=("variance", "width"))


@pytest.mark.parametrize(
    "bad", [(1.0, 0.5), (0.0, 1.0), (-1.0, 1.0), (1.0,), 3.0, "fixed", [(1, 2)] * 2, (1, math.nan)]
)
def test_bad_bounds(bad):
    with pytest.raises(ValueError, match=r"variance_bounds of Gaussian .*fixed='variance'"):
        Gaussian(variance_bounds=bad)


def test_length_scales_must_match_the_features():
    kernel = Gaussian(length_scale=[1.0, 2.0]) + Constant()
    message = "length_scale of Gaussian has 2 values, but the inputs have 3 features"
    kernel.check_features(2)
    with pytest.raises(ValueError, match=message):
        kernel.check_features(3)
    A, B = inputs()
    for call in (
        lambda: kernel(A),
        lambda: kernel(A, B),
        lambda: kernel.against(B),
        lambda: kernel.diag(A),
        lambda: kernel.gradient(np.ones((7, 9)), A, B),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match="variance of Linear has 2 values"):
        Linear([1.0, 2.0]).check_features(3)


def test_inputs_must_be_matrices_with_equal_features():
    with pytest.raises(ValueError, match="must be 2-D"):
        Gaussian()(np.zeros(3))
    with pytest.raises(ValueError, match="have 3 and 2 features"):
        Gaussian()(np.zeros((4, 3)), np.zeros((4, 2)))


def test_theta_must_have_the_right_length_and_range():
    with pytest.raises(ValueError, match=r"theta must have shape \(2,\).*got shape \(3,\)"):
        Gaussian().with_theta(np.zeros(3))
    with pytest.raises(ValueError, match="variance of Gaussian must be a positive number, got"):
        Gaussian().with_theta([1e4, 0.0])
    with pytest.raises(ValueError, match="length_scale of Gaussian"):
        Gaussian().with_theta([0.0, math.nan])


# --- scikit-learn ------------------------------------------------------------------------------

SKLEARN = [
    sk.ConstantKernel(2.0),
    sk.RBF(0.7),
    sk.RBF([0.7, 1.0, 3.0]),
    sk.Matern(0.7, nu=0.5),
    sk.Matern([0.7, 1.0, 3.0], nu=1.5),
    sk.Matern(0.7, nu=2.5),
    sk.Matern(0.7, nu=math.inf),
    sk.DotProduct(1.5),
    sk.DotProduct(0.0),
    sk.RationalQuadratic(0.7, alpha=1.5),
    2.0 * sk.RationalQuadratic(0.7, alpha=0.3) + sk.RBF(2.0),
    2.0 * sk.RBF(0.7) + 0.5 * sk.DotProduct(2.0),
    sk.RBF(0.7) * sk.ConstantKernel(3.0) * sk.Matern(nu=1.5),
]


@pytest.mark.parametrize("theirs", SKLEARN, ids=repr)
def test_from_sklearn_has_the_same_values(theirs):
    A, B = inputs()
    kernel = from_sklearn(theirs)
    assert isinstance(kernel, Kernel)
    assert_close(kernel(A, B), theirs(A, B))
    assert_close(kernel(A), theirs(A))
    assert_allclose(kernel.diag(A), theirs.diag(A), rtol=1e-12)
    assert eval(repr(kernel)) == kernel


@pytest.mark.parametrize(
    "theirs",
    [kernel for kernel in SKLEARN if "sigma_0" not in repr(kernel) and "inf" not in repr(kernel)],
    ids=repr,
)
def test_from_sklearn_has_the_same_gradient(theirs):
    A, _ = inputs()
    W = np.random.default_rng(0).normal(size=(7, 7))
    _, per_parameter = theirs(A, eval_gradient=True)
    expected = np.einsum("ij,ijp->p", W, per_parameter)
    assert_allclose(
        sorted(from_sklearn(theirs).gradient(W, A)), sorted(expected), rtol=1e-9, atol=1e-10
    )


def test_from_sklearn_keeps_bounds_and_what_is_fixed():
    kernel = from_sklearn(sk.ConstantKernel(2.0, (0.5, 4.0)) * sk.RBF([1.0, 2.0], (0.1, 9.0)))
    assert kernel == Gaussian(
        2.0, [1.0, 2.0], variance_bounds=(0.5, 4.0), length_scale_bounds=(0.1, 9.0)
    )
    kernel = from_sklearn(sk.Matern(1.0, "fixed", nu=1.5) * sk.ConstantKernel(2.0))
    assert kernel.fixed == ("length_scale",)
    assert kernel.theta_names == ["variance"]
    assert from_sklearn(sk.ConstantKernel(2.0, "fixed")).theta_names == []
    assert from_sklearn(sk.RBF()).theta_names == ["length_scale"]
    dot = from_sklearn(sk.DotProduct(1.5, (0.5, 3.0)))
    assert_allclose(np.exp(dot.bounds), [[0.25, 9.0]])


def test_from_sklearn_passes_our_kernels_through():
    kernel = Gaussian()
    assert from_sklearn(kernel) is kernel


def test_periodic_from_sklearn_for_one_feature():
    theirs = 3.0 * sk.ExpSineSquared(0.7, 2.5, (0.1, 9.0), "fixed")
    kernel = from_sklearn(theirs)
    assert kernel == Periodic(
        3.0,
        0.7,
        2.5,
        fixed="period",
        variance_bounds=(1e-5, 1e5),
        length_scale_bounds=(0.1, 9.0),
    )
    A, B = inputs(D=1)
    assert_close(kernel(A, B), theirs(A, B))
    assert as_kernel(theirs, 1) == kernel
    with pytest.raises(ValueError, match=r"of 2 features is not a covariance function.*Periodic"):
        as_kernel(theirs, 2)


def test_white_noise_in_a_sum_is_left_out_and_told():
    theirs = 2.0 * sk.RBF(0.7) + sk.WhiteKernel(0.25)
    assert from_sklearn(theirs) == from_sklearn(2.0 * sk.RBF(0.7))
    assert noise_from_sklearn(theirs) == (0.25, False)
    both = sk.WhiteKernel(0.25, "fixed") + sk.RBF() + sk.WhiteKernel(0.5, "fixed") + sk.RBF(9.0)
    assert from_sklearn(both) == from_sklearn(sk.RBF() + sk.RBF(9.0))
    assert noise_from_sklearn(both) == (0.75, True)
    scaled = sk.ConstantKernel(4.0) * (sk.RBF() + sk.WhiteKernel(0.25, "fixed"))
    assert from_sklearn(scaled) == from_sklearn(sk.ConstantKernel(4.0) * sk.RBF())
    assert noise_from_sklearn(scaled) == (1.0, False)
    assert noise_from_sklearn(sk.RBF() * sk.RBF()) is None
    assert noise_from_sklearn(Gaussian()) is None


def test_from_sklearn_says_what_it_cannot_do():
    for noise in (sk.WhiteKernel(0.25), 2.0 * sk.WhiteKernel(0.25)):
        with pytest.raises(ValueError, match=r"is noise, not covariance.* pass noise_variance"):
            from_sklearn(noise)
    with pytest.raises(ValueError, match="multiplies a WhiteKernel, which is noise, by a kernel"):
        from_sklearn(sk.RBF() * (sk.WhiteKernel() + sk.RBF()))
    for theirs in (sk.RBF() ** 2, sk.Matern(nu=0.7), sk.PairwiseKernel()):
        with pytest.raises(ValueError, match="no counterpart here; supported are ConstantKernel"):
            from_sklearn(theirs)
    with pytest.raises(TypeError, match="kernel must be a kernel, got str: 'rbf'"):
        from_sklearn("rbf")


# --- properties --------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    kernel=st.sampled_from(KERNELS),
    A=st.integers(1, 12).flatmap(
        lambda n: arrays(np.float64, (n, 3), elements=st.floats(-5, 5, width=16))
    ),
    theta_shift=st.floats(-1.5, 1.5),
)
def test_gram_matrices_are_symmetric_and_positive_semidefinite(kernel, A, theta_shift):
    kernel = kernel.with_theta(kernel.theta + theta_shift)
    K = kernel(A)
    assert_array_equal(K, K.T)
    assert_array_equal(np.diagonal(K), kernel.diag(A))
    assert_allclose(K, matrix(kernel, A, A), rtol=1e-10, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * len(A) * max(np.abs(K).max(), 1e-300)


# ---------------------------------------------------------------------------------- scaling


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.0, [0.5, 1.5]),
        Matern(1.5, 0.7, 0.9) + Constant(0.3),
        Gaussian(1.0, 0.8, fixed="variance") * Linear(0.6),
        (Gaussian() + Linear(0.2)) * 3.0,
    ],
)
def test_a_scaled_kernel_is_a_multiple(kernel):
    A = np.random.default_rng(0).normal(size=(5, 2))
    scaled = kernel.scaled(2.5)
    assert_allclose(scaled(A), 2.5 * kernel(A))
    assert scaled.theta_names == kernel.theta_names


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(fixed="variance"),
        Gaussian() + Constant(1.0, fixed="variance"),
        Gaussian(fixed="variance") * 2.0,
    ],
)
def test_a_variance_held_fixed_is_not_scaled(kernel):
    assert kernel.scaled(2.0) is None
