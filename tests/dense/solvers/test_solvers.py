"""Every solver on every problem, against a dense solve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dense.problems import (
    DESCENTS,
    FAST,
    PLAIN,
    PROBLEMS,
    TOL,
    WAYS,
    assert_solved,
    make,
    rounding,
    steps_of,
)
from greedygp.dense.solvers import SOLVERS
from greedygp.dense.solvers.block_descent import CyclicDescent, GradientDescent
from greedygp.dense.solving import Limits, solve
from greedygp.kernels import Linear
from reference.dense_regression import block_step
from tolerances import assert_close

each_way = pytest.mark.parametrize("way", WAYS)
each_descent = pytest.mark.parametrize("way", DESCENTS)
each_problem = pytest.mark.parametrize("problem", PROBLEMS)


# ----------------------------------------------------------------------- against a dense solve


@each_way
@each_problem
def test_agrees_with_a_dense_solve(Problem, problem, way):
    problem = Problem(**PROBLEMS[problem])
    solution = solve(make(problem, way), Limits(TOL, max_iter=20_000))
    assert solution.converged
    assert solution.status == "converged"
    assert solution.norm <= TOL
    assert_solved(problem, solution.alpha, TOL)


@each_way
def test_a_held_matrix_changes_nothing_but_the_passes(Problem, way):
    problem = Problem(n=24, weighted=True)
    held, fresh = (solve(make(problem, way, hold=hold), Limits(TOL)) for hold in (True, False))
    assert_allclose(held.alpha, fresh.alpha, rtol=0, atol=1e-4)
    assert held.kernel_passes <= 1.0
    assert fresh.kernel_passes > 0.0


@pytest.mark.parametrize("noise", [1e-5, 1e-9])
@pytest.mark.parametrize("way", FAST)
def test_hardly_any_noise(Problem, way, noise):
    problem = Problem(n=40, length_scale=1.0, noise=noise)
    dense = problem.dense()
    assert np.linalg.cond(dense.A) > 1e-1 / noise
    problem.y = (dense.K @ np.random.default_rng(0).normal(size=(40, 1))).T
    solution = solve(make(problem, way), Limits(TOL, max_iter=5000))
    assert solution.converged
    assert np.max(np.abs(dense.A @ solution.alpha.T - problem.y.T)) <= TOL * (1 + 1e-6)


@each_way
def test_a_start(Problem, way):
    problem = Problem(n=30, p=2)
    exact = problem.dense().alpha.T
    near = exact + 1e-3 * np.random.default_rng(0).normal(size=exact.shape)
    given = near.copy()
    solver = make(problem, way, alpha=near)
    expected = problem.dense().gradient(near.T).T
    assert_close(solver.gradient, expected, scale=np.max(np.abs(problem.y)))
    assert_solved(problem, solve(solver, Limits(TOL)).alpha, TOL)
    assert_array_equal(near, given)
    there = solve(make(problem, way, alpha=exact), Limits(TOL))
    assert (there.n_iter, there.status) == (0, "converged")


@each_way
def test_targets_of_zero_need_no_step(Problem, way):
    problem = Problem(n=10)
    problem.y[:] = 0.0
    solution = solve(make(problem, way), Limits(TOL))
    assert (solution.n_iter, solution.status) == (0, "converged")
    assert_array_equal(solution.alpha, np.zeros((1, 10)))


@each_way
def test_a_kernel_of_zeros(Problem, way):
    """A linear kernel at the origin: all that is left is the ridge."""
    problem = Problem(n=5, kernel=Linear([1.0, 1.0]))
    problem.X[:] = 0.0
    solution = solve(make(problem, way), Limits(TOL))
    assert_allclose(solution.alpha, problem.y / 0.3, rtol=1e-9)


@each_way
def test_a_right_hand_side_that_is_solved_already(Problem, way):
    problem = Problem(n=30, p=3)
    problem.y[1] = 0.0
    solution = solve(make(problem, way), Limits(TOL))
    assert_solved(problem, solution.alpha, TOL)
    assert_allclose(solution.alpha[1], 0.0, atol=1e-12)


@each_way
def test_the_right_hand_sides_are_left_alone(Problem, way):
    problem = Problem(n=30, p=2)
    given = problem.y.copy()
    solve(make(problem, way), Limits(TOL))
    assert_array_equal(problem.y, given)


@each_way
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(Problem, way, library):
    xp = pytest.importorskip(library)
    problem = Problem(n=20, p=2, weighted=True, noise=0.5)
    solution = solve(make(problem, way, to=xp.asarray), Limits(1e-4))
    assert type(solution.alpha) is type(xp.asarray(problem.y))
    assert_solved(problem, solution.alpha, 1e-4)


@each_way
def test_single_precision(Problem, way):
    problem = Problem(n=30, p=2)
    single = make(problem, way, to=lambda a: np.asarray(a, dtype=np.float32))
    solution = solve(single, Limits(1e-4))
    assert solution.converged
    assert solution.alpha.dtype == np.float32
    assert_solved(problem, solution.alpha, 1.2e-4)


# ------------------------------------------------------------------------------------- descent


@each_descent
@pytest.mark.parametrize(
    "problem", ["random", "ill-conditioned", "duplicate rows", "weighted", "many right-hand sides"]
)
def test_the_objective_never_rises(Problem, problem, way):
    problem = Problem(**PROBLEMS[problem])
    dense, solver = problem.dense(), make(problem, way)
    assert solver.descends
    before = 0.0
    for now in steps_of(solver, 60):
        after = dense.objective(now.alpha.T)
        assert after <= before + rounding(dense, now.alpha)
        assert now.objective == pytest.approx(after, rel=1e-9, abs=1e-10)
        assert_allclose(now.gradient, dense.gradient(now.alpha.T).T, rtol=0, atol=1e-9)
        before = after
    assert before < 0.0


def test_the_direct_solver_says_that_it_does_not_descend(Problem):
    assert not make(Problem(), "cholesky").descends


@pytest.mark.parametrize("way", PLAIN)
@pytest.mark.parametrize("problem", ["random", "ill-conditioned", "duplicate rows", "weighted"])
def test_theorem_1_holds_step_by_step(Problem, problem, way):
    """With the smallest eigenvalue of the block itself, which is no less than that of (14)."""
    problem = Problem(**PROBLEMS[problem])
    dense, solver = problem.dense(), make(problem, way)
    alpha = np.zeros((1, problem.n))
    for now in steps_of(solver, 60):
        change = (now.alpha - alpha)[0]
        block = np.flatnonzero(change)
        assert 1 <= len(block) <= (2 if way == "smo" else 8)
        smallest = np.linalg.eigvalsh(dense.A[np.ix_(block, block)])[0]
        fall = dense.objective(now.alpha.T) - dense.objective(alpha.T)
        assert fall <= -0.5 * smallest * np.sum(change**2) + rounding(dense, now.alpha)
        alpha = now.alpha.copy()


@pytest.mark.parametrize("way", PLAIN)
def test_a_step_is_the_minimum_over_its_block(Problem, way):
    problem = Problem(n=40, p=3, weighted=True)
    dense, solver = problem.dense(), make(problem, way)
    alpha = np.zeros((3, 40))
    for now in steps_of(solver, 10):
        block = np.flatnonzero(np.any(now.alpha != alpha, axis=0))
        change, _ = block_step(dense.A, dense.gradient(alpha.T), block)
        assert_allclose(now.alpha - alpha, change.T, rtol=0, atol=1e-10)
        alpha = now.alpha.copy()


def test_smo_takes_the_most_violating_pair(Problem):
    problem = Problem(n=40)
    solver = make(problem, "smo")
    for _ in range(5):
        before, g = solver.alpha.copy(), solver.gradient[0].copy()
        solver.step()
        moved = np.flatnonzero((solver.alpha - before)[0])
        assert set(moved) == {np.argmax(g), np.argmin(g)}
    assert solver.system.entries == 5 * 2 * 40


def test_cyclic_blocks_come_in_order(Problem):
    solver = make(Problem(n=20), "bcd_cyclic")
    assert isinstance(solver, CyclicDescent)
    blocks = [solver.choose()[0].tolist() for _ in range(4)]
    rows = list(range(20))
    assert blocks == [rows[:8], rows[8:16], rows[16:], rows[:8]]


def test_gradient_blocks_have_the_largest_gradients(Problem):
    solver = make(Problem(n=20, p=2), "bcd_gradient")
    assert isinstance(solver, GradientDescent)
    for _ in range(5):
        largest = np.max(np.abs(solver.gradient), axis=0)
        block, _ = solver.choose()
        assert set(block) == set(np.argsort(largest)[-8:])
        solver.step()


def test_all_names_make_solvers(Problem):
    problem = Problem(n=30)
    for name in SOLVERS:
        assert problem.solver(name).name == name
