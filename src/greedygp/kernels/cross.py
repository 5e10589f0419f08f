"""The inputs of a kernel, and the kernel against inputs that stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from greedygp.arrays import Array, Backend, as_array, namespace

__all__ = ["Cross", "ValuesCross", "as_inputs"]


def as_inputs(*inputs: Any) -> tuple[Array, ...]:
    """Return the inputs as 2-D floating arrays of one dtype, or say what is wrong with them."""
    arrays = [as_array(X) for X in inputs]
    xp = namespace(*arrays)
    for X in arrays:
        if X.ndim != 2:
            raise ValueError(f"kernel inputs must be 2-D (rows, features), got shape {X.shape}")
        if X.shape[1] != arrays[0].shape[1]:
            raise ValueError(
                f"kernel inputs have {arrays[0].shape[1]} and {X.shape[1]} features; "
                "both sides need the same"
            )
    arrays = [
        X if xp.isdtype(X.dtype, "real floating") else xp.astype(X, xp.float64) for X in arrays
    ]
    if any(X.dtype != arrays[0].dtype for X in arrays):
        dtype = xp.result_type(*arrays)
        arrays = [xp.astype(X, dtype, copy=False) for X in arrays]
    return tuple(arrays)


class Cross:
    """The kernel against fixed inputs B: `cross(A)` is `K(A, B)`; B is prepared only once."""

    def __init__(self, B: Array):
        self.backend = Backend(B)
        self.n_columns, self.n_features = B.shape

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        """Return `K(A, B)`; written into `out` (a, b) if given."""
        raise NotImplementedError

    def rows(self, A: Array) -> Array:
        """Return A in the dtype of B, or say that its features do not match."""
        if A.ndim != 2 or A.shape[1] != self.n_features:
            raise ValueError(
                f"kernel inputs must have shape (rows, {self.n_features}), got {tuple(A.shape)}"
            )
        if A.dtype != self.backend.dtype:
            A = self.backend.xp.astype(A, self.backend.dtype)
        return A

    def part(self, columns: slice) -> Cross | None:
        """Return the kernel against some of B, as its `gradients` take it; None: they do not."""
        return None

    def add_to(self, K: Array, A: Array) -> Array:
        """Add `K(A, B)` to `K` in place."""
        K += self(A)
        return K

    def multiply_into(self, K: Array, A: Array) -> Array:
        """Multiply `K` by `K(A, B)` in place."""
        K *= self(A)
        return K


class ValuesCross(Cross):
    """A kernel against B by a function of A and B, for kernels that prepare nothing."""

    def __init__(self, B: Array, values: Callable[[Array, Array], Array]):
        super().__init__(B)
        self.B, self.values = B, values

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        K = self.values(self.rows(A), self.B)
        if out is None:
            return K
        out[...] = K
        return out
