"""Greedy block coordinate descent against the paper's algorithms, and beyond the paper."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dense.problems import (
    PROBLEMS,
    TOL,
    assert_solved,
    make,
    rounding,
    steps_of,
)
from greedygp.dense.solvers.greedy_descent import MOST_SCORED, GreedyDescent
from greedygp.dense.solving import Limits, solve
from greedygp.exceptions import NotPositiveDefiniteError
from reference.dense_regression import block_step, greedy_block_of_many, greedy_descent
from tolerances import assert_close


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
    defaults = {"block_size": 8, "working_set": 5, "together": 1, "memory": 0, "rank": 0}
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


class Mixtures(Subsets):
    """The same, with signs that mix the right-hand sides."""

    def __init__(self, n, size):
        super().__init__(n, size)
        self.signs = []

    def choice(self, values, size):
        self.signs.append(self.draws.choice(values, size=size))
        # The reference draws its subsets from the same stream.
        assert_array_equal(self.signs[-1], self.again.choice(values, size=size))
        return self.signs[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [3, 4, 5, 9])
def test_many_right_hand_sides_share_blocks_that_mixtures_choose(Problem, p, weighted):
    problem = Problem(n=40, p=p, weighted=weighted)
    A, rng = problem.dense().A, Mixtures(40, 6)
    solver = greedy(problem, rng, working_set=6)
    for _ in range(3):
        G, alpha = solver.gradient.copy(), solver.alpha.copy()
        block, *_ = solver.choose()
        mixed = G if p <= MOST_SCORED else rng.signs[-1] @ G
        assert mixed.shape[0] <= MOST_SCORED
        assert block.tolist() == greedy_block_of_many(A, mixed, 8, iter(rng))
        rng = solver.rng = Mixtures(40, 6)
        solver.step()
        block = np.flatnonzero((solver.alpha != alpha).any(axis=0))
        for k in range(p):  # each goes to its own minimum over the block
            change, _ = block_step(A, G[k], block)
            assert_allclose(solver.alpha[k] - alpha[k], change, rtol=0, atol=1e-9)
        rng = solver.rng = Mixtures(40, 6)


@pytest.mark.parametrize("prefitting", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subset", [None, 5])
def test_the_variants_that_the_paper_names(Problem, subset, weighted, prefitting):
    """All others looked at, and equation (7): blocks and steps are those of the definition."""
    problem = Problem(n=40, weighted=weighted)
    subsets = Subsets(40, subset) if subset else np.random.default_rng(0)
    looked_at = iter(subsets) if subset else iter(lambda: range(40), None)
    solver = greedy(problem, subsets, working_set=subset, prefitting=prefitting)
    chosen, choose = [], solver.choose

    def watched():
        found = choose()
        chosen.append(found[0].tolist())
        return found

    solver.choose = watched
    for _ in range(5):
        solver.step()
    A = problem.dense().A
    blocks, expected = greedy_descent(A, problem.y[0], 8, looked_at, 5, prefitting)
    assert chosen == blocks
    assert_allclose(solver.alpha[0], expected[-1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{"working_set": None}, {"prefitting": True}])
@pytest.mark.parametrize("problem", ["ill-conditioned", "duplicate rows"])
def test_the_variants_solve_when_accelerated(Problem, problem, options):
    problem = Problem(**(PROBLEMS[problem] | {"p": 6}))
    solver = greedy(problem, together=3, memory=2, rank=10, **options)
    assert_solved(problem, solve(solver, Limits(TOL)).alpha, TOL)


def test_a_variable_gains_no_less_with_the_block_solved_for_again(Problem):
    problem = Problem(n=40, p=2)
    plain, prefitted = (greedy(problem, prefitting=p)._grow(np.empty((8, 40))) for p in (0, 1))
    assert_array_equal(plain.scores() >= 0, ~plain.member)
    left = prefitted._left_of_diagonal(slice(None))[~prefitted.member]
    A, B = problem.dense().A, prefitted.index
    schur = np.diag(A - A[:, B] @ np.linalg.solve(A[np.ix_(B, B)], A[B]))[~prefitted.member]
    assert_close(left, schur)


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
        assert_close(factor @ factor.T, A[np.ix_(block, block)])
        assert_close(solver.panel, problem.dense().K[block])
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


@pytest.mark.parametrize("rank", [0, 10])
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("problem", ["random", "ill-conditioned", "duplicate rows", "weighted"])
def test_an_accelerated_step_falls_at_least_as_far_as_the_plain_one(Problem, problem, p, rank):
    problem = Problem(**(PROBLEMS[problem] | {"p": p}))
    dense = problem.dense()
    options = {"block_size": 8, "working_set": 5, "together": 2, "memory": 4, "rank": rank}
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
    assert further >= 3 or rank  # whole steps leave the blocks little to do


def test_a_step_is_conjugate_to_the_earlier_ones(Problem):
    problem = Problem(n=40, p=2)
    solver = greedy(problem, memory=3)
    for _ in range(5):
        before = solver.alpha.copy()
        solver.step()
        direction, change = solver.steps[-1][0], solver.alpha - before
        lengths = np.linalg.norm(direction, axis=1) * np.linalg.norm(change, axis=1)
        assert_allclose(np.abs(np.sum(direction * change, axis=1)), lengths, rtol=1e-12)
    A = problem.dense().A
    assert len(solver.steps) == 3
    for line in range(2):
        directions = np.stack([direction[line] for direction, _ in solver.steps])
        products = np.stack([product[line] for _, product in solver.steps])
        assert_allclose(products, directions @ A, rtol=0, atol=1e-10)
        assert_allclose(directions @ A @ directions.T, np.eye(3), rtol=0, atol=1e-10)
        assert_allclose(directions @ solver.gradient[line], 0.0, atol=1e-10)


@pytest.mark.parametrize("problem", ["random", "duplicate rows", "weighted"])
def test_a_step_over_all_variables_is_the_minimum_on_its_line(Problem, problem):
    problem = Problem(**(PROBLEMS[problem] | {"p": 2}))
    dense = problem.dense()
    solver = greedy(problem, rank=10)
    solver.step()
    first, K = solver.first[0], dense.A - np.diag(problem.system().ridge)
    assert len(first) == 10
    assert_allclose(solver.gradient[:, first], 0.0, atol=1e-11)
    low_rank = K[:, first] @ np.linalg.pinv(K[np.ix_(first, first)], rcond=1e-9) @ K[first]
    direction = -solver.gradient @ np.linalg.inv(low_rank + np.diag(problem.system().ridge))
    before, gradient = solver.alpha.copy(), solver.gradient.copy()
    length = -np.sum(gradient * direction, axis=1) / np.sum(direction @ dense.A * direction, axis=1)
    solver.step()
    assert_allclose(solver.alpha, before + length[:, None] * direction, rtol=0, atol=1e-6)


def test_the_kind_of_step_that_pays_is_made(Problem):
    solver = greedy(Problem(n=40), rank=10)
    solver.step()
    kinds = []
    solver.choose, solver._whole_step = (
        _noting(kinds, "block", solver.choose),
        _noting(kinds, "whole", solver._whole_step),
    )
    costs = solver._costs()
    for _ in range(6):
        expected = max(solver.rates, key=solver.rates.get)
        before = solver.objective
        solver.step()
        assert kinds[-1] == expected
        assert solver.rates[expected] == (before - solver.objective) / costs[expected]
    assert kinds[:2] == ["whole", "block"]


def _noting(kinds, kind, step):
    def noted():
        kinds.append(kind)
        return step()

    return noted


def test_directions_of_nothing_but_rounding_are_not_followed(Problem):
    """Once the blocks are everything, each step lies in the span of the ones before."""
    problem = Problem(n=20, D=10, length_scale=1.0, noise=0.01)
    solver = greedy(problem, block_size=20, together=20, memory=30, rank=10)
    for _ in range(200):
        solver.step()
        assert solver.norm < 3.0
    assert_solved(problem, solver.alpha, 1e-10)


def test_a_block_that_cannot_be_factorised(Problem):
    problem = Problem(n=10)
    problem.X[3, 0] = np.nan
    for way in ("bcd_cyclic", "gbcd"):
        with pytest.raises(NotPositiveDefiniteError, match=r"noise_variance.*solver='cholesky'"):
            solve(make(problem, way), Limits(TOL, max_iter=20))
