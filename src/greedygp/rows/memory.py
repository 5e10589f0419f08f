"""Rows in arrays and memory maps: slices of them, converted a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, as_array, is_foreign
from greedygp.rows.store import READ_ROWS, Chunk, RowStore

__all__ = ["ArrayRows", "is_mapped"]


def is_mapped(X: Any) -> bool:
    """Tell whether an array lies in a file (`np.memmap`, or a view of one)."""
    return _file_of(X) is not None


def _file_of(X: Any) -> str | None:
    """Return the file of a memory map; None: it is none."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return str(X.filename)
        X = X.base
    return None


class ArrayRows(RowStore):
    """Rows of arrays; never copied whole.

    Parameters
    ----------
    X : (n, D) array
        NumPy, a memory map, or an array of another library. Integers become float64.
    y : (n,) or (n, p) array or None
    weights : (n,) array or None
    """

    keeps_left_out = True

    def __init__(self, X: Array, y: Array = None, weights: Array = None):
        self.X, self.y = X, None if y is None else as_array(y)
        self.weights = None if weights is None else as_array(weights)
        self.n_rows, self.n_features = X.shape[0], X.shape[-1]
        self.where = _file_of(X) or ""
        if is_foreign(X):
            self.backend = Backend(X)
        else:
            single = X.dtype == np.float32
            self.backend = Backend(np.empty(0, np.float32 if single else np.float64))

    def check(self) -> tuple[int, ...] | None:
        if self.X.ndim != 2 or 0 in self.X.shape:
            raise ValueError(
                f"X must have rows and columns; its shape is {tuple(self.X.shape)}. Reshape your "
                "data with X.reshape(-1, 1) if it has a single feature."
            )
        for name, array in (("X", self.X), ("y", self.y), ("sample_weight", self.weights)):
            kind = getattr(getattr(array, "dtype", None), "kind", "f")
            if array is not None and kind not in "biuf":
                raise ValueError(f"{name} must hold numbers; its dtype is {array.dtype}.")
        n = self.X.shape[0]
        if self.weights is not None and tuple(self.weights.shape) != (n,):
            raise ValueError(
                f"sample_weight.shape == {tuple(self.weights.shape)}, expected ({n},): one weight "
                "per row."
            )
        if self.y is None:
            return None
        if self.y.ndim not in (1, 2) or self.y.shape[0] != n:
            raise ValueError(
                f"y must have shape ({n},) or ({n}, n_targets) to go with X; got "
                f"{tuple(self.y.shape)}."
            )
        return tuple(self.y.shape[1:])

    def chunks(self) -> Iterator[Chunk]:
        for begin in range(0, self.n_rows, READ_ROWS):
            part = slice(begin, min(begin + READ_ROWS, self.n_rows))
            yield Chunk(
                self.backend.asarray(self.X[part, :]),
                None if self.y is None else self.backend.asarray(self.y[part]),
                None if self.weights is None else self.weights[part],
                start=begin,
                where=self.where,
                first=begin,
            )
