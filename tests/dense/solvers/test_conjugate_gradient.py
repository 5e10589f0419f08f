"""Conjugate gradients and their preconditioner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dense.problems import make
from greedygp.dense.solving import Limits, solve
from greedygp.kernels import Linear


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


@pytest.mark.parametrize("rank", [1, 10, 50])
def test_the_preconditioner_is_the_inverse_of_what_it_knows(Problem, rank):
    problem = Problem(n=50, weighted=True)
    solver = problem.solver("pcg", rank=rank)
    F = solver.inverse.factor
    known = F.T @ F + np.diag(solver.system.ridge)
    residual = np.random.default_rng(0).normal(size=(3, 50))
    expected = np.linalg.solve(known, residual.T).T
    assert_allclose(solver.precondition(residual), expected, rtol=1e-9, atol=1e-9)
