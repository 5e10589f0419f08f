"""Arrays of NumPy and of other libraries: which one it is, the way to the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat
import numpy as np

Array = Any

__all__ = ["Array", "apart", "as_array", "detached", "is_foreign", "namespace", "to_numpy"]


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


def apart(together: np.ndarray, arrays: Sequence[Array]) -> tuple[np.ndarray, ...]:
    """Return the parts of a vector that have the shapes of the arrays, one after the other."""
    found, end = [], 0
    for array in arrays:
        shape = tuple(array.shape)
        start, end = end, end + math.prod(shape)
        found.append(together[start:end].reshape(shape))
    return tuple(found)
