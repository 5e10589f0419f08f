"""How far two ways of computing the same number may lie apart, on any machine.

The last digits of a product, a sum or a factorisation depend on the CPU: BLAS and NumPy choose
other kernels, hence another order of summation, for other instruction sets, thread counts and
shapes. A tolerance fitted to one machine fails on the next. The tests therefore allow a multiple of
the rounding that the size and the condition of the problem explain, and never less than `FLOOR`.
Equality to the last bit is asked for only where the same call is made with the same inputs.
"""

import numpy as np
from numpy.testing import assert_allclose

FLOOR = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}


def rounding(size=1, condition=1.0, factor=10.0, dtype=np.float64):
    """A relative tolerance: `factor` times the machine epsilon times size times condition.

    `size` is the length of the sums, `condition` the condition number of what is solved. The
    result is at least the `FLOOR` of the dtype.
    """
    return float(max(FLOOR[np.dtype(dtype)], factor * size * condition * np.finfo(dtype).eps))


def assert_close(actual, expected, size=1, condition=1.0, factor=10.0, scale=None):
    """Both are the same up to rounding, relative to `scale`: the largest entry expected."""
    expected = np.asarray(expected)
    if scale is None:
        scale = np.max(np.abs(expected), initial=0.0)
    allowed = rounding(size, condition, factor) * float(scale)
    assert_allclose(actual, expected, rtol=0, atol=allowed)
