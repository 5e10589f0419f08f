"""Which solver is taken, and when it is given up."""

import numpy as np
import pytest

from greedygp.dense.choosing import Prospects, choose_solver, is_hopeless
from greedygp.dense.solvers.options import SolverOptions


def test_few_rows_are_factorised():
    assert choose_solver(10, SolverOptions()) == "cholesky"
    assert choose_solver(1000, SolverOptions()) == "cholesky"
    assert choose_solver(10_000, SolverOptions()) == "pcg"


@pytest.mark.parametrize("n", [10, 100_000])
def test_without_the_matrix_few_targets_are_solved_for_block_by_block(n):
    options = SolverOptions(memory_limit=0.0)
    assert choose_solver(n, options) == "gbcd"
    assert choose_solver(n, options, p=5) == "pcg"
    assert choose_solver(n, options, prefers_products=True) == "pcg"


def test_steps_that_would_outlast_a_factorisation_are_hopeless():
    """Forty rows to a step: 4000 rows allow for a hundred steps."""
    n, tol = 4000, 1e-4
    falling = {rate: list(np.exp(-rate * np.arange(60))) for rate in (0.0, 0.05, 0.15, 0.5)}
    assert is_hopeless(falling[0.0], tol, n)
    assert is_hopeless(falling[0.05], tol, n)  # in 212 steps
    assert not is_hopeless(falling[0.15], tol, n)  # in 71 steps
    assert not is_hopeless(falling[0.5], tol, n)  # it is there
    assert is_hopeless(falling[0.0][:7], tol, n)
    assert not is_hopeless(falling[0.0][:6], tol, n)  # too early to tell
    assert not is_hopeless(falling[0.0][:16], tol, 10_000)
    assert not is_hopeless([1.0], tol, 10)


def test_prospects_are_judged_by_the_root_mean_square_of_the_gradient(Problem):
    solver = Problem(n=40).solver("cg")
    prospects = Prospects(1e-12)
    assert not any(prospects.are_gone(solver) for _ in range(6))
    assert prospects.norms == 6 * [solver.mean_norm]
    assert prospects.are_gone(solver)
