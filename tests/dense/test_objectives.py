"""Learning objectives of a full GP: against refits without the row, and complex steps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dense.rows import ARD, WEIGHTS, make_problem
from greedygp import full_gp
from greedygp.dense import objectives
from greedygp.dense.objectives import DENSE_OBJECTIVES
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.hyperparameters import Point
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from names import DENSE_OBJECTIVES as NAMES
from pairwise import each_pair
from reference.dense_objectives import objective_value
from reference.sparse_objectives import dense_kernel

KERNELS = {
    "ARD Gaussian": ARD,
    "Matern 0.5": Matern(nu=0.5, variance=1.3, length_scale=[0.8, 1.2]),
    "Matern 2.5": Matern(nu=2.5, variance=1.3, length_scale=[0.6, 1.1]),
    "Gaussian + Constant": Gaussian(1.1, 0.6) + Constant(0.4),
    "Gaussian * Linear + Constant": Gaussian(1.1, [0.6, 0.8]) * Linear([0.7, 1.4]) + Constant(0.3),
    "fixed variance": Gaussian(1.3, [0.5, 0.9], fixed="variance"),
    "nothing free": Gaussian(1.3, 0.6, fixed=("variance", "length_scale")),
}

each_name = pytest.mark.parametrize("name", NAMES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


def assert_same(got, expected, tolerance):
    """Each part is as exact as its largest entry asks for, or zero but for rounding."""
    rounding = 1e-11 * max(1.0, abs(expected.value))
    for part in ("value", "theta", "log_noise"):
        a, b = np.asarray(getattr(got, part)), np.asarray(getattr(expected, part))
        assert a.shape == b.shape, part
        assert np.all(np.isfinite(a)), part
        atol = rounding + tolerance * np.max(np.abs(b), initial=0.0)
        assert_allclose(a, b, rtol=0, atol=atol, err_msg=part)


# ----------------------------------------------------------------------------- the reference


@each_name
def test_the_reference_takes_weights_for_copies(name):
    problem = make_problem(p=2, weights="integer")
    function = dense_kernel(ARD)
    weighted = objective_value(name, function, 0.05, problem.X, problem.y, problem.weights)
    copies = problem.repeated()
    repeated = objective_value(name, function, 0.05, copies.X, copies.y)
    assert_allclose(weighted, repeated, rtol=1e-10)


@each_kernel
@each_name
def test_the_complex_steps_are_differences_of_the_reference(name, kernel):
    problem, h = make_problem(p=2, weights="fractional"), 1e-5
    exact = problem.expected(name, kernel)
    at = np.append(kernel.theta, np.log(0.05))

    def value(at):
        function = dense_kernel(kernel, at[:-1])
        rest = problem.X, problem.y, problem.weights
        return objective_value(name, function, np.exp(at[-1]), *rest)

    for step, slope in zip(h * np.eye(len(at)), [*exact.theta, exact.log_noise]):
        difference = (value(at + step) - value(at - step)) / (2 * h)
        assert_allclose(difference, slope, rtol=1e-6, atol=1e-7)


# ----------------------------------------------------------------------- values and gradients


def test_names():
    assert tuple(DENSE_OBJECTIVES) == NAMES


@each_pair({"name": NAMES, "kernel": KERNELS, "weights": WEIGHTS, "p": [1, 2]})
def test_values_and_gradients(name, kernel, weights, p):
    kernel = KERNELS[kernel]
    problem = make_problem(4, p=p, weights=weights)
    assert_same(problem.evaluate(name, kernel), problem.expected(name, kernel), 1e-8)


@each_weights
@each_name
def test_gradients_are_differences_of_values(name, weights):
    problem, h = make_problem(5, n=20, p=2, weights=weights), 1e-5
    objective, at = problem.objective(name), np.append(ARD.theta, np.log(0.05))

    def value(at):
        return objective(Point(ARD.with_theta(at[:-1]), np.exp(at[-1]))).value

    got = problem.evaluate(name)
    for step, slope in zip(h * np.eye(len(at)), [*got.theta, got.log_noise]):
        difference = (value(at + step) - value(at - step)) / (2 * h)
        assert_allclose(slope, difference, rtol=1e-6, atol=1e-6)


@each_weights
@each_name
def test_many_blocks(monkeypatch, name, weights):
    monkeypatch.setattr(objectives, "BLOCK", 5)
    monkeypatch.setattr(full_gp, "GRADIENT_BLOCK", 6)
    kernel = KERNELS["Gaussian * Linear + Constant"]
    problem = make_problem(6, n=23, p=2, weights=weights)
    assert_same(problem.evaluate(name, kernel), problem.expected(name, kernel), 1e-8)


@each_name
def test_types_and_what_is_left_alone(name):
    problem = make_problem(p=2, weights="fractional")
    before = [a.copy() for a in (problem.X, problem.y, problem.weights)]
    objective, point = problem.objective(name), Point(ARD, 0.05)
    first, again = objective(point), objective(point)
    assert isinstance(first.value, float)
    assert isinstance(first.log_noise, float)
    assert first.theta.dtype == np.float64
    assert first.basis is None
    assert_array_equal(first.theta, again.theta)
    for array, old in zip((problem.X, problem.y, problem.weights), before):
        assert_array_equal(array, old)


@each_weights
@each_name
def test_the_value_alone(name, weights):
    problem = make_problem(7, p=2, weights=weights)
    alone = problem.objective(name).value(Point(ARD, 0.05))
    assert_allclose(alone, problem.evaluate(name).value, rtol=1e-11)


@each_weights
def test_the_scale_is_what_nlgpp_would_choose(weights):
    problem = make_problem(8, p=2, weights=weights)
    objective = problem.objective("nlgpp")
    factor = objective.scale(Point(ARD, 0.05))
    r, t = problem.left_out()
    w = np.ones(14) if weights is None else problem.weights
    assert_allclose(factor, np.average(np.mean(r**2, axis=1) / t, weights=w), rtol=1e-9)
    scaled = objective(Point(ARD.scaled(factor), factor * 0.05))
    assert abs(scaled.theta[0] + scaled.log_noise) < 1e-10  # by the logarithm of a common factor


# ------------------------------------------------------------------------------------ limits


@each_name
class TestLimits:
    def assert_as_defined(self, problem, name, tolerance=1e-8, kernel=ARD):
        assert_same(problem.evaluate(name, kernel), problem.expected(name, kernel), tolerance)

    @each_weights
    def test_one_row(self, name, weights):
        self.assert_as_defined(make_problem(n=1, weights=weights), name)

    def test_duplicate_rows(self, name):
        self.assert_as_defined(make_problem(13).rows(np.repeat(np.arange(14), 2)), name)

    @pytest.mark.parametrize("constant", [0.0, 3.0])
    def test_constant_target(self, name, constant):
        problem = make_problem(14)
        self.assert_as_defined(replace(problem, y=np.full((14, 1), constant)), name)

    def test_weights_of_very_different_size(self, name):
        weights = np.geomspace(1e-4, 1e4, 14)
        self.assert_as_defined(replace(make_problem(15), weights=weights), name, 1e-6)

    def test_weights_of_one_are_none(self, name):
        problem = make_problem(16)
        ones = replace(problem, weights=np.ones(14))
        assert_same(ones.evaluate(name), problem.evaluate(name), 1e-12)

    def test_huge_noise(self, name):
        self.assert_as_defined(make_problem(17, noise_variance=1e6), name, 1e-6)

    def test_tiny_noise(self, name):
        self.assert_as_defined(make_problem(18, noise_variance=1e-10), name, 1e-6)

    def test_tiny_noise_and_long_length_scales(self, name):
        problem = make_problem(19, n=24, noise_variance=1e-6)
        problem = replace(problem, y=np.sin(problem.X.sum(axis=1))[:, None])
        kernel = Gaussian(variance=1.0, length_scale=[3.0, 4.0])
        assert np.linalg.cond(kernel(problem.X) + 1e-6 * np.eye(24)) > 1e7
        self.assert_as_defined(problem, name, 1e-4, kernel)

    def test_duplicate_rows_and_tiny_noise(self, name):
        problem = make_problem(20, noise_variance=1e-8).rows(np.repeat(np.arange(14), 2))
        self.assert_as_defined(problem, name, 1e-4)

    def test_a_matrix_without_numbers(self, name):
        problem = make_problem()
        bad = replace(problem, X=np.full_like(problem.X, np.nan))
        with pytest.raises(NotPositiveDefiniteError, match=r"K \+ noise.*noise_variance"):
            bad.evaluate(name)


# -------------------------------------------------------------------------------- invariants

fast = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10_000)
names = st.sampled_from(NAMES)
weightings = st.sampled_from(WEIGHTS)


@fast
@given(seed=seeds, name=names, weights=weightings, n=st.integers(1, 20))
def test_order_of_the_rows_does_not_matter(seed, name, weights, n):
    problem = make_problem(seed, n=n, p=2, weights=weights)
    order = np.random.default_rng(seed).permutation(n)
    assert_same(problem.rows(order).evaluate(name), problem.evaluate(name), 1e-8)


@fast
@given(seed=seeds, name=names, p=st.integers(1, 3))
def test_integer_weights_are_repeated_rows(seed, name, p):
    problem = make_problem(seed, p=p, weights="integer")
    assert_same(problem.evaluate(name), problem.repeated().evaluate(name), 1e-8)


@fast
@given(seed=seeds, name=names, c=st.floats(1e-2, 1e2), weights=weightings)
def test_units_of_the_target(seed, name, c, weights):
    problem = make_problem(seed, p=2, weights=weights)
    scaled = replace(problem, y=c * problem.y, noise_variance=c**2 * 0.05)
    a = problem.evaluate(name)
    b = scaled.evaluate(name, ARD.scaled(c**2))
    copies = 14 if weights is None else problem.weights.sum()
    shifts = {"nlml": 2 * copies, "nlgpp": 2.0}  # of two targets
    factor = 1.0 if name in shifts else c**2
    shifted = factor * a.value + shifts.get(name, 0.0) * np.log(c)
    assert_allclose(b.value, shifted, rtol=1e-8, atol=1e-8 * abs(a.value))
    for part in ("theta", "log_noise"):
        expected = factor * np.asarray(getattr(a, part))
        atol = 1e-7 * np.max(np.abs(expected)) + 1e-10 * factor
        assert_allclose(getattr(b, part), expected, rtol=0, atol=atol, err_msg=part)


@fast
@given(seed=seeds, name=st.sampled_from(NAMES[1:]), weights=weightings, p=st.integers(1, 3))
def test_targets_are_averaged(seed, name, weights, p):
    problem = make_problem(seed, p=p, weights=weights)
    single = [replace(problem, y=column[:, None]).evaluate(name) for column in problem.y.T]
    together = problem.evaluate(name)
    assert_allclose(together.value, np.mean([each.value for each in single]), rtol=1e-9)
    mean = np.mean([each.theta for each in single], axis=0)
    assert_allclose(together.theta, mean, rtol=0, atol=1e-8 * np.max(np.abs(mean)))
