"""Every solver on every problem, against a dense solve and against the paper's algorithm."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.dense import conjugate_gradient, solvers
from greedygp.dense.block_descent import CyclicDescent, GradientDescent, GreedyDescent
from greedygp.dense.cholesky import CholeskySolver, factor_of
from greedygp.dense.conjugate_gradient import ConjugateGradient, random_pivots
from greedygp.dense.solver import HISTORY_FIELDS, Limits, Solver, solve
from greedygp.dense.solvers import (
    SOLVERS,
    SolverOptions,
    choose_solver,
    is_hopeless,
    matrix_fits,
)
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.kernels import Constant, Gaussian, Linear
from reference.dense_regression import block_step, greedy_descent

TOL = 1e-5
SMALL = {"block_size": 8, "working_set": 5, "rank": 6}
WAYS = {name: (name, SMALL) for name in SOLVERS if name != "gbcd"}
WAYS |= {
    "gbcd": ("gbcd", SMALL | {"accelerate": False}),
    "gbcd accelerated": ("gbcd", SMALL),
}
DESCENTS = [way for way in WAYS if way != "cholesky"]
PLAIN = ["smo", "bcd_cyclic", "bcd_gradient", "gbcd"]  # a step is a minimum over a block
FAST = ["cholesky", "cg", "pcg", "gbcd accelerated"]
PROBLEMS = {
    "random": {"n": 30},
    "ill-conditioned": {"n": 12, "length_scale": 2.0, "noise": 1e-2},
    "duplicate rows": {"n": 24, "duplicates": True},
    "one row": {"n": 1},
    "two rows": {"n": 2},
    "weighted": {"n": 24, "weighted": True},
    "several right-hand sides": {"n": 24, "p": 3},
    "many right-hand sides": {"n": 20, "p": 7, "weighted": True},
    "nearly noise": {"n": 24, "noise": 100.0},
    "rank one": {"n": 12, "kernel": Constant(0.7)},
    "rank two": {"n": 12, "kernel": Linear([0.7, 1.4])},
}

each_way = pytest.mark.parametrize("way", WAYS)
each_descent = pytest.mark.parametrize("way", DESCENTS)
each_problem = pytest.mark.parametrize("problem", PROBLEMS)


def make(problem, way, **other):
    name, options = WAYS[way]
    return problem.solver(name, **(options | other))


def steps_of(solver, most):
    """Yield the solver after each of its steps, until it is at the minimum."""
    for _ in range(most):
        if solver.norm <= 1e-9:
            return
        solver.step()
        yield solver


def assert_solved(problem, alpha, tol):
    """The dense gradient is no more than tol, and alpha is as near as that makes it."""
    dense = problem.dense()
    gradient = dense.gradient(np.asarray(alpha).T)
    assert np.max(np.abs(gradient)) <= tol * (1 + 1e-6)
    distance = np.linalg.norm(np.asarray(alpha).T - dense.alpha)
    assert distance <= 1.01 * np.linalg.norm(gradient) / np.linalg.eigvalsh(dense.A)[0] + 1e-12


def rounding(dense, alpha):
    """How far off an objective may be, computed in floating point at alpha (p, n)."""
    size = np.abs(dense.A) @ np.abs(alpha.T) + np.abs(dense.y)
    return 1e-14 * float(np.sum(np.abs(alpha.T) * size))


# ----------------------------------------------------------------------- against a dense solve


@each_way
@each_problem
def test_agrees_with_a_dense_solve(Problem, problem, way):
    problem = Problem(**PROBLEMS[problem])
    solution = solve(make(problem, way), Limits(TOL))
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
    assert_allclose(solver.gradient, expected, rtol=0, atol=1e-12)
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


# --------------------------------------------------------------------------- greedy descent


class Subsets:
    """In place of a generator: subsets that the reference sees, too."""

    def __init__(self, n, size, seed=0):
        self.n, self.size = n, size
        self.draws, self.again = (np.random.default_rng(seed) for _ in range(2))

    def integers(self, n, size):
        assert (n, size) == (self.n, (1, self.size))
        return self.draws.integers(n, size=size)

    def __iter__(self):
        while True:
            yield self.again.integers(self.n, size=(1, self.size))[0]


def greedy(problem, rng=None, **options):
    """The paper's algorithm, unless told otherwise."""
    defaults = {"block_size": 8, "working_set": 5, "together": 1, "memory": 0, "held": 0}
    rng = np.random.default_rng(0) if rng is None else rng
    return GreedyDescent(problem.system(), problem.y, rng=rng, **(defaults | options))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("size", "subset"), [(1, 5), (8, 5), (12, 60), (20, 1)])
