"""Numbers so large or small that their squares are beyond floating point."""

from __future__ import annotations

import numpy as np

__all__ = ["check_sizes"]

SHARE = 0.45  # of the exponents of a precision: what is left is for products of squares


def check_sizes(X: np.ndarray, y: np.ndarray) -> None:
    """Raise a sentence where X or y cannot be squared.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.sizes import check_sizes
    >>> check_sizes(np.ones((2, 1)), np.array([0.0, 1e200]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: y has values as large as 1.0e+200, which cannot be squared; ...
    """
    limits = np.finfo(X.dtype)
    for name, values in (("X", X), ("y", y)):
        largest = max(float(np.max(values)), -float(np.min(values)))
        if largest > float(limits.max) ** SHARE:
            raise ValueError(
                f"{name} has values as large as {largest:.1e}, which cannot be squared; divide "
                "them by a power of ten."
            )
    if 0 < largest < float(limits.tiny) ** SHARE:
        raise ValueError(
            f"y has no value larger than {largest:.1e}, and such values cannot be squared; "
            "multiply them by a power of ten."
        )
