"""What the user says of a solver reaches it; sizes that nobody gave."""

import pytest

from greedygp.dense.solvers import conjugate_gradient, options
from greedygp.dense.solvers.options import SolverOptions


def test_whether_a_matrix_may_be_held():
    assert SolverOptions(memory_limit=8e6).matrix_fits(1000)
    assert not SolverOptions(memory_limit=8e6).matrix_fits(1001)
    assert not SolverOptions(memory_limit=0.0).matrix_fits(1)


@pytest.mark.parametrize("n", [1, 10, 1000, 100_000, 10**7, 10**9])
def test_default_sizes(n):
    for size in (
        options.default_block_size(n),
        options.default_rank(n, options.RANK_SHARE_HELD),
        options.default_rank(n, conjugate_gradient.RANK_SHARE),
    ):
        assert 1 <= size <= max(2000, n)
        assert size <= 100 or 8 * n * size <= options.PANEL_BYTES


def test_a_block_has_a_tenth_of_the_rows():
    """Between a smallest and a largest size."""
    sizes = [options.default_block_size(n) for n in (2000, 5010, 7009, 9990, 50_000)]
    assert sizes == [500, 501, 700, 999, 1000]


def test_the_options_reach_the_solver(Problem):
    problem = Problem(n=40)
    assert problem.solver("bcd_cyclic", block_size=7).panel.shape == (7, 40)
    assert problem.solver("pcg", rank=9).inverse.factor.shape == (9, 40)
    plain = problem.solver("gbcd", block_size=7, working_set=11, accelerate=False)
    assert (plain.block_size, plain.working_set) == (7, 11)
    assert (plain.together, plain.memory, plain.rank) == (1, 0, 0)
    fast = problem.solver("gbcd", block_size=16)
    assert fast.memory > 0
    assert fast.rank > 0