def test_the_blocks_are_those_of_algorithms_1_and_2(Problem, size, subset, weighted):
    problem = Problem(n=50, weighted=weighted)
    subsets = Subsets(50, subset)
    solver = greedy(problem, subsets, block_size=size, working_set=subset)
    chosen, choose = [], solver.choose

    def watched():
        found = choose()
        chosen.append(found[0].tolist())
        return found

    solver.choose = watched
    path = [solver.alpha.copy()]
    for _ in range(6):
        solver.step()
        path.append(solver.alpha.copy())
    blocks, expected = greedy_descent(problem.dense().A, problem.y[0], size, iter(subsets), 6)
    assert chosen == blocks
    assert_allclose(np.concatenate(path), expected, rtol=0, atol=1e-9)


def test_blocks_of_all_variables_end_in_one_step(Problem):
    problem = Problem(n=30)
    solution = solve(greedy(problem, block_size=100), Limits(1e-10))
    assert solution.n_iter == 1
    assert_solved(problem, solution.alpha, 1e-10)


def test_the_choice_costs_no_kernel_entry_of_its_own(Problem):
    problem = Problem(n=50)
    solver = greedy(problem)
    for _ in range(3):
        solver.step()
    assert solver.system.entries == 3 * 8 * 50


@pytest.mark.parametrize("together", [2, 3, 50])
def test_several_variables_that_enter_together(Problem, together):
    problem = Problem(n=50, p=2)
    solver, A = greedy(problem, together=together), problem.dense().A
    for _ in range(5):
        block, factor = solver.choose()
        assert len(block) == len(set(block)) == 8
        assert_allclose(factor @ factor.T, A[np.ix_(block, block)], rtol=0, atol=1e-12)
        assert_allclose(solver.panel, problem.dense().K[block], rtol=0, atol=1e-13)
        solver.step()
    assert_solved(problem, solve(solver, Limits(TOL)).alpha, TOL)


@pytest.mark.parametrize("together", [1, 4])
def test_the_residual_of_a_growing_block(Problem, together):
    """`e = K_:B da + g`, the choice's measure, is the gradient after the block's step."""
    problem = Problem(n=40, p=2, weighted=True)
    A, solver = problem.dense().A, greedy(problem, together=together)
    block, g = solver._grow(solver.panel), -problem.y.T
    change, _ = block_step(A, g, block.index)
    outside = np.setdiff1d(np.arange(40), block.index)
    expected = (g + A @ change).T[:, outside]
    assert_allclose(block.residual()[:, outside], expected, rtol=0, atol=1e-11)
    assert_allclose(block.residual(outside), expected, rtol=0, atol=1e-11)
    gain = np.sum(expected**2, axis=0) / np.diag(A)[outside]
    assert_allclose(block.scores(outside), gain, rtol=0, atol=1e-11)
    assert_allclose(block.scores()[outside], gain, rtol=0, atol=1e-11)
    assert_array_equal(block.scores()[block.index], -1.0)
    assert_array_equal(block.scores(block.index), -1.0)


class Watched(GreedyDescent):
    """Notes the gradient before every move over a block, and alpha before and after it."""

    moves: list

    def minimise_over(self, index, factor, panel):
        before, gradient = self.alpha.copy(), self.gradient.copy()
        super().minimise_over(index, factor, panel)
        self.moves.append((index, before, gradient, self.alpha.copy()))


@pytest.mark.parametrize("held", [0, 10])
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("problem", ["random", "ill-conditioned", "duplicate rows", "weighted"])
def test_an_accelerated_step_falls_at_least_as_far_as_the_plain_one(Problem, problem, p, held):
    problem = Problem(**(PROBLEMS[problem] | {"p": p}))
    dense = problem.dense()
    options = {"block_size": 8, "working_set": 5, "together": 2, "memory": 4, "held": held}
    solver = Watched(problem.system(), problem.y, rng=np.random.default_rng(0), **options)
    solver.moves = []
    for _ in steps_of(solver, 25):
        pass
    further = 0
    for index, before, gradient, after in solver.moves:
        _, plain = block_step(dense.A, gradient.T, index)
        fall = dense.objective(before.T) - dense.objective(after.T)
        assert fall >= plain - 10 * rounding(dense, after)
        further += fall > 1.01 * plain
    assert further >= 3


