"""Elementwise operations, products and dot products, written into arrays that are there already.

Fresh memory costs more than the arithmetic that fills it. NumPy and torch can write a result into
an array that they are given; what another library makes is copied there.

A chain of such operations goes through memory once for each. That costs little in tiles that stay
in a processor's cache, and is most of the time of a GPU: there a chain can be one kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from greedygp.namespaces import Array, to_numpy
from greedygp.triangular import add_product_in_place

__all__ = ["Arithmetic"]


class Arithmetic:
    """The part of a backend that computes in place."""

    xp: Any  # the namespace
    is_numpy: bool
    _is_torch: bool
    _is_cuda: bool
    _library: Any  # torch itself does not look for a common dtype first, as its namespace does
    dtype: Any
    float64: Any
    as_float64: Callable[[Array], Array]

    def _into(self, function: str, out: Array | None, *arrays: Array) -> Array:
        """Apply a function of the namespace, writing into `out` where the library can."""
        if out is None:
            return getattr(self.xp, function)(*arrays)
        if self.is_numpy or self._is_torch:
            return getattr(self._library, function)(*arrays, out=out)
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

    def at_least(self, values: Array, least: float, out: Array) -> Array:
        """Write the values into `out`, those below `least` raised to it."""
        if self.is_numpy:
            return np.maximum(values, least, out=out)
        if self._is_torch:
            return self.xp.clamp(values, min=least, out=out)
        out[...] = self.xp.clip(values, min=least)
        return out

    def inverse(self, values: Array, out: Array) -> Array:
        """Write `1 / values` into `out`."""
        if self.is_numpy:
            return np.divide(1.0, values, out=out)
        if self._is_torch:
            return self.xp.reciprocal(values, out=out)
        out[...] = 1.0 / values
        return out

    def minus_multiple(self, values: Array, left: Array, right: Array, out: Array) -> Array:
        """Write `values - left * right`, elementwise, into `out`, which may be a factor."""
        if self._is_torch:
            return self.xp.addcmul(values, left, right, value=-1, out=out)
        return self.subtract(values, self.multiply(left, right, out=out), out=out)

    def minus_product(
        self, values: Array, left: Array, right: Array, out: Array, times: float = 1.0
    ) -> Array:
        """Write `times * values - left @ right` into `out`, which may be `values` itself."""
        return self.plus_product(values, left, right, out, times, factor=-1.0)

    def plus_product(
        self,
        values: Array,
        left: Array,
        right: Array,
        out: Array,
        times: float = 1.0,
        factor: float = 1.0,
    ) -> Array:
        """Write `times * values + factor * left @ right` into `out`, which may be `values`."""
        if self._is_torch:
            return self.xp.addmm(values, left, right, beta=times, alpha=factor, out=out)
        if self.is_numpy and self.dtype == np.float64:
            if out is not values:
                out[...] = values
            add_product_in_place(out, left, right, factor=factor, times=times)
            return out
        product = self.matmul(left, right, out=None if out is values else out)
        if times != 1.0:
            values = self.multiply(values, times, out=values if out is values else None)
        if factor == -1.0:
            return self.subtract(values, product, out=out)
        if factor != 1.0:
            product = self.multiply(product, factor, out=product)
        return self._into("add", out, values, product)

    def add_product(self, values: Array, left: Array | float, right: Array) -> None:
        """Add `left * right`, elementwise, to `values` in place."""
        if not self._is_torch:
            values += left * right
        elif isinstance(left, float):
            values.add_(right, alpha=left)
        else:
            values.addcmul_(left, right)

    def row_dots(self, left: Array, right: Array) -> np.ndarray:
        """Return the dot product of each row of `left` with that of `right`, on the host, (c,).

        It is summed in float64.
        """
        return to_numpy(self.dots(left, right))

    def dots(self, left: Array, right: Array) -> Array:
        """Return the same where the rows are.

        Not by products of matrices with one row and one column, for which a GPU uses few of its
        processors.
        """
        xp = self.xp
        if self.dtype != self.float64:
            return xp.sum(left * right, axis=-1, dtype=self.float64)
        if not self._is_torch:
            return xp.vecdot(left, right)
        if left is right:
            return xp.square(xp.linalg.vector_norm(left, axis=-1))
        return xp.linalg.vecdot(left, right)

    def column_squares(self, rows: Array) -> Array:
        """Return the sum of squares of each column, in float64."""
        return self.column_dots(rows, rows)

    def column_dots(self, left: Array, right: Array) -> Array:
        """Return the dot product of each column of `left` with that of `right`, in float64."""
        if self.is_numpy and self.dtype == np.float64:
            return np.einsum("ij,ij->j", left, right)
        return self.xp.sum(self.as_float64(left) * self.as_float64(right), axis=0)

    def sqrt(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise square root, into `out` if given."""
        return self._into("sqrt", out, values)

    def exp(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise exponential, into `out` if given."""
        return self._into("exp", out, values)

    def log1p(self, values: Array, out: Array | None = None) -> Array:
        """Elementwise `log(1 + x)`, into `out` if given."""
        return self._into("log1p", out, values)

    def one_kernel(self, formula: str) -> Callable[..., Array] | None:
        """Return a function of arrays that does a chain of operations in one pass.

        Parameters
        ----------
        formula : str
            The chain in C++: a template of a function of at most eight numbers of type T. The
            arrays are broadcast.

        Returns
        -------
        callable or None
            None where there are no kernels to be made: not on a GPU, or not by this torch.
        """
        return _kernel(formula) if self._is_cuda else None


@cache
def _kernel(formula: str) -> Callable[..., Array] | None:
    torch = sys.modules["torch"]
    make = getattr(getattr(torch.cuda, "jiterator", None), "_create_jit_fn", None)
    if make is None:
        return None
    kernel = make(formula)
    one = torch.ones(1, dtype=torch.float64, device="cuda")
    try:  # it is compiled when it is first called
        kernel(*[one] * formula.partition(")")[0].count(","), one)
    except RuntimeError:
        return None
    return kernel
