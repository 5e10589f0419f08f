"""Routines of BLAS that NumPy has no functions for, on NumPy's arrays and without the lock.

A product that is added to what is there already saves a pass over memory, and a triangular product
or solve in place saves an array. SciPy's wrappers of such routines hold the interpreter's lock
while they compute, so threads that work on blocks of rows would wait for each other. SciPy exports
the same routines for compiled code (`scipy.linalg.cython_blas`). Called through ctypes they run
without the lock, and also on a part of wider rows. NumPy's own products run without it, too.

BLAS sees C-ordered rows as Fortran columns: what multiplies an array from the left does so from the
right, transposed. Each function returns False, with nothing done, where BLAS does not take arrays
that lie so in memory, or is not to be had.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_double, c_int
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas

__all__ = ["add_product", "triangular"]

# What the routines are given, all by address. Addresses of arrays are plain numbers: numpy's typed
# pointers take longer to make than a small product takes.
_WORD, _NUMBER, _ARRAY = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p
_TRIANGULAR = (*[_WORD] * 4, *[_NUMBER] * 3, _ARRAY, _NUMBER, _ARRAY, _NUMBER)
_PRODUCT = (_WORD, _WORD, *[_NUMBER] * 4, *[_ARRAY, _NUMBER] * 2, _NUMBER, _ARRAY, _NUMBER)
# The arguments of a routine, and how many of them are integers.
_ROUTINES: dict[str, tuple[tuple[Any, ...], int]] = {
    "dtrsm": (_TRIANGULAR, 4),
    "dtrmm": (_TRIANGULAR, 4),
    "dgemm": (_PRODUCT, 6),
}


def triangular(name: str, triangle: np.ndarray, transposed: bool, out: np.ndarray) -> bool:
    """Replace `out` by `triangle out` ("dtrmm") or `triangle^-1 out` ("dtrsm"), in place.

    Parameters
    ----------
    name : {"dtrmm", "dtrsm"}
    triangle : (m, m) float64 array
        Lower triangular; what is above the diagonal is not looked at.
    transposed : bool
        Whether its transpose is meant.
    out : (m, T) float64 array
    """
    routine, leading = _routine(name), _leading(out)
    if routine is None or leading is None or triangle.dtype != np.float64:
        return False
    by_row, by_column = (step // triangle.itemsize for step in triangle.strides)
    seen_as_upper = by_column == 1  # lower, but stored by rows
    stride = by_row if seen_as_upper else by_column
    if len(triangle) == 1:
        stride = 1
    elif stride < len(triangle) or min(by_row, by_column) != 1:
        return False
    m, width = out.shape
    routine(
        b"R",
        b"U" if seen_as_upper else b"L",
        b"T" if transposed == seen_as_upper else b"N",
        b"N",
        byref(c_int(width)),
        byref(c_int(m)),
        byref(c_double(1.0)),
        triangle.ctypes.data,
        byref(c_int(stride)),
        out.ctypes.data,
        byref(c_int(leading)),
    )
    return True


def add_product(
    out: np.ndarray, left: np.ndarray, right: np.ndarray, factor: float, times: float
) -> bool:
    """Replace `out` by `times out + factor left @ right`, in place."""
    routine, leading = _routine("dgemm"), _leading(out)
    if routine is None or leading is None or not left.size:
        return False
    sides = []
    for side in (right, left):
        stride, word = _leading(side), b"N"
        if stride is None:
            stride, word = _leading(side.T), b"T"
        if stride is None:
            return False
        sides.append((side, byref(c_int(stride)), word))
    (right, right_stride, right_word), (left, left_stride, left_word) = sides
    routine(
        right_word,
        left_word,
        byref(c_int(out.shape[1])),
        byref(c_int(out.shape[0])),
        byref(c_int(left.shape[1])),
        byref(c_double(factor)),
        right.ctypes.data,
        right_stride,
        left.ctypes.data,
        left_stride,
        byref(c_double(times)),
        out.ctypes.data,
        byref(c_int(leading)),
    )
    return True


def _leading(matrix: np.ndarray) -> int | None:
    """Return the distance of two rows; None: they are not contiguous, or not of float64."""
    if matrix.dtype != np.float64:
        return None
    rows, columns = matrix.shape
    by_row, by_column = matrix.strides
    if by_column != matrix.itemsize and columns > 1:
        return None
    if rows == 1:
        return max(columns, 1)
    stride = by_row // matrix.itemsize
    return stride if stride >= max(columns, 1) else None


@cache
def _routine(name: str) -> Callable[..., None] | None:
    """Return a routine of BLAS, or None where its integers are not those of C."""
    capsule = getattr(cython_blas, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature, (arguments, integers) = api.PyCapsule_GetName(capsule), _ROUTINES[name]
    if signature.count(b"int *") != integers:
        return None
    address = api.PyCapsule_GetPointer(capsule, signature)
    return ctypes.CFUNCTYPE(None, *arguments)(address)