def test_a_step_is_conjugate_to_the_earlier_ones(Problem):
    problem = Problem(n=40, p=2)
    solver = greedy(problem, memory=3)
    for _ in range(5):
        solver.step()
    A = problem.dense().A
    assert len(solver.steps) == 3
    for line in range(2):
        directions = np.stack([direction[line] for direction, _ in solver.steps])
        products = np.stack([product[line] for _, product in solver.steps])
        assert_allclose(products, directions @ A, rtol=0, atol=1e-10)
        assert_allclose(directions @ A @ directions.T, np.eye(3), rtol=0, atol=1e-10)
        assert_allclose(directions @ solver.gradient[line], 0.0, atol=1e-10)


def test_a_held_block_is_at_its_minimum_after_every_step(Problem):
    problem = Problem(n=40, p=2)
    solver = greedy(problem, held=10)
    for _ in range(5):
        solver.step()
        index = solver.held[0]
        assert_allclose(solver.gradient[:, index], 0.0, atol=1e-12)
    assert len(index) == 10
    assert solver.system.entries == 10 * 40 + 4 * 8 * 40


def test_directions_of_nothing_but_rounding_are_not_followed(Problem):
    """Once the blocks are everything, each step lies in the span of the ones before."""
    problem = Problem(n=20)
    solver = greedy(problem, block_size=20, memory=5, held=10)
    for _ in range(40):
        solver.step()
        assert problem.dense().objective(solver.alpha.T) <= 0.0
    assert_solved(problem, solver.alpha, 1e-10)


def test_a_block_that_cannot_be_factorised(Problem):
    problem = Problem(n=10)
    problem.X[3, 0] = np.nan
    for way in ("bcd_cyclic", "gbcd"):
        with pytest.raises(NotPositiveDefiniteError, match=r"noise_variance.*solver='cholesky'"):
            solve(make(problem, way), Limits(TOL, max_iter=20))


# ------------------------------------------------------------------ conjugate gradients, factors


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues(Problem):
    problem = Problem(n=30, kernel=Linear([0.7, 1.4]), noise=0.5)
    solution = solve(make(problem, "cg"), Limits(1e-9))
    assert solution.n_iter <= 4


@pytest.mark.parametrize("rank", [1, 10, 50])
def test_the_preconditioner_is_the_inverse_of_what_it_knows(Problem, rank):
    problem = Problem(n=50, weighted=True)
    solver = problem.solver("pcg", rank=rank)
    F = solver.factor
    known = F.T @ F + np.diag(solver.system.ridge)
    residual = np.random.default_rng(0).normal(size=(3, 50))
    expected = np.linalg.solve(known, residual.T).T
    assert_allclose(solver.precondition(residual), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 5, 20, 40])
def test_a_partial_factor_leaves_a_positive_rest(Problem, rank):
    problem = Problem(n=40)
    factor = random_pivots(problem.system(), rank, np.random.default_rng(0))
    assert factor.shape[0] <= rank
    rest = problem.dense().K - factor.T @ factor
    assert np.linalg.eigvalsh(rest)[0] > -1e-10
    if rank == 40:
        assert np.max(np.abs(rest)) < 1e-8


def test_the_partial_factor_of_many_pivots_together(Problem, monkeypatch):
    problem = Problem(n=60)
    for together in (1, 7, 100):
        monkeypatch.setattr(conjugate_gradient, "PIVOTS_TOGETHER", together)
        factor = random_pivots(problem.system(), 30, np.random.default_rng(0))
        rest = problem.dense().K - factor.T @ factor
        assert np.linalg.eigvalsh(rest)[0] > -1e-10
        assert np.trace(rest) < 0.1 * np.trace(problem.dense().K)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel",
    [
        Constant(2.0),
        Linear([1.0, 1e-4]),
        Gaussian(1e3, 1.0),
        Gaussian(1.0, 50.0),
        Linear([1.0, 1.0]),
    ],
)
@pytest.mark.parametrize("duplicates", [False, True])
def test_the_factor_of_a_kernel_of_lower_rank(Problem, kernel, dtype, duplicates):
    """Nothing but rounding is left of the diagonal at some point; it is not factorised."""
    for seed in range(5):
        problem = Problem(n=100, kernel=kernel, duplicates=duplicates, seed=seed)
        system = problem.system(to=lambda a: np.asarray(a, dtype=dtype))
        factor = random_pivots(system, 100, np.random.default_rng(seed)).astype(np.float64)
        K = problem.dense().K
        close = 2e-3 if dtype == np.float32 else 1e-8
        assert np.max(np.abs(K - factor.T @ factor)) < close * np.max(K)


def test_a_kernel_of_zeros(Problem):
    """A linear kernel at the origin: all that is left is the ridge."""
    problem = Problem(n=5, kernel=Linear([1.0, 1.0]))
    problem.X[:] = 0.0
    for way in WAYS:
        solution = solve(make(problem, way), Limits(TOL))
        assert_allclose(solution.alpha, problem.y / 0.3, rtol=1e-9)


