"""The only place that knows NumPy from torch: namespace, device, dtype, in-place products, solves.

Two kinds of array live in the library. *Row arrays* (one entry per data row) live wherever the
user's data live: NumPy, a torch device, or any other array-API namespace; they go through
:class:`Backend`. *Basis arrays* (m, or m x m) are small, and are always float64 NumPy on the
host, so that the factors of every backend are the same numbers.

`Backend` adds to the array API what the algorithms need for speed: an `out` argument, triangular
solves, sums in float64, and threads over blocks of rows where the library has none of its own
(NumPy's elementwise operations).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import array_api_compat
import numpy as np
import scipy.linalg

from greedygp.threads import serial_blas, thread_count
from greedygp.triangular import solve_in_place

Array = Any

__all__ = [
    "Array",
    "Backend",
    "Background",
    "as_array",
    "detached",
    "is_foreign",
    "namespace",
    "to_numpy",
]


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that all the arrays share."""
    return array_api_compat.array_namespace(*arrays)


def to_numpy(array: Array) -> np.ndarray:
    """Return the array as NumPy on the host (no copy where it is there already)."""
    if isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.asarray(array)


def detached(array: Array) -> Array:
    """Return the array without torch's record of gradients (nothing here is differentiated)."""
    return array.detach() if array_api_compat.is_torch_array(array) else array


def is_foreign(value: Any) -> bool:
    """Tell whether something is an array of another library than NumPy."""
    return array_api_compat.is_array_api_obj(value) and not array_api_compat.is_numpy_array(value)


def as_array(values: Any) -> Array:
    """Return an array of any library as it is, and anything else as NumPy."""
    return values if array_api_compat.is_array_api_obj(values) else np.asarray(values)


FEWEST_ROWS_OF_A_SOLVE = 64  # that torch does at once on a GPU
BANDS, FEWEST_LINES = 4, 32  # of a symmetric product: bands, and lines in each of them


