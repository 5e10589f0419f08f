"""Triangular solves and products in place that let other threads run, and symmetric products.

The routines are those of `blas`. BLAS's triangular solve reaches a third to three quarters of the
speed of its products. For many right-hand sides it is therefore called for diagonal blocks only,
and products do the rest. (Products with the inverses of those blocks would be quicker still, but
they lose digits where a block is ill-conditioned.) Its product with a triangle is as fast as a
whole product for half the work, and so is its product of an array with its own transpose.

On a GPU the routine for few rows and very many right-hand sides takes longer by orders of
magnitude than products do. There the inverses of the blocks are used after all, and a second
product with them takes away what the first one has left of the right-hand side: the digits come
back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dtrtri

from greedygp import blas

__all__ = [
    "add_product_in_place",
    "inverted_blocks",
    "multiply_in_place",
    "solve_by_products",
    "solve_in_place",
    "triangle_product",
    "weighted_gram",
]

BLOCK = 96  # rows of a diagonal block
BLOCK_OF_PRODUCTS = 64  # of one whose inverse is used
FEWEST_ROWS, FEWEST_COLUMNS = 144, 256  # of a solve for whose size blocks are worth their calls
# Of a product of which one half is known to be zero: bands, lines in each.
BANDS, FEWEST_LINES = 4, 32


def weighted_gram(
    rows: np.ndarray, weights: np.ndarray, room: np.ndarray | None, other: np.ndarray
) -> np.ndarray:
    """Return `rows diag(weights) rows'`, which is symmetric, in float64.

    The columns, multiplied by the roots of their weights, are multiplied by themselves: BLAS then
    computes half of the product. Those of negative weights are subtracted.

    Parameters
    ----------
    rows, weights : (m, T) and (T,) arrays
    room : (m, T) array or None
        Written over.
    other : array with at least as many entries, one after the other
        Written over where weights have both signs.
    """
    scaled = np.multiply(rows, np.sqrt(np.abs(weights))[None, :], out=room)
    negative = weights < 0.0
    if not negative.any():
        return np.asarray(scaled @ scaled.T, dtype=np.float64)
    products = []
    for which in (~negative, negative):
        places, entries = np.flatnonzero(which), other.reshape(-1)
        some = entries[: len(rows) * len(places)].reshape(len(rows), len(places))
        np.take(scaled, places, axis=1, out=some, mode="clip")  # without a buffer
        products.append(some @ some.T)
    return np.subtract(*products, dtype=np.float64)


def triangle_product(
    triangle: Any, right: Any, out: Any, matmul: Callable[..., Any], *, lower: bool
) -> None:
    """Write the product of a triangle and a matrix into `out`, which must not be the matrix.

    What is known to be zero is left out, in products of some rows of the triangle. Arrays may be of
    any library; `matmul` is that of a `Backend`.
    """
    m = triangle.shape[0]
    step = max(FEWEST_LINES, -(-m // BANDS))
    for start in range(0, m, step):
        stop = min(start + step, m)
        known = slice(0, stop) if lower else slice(start, m)
        matmul(triangle[start:stop, known], right[known, :], out=out[start:stop, :])


def solve_in_place(
    factor: np.ndarray, right: np.ndarray, transposed: bool, out: np.ndarray
) -> np.ndarray:
    """Solve with a lower triangular factor into `out`, a float64 array with contiguous rows."""
    if out is not right:
        out[...] = right
    if out.size == 0:
        return out
    factor = np.asarray(factor, dtype=np.float64)
    if len(factor) < FEWEST_ROWS or out.shape[1] < FEWEST_COLUMNS:
        _solve(factor, transposed, out)
    else:
        _solve_by_blocks(factor, transposed, out)
    return out


def _solve_by_blocks(factor: np.ndarray, transposed: bool, out: np.ndarray) -> None:
    """Solve in place: what is known is taken from each block, which is then solved for."""
    m = len(factor)
    blocks = [slice(start, min(start + BLOCK, m)) for start in range(0, m, BLOCK)]
    for block in reversed(blocks) if transposed else blocks:
        if transposed:
            known = slice(block.stop, m)
            others = factor[known, block].T
        else:
            known = slice(0, block.start)
            others = factor[block, known]
        if known.stop > known.start:
            add_product_in_place(out[block], others, out[known], factor=-1.0)
        _solve(factor[block, block], transposed, out[block])


def _solve(factor: np.ndarray, transposed: bool, out: np.ndarray) -> None:
    """Solve in place by BLAS."""
    if not blas.triangular("dtrsm", factor, transposed, out):
        trans = int(transposed)
        factor = np.ascontiguousarray(factor)
        out[...] = scipy.linalg.blas.dtrsm(1.0, factor.T, out.T, side=1, trans_a=trans).T


def add_product_in_place(
    out: np.ndarray, left: np.ndarray, right: np.ndarray, *, factor: float = 1.0, times: float = 1.0
) -> None:
    """Replace `out` by `times out + factor left right`; all float64, and `out` is neither."""
    if not blas.add_product(out, left, right, factor, times):
        out *= times
        out += factor * (left @ right)


def multiply_in_place(triangle: np.ndarray, transposed: bool, out: np.ndarray) -> None:
    """Replace `out` by `triangle out`, or `triangle' out`; the triangle is lower, all float64."""
    if out.size and not blas.triangular("dtrmm", triangle, transposed, out):
        lower = np.tril(triangle)
        out[...] = (lower.T if transposed else lower) @ out


def inverted_blocks(factor: np.ndarray, *, lower: bool) -> tuple[list[slice], np.ndarray]:
    """Return the blocks of a triangular factor in the order of a solve, and their inverses.

    The inverses are below each other, (m, BLOCK_OF_PRODUCTS).
    """
    m, size = len(factor), BLOCK_OF_PRODUCTS
    blocks = [slice(start, min(start + size, m)) for start in range(0, m, size)]
    inverses = np.zeros((m, size))
    for block in blocks:
        square = np.asarray(factor[block, block], dtype=np.float64)
        inverses[block, : len(square)] = dtrtri(square, lower=lower)[0]
    return blocks if lower else blocks[::-1], inverses


def solve_by_products(
    factor: Any,
    inverses: Any,
    out: Any,
    blocks: list[slice],
    minus_product: Callable[..., Any],
) -> None:
    """Replace `out` by `factor^-1 out`, in place, by products alone.

    Parameters
    ----------
    factor, inverses, out : (m, m), (m, BLOCK_OF_PRODUCTS) and (m, T) arrays of any library
    blocks : list of slice
        Those of `inverted_blocks`.
    minus_product : callable
        `Backend.minus_product`.
    """
    m = out.shape[0]
    for block in blocks:
        lines, size = out[block, :], block.stop - block.start
        known = slice(0, block.start) if blocks[0].start == 0 else slice(block.stop, m)
        if known.stop > known.start:
            minus_product(lines, factor[block, known], out[known, :], out=lines)
        inverse = inverses[block, :size]
        found = inverse @ lines
        minus_product(lines, factor[block, block], found, out=lines)
        out[block, :] = minus_product(found, -inverse, lines, out=found)
