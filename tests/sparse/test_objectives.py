"""Learning objectives of a fixed basis: values from the definition, derivatives by complex steps.

The derivatives of the reference are exact to rounding (its docstring says how), so gradients are
compared far more closely than differences of values would allow.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import arrays
from greedygp.arrays import Backend
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from greedygp.sparse.objectives import OBJECTIVES, SparseObjective
from names import APPROXIMATIONS
from names import OBJECTIVES as NAMES
from pairwise import each_pair
from reference.sparse_objectives import dense_kernel, objective_gradient, objective_value
from reference.sparse_regression import SparseGP
from tolerances import assert_close

CASES = [(n, a) for n in NAMES for a in APPROXIMATIONS if n != "vfe" or a == "dtc"]
GRADIENTS = ("theta", "log_noise", "basis")
ARD = Gaussian(variance=1.3, length_scale=[0.5, 0.9])
KERNELS = {
    "ARD Gaussian": ARD,
    "Gaussian": Gaussian(variance=0.8, length_scale=0.7),
    "Matern 0.5": Matern(nu=0.5, variance=1.3, length_scale=[0.8, 1.2]),
    "Matern 1.5": Matern(nu=1.5, variance=1.3, length_scale=0.8),
    "Matern 2.5": Matern(nu=2.5, variance=1.3, length_scale=[0.6, 1.1]),
    "Gaussian + Constant": Gaussian(1.1, 0.6) + Constant(0.4),
    "Gaussian * Linear": Gaussian(1.1, [0.6, 0.8]) * Linear([0.7, 1.4]),
    "Gaussian + Linear": Gaussian(1.1, [0.6, 0.8]) + Linear(0.7),
    "fixed variance": Gaussian(1.3, [0.5, 0.9], fixed="variance"),
    "nothing free": Gaussian(1.3, 0.6, fixed=("variance", "length_scale")),
}

each_case = pytest.mark.parametrize(("name", "approximation"), CASES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@dataclass(frozen=True)
class Problem:
    """Data, basis inputs and a noise variance; the objective there, and what it should be."""

    X: np.ndarray  # (n, D)
    y: np.ndarray  # (p, n)
    basis: np.ndarray  # (m, D)
    weights: np.ndarray | None = None
    noise_variance: float = 0.05

    def objective(self, name, approximation="dtc", capacity=None):
        capacity = self.basis.shape[0] if capacity is None else capacity
        data = self.X, self.y, self.weights
        return SparseObjective(name, *data, approximation=approximation, capacity=capacity)

    def evaluate(self, name, approximation="dtc", kernel=ARD):
        objective = self.objective(name, approximation)
        return objective(kernel, self.noise_variance, self.basis, with_basis=True)

    def model(self, approximation="dtc", kernel=ARD):
        data = self.basis, self.X, self.y.T, self.noise_variance
        return SparseGP(dense_kernel(kernel), *data, approximation, self.weights)

    def expected(self, name, approximation="dtc", kernel=ARD):
        data = self.noise_variance, self.X, self.y.T, self.basis, self.weights, approximation
        return objective_gradient(name, kernel, *data)

    def expected_value(self, name, approximation="dtc", kernel=ARD):
        data = self.noise_variance, self.X, self.y.T, self.basis, self.weights, approximation
        return objective_value(name, dense_kernel(kernel), *data)

    def repeated(self):
        """Return the problem with rows as often as their (integer) weights say."""
        rows = np.repeat(np.arange(len(self.X)), self.weights.astype(int))
        return replace(self, X=self.X[rows], y=self.y[:, rows], weights=None)

    def astype(self, convert):
        weights = None if self.weights is None else convert(self.weights)
        X, y, basis = convert(self.X), convert(self.y), convert(self.basis)
        return Problem(X, y, basis, weights, self.noise_variance)


def make_problem(seed=0, n=14, m=5, p=1, weights=None, noise_variance=0.05):
    """Smooth functions of uniform inputs; the basis inputs are not rows."""
    rng = np.random.default_rng(seed)
    X, basis = rng.uniform(-1, 1, size=(n, 2)), rng.uniform(-1, 1, size=(m, 2))
    y = np.sin(3 * rng.normal(size=(p, 2)) @ X.T) + np.sqrt(noise_variance) * rng.normal(
        size=(p, n)
    )
    if weights == "integer":
        weights = rng.integers(1, 4, size=n).astype(float)
    elif weights == "fractional":
        weights = rng.uniform(0.2, 2.5, size=n)
    return Problem(X, y, basis, weights, noise_variance)


def assert_same(got, expected, tolerance, parts=("value", *GRADIENTS)):
    """Each part is as exact as its largest entry asks for, or zero but for rounding."""
    rounding = 1e-11 * max(1.0, abs(expected.value))
    for part in parts:
        a, b = np.asarray(getattr(got, part)), np.asarray(getattr(expected, part))
        assert a.shape == b.shape, part
        atol = rounding + tolerance * np.max(np.abs(b), initial=0.0)
        assert_allclose(a, b, rtol=0, atol=atol, err_msg=part)


def assert_finite(evaluation):
    for part in ("value", *GRADIENTS):
        assert np.all(np.isfinite(getattr(evaluation, part))), part


# ----------------------------------------------------------------------------- the reference


@pytest.mark.parametrize("weights", [None, "integer", "fractional"])
@each_case
def test_the_reference_refits_as_the_other_reference(name, approximation, weights):
    problem = make_problem(p=2, weights=weights)
    model = problem.model(approximation)
    expected = model.measure("nlml" if name == "vfe" else name)
    if name == "vfe":
        w = np.ones(14) if weights is None else problem.weights
        left = np.diag(model.kernel(model.X, model.X) - model.low_rank(model.X, model.X))
        expected += 2 * w @ left / (2 * problem.noise_variance)
    assert_allclose(problem.expected_value(name, approximation), expected, rtol=1e-10)
    if weights == "integer":
        repeated = problem.repeated().expected_value(name, approximation)
        assert_allclose(repeated, expected, rtol=1e-10)


@each_kernel
def test_the_reference_kernels_are_those_of_the_package(kernel):
    problem = make_problem()
    K = dense_kernel(kernel)(problem.basis, problem.X)
    assert_close(K, kernel(problem.basis, problem.X))


@pytest.mark.parametrize("kernel", ["ARD Gaussian", "Matern 0.5", "Gaussian * Linear"])
@each_case
def test_the_complex_steps_are_differences_of_the_reference(name, approximation, kernel):
    kernel, problem, h = KERNELS[kernel], make_problem(p=2, weights="fractional"), 1e-5
    exact = problem.expected(name, approximation, kernel)

    def assert_slope(moved, derivative):
        higher, lower = (part.expected_value(name, approximation, k) for part, k in moved)
        assert_allclose((higher - lower) / (2 * h), derivative, rtol=1e-5, atol=1e-7)

    rng, noise = np.random.default_rng(1), problem.noise_variance
    moved = [(replace(problem, noise_variance=noise * np.exp(s)), kernel) for s in (h, -h)]
    assert_slope(moved, exact.log_noise)
    direction = rng.normal(size=kernel.theta.shape)
    moved = [(problem, kernel.with_theta(kernel.theta + s * direction)) for s in (h, -h)]
    assert_slope(moved, direction @ exact.theta)
    direction = rng.normal(size=problem.basis.shape)
    moved = [(replace(problem, basis=problem.basis + s * direction), kernel) for s in (h, -h)]
    assert_slope(moved, np.sum(direction * exact.basis))


def test_all_rows_as_the_basis_make_the_evidence_of_the_full_gp():
    problem = make_problem()
    problem = replace(problem, basis=problem.X)
    C = dense_kernel(ARD)(problem.X, problem.X) + 0.05 * np.eye(14)
    y = problem.y[0]
    expected = 0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2 * np.pi * C)[1])
    for name, approximation in [("nlml", "dtc"), ("nlml", "sor"), ("nlml", "fitc"), ("vfe", "dtc")]:
        assert_allclose(problem.expected_value(name, approximation), expected, rtol=1e-9)
        assert_allclose(problem.evaluate(name, approximation).value, expected, rtol=1e-9)


# ----------------------------------------------------------------------- values and gradients


def test_names():
    assert tuple(OBJECTIVES) == NAMES
    assert [objective.name for objective in OBJECTIVES.values()] == list(NAMES)


@each_pair(
    {
        ("name", "approximation"): CASES,
        "weights": [None, "integer", "fractional"],
        "p": [1, 2],
    }
)
def test_values(name, approximation, weights, p):
    for seed, noise_variance in [(1, 1e-1), (2, 1e-2), (3, 1e-3)]:
        size = {"n": 6 + 9 * seed, "m": 2 + 3 * seed}
        problem = make_problem(seed, **size, p=p, weights=weights, noise_variance=noise_variance)
        expected = problem.expected_value(name, approximation)
        assert_allclose(problem.evaluate(name, approximation).value, expected, rtol=1e-8)


@each_pair(
    {
        ("name", "approximation"): CASES,
        "kernel": KERNELS,
        "weights": [None, "fractional"],
        "p": [1, 2],
    }
)
def test_gradients(name, approximation, kernel, weights, p):
    problem, kernel = make_problem(4, p=p, weights=weights), KERNELS[kernel]
    got = problem.evaluate(name, approximation, kernel)
    assert_same(got, problem.expected(name, approximation, kernel), 1e-8)


@each_pair(
    {
        ("name", "approximation"): CASES,
        "kernel": ["ARD Gaussian", "Matern 1.5", "Matern 2.5", "Gaussian + Linear"],
        "weights": [None, "fractional"],
    }
)
def test_gradients_with_rows_as_basis(name, approximation, kernel, weights):
    problem = make_problem(5, weights=weights)
    problem = replace(problem, basis=problem.X[2:8])
    got = problem.evaluate(name, approximation, KERNELS[kernel])
    assert_same(got, problem.expected(name, approximation, KERNELS[kernel]), 1e-8)


@each_case
def test_types_and_what_is_left_out(name, approximation):
    problem = make_problem(p=2, weights="fractional")
    before = [a.copy() for a in (problem.X, problem.y, problem.basis, problem.weights)]
    objective = problem.objective(name, approximation)
    full = objective(ARD, 0.05, problem.basis, with_basis=True)
    assert isinstance(full.value, float)
    assert isinstance(full.log_noise, float)
    for part in (full.theta, full.basis):
        assert isinstance(part, np.ndarray)
        assert part.dtype == np.float64
    for array, old in zip((problem.X, problem.y, problem.basis, problem.weights), before):
        assert_array_equal(array, old)
    short = objective(ARD, 0.05, problem.basis, with_basis=False)
    assert short.basis is None
    assert_same(short, full, 1e-12, ("value", "theta", "log_noise"))


@pytest.mark.parametrize("approximation", ["fitc", "sor"])
def test_the_bound_is_that_of_dtc(approximation):
    with pytest.raises(ValueError, match=rf"(?is)(?=.*vfe)(?=.*{approximation})"):
        make_problem().objective("vfe", approximation)


# -------------------------------------------------------------------------- blocks, backends


@pytest.mark.usefixtures("three_blocks")
@pytest.mark.parametrize("weights", [None, "fractional"])
@each_case
def test_three_blocks_of_rows(name, approximation, weights):
    problem = make_problem(6, p=2, weights=weights)
    got = problem.evaluate(name, approximation)
    assert_same(got, problem.expected(name, approximation), 1e-8)


@each_case
def test_blocks_of_many_rows_in_threads(name, approximation, monkeypatch):
    """Thousands of copies of a few rows, which the reference takes as weights."""
    few = replace(make_problem(7, p=2), weights=np.repeat([150.0, 151.0], [13, 1]))
    many, order = few.repeated(), np.random.default_rng(7).permutation(2101)
    problem = replace(many, X=many.X[order], y=many.y[:, order], weights=np.ones(2101))
    made, sizes = [], Backend.block_sizes

    def recorded(self, *args, **options):
        made.append(sizes(self, *args, **options))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(arrays, "thread_count", lambda: 2)
        patch.setattr(Backend, "block_sizes", recorded)
        several = problem.evaluate(name, approximation)
    assert max(map(len, made)) > 1
    with monkeypatch.context() as patch:
        patch.setattr(Backend, "block_sizes", lambda self, n_rows, **options: [n_rows])
        single = problem.evaluate(name, approximation)
    assert_same(several, single, 1e-10)
    assert_same(several, few.expected(name, approximation), 1e-8)


@pytest.mark.parametrize("weights", [None, "fractional"])
@each_case
def test_torch(name, approximation, weights):
    torch = pytest.importorskip("torch")
    for p, kernel in [(1, "ARD Gaussian"), (2, "Gaussian + Linear"), (1, "Matern 1.5")]:
        problem, kernel = make_problem(8, p=p, weights=weights), KERNELS[kernel]
        got = problem.astype(torch.asarray).evaluate(name, approximation, kernel)
        assert_same(got, problem.evaluate(name, approximation, kernel), 1e-10)
        assert isinstance(got.basis, np.ndarray)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@each_case
def test_float32(name, approximation, library):
    xp = pytest.importorskip(library)
    problem = make_problem(9, n=60, m=8, p=2, weights="fractional")
    short = problem.astype(lambda array: xp.asarray(array, dtype=xp.float32))
    got = short.evaluate(name, approximation)
    assert got.basis.dtype == got.theta.dtype == np.float64
    assert_same(got, problem.evaluate(name, approximation), 1e-3)


# ----------------------------------------------------------------------------- repeated calls


@each_case
def test_calls_do_not_leave_traces(name, approximation):
    problem = make_problem(10, m=9, p=2, weights="fractional")
    objective = problem.objective(name, approximation, capacity=9)
    other = KERNELS["Matern 2.5"]
    calls = [(9, ARD, 0.05), (3, other, 0.2), (9, ARD, 0.05), (1, ARD, 0.01), (6, other, 0.05)]
    seen = [objective(k, s2, problem.basis[:m], with_basis=True) for m, k, s2 in calls]
    for (m, kernel, s2), got in zip(calls, seen):
        fresh = replace(problem, basis=problem.basis[:m], noise_variance=s2)
        assert_same(got, fresh.evaluate(name, approximation, kernel), 1e-12)
        assert_same(got, fresh.expected(name, approximation, kernel), 1e-8)
    for part in ("value", *GRADIENTS):
        assert_array_equal(getattr(seen[0], part), getattr(seen[2], part))


# ------------------------------------------------------------------------------------ limits


@each_case
class TestLimits:
    def assert_as_defined(self, problem, case, tolerance=1e-8, kernel=ARD):
        got = problem.evaluate(case[0], case[1], kernel)
        assert_finite(got)
        assert_same(got, problem.expected(*case, kernel), tolerance)

    @pytest.mark.parametrize("m", [1, 3])
    def test_one_row(self, name, approximation, m):
        self.assert_as_defined(make_problem(n=1, m=m), (name, approximation))

    def test_one_basis_vector(self, name, approximation):
        self.assert_as_defined(make_problem(m=1), (name, approximation))

    @pytest.mark.parametrize("weights", [None, "fractional"])
    def test_all_rows_are_the_basis(self, name, approximation, weights):
        problem = make_problem(11, n=9, weights=weights)
        self.assert_as_defined(replace(problem, basis=problem.X), (name, approximation))

    def test_more_basis_vectors_than_rows(self, name, approximation):
        self.assert_as_defined(make_problem(12, n=6, m=9), (name, approximation), 1e-6)

    def test_duplicate_rows(self, name, approximation):
        problem = make_problem(13)
        X, y = np.vstack([problem.X] * 2), np.hstack([problem.y] * 2)
        self.assert_as_defined(replace(problem, X=X, y=y), (name, approximation))

    @pytest.mark.parametrize("constant", [0.0, 3.0])
    def test_constant_target(self, name, approximation, constant):
        problem = make_problem(14)
        problem = replace(problem, y=np.full((1, 14), constant))
        self.assert_as_defined(problem, (name, approximation))

    def test_huge_noise(self, name, approximation):
        self.assert_as_defined(make_problem(15, noise_variance=1e6), (name, approximation), 1e-6)

    def test_duplicate_basis_vectors(self, name, approximation):
        """The model is that of the vectors without the copies, but for jitter."""
        single = make_problem(16)
        double = replace(single, basis=single.basis[[0, 1, 2, 3, 4, 1, 1]])
        got = double.evaluate(name, approximation)
        assert_finite(got)
        parts = "value", "theta", "log_noise"
        assert_same(got, single.expected(name, approximation), 1e-8, parts)

    def test_tiny_noise_and_long_length_scales(self, name, approximation):
        problem = make_problem(17, n=24, m=12, noise_variance=1e-6)
        problem = replace(problem, y=np.sin(problem.X.sum(axis=1))[None])
        kernel = Gaussian(variance=1.0, length_scale=[3.0, 4.0])
        assert np.linalg.cond(kernel(problem.basis)) > 1e9
        self.assert_as_defined(problem, (name, approximation), 1e-4, kernel)

    def test_singular_kernel_matrix(self, name, approximation):
        """Where basis vectors move hardly counts, and is lost in rounding; the rest is not."""
        problem = make_problem(18, n=24, m=20, noise_variance=1e-6)
        problem = replace(problem, y=np.sin(problem.X.sum(axis=1))[None])
        kernel = Gaussian(variance=1.0, length_scale=[10.0, 12.0])
        assert np.linalg.cond(kernel(problem.basis)) > 1e16
        got = problem.evaluate(name, approximation, kernel)
        assert_finite(got)
        expected = problem.expected(name, approximation, kernel)
        assert_same(got, expected, 1e-2, ("value", "theta", "log_noise"))
        assert_finite(problem.astype(np.float32).evaluate(name, approximation, kernel))


# -------------------------------------------------------------------------------- invariants

fast = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 10_000)
cases = st.sampled_from(CASES)


@fast
@given(seed=seeds, case=cases, weights=st.sampled_from([None, "fractional"]))
def test_order_of_the_rows_does_not_matter(seed, case, weights):
    problem = make_problem(seed, p=2, weights=weights)
    order = np.random.default_rng(seed).permutation(14)
    w = None if weights is None else problem.weights[order]
    other = replace(problem, X=problem.X[order], y=problem.y[:, order], weights=w)
    assert_same(other.evaluate(*case), problem.evaluate(*case), 1e-8)


@fast
@given(seed=seeds, case=cases, p=st.integers(1, 3))
def test_integer_weights_are_repeated_rows(seed, case, p):
    problem = make_problem(seed, p=p, weights="integer")
    assert_same(problem.evaluate(*case), problem.repeated().evaluate(*case), 1e-8)


@fast
@given(seed=seeds, case=cases, c=st.floats(1e-2, 1e2), weights=st.sampled_from([None, "integer"]))
def test_units_of_the_target(seed, case, c, weights):
    problem = make_problem(seed, p=2, weights=weights)
    scaled = replace(problem, y=c * problem.y, noise_variance=c**2 * problem.noise_variance)
    a = problem.evaluate(*case)
    b = scaled.evaluate(*case, Gaussian(variance=c**2 * 1.3, length_scale=[0.5, 0.9]))
    copies = 14 if weights is None else problem.weights.sum()
    shifts = {"nlml": 2 * copies, "vfe": 2 * copies, "nlgpp": 2.0}  # of two targets
    factor = 1.0 if case[0] in shifts else c**2
    shifted = factor * a.value + shifts.get(case[0], 0.0) * np.log(c)
    assert_allclose(b.value, shifted, rtol=1e-8, atol=1e-8 * abs(a.value))
    for part in GRADIENTS:
        expected = factor * np.asarray(getattr(a, part))
        atol = 1e-7 * np.max(np.abs(expected))
        assert_allclose(getattr(b, part), expected, rtol=0, atol=atol, err_msg=part)


@fast
@given(seed=seeds, case=cases, kernel=st.sampled_from([ARD, KERNELS["Matern 1.5"]]))
def test_moving_everything_changes_nothing(seed, case, kernel):
    problem = make_problem(seed)
    shift = np.random.default_rng(seed).uniform(-3, 3, size=2)
    moved = replace(problem, X=problem.X + shift, basis=problem.basis + shift)
    assert_same(moved.evaluate(*case, kernel), problem.evaluate(*case, kernel), 1e-7)
