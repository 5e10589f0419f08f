"""Additive models: one function of each feature, added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from greedygp.arrays import Array
from greedygp.kernels.base import Kernel
from greedygp.kernels.columns import validate_columns
from greedygp.kernels.composite import Sum
from greedygp.kernels.cross import Cross, as_inputs
from greedygp.messages import shown

__all__ = ["Additive"]


class Additive(Kernel):
    """`k(a, b) = sum_k kernel_k(a_k, b_k)`: a sum of functions, each of one feature.

    Every feature gets a copy of the kernel, with parameters of its own. The copies are made when
    the number of features is known: estimators do it when they are fitted, and their `kernel_` is
    the `Sum`; :meth:`for_inputs` does it by hand.

    Parameters
    ----------
    kernel : Kernel
        What every feature begins with. A parameter with one value per feature gives each its own.
    active_dims : int, str or sequence of these, optional
        The features, by number or by name; all of them if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Additive, Gaussian
    >>> Additive(Gaussian(2.0)).for_inputs(2)
    Gaussian(variance=2.0, length_scale=1.0, active_dims=(0,)) + Gaussian(variance=2.0, \
length_scale=1.0, active_dims=(1,))
    >>> Additive(Gaussian())(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[1.2131]])
    """

    def __init__(self, kernel: Kernel, active_dims: Any = None):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"Additive takes a kernel, got {shown(kernel)}")
        self.kernel = kernel
        self.active_dims = validate_columns("Additive", "active_dims", active_dims)

    def for_inputs(self, n_features: int, names: Sequence[Any] | None = None) -> Kernel:
        """Return the sum over features, each with a kernel of its own."""
        columns = tuple(range(n_features)) if self.active_dims is None else self.active_dims
        terms = [
            self.kernel.of_feature(column, place, len(columns))
            for place, column in enumerate(columns)
        ]
        return Sum(*terms).for_inputs(n_features, names)

    # --- as it is: with the parameters that every feature begins with --------------------------

    def diag(self, A: Array) -> Array:
        (A,) = as_inputs(A)
        return self.for_inputs(A.shape[1]).diag(A)

    def against(self, B: Array) -> Cross:
        (B,) = as_inputs(B)
        return self.for_inputs(B.shape[1]).against(B)

    def has_categories(self, n_features: int) -> np.ndarray:
        return self.for_inputs(n_features).has_categories(n_features)

    @property
    def treats_features_alike(self) -> bool:
        return False

    @property
    def theta(self) -> np.ndarray:
        """Not known before the number of features is."""
        self._has_no_terms("theta")

    def _gradients(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        self._has_no_terms("gradients")

    def diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        self._has_no_terms("gradients")

    def diag_input_gradient(self, w: Array, A: Array) -> Array:
        self._has_no_terms("gradients")

    def _has_no_terms(self, what: str) -> NoReturn:
        raise ValueError(
            f"Additive has no {what} before the number of features is known; fit an estimator with "
            "it, or call for_inputs(n_features)"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Additive):
            return NotImplemented
        return self.kernel == other.kernel and self.active_dims == other.active_dims

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        columns = "" if self.active_dims is None else f", active_dims={self.active_dims!r}"
        return f"Additive({self.kernel!r}{columns})"
