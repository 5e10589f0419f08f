"""The only place that knows NumPy from torch: namespace, device, dtype, solves.

Two kinds of array live in the library. *Row arrays* (one entry per data row) live wherever the
user's data live: NumPy, a torch device, or any other array-API namespace; they go through
:class:`Backend`. *Basis arrays* (m, or m x m) are small, and are always float64 NumPy on the
host, so that the factors of every backend are the same numbers.

`Backend` adds to the array API what the algorithms need for speed: an `out` argument
(`arithmetic.py`), triangular solves, sums in float64, and threads over blocks of rows where the
library has none of its own (NumPy's elementwise operations).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import scipy.linalg

from greedygp.arithmetic import Arithmetic
from greedygp.namespaces import (
    Array,
    apart,
    as_array,
    detached,
    is_foreign,
    namespace,
    to_numpy,
)
from greedygp.threads import Background, serial_blas, thread_count
from greedygp.triangular import (
    inverted_blocks,
    multiply_in_place,
    solve_by_products,
    solve_in_place,
    triangle_product,
    weighted_gram,
)

__all__ = [
    "SHARED_FROM",
    "Array",
    "Backend",
    "as_array",
    "detached",
    "is_foreign",
    "namespace",
    "to_numpy",
]

SHARED_FROM = 1500  # rows; with fewer, threads wait for each other longer than they work


class Backend(Arithmetic):
    """Where the row arrays live, and how to work on them.

    Parameters
    ----------
    example : array
        An array of the namespace, device and floating dtype to work in.
    """

    def __init__(self, example: Array):
        self.xp, self._rooms = namespace(example), threading.local()
        self.device = array_api_compat.device(example)
        self.dtype = example.dtype
        self.is_numpy = array_api_compat.is_numpy_array(example)
        self._is_torch = array_api_compat.is_torch_array(example)
        self._is_cuda = self._is_torch and self.device.type == "cuda"
        self._library = sys.modules["torch"] if self._is_torch else self.xp

    @cached_property
    def threads(self) -> int:
        """How many threads there are for blocks of rows."""
        return thread_count() if self.is_numpy else 1

    def __reduce__(self) -> tuple:
        """Travel to another process, which has threads of its own, as an example array."""
        return Backend, (self.empty((0,)),)

    # --- making and moving -------------------------------------------------------------------

    def asarray(self, values: Any, dtype: Any = None) -> Array:
        """Return `values` as a row array of this backend (its floating dtype by default)."""
        dtype = dtype or self.dtype
        if self.is_numpy:
            return np.asarray(values, dtype=dtype)
        if self._is_torch and isinstance(values, np.ndarray):
            return self.sent(values, dtype)
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def integers(self, values: np.ndarray) -> Array:
        """Return host integers as an index array of this backend."""
        return self.asarray(np.asarray(values), np.intp if self.is_numpy else self.xp.int64)

    def sent(self, values: np.ndarray, dtype: Any = None) -> Array:
        """Return a copy of a host array as a tensor on torch's device.

        To a GPU it goes from pinned memory: the host does not wait until the GPU has time for it.
        """
        held = self._library.empty(
            values.shape, dtype=dtype or self.dtype, pin_memory=self._is_cuda
        )
        held.numpy()[...] = values
        return held.to(self.device, non_blocking=self._is_cuda)

    def to_host(self, *arrays: Array) -> tuple[np.ndarray, ...]:
        """Return small arrays on the host, in float64.

        A device is waited for once: they travel together.
        """
        if not self._is_torch:
            return tuple(to_numpy(array).astype(np.float64, copy=False) for array in arrays)
        return apart(to_numpy(self._together(arrays)), arrays)

    def on_their_way(self, *arrays: Array) -> Callable[[], tuple[np.ndarray, ...]]:
        """Begin to bring small arrays to the host; return what waits for them and gives them.

        A GPU can begin in between with what is asked of it then.
        """
        if not self._is_cuda:
            found = self.to_host(*arrays)
            return lambda: found
        together, torch = self._together(arrays), self._library
        held = torch.empty(together.shape, dtype=together.dtype, pin_memory=True)
        held.copy_(together, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record(torch.cuda.current_stream(self.device))

        def wait() -> tuple[np.ndarray, ...]:
            arrived.synchronize()
            return apart(held.numpy(), arrays)

        return wait

    def _together(self, arrays: Sequence[Array]) -> Array:
        """Return all numbers of some tensors, in float64, as one vector."""
        flat = [self.as_float64(self.xp.asarray(array)).reshape(-1) for array in arrays]
        return flat[0] if len(flat) == 1 else self.xp.cat(flat)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an uninitialised array."""
        return self.xp.empty(shape, dtype=self.dtype, device=self.device)

    def room(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array to work in, the one that this thread had before: fresh memory is slow."""
        rooms = self._rooms.__dict__
        if name not in rooms or rooms[name].shape != shape:
            rooms[name] = self.empty(shape)
        return rooms[name]

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Return an array of one value."""
        return self.xp.full(shape, value, dtype=self.dtype, device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Array:
        """Return an array of zeros."""
        return self.xp.zeros(shape, dtype=dtype or self.dtype, device=self.device)

    @cached_property
    def float64(self) -> Any:
        """The namespace's float64."""
        return self.xp.float64

    @property
    def epsilon(self) -> float:
        """The relative rounding error of the row arrays."""
        return float(self.xp.finfo(self.dtype).eps)

    # --- products and sums that come to the host ----------------------------------------------

    def host_product(self, left: Array, right: Array) -> np.ndarray:
        """Return a matrix product on the host, in float64."""
        return to_numpy(self.matmul(left, right)).astype(np.float64, copy=False)

    def weighted_product(
        self, rows: Array, weights: Array, room: Array | None = None
    ) -> np.ndarray:
        """Return `rows diag(weights) rows'` on the host, in float64; `room` is written over."""
        if self.is_numpy:
            return weighted_gram(rows, weights, room, self.room("signed", tuple(rows.shape)))
        weighted = self.multiply(rows, weights[None, :], out=room)
        return self.host_product(weighted, rows.T)

    def as_float64(self, array: Array) -> Array:
        """Return the array in float64 (no copy where it is that already)."""
        return array if array.dtype == self.float64 else self.xp.astype(array, self.float64)

    def take(self, array: Array, index: np.ndarray, axis: int = 0) -> Array:
        """Return some lines of an array, (given by places that are not negative)."""
        if self._is_torch:
            return self.xp.index_select(array, axis, self.integers(index))
        return self.xp.take(array, self.integers(index), axis=axis)

    def sums(self, values: Array, axis: int | None = None) -> np.ndarray:
        """Return sums taken in float64, on the host."""
        return np.asarray(to_numpy(self.xp.sum(values, axis=axis, dtype=self.float64)))

    def take_rows(self, rows: Array, index: np.ndarray, out: Array) -> Array:
        """Fill `out` with some rows of an array, and return it."""
        if self.is_numpy:  # "clip" needs no buffer; the index is in range anyway
            return np.take(rows, index, axis=0, out=out, mode="clip")
        out[...] = self.xp.take(rows, self.integers(index), axis=0)
        return out

    def put_rows(self, rows: Array, index: np.ndarray, values: Array) -> None:
        """Put the lines of `values` at places of `rows`, in place."""
        if self._is_torch:
            rows.index_copy_(0, self.integers(index), values)
            return
        for line, place in enumerate(index):
            rows[int(place), :] = values[line, :]

    def swap_entries(self, rows: Array, lines: Array, columns: Array, values: Array) -> Array:
        """Put `values` at the places (lines, columns), in place, and return what was there."""
        if self.is_numpy or self._is_torch:
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
        if self.is_numpy or self._is_torch:
            lines[:, index] += values
            return
        for place, column in enumerate(index):
            lines[:, int(column)] += values[:, place]

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
        if len(factor) == 0:  # SciPy before 1.13 refuses it
            return right if out is None else out
        if out is not None and self.is_numpy and self.dtype == np.float64:
            return solve_in_place(factor, right, transposed, out)
        factor, wide = (factor.T if transposed else factor), self.as_float64(right)
        if self.is_numpy:
            solved = scipy.linalg.solve_triangular(
                factor, wide, lower=not transposed, check_finite=False
            )
        elif self.is_accelerator:
            blocks, inverses = inverted_blocks(factor, lower=not transposed)
            factor, inverses = (self.asarray(part, self.float64) for part in (factor, inverses))
            solved = wide * 1.0 if out is None or self.dtype != self.float64 else out
            if out is not None and solved is out and out is not wide:
                out[...] = wide
            solve_by_products(factor, inverses, solved, blocks, self.minus_product)
        elif self._is_torch:
            solved = self.xp.linalg.solve_triangular(
                self.asarray(factor, self.float64), wide, upper=transposed
            )
        else:
            solved = self.xp.linalg.solve(self.asarray(factor, self.float64), wide)
        solved = self.xp.astype(solved, self.dtype, copy=False)
        if out is None or solved is out:
            return solved
        out[...] = solved
        return out

    def apply_inverse(
        self,
        factor: np.ndarray,
        inverse: np.ndarray,
        right: Array,
        *,
        transposed: bool = False,
        out: Array,
        room: Array | None = None,
    ) -> None:
        """Write `factor^-1 right`, or `factor^-T right`, into `out`.

        By a product with the inverse, which is faster than a solve, and as accurate where the
        factor is well-conditioned or no digits cancel in the product. That is for rows of float64;
        narrower ones are solved for.

        Parameters
        ----------
        factor, inverse : (m, m) host arrays
            Lower triangular.
        right, out : (m, T) arrays
            They may be the same one where there is room.
        transposed : bool
        room : (m, T) array, optional
            Perhaps written over.
        """
        if self.dtype != self.float64:
            self.solve_lower(factor, right, transposed=transposed, out=out)
            return
        if self.is_numpy:
            if out is not right:
                out[...] = right
            multiply_in_place(inverse, transposed, out)
            return
        triangle = self.asarray(inverse.T if transposed else inverse)
        product = room if out is right else out
        triangle_product(triangle, right, product, self.matmul, lower=not transposed)
        if product is not out:
            out[...] = product

    # --- what suits the machine ----------------------------------------------------------------

    def tile_size(self, in_cache: int, at_most: int) -> int:
        """Return how many rows or columns to work on at a time.

        NumPy works on tiles that stay in the processor's cache. Other libraries, on accelerators
        above all, are better off with few large tiles.
        """
        return min(in_cache, at_most) if self.is_numpy else at_most

    @cached_property
    def is_accelerator(self) -> bool:
        """Whether products beat solves where the rows are, and calls only queue the work."""
        return not self.is_numpy and "cpu" not in str(self.device).lower()

    # --- threads over blocks of rows -----------------------------------------------------------

    def block_sizes(
        self, n_rows: int, most: int = 8192, shared_from: int = SHARED_FROM
    ) -> list[int]:
        """Split the rows into blocks, the same number of them for each thread.

        Fewer than `shared_from` rows are for one thread. torch and other libraries bring their own
        threads: there the rows are one block.
        """
        if not self.is_numpy or n_rows < shared_from:
            return [n_rows]
        threads = self.threads
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
        others = Background(self.threads, function, items[1:])
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

    @contextmanager
    def serial_host(self) -> Iterator[None]:
        """While this lasts, BLAS beside an accelerator is serial: for few rows on the host.

        Its many cores would wait for each other longer than they work.
        """
        if not self.is_accelerator:
            yield
            return
        with serial_blas(1):
            yield
