"""The direct solver."""

import numpy as np
import pytest

from dense.problems import make
from greedygp.dense.solvers.cholesky import CholeskySolver, factor_of
from greedygp.exceptions import NotPositiveDefiniteError
from tolerances import assert_close


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
