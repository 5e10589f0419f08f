"""The categorical kernel: columns whose values are names, whatever numbers stand for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.cross import Cross
from greedygp.kernels.parametric import ParametricKernel

__all__ = ["Categorical"]


class Categorical(ParametricKernel):
    """`k(a, b) = variance * exp(-sum_k [a_k != b_k] / length_scale_k)`.

    Each column that differs lowers the covariance by a factor of its own. Values are compared for
    equality only, so categories may be any numbers (scikit-learn's `OrdinalEncoder` makes them). A
    category that was never seen differs from all others.

    Parameters
    ----------
    variance : float
        Prior variance of the function.
    length_scale : float or sequence of float
        How alike different categories are: `exp(-1 / length_scale)` is their correlation. One for
        all features or one for each.
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that hold categories, by number or by name; all of them if left out.
    variance_bounds : (float, float), optional
        Where learning may take the variance; a factor 1e5 either way if left out.
    length_scale_bounds : (float, float) or one pair per feature, optional
        The same for the length scales.

    Notes
    -----
    The derivative by the inputs is 0. Where `SparseGPRegressor` moves its basis inputs, those of
    the columns that a categorical kernel looks at stay at their categories, also where another
    kernel looks at the same column.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Categorical, Gaussian
    >>> Categorical()(np.array([[0.0, 5.0]]), np.array([[0.0, 5.0], [0.0, 7.0]])).round(4)
    array([[1.    , 0.3679]])
    >>> kernel = Gaussian(active_dims=[0, 1]) * Categorical(active_dims=2, fixed="variance")
    >>> kernel.has_categories(3)
    array([False, False,  True])
    """

    _parameters = ("variance", "length_scale")
    _per_feature = ("length_scale",)

    variance: float
    length_scale: float | np.ndarray

    def __init__(
        self,
        variance: float = 1.0,
        length_scale: float | Sequence[float] | np.ndarray = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        active_dims: Any = None,
        variance_bounds: Any = None,
        length_scale_bounds: Any = None,
    ):
        self._store(
            fixed,
            active_dims,
            variance=(variance, variance_bounds),
            length_scale=(length_scale, length_scale_bounds),
        )

    def _cross(self, B: Array) -> _CategoricalCross:
        return _CategoricalCross(B, self)

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        cross = self._cross(B)
        backend = cross.backend
        H = cross(A)
        H *= W
        by_feature = np.array(
            [
                float(backend.sums(H * cross.differs(A, k))) / scale
                for k, scale in enumerate(cross.length_scales)
            ]
        )
        theta_gradient = self._free_vector(
            variance=backend.sums(H),
            length_scale=by_feature if np.ndim(self.length_scale) else by_feature.sum(),
        )
        return theta_gradient, Backend(A).zeros(A.shape)

    def has_categories(self, n_features: int) -> np.ndarray:
        return self._spread_out(1.0, n_features, 0.0).astype(bool)

    def relevances(self, n_features: int) -> np.ndarray:
        """Return the deviation between two categories (a measure, not a slope)."""
        unlike = -np.expm1(-1.0 / np.asarray(self.length_scale))
        return self._spread_out(np.sqrt(2.0 * self.variance * unlike), n_features, 0.0)


class _CategoricalCross(Cross):
    def __init__(self, B: Array, kernel: Categorical):
        super().__init__(B)
        self.B = B
        self.log_variance = math.log(kernel.variance)
        self.length_scales = np.broadcast_to(kernel.length_scale, B.shape[1])

    def differs(self, A: Array, k: int) -> Array:
        """Return 1 where feature k of A and B differs, else 0, (a, b)."""
        return self.backend.xp.astype(A[:, k, None] != self.B[None, :, k], self.backend.dtype)

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        A = self.rows(A)
        exponents = self.backend.empty((A.shape[0], self.n_columns)) if out is None else out
        exponents[...] = self.log_variance
        for k, scale in enumerate(self.length_scales):
            different = self.differs(A, k)
            different *= float(1.0 / scale)
            exponents -= different
        return self.backend.exp(exponents, out=exponents)
