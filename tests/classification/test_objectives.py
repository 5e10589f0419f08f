"""Values of the objectives against their definitions, gradients against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem, full_sites
from greedygp.classification.objectives import OBJECTIVES, Basis, evaluate, loo_loss
from greedygp.classification.points import Point, moving_parts
from greedygp.classification.propagation import (
    propagate,
    propagated_evidence,
    propagated_sites,
)
from greedygp.classification.refinement import HeldOutLoss, SitePoint, moving_sites, refine
from greedygp.kernels import Constant, Gaussian
from greedygp.progress import NEVER
from reference.classification import (
    gaussian_kernel,
    log_evidence,
    nlp,
    posterior,
    sequential_propagation,
)

STEP = 1e-5


def central(function, x, step=STEP):
    return np.array(
        [(function(x + step * d) - function(x - step * d)) / (2 * step) for d in np.eye(len(x))]
    )


def ard(weights=False, n=30):
    problem = SmallProblem(weights=weights, n=n)
    problem.kernel = Gaussian(variance=2.0, length_scale=[0.7, 1.1])
    return problem


@pytest.mark.parametrize("m", [4, 30])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("optimise", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradients(objective, optimise, weights, m):
    problem = ard(weights)
    if m == 4:
        problem.kernel = problem.kernel + Constant(0.3)
    state = problem.grown(m, optimise=optimise)
    basis = Basis.of(state)
    got = evaluate(objective, problem.kernel, 0.3, basis)

    def by_theta(theta):
        return evaluate(objective, problem.kernel.with_theta(theta), 0.3, basis).value

    def by_bias(bias):
        return evaluate(objective, problem.kernel, bias[0], basis).value

    rtol = 1e-4 if optimise else 1e-6  # sharp sites: differences lose digits
    numeric = central(by_theta, problem.kernel.theta)
    assert_allclose(got.theta, numeric, atol=1e-7, rtol=rtol)
    assert_allclose(got.bias, central(by_bias, np.array([0.3]))[0], atol=1e-7, rtol=rtol)


def test_values(problem):
    state = problem.grown(8)
    basis = Basis.of(state)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    f, A = posterior(K, *full_sites(state))
    outside = nlp(f, A, problem.y, problem.bias, state.outside)
    assert_allclose(evaluate("nlp", problem.kernel, 0.3, basis).value, outside, rtol=1e-9)
    assert_allclose(evaluate("loo", problem.kernel, 0.3, basis).value, loo_loss(state), rtol=1e-9)
    u = np.array(state.indices)
    of_basis = log_evidence(K[np.ix_(u, u)], *state.sites, problem.y[u], 0.3)
    expected = (22 * outside - of_basis) / 30
    assert_allclose(evaluate("nlml", problem.kernel, 0.3, basis).value, expected, rtol=1e-6)


def test_a_basis_of_all_rows_has_a_loss(problem):
    basis = Basis.of(problem.grown(30))
    loo = evaluate("loo", problem.kernel, 0.3, basis).value
    assert evaluate("nlp", problem.kernel, 0.3, basis).value == loo


# ------------------------------------------------------------------- expectation propagation


@pytest.mark.parametrize(("variance", "length_scale"), [(3.0, 0.8), (50.0, 0.5), (0.1, 2.0)])
def test_propagation_reaches_the_fixed_point(variance, length_scale):
    problem = SmallProblem(n=15, variance=variance, length_scale=length_scale)
    state = problem.grown(15)
    made = propagate(state, 200, tol=1e-10)
    assert 0 < made < 200
    K = gaussian_kernel(problem.X, problem.X, variance, length_scale)
    expected = sequential_propagation(K, problem.y, problem.bias, sweeps=60)
    means, precisions = full_sites(state)
    assert_allclose(precisions, expected[1], rtol=1e-6, atol=1e-8)
    assert_allclose(means, expected[0], rtol=1e-5, atol=1e-6)
    assert propagate(state, 200, tol=1e-9) <= 1


def test_propagation_forgets_the_order():
    problem = SmallProblem(weights=True)
    states = [problem.grown(30, criterion="random", seed=seed) for seed in (0, 1)]
    assert np.max(np.abs(states[0].f - states[1].f)) > 1e-3
    for state in states:
        propagate(state, 200, tol=1e-10)
    assert_allclose(states[0].f, states[1].f, atol=1e-7)
    assert_allclose(states[0].a, states[1].a, atol=1e-7)


def test_no_passes_leave_the_sites(problem):
    state = problem.grown(5)
    before = state.sites
    assert propagate(state, 0) == 0
    assert_allclose(state.sites, before)


def test_propagation_from_nothing(problem):
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    state = problem.grown(30)
    propagate(state, 200, tol=1e-10)
    zeros = np.zeros(30)
    means, precisions, *_ = propagated_sites(
        K, problem.y, problem.bias, None, zeros, zeros, passes=300, tol=1e-10
    )
    expected = full_sites(state)
    assert_allclose(precisions, expected[1], rtol=1e-6)
    assert_allclose(means, expected[0], rtol=1e-6)


@pytest.mark.parametrize("weights", [False, True])
def test_evidence_of_a_full_process(weights, monkeypatch):
    """Its derivative is whole: sites are not held fixed in the differences."""
    monkeypatch.setattr("greedygp.classification.propagation.EVIDENCE_TOL", 1e-11)
    monkeypatch.setattr("greedygp.classification.propagation.EVIDENCE_PASSES", 500)
    problem = ard(weights, n=20)
    zeros = np.zeros(20)

    def at(theta, bias):
        return propagated_evidence(
            problem.kernel.with_theta(theta),
            bias,
            problem.X,
            problem.y,
            problem.weights,
            zeros,
            zeros,
        )

    theta = problem.kernel.theta
    got, means, precisions = at(theta, 0.3)
    numeric = central(lambda t: at(t, 0.3)[0].value, theta)
    assert_allclose(got.theta, numeric, atol=1e-6)
    numeric = central(lambda b: at(theta, b[0])[0].value, np.array([0.3]))[0]
    assert_allclose(got.bias, numeric, atol=1e-6)
    if not weights:
        K = np.asarray(problem.kernel(problem.X))
        expected = -log_evidence(K, means, precisions, problem.y, 0.3) / 20
        assert_allclose(got.value, expected, rtol=1e-6)


# ----------------------------------------------------------------------------- coordinates


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_coordinates(tied, bias):
    point = Point(Gaussian(2.0, [0.5, 1.0, 3.0]), 0.4)
    coordinates = moving_parts(point, bias=bias, tied=tied)
    x = coordinates.vector(point)
    assert len(x) == (2 if tied else 4) + bias
    assert len(coordinates.bounds()) == len(x)
    moved = coordinates.point(x + 1.0)
    assert (moved.bias != point.bias) == bias
    if tied:
        ratio = moved.kernel.length_scale / point.kernel.length_scale
        assert_allclose(ratio, ratio[0])
    assert_allclose(coordinates.vector(moved), x + 1.0, atol=1e-12)


# ------------------------------------------------------------------------------ refinement


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_gradient_by_sites(tied, weights):
    problem = ard(weights)
    state = problem.grown(6)
    held_out = np.zeros(30, dtype=bool)
    held_out[np.flatnonzero(state.outside)[:7]] = True
    objective = HeldOutLoss(state, held_out)
    start = SitePoint(state.kernel, state.bias, *state.sites)
    coordinates = moving_sites(start, True, True, tied)
    x = coordinates.vector(start)
    numeric = central(lambda at: objective(coordinates.point(at)).value, x, 1e-3)
    assert_allclose(coordinates.gradient(objective(start)), numeric, atol=1e-8)
    assert len(coordinates.bounds()) == len(x) == (2 if tied else 3) + 1 + 12


def test_refinement_lowers_the_loss_of_rows_held_out():
    problem = SmallProblem(n=400)
    state = problem.grown(12, criterion="random")
    before = state.f.copy()
    options = {"tied": False, "learn_kernel": True, "learn_bias": True, "deadline": NEVER}
    found = refine(state, max_iter=40, rng=np.random.default_rng(0), **options)
    assert found.loss < found.first_loss
    assert found.search.value < found.search.first_value
    assert_allclose(state.f, before, rtol=0)
    fixed = refine(
        state,
        max_iter=10,
        rng=np.random.default_rng(0),
        tied=False,
        learn_kernel=False,
        learn_bias=False,
        deadline=NEVER,
    )
    assert fixed.point.kernel == state.kernel
    assert fixed.point.bias == state.bias
    assert fixed.loss <= fixed.first_loss
