"""Factors of low rank of a kernel matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.dense import low_rank
from greedygp.dense.low_rank import _independent, factor_of_rows, random_pivots
from greedygp.kernels import Constant, Gaussian, Linear
from tolerances import assert_close


def test_rows_of_nothing_but_rounding_are_not_independent():
    """LAPACK takes the first pivot whatever it is."""
    for matrix in (np.array([[-1e-9]]), 1e-12 * np.eye(3), np.zeros((2, 2))):
        rows, triangle = _independent(matrix, 1e-8)
        assert len(rows) == 0
        assert triangle.shape == (0, 0)
    rows, triangle = _independent(
        np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), 1e-8
    )
    assert len(rows) == 2
    assert rows[0] == 2
    assert_allclose(triangle, np.diag([2.0, 1.0]))


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
        monkeypatch.setattr(low_rank, "PIVOTS_TOGETHER", together)
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


def test_rows_that_cholesky_can_tell_apart_are_all_used(Problem):
    """What random pivots would leave out, too: little of the second row is its own."""
    problem = Problem(n=30)
    problem.X[7] = problem.X[3] + [1e-5, 0.0]
    system, rows = problem.system(), np.array([3, 7, 12])
    factor = factor_of_rows(system, rows, system.columns(rows))
    assert factor.shape == (3, 30)
    K = problem.dense().K
    assert_close((factor.T @ factor)[np.ix_(rows, rows)], K[np.ix_(rows, rows)])


def test_a_pivot_with_next_to_nothing_left_is_not_used(Problem):
    """Next to the largest that was drawn, not to the smallest."""
    problem = Problem(n=3, D=3, kernel=Linear(1.0))
    problem.X[:] = [[1.0, 0.0, 0.0], [1.0, np.sqrt(4e-9), 0.0], [0.0, 0.0, 0.4]]
    factor = random_pivots(problem.system(), 100, np.random.default_rng(0))
    assert len(factor) == 2
    assert_allclose(factor.T @ factor, problem.dense().K, atol=low_rank.LEAST_PIVOT)
