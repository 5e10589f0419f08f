"""The operator of a full GP against the matrix written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import arrays
from greedygp.dense import system as module
from greedygp.dense.system import System
from greedygp.kernels import Constant, Gaussian, Kernel, Linear, Matern
from tolerances import assert_close

KERNELS = {
    "Gaussian": Gaussian(1.3, [0.5, 0.9]),
    "Matern": Matern(nu=1.5, variance=0.7, length_scale=0.6),
    "sum": Gaussian(1.1, 0.6) + Constant(0.4),
    "product": Gaussian(1.1, 0.6) * Linear([0.7, 1.4]) + Constant(0.3),
}
each_hold = pytest.mark.parametrize("hold", [False, True])


def vectors(p, n, seed=1):
    return np.random.default_rng(seed).normal(size=(p, n))


def set_tiles(monkeypatch, columns, rows):
    """Cut even a few rows into tiles; a column tile is a whole number of row tiles."""
    assert columns % rows == 0
    monkeypatch.setattr(module, "COLUMN_TILE", columns)
    monkeypatch.setattr(module, "ROW_TILE", rows)
    monkeypatch.setattr(module, "WIDE_COLUMN_TILE", columns)
    monkeypatch.setattr(module, "WIDE_ROW_TILE", rows)


class Counted(Kernel):
    """A kernel that counts the entries that it is asked for."""

    def __init__(self, kernel):
        self.kernel, self.entries = kernel, 0

    def diag(self, A):
        return self.kernel.diag(A)

    def against(self, B):
        cross = self.kernel.against(B)

        def counted(A, out=None):
            self.entries += A.shape[0] * B.shape[0]
            return cross(A, out=out)

        return counted


# ------------------------------------------------------------------------------- against dense


@each_hold
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_product(Problem, kernel, weighted, hold):
    problem = Problem(n=31, kernel=kernel, weighted=weighted)
    v = vectors(3, 31)
    given = v.copy()
    assert_close(problem.system(hold).product(v), v @ problem.dense().A)
    assert_array_equal(v, given)


@each_hold
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_columns(Problem, kernel, hold):
    problem = Problem(n=31, kernel=kernel, weighted=True)
    index = np.array([30, 0, 7, 7, 12])
    system = problem.system(hold)
    expected = problem.dense().K[index]
    assert_close(system.columns(index), expected)
    panel = np.full((9, 31), np.nan)
    filled = system.columns(index, out=panel[2:7])
    assert np.shares_memory(filled, panel)
    assert_close(panel[2:7], expected)
    assert np.all(np.isnan(panel[:2]))
    assert np.all(np.isnan(panel[7:]))


@each_hold
def test_square(Problem, hold):
    problem = Problem(n=31, weighted=True)
    system, index = problem.system(hold), np.array([30, 0, 7, 12])
    block = system.square(system.columns(index), index)
    assert_close(block, problem.dense().A[np.ix_(index, index)])
    assert_array_equal(block, block.T)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_matrix_and_diagonal(Problem, kernel):
    problem = Problem(n=31, kernel=kernel, weighted=True)
    system, dense = problem.system(), problem.dense()
    assert_close(system.matrix, dense.K)
    assert_allclose(system.diagonal, np.diag(dense.A), rtol=1e-12)
    assert_allclose(system.ridge, 0.3 / problem.weights, rtol=1e-12)


@each_hold
def test_one_row(Problem, hold):
    problem = Problem(n=1)
    system = problem.system(hold)
    assert_allclose(system.product(np.array([[2.0], [3.0]])), [[3.2], [4.8]], rtol=1e-12)
    assert_allclose(system.columns(np.array([0])), [[1.3]], rtol=1e-12)


def test_weights_of_one_are_none(Problem):
    problem = Problem()
    plain = System(problem.kernel, 0.1, problem.X)
    ones = System(problem.kernel, 0.1, problem.X, np.ones(60))
    assert_array_equal(plain.ridge, ones.ridge)
    assert_array_equal(plain.product(problem.y), ones.product(problem.y))


def test_inputs_far_from_zero(Problem):
    """Distances are not taken as differences of large squares."""
    problem = Problem(n=40)
    problem.X += 1e5
    v = vectors(1, 40)
    assert_allclose(problem.system().product(v), v @ problem.dense().A, rtol=0, atol=1e-8)


# --------------------------------------------------------------------------------------- tiles


@pytest.mark.parametrize(("columns", "rows"), [(8, 4), (8, 8), (16, 2), (4, 1), (1, 1)])
@pytest.mark.parametrize("n", [7, 8, 9, 15, 16, 17, 33])
def test_sizes_around_the_tiles(Problem, monkeypatch, n, columns, rows):
    set_tiles(monkeypatch, columns, rows)
    problem = Problem(n=n, weighted=True)
    dense, v, index = problem.dense(), vectors(2, n), np.arange(n)[::-2]
    for hold in (False, True):
        system = problem.system(hold)
        assert_close(system.product(v), v @ dense.A)
        assert_close(system.columns(index), dense.K[index])
        assert_close(system.matrix, dense.K)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40),
    rows=st.integers(1, 6),
    times=st.integers(1, 4),
    p=st.integers(1, 3),
    threads=st.integers(1, 3),
)
def test_any_tiles_and_threads(n, rows, times, p, threads):
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_tiles(monkeypatch, rows * times, rows)
        monkeypatch.setattr(arrays, "thread_count", lambda: threads)
        X = np.random.default_rng(n).uniform(size=(n, 2))
        counted = Counted(Gaussian(1.3, 0.5))
        system, v = System(counted, 0.1, X), vectors(p, n)
        A = Gaussian(1.3, 0.5)(X) + 0.1 * np.eye(n)
        assert_close(system.product(v), v @ A)
        assert_close(system.columns(np.arange(n)), A - 0.1 * np.eye(n))
        if threads == 1:  # the count of the tests is not for several threads
            assert system.entries == counted.entries


def test_the_tiles_fit_into_each_other():
    """A row tile right of a column tile's end would else be mirrored in part only."""
    assert module.COLUMN_TILE % module.ROW_TILE == 0
    assert module.WIDE_COLUMN_TILE % module.WIDE_ROW_TILE == 0