@pytest.mark.parametrize("hold", [False, True])
def test_the_cholesky_factor(Problem, hold):
    problem = Problem(n=40, weighted=True)
    system = problem.system(hold)
    factor = factor_of(system)
    assert_allclose(factor, np.linalg.cholesky(problem.dense().A), rtol=0, atol=1e-12)
    if hold:
        assert_allclose(system.matrix, problem.dense().K, rtol=0, atol=1e-13)
    again = CholeskySolver(system, problem.y, factor=factor)
    assert again.factor is factor


def test_a_matrix_that_is_not_positive_definite(Problem):
    problem = Problem(n=40, length_scale=30.0, noise=1e-300)
    with pytest.raises(NotPositiveDefiniteError, match=r"K \+ noise \(40 x 40\).*noise_variance"):
        make(problem, "cholesky")


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
    solution = solve(Liar(problem.system(), problem.y), Limits(TOL))
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
    late = Limits(TOL, deadline=time.perf_counter() - 1.0)
    assert solve(make(problem, "smo"), late).status == "time_limit"

    def slow(solver, n_iter):
        time.sleep(0.02)
        return False

    soon = Limits(1e-300, deadline=time.perf_counter() + 0.05)
    solution = solve(make(problem, "smo"), soon, slow)
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


# ---------------------------------------------------------------------------- to go on later


@each_way
@pytest.mark.parametrize("p", [1, 6])
def test_a_restored_solver_goes_on_bit_for_bit(Problem, way, p):
    problem = Problem(n=40, p=p, weighted=True)
    first = make(problem, way)
    for _ in range(4):
        first.step()
    kept = first.snapshot()
    second = make(problem, way)
    for _ in range(4):
        first.step()
    second.restore(kept)
    assert not second.is_exact
    for _ in range(4):
        second.step()
    third = make(problem, way)
    third.restore(kept)  # a snapshot is not used up
    for _ in range(4):
        third.step()
    for again in (second, third):
        assert_array_equal(again.alpha, first.alpha)
        assert_array_equal(again.gradient, first.gradient)


# ------------------------------------------------------------------------------- which solver


def test_whether_a_matrix_may_be_held():
    assert matrix_fits(1000, SolverOptions(memory_limit=8e6))
    assert not matrix_fits(1001, SolverOptions(memory_limit=8e6))
    assert not matrix_fits(1, SolverOptions(memory_limit=0.0))


def test_few_rows_are_factorised():
    assert choose_solver(10, SolverOptions()) == "cholesky"
    assert choose_solver(1000, SolverOptions()) == "cholesky"
    for n in (10, 100_000):
        assert choose_solver(n, SolverOptions(memory_limit=0.0)) in set(SOLVERS) - {"cholesky"}


def test_steps_that_would_outlast_a_factorisation_are_hopeless():
    """A hundred rows to a step: 10,000 rows allow for a hundred steps."""
    n, tol = 10_000, 1e-4
    falling = {rate: list(np.exp(-rate * np.arange(60))) for rate in (0.0, 0.05, 0.15, 0.5)}
    assert is_hopeless(falling[0.0], tol, n)
    assert is_hopeless(falling[0.05], tol, n)  # in 184 steps
    assert not is_hopeless(falling[0.15], tol, n)  # in 61 steps
    assert not is_hopeless(falling[0.5], tol, n)  # it is there
    assert not is_hopeless(falling[0.0][:20], tol, n)  # too early to tell
    assert not is_hopeless([1.0], tol, 10)


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


def test_all_names_make_solvers(Problem):
    problem = Problem(n=30)
    for name in SOLVERS:
        assert problem.solver(name).name == name


@pytest.mark.parametrize("n", [1, 10, 1000, 100_000, 10**7, 10**9])
def test_default_sizes(n):
    for size in (solvers.default_block(n), solvers.default_rank(n)):
        assert 1 <= size <= max(2000, n)
        assert size <= 100 or 8 * n * size <= solvers.PANEL_BYTES


def test_the_options_reach_the_solver(Problem):
    problem = Problem(n=40)
    assert problem.solver("bcd_cyclic", block_size=7).panel.shape == (7, 40)
    assert problem.solver("pcg", rank=9).factor.shape == (9, 40)
    plain = problem.solver("gbcd", block_size=7, working_set=11, accelerate=False)
    assert (plain.block_size, plain.working_set) == (7, 11)
    assert (plain.together, plain.memory, plain.held_size) == (1, 0, 0)
    fast = problem.solver("gbcd", block_size=16)
    assert fast.memory > 0
    assert fast.held_size > 0
