"""Triangular solves in place that let other threads run.

SciPy's wrappers of BLAS hold the interpreter's lock while they compute, so threads that work on
blocks of rows would wait for each other. SciPy exports the same routine for compiled code
(`scipy.linalg.cython_blas`). Called through ctypes it runs without the lock, and also on a part of
wider rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import cython_blas

__all__ = ["solve_in_place"]

_INTEGER = ctypes.POINTER(ctypes.c_int)
_REAL = ctypes.POINTER(ctypes.c_double)
_ARGUMENTS: tuple[Any, ...] = (
    *[ctypes.c_char_p] * 4,
    _INTEGER,
    _INTEGER,
    _REAL,
    _REAL,
    _INTEGER,
    _REAL,
    _INTEGER,
)


def solve_in_place(
    factor: np.ndarray, right: np.ndarray, transposed: bool, out: np.ndarray
) -> np.ndarray:
    """Solve with a lower triangular factor into `out`, a float64 array with contiguous rows.

    BLAS sees C-ordered rows as Fortran columns: `out' factor' = right'` is solved from the right.
    """
    if out is not right:
        out[...] = right
    if out.size == 0:
        return out
    factor = np.ascontiguousarray(factor, dtype=np.float64)
    routine, stride = _dtrsm(), out.strides[0] // out.itemsize
    rows_are_contiguous = out.strides[1] == out.itemsize or out.shape[1] == 1
    if routine is None or not rows_are_contiguous or stride < out.shape[1]:
        trans = int(transposed)
        out[...] = scipy.linalg.blas.dtrsm(1.0, factor.T, out.T, side=1, trans_a=trans).T
        return out
    m, width = out.shape
    routine(
        b"R",
        b"U",
        b"T" if transposed else b"N",
        b"N",
        ctypes.c_int(width),
        ctypes.c_int(m),
        ctypes.c_double(1.0),
        factor.ctypes.data_as(_REAL),
        ctypes.c_int(m),
        out.ctypes.data_as(_REAL),
        ctypes.c_int(stride),
    )
    return out


@cache
def _dtrsm() -> Callable[..., None] | None:
    """Return BLAS's routine, or None where its integers are not those of C."""
    capsule = getattr(cython_blas, "__pyx_capi__", {}).get("dtrsm")
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = api.PyCapsule_GetName(capsule)
    if name.count(b"int *") != 4:
        return None
    address = api.PyCapsule_GetPointer(capsule, name)
    return ctypes.CFUNCTYPE(None, *_ARGUMENTS)(address)
