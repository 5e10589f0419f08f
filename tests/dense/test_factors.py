"""Conjugate gradients, their preconditioner, and the Cholesky factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dense.problems import (
    TOL,
    WAYS,
    make,
)
from greedygp.dense import low_rank
from greedygp.dense.cholesky import CholeskySolver, factor_of
from greedygp.dense.low_rank import _independent, random_pivots
from greedygp.dense.solver import Limits, solve
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.kernels import Constant, Gaussian, Linear
from tolerances import assert_close


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues(Problem):
    problem = Problem(n=30, kernel=Linear([0.7, 1.4]), noise=0.5)
    solution = solve(make(problem, "cg"), Limits(1e-9))
    assert solution.n_iter <= 4


@pytest.mark.parametrize("way", ["cg", "pcg"])
def test_conjugate_gradients_begin_anew_from_a_gradient_from_scratch(Problem, way):
    problem = Problem(n=30, p=2)
    solver = make(problem, way)
    for _ in range(3):
        solver.step()
    solver.alpha += np.random.default_rng(0).normal(size=(2, 30))
    solver.refresh()
    residual = -problem.dense().gradient(solver.alpha.T).T
    expected = solver.precondition(residual)
    assert_allclose(solver.direction, expected, rtol=0, atol=1e-11)
    assert_allclose(solver.rz, np.sum(residual * expected, axis=1), rtol=1e-10)


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


@pytest.mark.parametrize("rank", [1, 10, 50])
def test_the_preconditioner_is_the_inverse_of_what_it_knows(Problem, rank):
    problem = Problem(n=50, weighted=True)
    solver = problem.solver("pcg", rank=rank)
    F = solver.inverse.factor
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
    dense = problem.dense()
    assert_close(np.tril(factor), np.linalg.cholesky(dense.A))
    assert_close(np.triu(factor, 1), np.triu(dense.K, 1))
    if hold:
        assert_close(system.matrix, problem.dense().K)
    again = CholeskySolver(system, problem.y, factor=factor)
    assert again.factor is factor
    vectors = np.random.default_rng(0).normal(size=(3, 40))
    assert_close(again.product(vectors), vectors @ dense.A)


def test_a_matrix_that_is_not_positive_definite(Problem):
    problem = Problem(n=40, length_scale=30.0, noise=1e-300)
    with pytest.raises(NotPositiveDefiniteError, match=r"K \+ noise \(40 x 40\).*noise_variance"):
        make(problem, "cholesky")