class Backend:
    """Where the row arrays live, and how to work on them.

    Parameters
    ----------
    example : array
        An array of the namespace, device and floating dtype to work in.
    """

    def __init__(self, example: Array):
        self.xp = namespace(example)
        self.device = array_api_compat.device(example)
        self.dtype = example.dtype
        self._is_numpy = array_api_compat.is_numpy_array(example)
        self._is_torch = array_api_compat.is_torch_array(example)

    @cached_property
    def threads(self) -> int:
        """How many threads there are for blocks of rows."""
        return thread_count() if self._is_numpy else 1

    def __reduce__(self) -> tuple:
        """Travel to another process, which has threads of its own, as an example array."""
        return Backend, (self.empty((0,)),)

    # --- making and moving -------------------------------------------------------------------

    def asarray(self, values: Any, dtype: Any = None) -> Array:
        """Return `values` as a row array of this backend (its floating dtype by default)."""
        if self._is_numpy:
            return np.asarray(values, dtype=dtype or self.dtype)
        return self.xp.asarray(values, dtype=dtype or self.dtype, device=self.device)

    def integers(self, values: np.ndarray) -> Array:
        """Return host integers as an index array of this backend."""
        if self._is_numpy:
            return np.asarray(values, dtype=np.intp)
        return self.xp.asarray(np.asarray(values), dtype=self.xp.int64, device=self.device)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an uninitialised array."""
        return self.xp.empty(shape, dtype=self.dtype, device=self.device)

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Return an array of one value."""
        return self.xp.full(shape, value, dtype=self.dtype, device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Array:
        """Return an array of zeros."""
        return self.xp.zeros(shape, dtype=dtype or self.dtype, device=self.device)

    @property
    def float64(self) -> Any:
        """The namespace's float64."""
        return self.xp.float64

    @property
    def epsilon(self) -> float:
        """The relative rounding error of the row arrays."""
        return float(self.xp.finfo(self.dtype).eps)

    # --- elementwise and products, in place ----------------------------------------------------

    def _into(self, function: str, out: Array | None, *arrays: Array) -> Array:
        """Apply a function of the namespace, writing into `out` where the library can."""
        if out is None:
            return getattr(self.xp, function)(*arrays)
        if self._is_numpy or self._is_torch:
            return getattr(self.xp, function)(*arrays, out=out)
        out[...] = getattr(self.xp, function)(*arrays)
        return out

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Matrix product, into `out` if given."""
        return self._into("matmul", out, left, right)

    def multiply(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Elementwise product, into `out` if given."""
        return self._into("multiply", out, left, right)

    def subtract(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Elementwise difference, into `out` if given."""
        return self._into("subtract", out, left, right)

    def divide(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Elementwise quotient, into `out` if given."""
        return self._into("divide", out, left, right)

    def maximum(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Elementwise maximum, into `out` if given."""
        return self._into("maximum", out, left, right)

    def sqrt(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise square root, into `out` if given."""
        return self._into("sqrt", out, values)

    def exp(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise exponential, into `out` if given."""
        return self._into("exp", out, values)

    def log1p(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise `log(1 + x)`, into `out` if given."""
        return self._into("log1p", out, values)

    def host_product(self, left: Array, right: Array) -> np.ndarray:
        """Return a matrix product on the host, in float64."""
        return to_numpy(self.matmul(left, right)).astype(np.float64, copy=False)

    def weighted_product(self, rows: Array, weights: Array) -> np.ndarray:
        """Return `rows diag(weights) rows'` on the host, in float64.

        Half of it is computed, in products of some rows with those before them.
        """
        m, weighted = rows.shape[0], rows * weights[None, :]
        if not self._is_numpy:
            return self.host_product(weighted, rows.T)
        total, step = np.empty((m, m)), max(FEWEST_LINES, -(-m // BANDS))
        for start in range(0, m, step):
            band = slice(start, min(start + step, m))
            total[band, : band.stop] = weighted[band] @ rows[: band.stop].T
            total[: band.start, band] = total[band, : band.start].T
        return total

    def as_float64(self, array: Array) -> Array:
        """Return the array in float64 (no copy where it is that already)."""
        return self.xp.astype(array, self.float64, copy=False)

    def row_dots(self, left: Array, right: Array) -> np.ndarray:
        """Return the dot product of each row of `left` with that of `right`, on the host, (c,).

        It is summed in float64.
        """
        if self.dtype != self.float64:
            return self.sums(left * right, axis=-1)
        return to_numpy(self.xp.vecdot(left, right))

    def sums(self, values: Array, axis: int | None = None) -> np.ndarray:
        """Return sums taken in float64, on the host."""
        return np.asarray(to_numpy(self.xp.sum(values, axis=axis, dtype=self.float64)))

    def take_rows(self, rows: Array, index: np.ndarray, out: Array) -> Array:
        """Fill `out` with some rows of an array, and return it."""
        if self._is_numpy:  # "clip" needs no buffer; the index is in range anyway
            return np.take(rows, index, axis=0, out=out, mode="clip")
        out[...] = self.xp.take(rows, self.integers(index), axis=0)
        return out

    def swap_entries(self, rows: Array, lines: Array, columns: Array, values: Array) -> Array:
        """Put `values` at the places (lines, columns), in place, and return what was there."""
        if self._is_numpy or self._is_torch:
            before = rows[lines, columns] * 1.0
            rows[lines, columns] = values
            return before
        before = self.empty(values.shape)
        for i in range(lines.shape[0]):
            place = int(lines[i]), int(columns[i])
            before[i] = rows[place]
            rows[place] = values[i]
        return before

    def add_to_columns(self, lines: Array, index: np.ndarray, values: Array) -> None:
        """Add `values` (p, b) to the columns `index` of `lines` (p, n), in place."""
        if self._is_numpy or self._is_torch:
            lines[:, index] += values
            return
        for place, column in enumerate(index):
            lines[:, int(column)] += values[:, place]

    def column_squares(self, rows: Array) -> Array:
        """Return the sum of squares of each column, in float64."""
        return self.column_dots(rows, rows)

    def column_dots(self, left: Array, right: Array) -> Array:
        """Return the dot product of each column of `left` with that of `right`, in float64."""
        if self._is_numpy and self.dtype == np.float64:
            return np.einsum("ij,ij->j", left, right)
        return self.xp.sum(self.as_float64(left) * self.as_float64(right), axis=0)

    def solve_lower(
        self,
        factor: np.ndarray,
        right: Array,
        *,
        transposed: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return `factor^-1 right`, or `factor^-T right`, computed in float64.

        Parameters
        ----------
        factor : (m, m) host array
            Lower triangular.
        right : (m, T) array
        transposed : bool
        out : (m, T) array, optional
            To be filled and returned; it may be `right` itself.
        """
        if out is not None and self._is_numpy and self.dtype == np.float64:
            return solve_in_place(factor, right, transposed, out)
        factor, wide = (factor.T if transposed else factor), self.as_float64(right)
        if self._is_numpy:
            solved = scipy.linalg.solve_triangular(
                factor, wide, lower=not transposed, check_finite=False
            )
        elif self._is_torch:
            solved = self._torch_solve(factor, wide, transposed)
        else:
            solved = self.xp.linalg.solve(self.asarray(factor, self.float64), wide)
        solved = self.xp.astype(solved, self.dtype, copy=False)
        if out is None:
            return solved
        out[...] = solved
        return out

    def _torch_solve(self, factor: np.ndarray, wide: Array, upper: bool) -> Array:
        """Solve with a triangular factor. On a GPU a small one is bordered by a diagonal of ones:
        torch's routine for many small systems takes half a minute for a million right-hand sides.
        """
        m, few, solve = len(factor), FEWEST_ROWS_OF_A_SOLVE, self.xp.linalg.solve_triangular
        if m >= few or not self.prefers_products:
            return solve(self.asarray(factor, self.float64), wide, upper=upper)
        bordered = np.eye(few)
        bordered[:m, :m] = factor
        lines = self.zeros((few, wide.shape[1]), self.float64)
        lines[:m, :] = wide
        return solve(self.asarray(bordered, self.float64), lines, upper=upper)[:m, :]

    # --- what suits the machine ----------------------------------------------------------------

    def tile_size(self, in_cache: int, at_most: int) -> int:
        """Return how many rows or columns to work on at a time.

        NumPy works on tiles that stay in the processor's cache. Other libraries, on accelerators
        above all, are better off with few large tiles.
        """
        return min(in_cache, at_most) if self._is_numpy else at_most

    @property
    def prefers_products(self) -> bool:
        """Whether many products beat one factorisation, which is done on the host: accelerators."""
        return not self._is_numpy and "cpu" not in str(self.device).lower()

    # --- threads over blocks of rows -----------------------------------------------------------

    def block_sizes(self, n_rows: int, most: int = 8192) -> list[int]:
        """Split the rows into blocks, the same number of them for each thread.

        torch and other libraries bring their own threads: there the rows are one block.
        """
        if not self._is_numpy:
            return [n_rows]
        threads = self.threads if n_rows >= 2048 else 1
        rounds = -(-n_rows // (most * threads))
        n_blocks = min(n_rows, threads * max(rounds, 1))
        base, extra = divmod(n_rows, n_blocks)
        return [base + (i < extra) for i in range(n_blocks)]

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, light: bool = False
    ) -> list[Any]:
        """Apply the function to each item, in threads when there are several.

        `light` work is a chain of short elementwise operations. It is done one item after the
        other, because threads would spend more time on handing the interpreter's lock around.
        """
        if light or len(items) == 1 or self.threads == 1:
            return [function(item) for item in items]
        others = Background(self, function, items[1:])
        try:
            first = function(items[0])
        except BaseException:
            others.abandon()
            raise
        return [first, *others.results()]

    @contextmanager
    def threads_over_blocks(self) -> Iterator[None]:
        """While this lasts, threads belong to :meth:`map`, and each of them calls a serial BLAS."""
        if self.threads == 1:
            yield
            return
        with serial_blas(self.threads):
            yield


class Background:
    """Work that has been handed to the helper threads; its results are asked for later.

    By then, the caller does itself whatever no helper has begun.
    """

    def __init__(self, backend: Backend, function: Callable[[Any], Any], items: Sequence[Any]):
        self._function, self._items = function, items
        self._tasks: list[Future | None] = [None] * len(items)
        if backend.threads > 1:
            pool = _pool(os.getpid(), backend.threads)
            self._tasks = [pool.submit(function, item) for item in items]

    def results(self) -> list[Any]:
        """Return the results in the order of the items."""
        try:
            # Helpers begin with the first items, so the caller begins with the last.
            found = [self._result(i) for i in reversed(range(len(self._items)))]
            return [task.result() if isinstance(task, Future) else task for task in found[::-1]]
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Cancel what has not begun and wait for the rest: nobody may write to the rows later."""
        wait([task for task in self._tasks if task is not None and not task.cancel()])

    def _result(self, i: int) -> Any:
        """Do item i, unless a helper has begun with it: then return its task."""
        task = self._tasks[i]
        if task is None or task.cancel():
            return self._function(self._items[i])
        return task


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the helper threads of a process; a forked process makes its own."""
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix=f"greedygp-{process}")
