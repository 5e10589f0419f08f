"""Checks of kernel parameters, done when a kernel is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from greedygp.messages import shown

__all__ = ["log_bounds", "validate_bounds", "validate_fixed", "validate_positive"]

# Without bounds of its own, a parameter may move by this factor either way.
DEFAULT_FACTOR = 1e5


def validate_positive(kind: str, name: str, value: Any, per_feature: bool) -> float | np.ndarray:
    """Return a positive number as float, several of them as a read-only vector."""

    def refusal() -> ValueError:
        expected = "a positive number" + (", or one per feature" if per_feature else "")
        return ValueError(f"{name} of {kind} must be {expected}, got {shown(value)}")

    try:
        # A copy, so that the caller's array can change without changing the kernel.
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal() from None
    if isinstance(value, str | bytes | bool) or array.ndim > int(per_feature) or array.size == 0:
        raise refusal()
    if not np.all(np.isfinite(array) & (array > 0)):
        raise refusal()
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def validate_bounds(kind: str, name: str, bounds: Any, size: int) -> tuple | None:
    """Return bounds as a pair of floats, or one pair per value; None stays None."""
    if bounds is None:
        return None
    error = ValueError(
        f"{name}_bounds of {kind} must be None or a pair of positive numbers (lower, upper) with "
        f"lower < upper, for all values of {name} or one pair for each, got {bounds!r}; "
        f"to hold {name} fixed, pass fixed={name!r}"
    )
    try:
        array = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise error from None
    if array.shape not in {(2,), (size, 2)}:
        raise error
    if not (np.all(array > 0) and np.all(array[..., 0] < array[..., 1])):
        raise error
    pairs = array.tolist()
    return tuple(pairs) if array.ndim == 1 else tuple(tuple(pair) for pair in pairs)


def validate_fixed(kind: str, fixed: str | Iterable[str], names: tuple[str, ...]) -> tuple:
    """Return the names of the parameters held fixed, in the order of `names`."""
    given = {fixed} if isinstance(fixed, str) else set(fixed)
    unknown = sorted(map(str, given - set(names)))
    if unknown:
        raise ValueError(
            f"fixed of {kind} names {', '.join(map(repr, unknown))}; "
            f"its parameters are {', '.join(map(repr, names))}"
        )
    return tuple(name for name in names if name in given)


def log_bounds(value: float | np.ndarray, bounds: tuple | None) -> np.ndarray:
    """Return log-space bounds, one row for each entry of the value."""
    values = np.atleast_1d(value)
    if bounds is None:
        return np.log(values)[:, None] + np.log(DEFAULT_FACTOR) * np.array([-1.0, 1.0])
    return np.array(np.broadcast_to(np.log(np.array(bounds)), (len(values), 2)))