# ------------------------------------------------------------------------- entries are counted


@each_hold
def test_entries_are_those_that_the_kernel_was_asked_for(Problem, monkeypatch, hold):
    set_tiles(monkeypatch, 8, 4)
    problem = Problem(n=35)
    problem.kernel = Counted(problem.kernel)
    system, index = problem.system(hold), np.array([3, 20, 34])
    assert system.entries == problem.kernel.entries == 0
    for use in (
        lambda: system.product(vectors(3, 35)),
        lambda: system.columns(index),
        lambda: system.product(vectors(1, 35)),
        lambda: system.square(system.columns(index), index),
    ):
        use()
        assert system.entries == problem.kernel.entries
    assert system.entries > 0


def test_a_product_evaluates_about_half_of_the_matrix(Problem, monkeypatch):
    set_tiles(monkeypatch, 8, 4)
    system = Problem(n=80).system()
    system.product(vectors(5, 80))
    assert system.entries == sum(8 * (80 - start) for start in range(0, 80, 8))
    system.product(vectors(1, 80))
    assert system.entries == 2 * sum(8 * (80 - start) for start in range(0, 80, 8))


def test_columns_are_counted(Problem):
    system = Problem(n=35).system()
    system.columns(np.array([1, 2, 30]))
    assert system.entries == 3 * 35


def test_a_held_matrix_is_evaluated_once(Problem):
    system = Problem(n=35).system(hold=True)
    system.product(vectors(1, 35))
    once = system.entries
    assert 0 < once <= 35**2
    system.product(vectors(1, 35))
    system.columns(np.array([1, 2, 30]))
    assert system.entries == once
    assert system.matrix is system.matrix


def test_a_forgotten_matrix_is_evaluated_again(Problem):
    problem = Problem(n=35)
    system = problem.system()
    first = system.matrix.copy()
    once = system.entries
    system.forget()
    assert_array_equal(system.matrix, first)
    assert system.entries == 2 * once


def test_nothing_is_held_unasked(Problem):
    system = Problem(n=35).system()
    system.product(vectors(1, 35))
    system.columns(np.array([0]))
    assert system._held is None


# ------------------------------------------------------------------------- threads and backends


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(arrays, "thread_count", lambda: 2)


@each_hold
def test_threads_do_not_show(Problem, monkeypatch, two_threads, hold):
    set_tiles(monkeypatch, 8, 4)
    problem = Problem(n=60, weighted=True)
    system, v = problem.system(hold), vectors(2, 60)
    assert system.backend.threads == 2
    assert_close(system.product(v), v @ problem.dense().A)
    assert_close(system.columns(np.arange(5)), problem.dense().K[:5])
    entries = system.entries
    monkeypatch.setattr(arrays, "thread_count", lambda: 1)
    alone = problem.system(hold)
    alone.product(v)
    alone.columns(np.arange(5))
    assert entries == alone.entries


@each_hold
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("tiles", [None, (6, 3)])
def test_other_libraries(Problem, monkeypatch, library, hold, tiles):
    xp = pytest.importorskip(library)
    if tiles is not None:
        set_tiles(monkeypatch, *tiles)
    problem = Problem(n=20, weighted=True)
    system, dense, v = problem.system(hold, to=xp.asarray), problem.dense(), vectors(3, 20)
    index = np.array([19, 0, 7])
    product, columns = system.product(xp.asarray(v)), system.columns(index)
    for made in (product, columns, system.diagonal, system.matrix):
        assert type(made) is type(xp.asarray(v))
    assert_close(np.asarray(product), v @ dense.A)
    assert_close(np.asarray(columns), dense.K[index])
    assert_close(np.asarray(system.matrix), dense.K)
    block = system.square(columns, index)
    assert isinstance(block, np.ndarray)
    assert_close(block, dense.A[np.ix_(index, index)])


@each_hold
def test_single_precision(Problem, hold):
    problem = Problem(n=31, weighted=True)
    system = problem.system(hold, to=lambda a: np.asarray(a, dtype=np.float32))
    v = vectors(2, 31)
    product = system.product(v.astype(np.float32))
    assert product.dtype == np.float32
    assert_allclose(product, v @ problem.dense().A, rtol=0, atol=1e-4)
    index = np.array([0, 5])
    block = system.square(system.columns(index), index)
    assert block.dtype == np.float64
    assert_allclose(block, problem.dense().A[np.ix_(index, index)], rtol=0, atol=1e-6)
