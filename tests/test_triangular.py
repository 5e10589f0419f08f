"""Triangular solves and products in place: any layout, with and without BLAS's routines at hand."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import blas, triangular
from greedygp.arrays import Backend
from greedygp.triangular import (
    BLOCK,
    BLOCK_OF_PRODUCTS,
    FEWEST_COLUMNS,
    FEWEST_ROWS,
    inverted_blocks,
    multiply_in_place,
    solve_by_products,
    solve_in_place,
    triangle_product,
    weighted_gram,
)
from tolerances import assert_close


@pytest.fixture(params=["routine", "wrapper"])
def way(request, monkeypatch):
    if request.param == "wrapper":
        monkeypatch.setattr(blas, "_routine", lambda name: None)


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


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m", [BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 1])
def test_by_blocks(monkeypatch, m, transposed):
    """Many right-hand sides, in a part of a wider array."""
    monkeypatch.setattr(triangular, "FEWEST_ROWS", BLOCK + 1)
    factor, right = problem(m, FEWEST_COLUMNS)
    wide = np.full((m + 2, FEWEST_COLUMNS + 5), 4.0)
    out = wide[1:-1, 2:-3]
    assert solve_in_place(factor, right, transposed, out) is out
    solution = expected(factor, right, transposed)
    assert_close(out, solution, size=m, condition=np.linalg.cond(factor))
    out[...] = 4.0
    assert np.all(wide == 4.0)


@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_are_as_good_as_the_routine_where_the_factor_is_ill_conditioned(transposed):
    """Basis inputs that nearly coincide; what is left of the right-hand side is next to nothing."""
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(3 * BLOCK, 2))
    inputs[BLOCK:] = inputs[:BLOCK].repeat(2, axis=0) + 1e-4 * rng.normal(size=(2 * BLOCK, 2))
    rows = rng.normal(size=(FEWEST_COLUMNS, 2))
    factor = np.linalg.cholesky(gaussian(inputs, inputs) + 1e-6 * np.eye(len(inputs)))
    right = gaussian(inputs, rows)
    by_blocks = solve_in_place(factor, right, transposed, np.empty_like(right))
    halves = [
        solve_in_place(factor, part, transposed, part.copy()) for part in np.split(right, 2, 1)
    ]
    applied = factor.T if transposed else factor
    size = np.abs(applied) @ np.abs(by_blocks)
    assert np.linalg.cond(factor) > 1e3
    assert len(factor) >= FEWEST_ROWS
    assert np.max(np.abs(applied @ by_blocks - right) / size) < 1e-13
    assert_close(by_blocks, np.hstack(halves), size=10, condition=np.linalg.cond(factor))


def gaussian(left, right):
    return np.exp(-0.5 * np.sum((left[:, None, :] - right[None, :, :]) ** 2, axis=2))


def test_solves_let_other_threads_run():
    """While a long solve runs in another thread, this one counts."""
    if blas._routine("dtrsm") is None:
        pytest.skip("SciPy's BLAS has integers of another size: its wrapper is used")
    # A machine that is busy may give this thread no time during a solve, but not twenty times.
    assert any(counted_during_a_solve() > 1000 for _ in range(20))


def counted_during_a_solve():
    factor, right = problem(3000, FEWEST_COLUMNS - 1)
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


# ------------------------------------------------------------------ by products alone


def by_products(factor, right, transposed=False):
    factor = factor.T if transposed else factor
    blocks, inverses = inverted_blocks(factor, lower=not transposed)
    out = right.copy()
    solve_by_products(factor, inverses, out, blocks, Backend(out).minus_product)
    return out


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m", [1, 7, BLOCK_OF_PRODUCTS, BLOCK_OF_PRODUCTS + 1, 200])
def test_products_against_a_dense_solve(transposed, m):
    factor, right = problem(m, 9)
    factor += m * np.eye(m)
    assert_close(by_products(factor, right, transposed), expected(factor, right, transposed))


@pytest.mark.parametrize("transposed", [False, True])
def test_products_lose_no_digits_of_an_ill_conditioned_factor(transposed):
    """What is left of the right-hand side is as small as after a substitution."""
    x = np.linspace(0.0, 1.0, 150)
    K = np.exp(-0.5 * ((x[:, None] - x) / 0.05) ** 2) + 1e-10 * np.eye(len(x))
    factor = np.linalg.cholesky(K)
    assert np.linalg.cond(factor) > 1e5
    right = np.exp(-0.5 * ((x[:, None] - np.linspace(0.0, 1.0, 400)) / 0.05) ** 2)
    square = factor.T if transposed else factor
    found = by_products(factor, right, transposed)
    left = right - square @ found
    size = np.abs(square) @ np.abs(found) + np.abs(right)
    assert np.max(np.abs(left) / size) < 1e-13


# ------------------------------------------------------------------ products


def stored(triangle, how):
    """Return the same numbers with another layout."""
    if how == "by columns":
        return np.asfortranarray(triangle)
    if how == "part of a larger one":
        return np.pad(triangle, 3, constant_values=np.nan)[3:-3, 3:-3]
    if how == "every other":
        return np.repeat(np.repeat(triangle, 2, axis=0), 2, axis=1)[::2, ::2]
    return triangle


LAYOUTS = ["by rows", "by columns", "part of a larger one", "every other"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (5, 7), (0, 3), (3, 0)])
def test_a_product_with_a_triangle_in_place(way, shape, how, transposed):
    """Against the dense product; what is above the diagonal is not looked at."""
    triangle, right = problem(*shape)
    applied = triangle.T if transposed else triangle
    wide = np.full((len(right) + 2, right.shape[1] + 5), 4.0)
    out = wide[1:-1, 2:-3]
    out[...] = right
    above = np.triu(np.full(triangle.shape, 7.0), 1)
    multiply_in_place(stored(triangle + above, how), transposed, out)
    assert_close(out, applied @ right)
    out[...] = 4.0
    assert np.all(wide == 4.0)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("how", LAYOUTS)
def test_a_solve_with_a_factor_that_is_stored_otherwise(way, how, transposed):
    factor, right = problem()
    given = right.copy()
    solve_in_place(stored(factor, how), right, transposed, right)
    assert_close(right, expected(factor, given, transposed))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("signs", ["positive", "negative", "mixed", "zero"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (5, 9), (40, 300)])
def test_a_weighted_product_with_itself(shape, signs, dtype):
    rng = np.random.default_rng(2)
    rows, weights = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1]).astype(dtype)
    weights = {"positive": abs(weights), "negative": -abs(weights), "zero": 0.0 * weights}.get(
        signs, weights
    )
    wide = np.full((shape[0], shape[1] + 2), np.nan, dtype=dtype)
    wide_rows, other = np.pad(rows, ((0, 0), (1, 1)))[:, 1:-1], np.empty_like(rows)
    found = weighted_gram(wide_rows, weights, None, other)
    assert found.dtype == np.float64
    exact = (rows.astype(np.float64) * weights) @ rows.astype(np.float64).T
    size = (np.abs(rows, dtype=np.float64) * np.abs(weights)) @ np.abs(rows.astype(np.float64)).T
    unit = np.finfo(dtype).eps * (10 + shape[1])
    assert np.all(np.abs(found - exact) <= unit * size)
    assert_array_equal(found, found.T)
    assert_array_equal(weighted_gram(wide_rows, weights, wide[:, 1:-1], other), found)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("m", [1, 31, 33, 200])
def test_the_product_of_a_triangle_leaves_out_zeros_only(m, lower):
    """Bands that end within the triangle, at its end, and one that is all of it."""
    rng = np.random.default_rng(m)
    square, right = rng.normal(size=(m, m)), rng.normal(size=(m, 9))
    triangle = np.tril(square) if lower else np.triu(square)
    out = np.full((m, 9), np.nan)
    triangle_product(triangle, right, out, Backend(out).matmul, lower=lower)
    assert_close(out, triangle @ right)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("transposed", [False, True])
def test_an_inverse_is_applied_as_a_solve_is(dtype, transposed):
    factor, right = problem(60, 9)
    factor, right = factor / 5.0, right.astype(dtype)
    out = np.empty_like(right)
    Backend(right).apply_inverse(
        factor, np.linalg.inv(factor), right, transposed=transposed, out=out
    )
    expected = np.linalg.solve(factor.T if transposed else factor, right.astype(np.float64))
    scale = np.max(np.abs(expected))
    assert_allclose(out, expected, atol=(1e-4 if dtype == np.float32 else 1e-9) * scale)
