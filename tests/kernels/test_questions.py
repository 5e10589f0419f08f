"""What others ask of a kernel: every kernel answers, and one that overrides nothing is safe."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from greedygp import GPRegressor, SparseGPClassifier, SparseGPRegressor, advice
from greedygp.exceptions import ModelAdvice
from greedygp.fitted import relevance
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
)
from greedygp.kernels.conversion import as_kernel
from greedygp.kernels.cross import Cross
from greedygp.kernels.stationary import Stationary
from greedygp.plotting import PosteriorDisplay, RelevanceDisplay
from greedygp.start import subset_evidence
from kernel_examples import KERNELS

D = 3
each = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


class Quadratic(Kernel):
    """`k(a, b) = (1 + a . b)^2`: a kernel with only what every kernel must have."""

    def diag(self, A):
        return (1.0 + (A * A).sum(axis=1)) ** 2

    def against(self, B):
        return QuadraticCross(B)

    def _gradients(self, W, A, B):
        return np.zeros(0), (2.0 * W * (1.0 + A @ B.T)) @ B

    def diag_gradient(self, w, A):
        return np.zeros(0)

    def diag_input_gradient(self, w, A):
        return 4.0 * (w * (1.0 + (A * A).sum(axis=1)))[:, None] * A


class QuadraticCross(Cross):
    def __init__(self, B):
        super().__init__(B)
        self.B = B

    def __call__(self, A, out=None):
        K = (1.0 + A @ self.B.T) ** 2
        if out is None:
            return K
        out[...] = K
        return out


class FirstFeature(Gaussian):
    """A Gaussian of the first feature alone."""

    def relevances(self, n_features):
        return np.where(np.arange(n_features) == 0, 1.0 / self.length_scale, 0.0)


# --- all kernels answer ------------------------------------------------------------------------


def leaves(kernel):
    """Return the kernels that a kernel is made of."""
    if isinstance(kernel, Sum | Product):
        return [leaf for part in kernel.kernels for leaf in leaves(part)]
    return [kernel]


@each
def test_answers_have_their_shapes(kernel):
    p = len(kernel.theta)
    assert kernel.n_features in (None, D)
    assert kernel.is_length_scale.shape == (p,)
    assert kernel.is_length_scale.dtype == bool
    assert kernel.relevances(D).shape == (D,)
    scales = kernel.length_scales(D)
    assert scales is None or scales.shape == (D,)
    assert kernel.within_bounds()


@each
def test_answers_follow_from_the_parts(kernel):
    distances = [leaf for leaf in leaves(kernel) if isinstance(leaf, Stationary | Periodic)]
    scales = kernel.length_scales(D)
    if not distances:
        assert scales is None
        assert not kernel.shares_length_scale
        assert not kernel.is_length_scale.any()
        return
    for k in range(D):
        looking = [leaf for leaf in distances if k in (leaf.active_dims or range(D))]
        assert scales[k] == (looking[0].length_scales(D)[k] if looking else np.inf)
    shared = [np.ndim(leaf.length_scale) == 0 for leaf in distances]
    assert kernel.shares_length_scale == any(shared)
    free = [leaf for leaf in distances if "length_scale" not in leaf.fixed]
    assert kernel.is_length_scale.sum() == sum(np.size(leaf.length_scale) for leaf in free)
    squares = [leaf.relevances(D) ** 2 for leaf in leaves(kernel)]
    assert_allclose(kernel.relevances(D), np.sqrt(np.sum(squares, axis=0)), rtol=1e-12)


@each
def test_length_scales_grow_with_theta(kernel):
    factor = 1.7
    grown = kernel.with_theta(kernel.theta + np.log(factor) * kernel.is_length_scale)
    distances = [leaf for leaf in leaves(kernel) if isinstance(leaf, Stationary | Periodic)]
    if not distances:
        assert_array_equal(grown.theta, kernel.theta)
        return
    for k in range(D):
        looking = [leaf for leaf in distances if k in (leaf.active_dims or range(D))]
        moved = factor if looking and "length_scale" not in looking[0].fixed else 1.0
        assert_allclose(grown.length_scales(D)[k], moved * kernel.length_scales(D)[k], rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in KERNELS if isinstance(kernel, Stationary)], ids=repr
)
def test_a_kernel_depends_on_inputs_in_units_of_its_length_scales(kernel):
    A = np.random.default_rng(0).normal(size=(5, D))
    grown = kernel.with_theta(kernel.theta + np.log(3.0) * kernel.is_length_scale)
    seen = np.isfinite(kernel.length_scales(D))
    factor = np.ones(D)
    factor[seen] = grown.length_scales(D)[seen] / kernel.length_scales(D)[seen]
    assert_allclose(factor[seen], 1.0 if "length_scale" in kernel.fixed else 3.0)
    assert_allclose(grown(factor * A), kernel(A), rtol=1e-12)


def slope_deviations(kernel, h=1e-4):
    """Return the prior deviation of the slope along each feature, by differences of the kernel."""
    found = []
    for k in range(D):
        pair = np.zeros((2, D))
        pair[:, k] = h, -h
        K = kernel(pair)
        found.append(np.sqrt(K[0, 0] + K[1, 1] - 2.0 * K[0, 1]) / (2.0 * h))
    return found


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.5, 0.7),
        Gaussian(2.0, [0.5, 1.0, 4.0]),
        Linear([0.3, 1.0, 2.0]),
        Constant(3.0),
        Gaussian(2.0, [0.5, 1.0, 4.0]) + Linear([0.3, 1.0, 2.0]) + Constant(3.0),
        RationalQuadratic(2.0, [0.5, 1.0, 4.0], 0.7),
        Periodic(2.0, [0.5, 1.0, 0.8], 3.0),
        Gaussian(2.0, [0.5, 1.0], active_dims=[2, 0]) + Linear(0.7, active_dims=1),
    ],
    ids=repr,
)
def test_relevances_are_deviations_of_the_slope(kernel):
    assert_allclose(kernel.relevances(D), slope_deviations(kernel), rtol=1e-3, atol=1e-12)


def test_a_feature_that_is_ignored_has_no_relevance():
    assert_array_equal(Constant(2.0).relevances(D), np.zeros(D))
    ignoring = FirstFeature(1.0, 2.0)
    assert_array_equal(ignoring.relevances(D), [0.5, 0.0, 0.0])
    assert_array_equal((ignoring + Constant()).relevances(D), [0.5, 0.0, 0.0])


def test_categories_have_the_deviation_between_two_of_them_as_relevance():
    kernel = Categorical(2.0, [0.5, 3.0], active_dims=[3, 1])
    rows, zero = np.eye(4), np.zeros((1, 4))
    one, three = (np.sqrt(2 * (2.0 - kernel(rows[[k]], zero)[0, 0])) for k in (1, 3))
    assert_allclose(kernel.relevances(4), [0.0, one, 0.0, three], rtol=1e-12)


def test_features_the_kernel_tells_apart():
    assert Gaussian().n_features is None
    assert (Gaussian() + Constant()).n_features is None
    assert Linear([1.0, 2.0]).n_features == 2
    assert (Constant() + Gaussian() * Matern(length_scale=[1.0, 2.0])).n_features == 2
    assert (Constant() + Gaussian()).treats_features_alike
    assert not (Constant() + Linear([1.0, 2.0])).treats_features_alike
    some = Gaussian(length_scale=[1.0, 2.0], active_dims=[0, 4])
    assert some.n_features is None  # any number of columns above four
    assert not (some + Constant()).treats_features_alike


def test_features_with_one_length_scale_between_them():
    def groups(kernel):
        return [group.tolist() for group in kernel.features_sharing_length_scale(D)]

    assert groups(Gaussian()) == [[0, 1, 2]]
    assert groups(Gaussian(active_dims=[2, 0]) + Linear() + Matern()) == [[2, 0], [0, 1, 2]]
    for kernel in (
        Gaussian(active_dims=1),
        Gaussian(length_scale=[1.0, 2.0, 3.0]),
        Categorical(),
        Periodic(period=[1.0, 2.0, 3.0]),
    ):
        assert groups(kernel) == []


def test_features_with_categories():
    assert_array_equal(Gaussian().has_categories(D), [False] * D)
    assert_array_equal(Categorical().has_categories(D), [True] * D)
    kernel = Gaussian() * (Linear() + Categorical(active_dims=1))
    assert_array_equal(kernel.has_categories(D), [False, True, False])


def test_bounds_that_were_given_are_kept_and_others_move():
    kernel = Gaussian(2.0, length_scale=3.0, length_scale_bounds=(1.0, 4.0))
    for length, inside in ((3.9, True), (4.1, False), (0.9, False)):
        assert kernel.with_theta(np.log([1e9, length])).within_bounds() == inside
        assert (kernel.with_theta(np.log([1.0, length])) + Constant()).within_bounds() == inside


def test_as_kernel():
    kernel = Gaussian(length_scale=[1.0, 2.0])
    assert as_kernel(kernel, 2) is kernel
    assert as_kernel(None, 2) is None
    assert as_kernel(RBF(2.0), 5).length_scale == 2.0
    with pytest.raises(ValueError, match="has 2 values, but the inputs have 3"):
        as_kernel(kernel, 3)
    with pytest.raises(ValueError, match="has 2 values, but the inputs have 3"):
        as_kernel(RBF([1.0, 2.0]), 3)
    with pytest.raises(ValueError, match="WhiteKernel of 1, but this model has no noise variance"):
        as_kernel(RBF() + WhiteKernel(), 3)
    with pytest.raises(TypeError, match="must be a kernel"):
        as_kernel("precomputed", 3)


# --- a kernel that overrides nothing -----------------------------------------------------------


def problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] * X[:, 1] + X[:, 0] + 0.1 * rng.normal(size=n)


def test_defaults_claim_nothing():
    kernel = Quadratic()
    assert kernel.theta.shape == (0,)
    assert kernel.theta_names == []
    assert kernel.bounds.shape == (0, 2)
    assert kernel.with_theta([]) is kernel
    assert kernel.scaled(2.0) is None
    assert kernel.within_bounds()
    assert kernel.n_features is None
    assert kernel.length_scales(D) is None
    assert not kernel.shares_length_scale
    assert kernel.is_length_scale.shape == (0,)
    assert kernel.relevances(D) is None
    kernel.check_features(7)
    with pytest.raises(ValueError, match=r"theta must have shape \(0,\)"):
        kernel.with_theta([1.0])


def test_defaults_of_a_kernel_with_parameters():
    class Scaled(Quadratic):
        theta = np.array([0.3, 0.4])
        n_features = 2

    kernel = Scaled()
    assert kernel.theta_names == ["theta[0]", "theta[1]"]
    assert_allclose(kernel.bounds.mean(axis=1), kernel.theta)
    assert_array_equal(kernel.is_length_scale, [False, False])
    with pytest.raises(NotImplementedError, match="Scaled has parameters but no with_theta"):
        kernel.with_theta([0.0, 0.0])
    with pytest.raises(ValueError, match="Scaled is for 2 features, but the inputs have 3"):
        kernel.check_features(3)


def test_defaults_inside_sums_and_products():
    X, _ = problem(5)
    both = Gaussian(length_scale=[1.0, 2.0]) * Quadratic() + Quadratic()
    assert_allclose(both(X), (Gaussian(1.0, [1.0, 2.0])(X) + 1.0) * Quadratic()(X))
    assert both.n_features == 2
    assert both.relevances(2) is None  # nothing is claimed of what is not known
    assert_array_equal(both.length_scales(2), [1.0, 2.0])
    assert_array_equal(both.is_length_scale, [False, True, True])
    assert (Gaussian() + Quadratic()).scaled(2.0) is None
    product = Gaussian() * Quadratic()
    assert_allclose(product.scaled(2.0)(X), 2.0 * product(X))


@pytest.mark.parametrize(
    "model",
    [
        SparseGPRegressor(rounds=1, max_basis=6),
        SparseGPRegressor(objective="loo_cve", rounds=1, max_basis=6),
        SparseGPRegressor(objective=None, noise_variance=0.01, max_basis=6),
        GPRegressor(),
        GPRegressor(objective="loo_cve"),
    ],
    ids=repr,
)
def test_a_kernel_that_overrides_nothing_can_be_fitted(model):
    X, y = problem()
    model.set_params(kernel=Quadratic(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.kernel_.theta.shape == (0,)
    assert relevance(model, X) is None
    assert "Quadratic" in str(model.summary())
    assert PosteriorDisplay.from_estimator(model, X).axes_ is not None
    with pytest.raises(ValueError, match="kernel with one length scale per feature"):
        RelevanceDisplay.from_estimator(model, X, method="ard")


def test_a_kernel_that_overrides_nothing_classifies():
    X, y = problem()
    models = [SparseGPClassifier(kernel=Quadratic(), max_basis=8, random_state=i) for i in range(3)]
    assert np.mean([model.fit(X, y > 0).score(X, y > 0) for model in models]) > 0.85


def test_no_advice_about_what_is_not_known():
    X, y = problem()
    assert advice.uneven_scales(Quadratic(), X * [1.0, 1e6]) is None
    assert advice.uneven_scales(Quadratic() + Gaussian(), X * [1.0, 1e6]) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelAdvice)
        GPRegressor(kernel=Quadratic(), noise_variance=0.1, objective=None).fit(X, y)


def test_the_start_needs_no_answers():
    X, y = problem()
    found = subset_evidence(Quadratic(), None, X, y, random_state=0)
    assert 0.001 < found.point.noise_variance < 0.1
