"""The solve: when it ends, what it tells, how two of them follow each other."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dense.problems import (
    TOL,
    WAYS,
    assert_solved,
    make,
)
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.conjugate_gradient import ConjugateGradient
from greedygp.dense.solving import HISTORY_FIELDS, Limits, solve
from greedygp.progress import Deadline

each_way = pytest.mark.parametrize("way", WAYS)


# ----------------------------------------------------------------------------------- the loop


class Lazy(ConjugateGradient):
    """Says that it is done after its third step."""

    lies = 0

    def step(self):
        super().step()
        self.lies += 1
        if self.lies == 3:
            self.gradient = 0.0 * self.gradient


class Liar(Solver):
    """Does nothing, and says that it is done."""

    def step(self):
        self.gradient = 0.0 * self.gradient


def test_success_is_not_declared_on_a_gradient_that_is_not_from_scratch(Problem):
    problem = Problem(n=40)
    solution = solve(Lazy(problem.system(), problem.y), Limits(TOL))
    assert solution.converged
    assert solution.n_iter > 3
    assert_solved(problem, solution.alpha, TOL)


def test_a_solver_that_gets_nowhere_stalls(Problem):
    problem = Problem(n=40)
    solution = solve(Liar(problem.system(), problem.y), Limits(TOL, max_iter=100))
    assert solution.status == "stalled"
    assert solution.norm == pytest.approx(np.max(np.abs(problem.y)))
    assert solution.n_iter < 10


@pytest.mark.parametrize("way", [way for way in WAYS if way != "smo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_noticed(Problem, way, dtype):
    """No solver gets below what rounding leaves of the gradient; none goes on forever."""
    problem = Problem(n=12, p=2)
    solver = make(problem, way, to=lambda a: np.asarray(a, dtype=dtype))
    epsilon = np.finfo(dtype).eps
    limits = Limits(1e-3 * epsilon, max_iter=3000)
    solution = solve(solver, limits)
    assert solution.status == "stalled"
    assert solution.norm < 1e3 * epsilon
    assert solution.norm < 100 * solver.rounding


def test_a_gradient_that_is_not_a_number_stalls(Problem):
    class Broken(Solver):
        def step(self):
            self.gradient = np.nan * self.gradient

    problem = Problem(n=5)
    solution = solve(Broken(problem.system(), problem.y), Limits(TOL))
    assert (solution.status, solution.n_iter) == ("stalled", 1)


@each_way
def test_max_iter(Problem, way):
    problem = Problem(n=40)
    for most in (0, 1):
        solution = solve(make(problem, way), Limits(1e-300, max_iter=most))
        assert (solution.status, solution.n_iter) == ("max_iter", most)
        assert not solution.converged
    assert_array_equal(solve(make(problem, way), Limits(TOL, max_iter=0)).alpha, 0 * problem.y)


def test_time_limit(Problem):
    problem = Problem(n=40)
    late = solve(make(problem, "smo"), Limits(TOL), deadline=Deadline.after(-1.0))
    assert (late.status, late.n_iter) == ("time_limit", 0)

    def slow(solver, n_iter):
        time.sleep(0.1)
        return False

    soon = Deadline.after(0.3)
    solution = solve(make(problem, "smo"), Limits(1e-300), slow, deadline=soon)
    assert solution.status == "time_limit"
    assert 1 <= solution.n_iter <= 10


def test_the_watch_sees_every_step_and_may_stop(Problem):
    seen = []

    def watch(solver, n_iter):
        seen.append((n_iter, solver.norm))
        return n_iter == 4

    solution = solve(make(Problem(n=40), "smo"), Limits(TOL), watch)
    assert (solution.status, solution.n_iter) == ("callback", 4)
    assert [n_iter for n_iter, _ in seen] == [1, 2, 3, 4]
    assert [norm for _, norm in seen] == list(solution.history_array()["gradient_norm"][1:])


def test_an_interrupt_keeps_what_there_is(Problem):
    def watch(solver, n_iter):
        if n_iter == 3:
            raise KeyboardInterrupt
        return False

    solution = solve(make(Problem(n=40), "smo"), Limits(TOL), watch)
    assert (solution.status, solution.n_iter) == ("interrupted", 3)
    three = solve(make(Problem(n=40), "smo"), Limits(TOL, max_iter=3))
    assert_array_equal(solution.alpha, three.alpha)


def test_the_steps_of_a_solve_that_goes_on_are_counted_from_there(Problem):
    solution = solve(make(Problem(n=40), "smo"), Limits(1e-300, max_iter=10), first=7)
    assert solution.n_iter == 10
    assert len(solution.history) == 1 + 3


@each_way
def test_history(Problem, way):
    problem = Problem(n=40, p=2)
    solution = solve(make(problem, way), Limits(TOL))
    history = solution.history_array()
    assert history.dtype == HISTORY_FIELDS
    assert len(history) == solution.n_iter + 1
    assert history["objective"][0] == 0.0
    assert history["gradient_norm"][0] == np.max(np.abs(problem.y))
    assert np.all(np.diff(history["seconds"]) >= 0.0)
    assert np.all(np.diff(history["kernel_passes"]) >= 0.0)
    exact = problem.dense()
    assert history["objective"][-1] == pytest.approx(exact.objective(exact.alpha), rel=1e-6)
    assert solution.kernel_passes >= history["kernel_passes"][-1]
    assert solution.seconds >= history["seconds"][-1]


def test_two_solves_in_a_row(Problem):
    problem = Problem(n=30)
    begun = solve(make(problem, "cg"), Limits(TOL, max_iter=2))
    ended = solve(make(problem, "cholesky", alpha=begun.alpha), Limits(TOL))
    both = begun.followed_by(ended)
    assert (both.status, both.n_iter, both.norm) == ("converged", 3, ended.norm)
    assert both.seconds == begun.seconds + ended.seconds
    assert_array_equal(both.alpha, ended.alpha)
    history = both.history_array()
    assert len(history) == 4
    assert np.all(np.diff(history["seconds"]) >= 0.0)


def test_the_order_of_the_reasons(Problem):
    """Convergence is looked at before limits, and limits before rounding."""
    problem = Problem(n=5)
    late = Deadline.after(-1.0)
    done = make(problem, "cg", alpha=problem.dense().alpha.T)
    assert solve(done, Limits(TOL, max_iter=0), deadline=late).status == "converged"
    assert solve(make(problem, "cg"), Limits(TOL, max_iter=0), deadline=late).status == "max_iter"
    stuck = solve(Liar(problem.system(), problem.y), Limits(TOL))
    limited = Limits(TOL, max_iter=stuck.n_iter)
    assert solve(Liar(problem.system(), problem.y), limited).status == "max_iter"
    assert solve(make(problem, "cg"), Limits(TOL), gives_up=lambda s: True).status == "hopeless"


def test_the_watch_is_not_shown_what_is_not_a_number(Problem):
    class Broken(Solver):
        def step(self):
            self.gradient = np.nan * self.gradient

    problem, seen = Problem(n=5), []
    limits = Limits(TOL, max_iter=1)
    solution = solve(Broken(problem.system(), problem.y), limits, lambda *step: seen.append(step))
    assert (solution.status, solution.n_iter, seen) == ("stalled", 1, [])
    assert len(solution.history) == 2


def test_giving_up_is_decided_at_the_start_and_after_every_step(Problem):
    norms = []

    def gives_up(solver):
        norms.append(solver.norm)
        return len(norms) == 4

    solution = solve(make(Problem(n=40), "smo"), Limits(TOL), gives_up=gives_up)
    assert (solution.status, solution.n_iter) == ("hopeless", 3)
    assert norms == list(solution.history_array()["gradient_norm"])
