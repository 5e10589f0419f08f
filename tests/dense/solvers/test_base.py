"""What every solver can do: be kept, and go on later."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dense.problems import WAYS, make
from tolerances import assert_close


@pytest.mark.parametrize("way", WAYS)
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


@pytest.mark.parametrize("p", [1, 3])
def test_the_mean_norm_is_a_root_mean_square(Problem, p):
    """Over rows and right-hand sides."""
    solver = Problem(n=24, p=p).solver("cg")
    solver.step()
    assert_close(solver.mean_norm, np.sqrt(np.mean(np.square(solver.gradient))))
