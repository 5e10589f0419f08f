"""Triangular solves in place: any layout, with and without BLAS's routine at hand."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import triangular
from greedygp.triangular import solve_in_place
from tolerances import assert_close


@pytest.fixture(params=["routine", "wrapper"])
def way(request, monkeypatch):
    if request.param == "wrapper":
        monkeypatch.setattr(triangular, "_dtrsm", lambda: None)


def problem(m=5, width=7, seed=0):
    rng = np.random.default_rng(seed)
    return np.tril(rng.normal(size=(m, m))) + 3.0 * np.eye(m), rng.normal(size=(m, width))


def expected(factor, right, transposed):
    return np.linalg.solve(factor.T if transposed else factor, right)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (5, 7)])
def test_against_a_dense_solve(way, transposed, shape):
    factor, right = problem(*shape)
    given, out = right.copy(), np.empty_like(right)
    assert solve_in_place(factor, right, transposed, out) is out
    assert_close(out, expected(factor, given, transposed))
    assert_array_equal(right, given)
    assert_allclose(solve_in_place(factor, right, transposed, right), out, rtol=1e-12)


@pytest.mark.parametrize("transposed", [False, True])
def test_part_of_a_wider_array(way, transposed):
    """Only that part changes."""
    factor, right = problem()
    wide = np.full((8, 20), 4.0)
    wide[1:6, 3:10] = right
    solve_in_place(factor, wide[1:6, 3:10], transposed, wide[1:6, 3:10])
    assert_allclose(wide[1:6, 3:10], expected(factor, right, transposed), rtol=1e-12)
    wide[1:6, 3:10] = 4.0
    assert np.all(wide == 4.0)


@pytest.mark.parametrize("layout", ["fortran", "every other", "backwards", "factor"])
def test_any_layout(way, layout):
    factor, right = problem()
    solution = expected(factor, right, False)
    if layout == "fortran":
        right = np.asfortranarray(right)
    elif layout == "every other":
        right = np.repeat(right, 2, axis=1)[:, ::2]
    elif layout == "backwards":
        right = np.ascontiguousarray(right[::-1])[::-1]
    else:
        factor = np.asfortranarray(factor)
    assert_allclose(solve_in_place(factor, right, False, right), solution, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_solve(way, shape):
    factor, right = problem(*shape)
    assert solve_in_place(factor, right, False, right).shape == shape


def test_the_routine_lets_other_threads_run():
    """While a long solve runs in another thread, this one counts."""
    if triangular._dtrsm() is None:
        pytest.skip("SciPy's BLAS has integers of another size: its wrapper is used")
    # A machine that is busy may give this thread no time during a solve, but not twenty times.
    assert any(counted_during_a_solve() > 1000 for _ in range(20))


def counted_during_a_solve():
    factor, right = problem(1200, 1200)
    begun, done = threading.Event(), threading.Event()

    def work():
        begun.set()
        solve_in_place(factor, right, False, right)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    counted = 0
    while not done.is_set():
        counted += 1
    thread.join()
    return counted
