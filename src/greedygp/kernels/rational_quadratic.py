"""The rational quadratic kernel: Gaussians of many length scales, added up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.kernels.stationary import Stationary, StationaryCross

__all__ = ["RationalQuadratic"]


class RationalQuadratic(Stationary):
    """`k(a, b) = variance * (1 + r^2 / (2 alpha))^-alpha`.

    With `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2`. Smooth functions that change over short and
    long distances at once: a mixture of Gaussians with length scales around `length_scale`. The
    smaller `alpha`, the wider the mixture; for large `alpha` it is the Gaussian.

    Parameters
    ----------
    variance : float
        Prior variance of the function at any input.
    length_scale : float or sequence of float
        Distance over which the function changes, one for all features or one for each.
    alpha : float
        How narrow the mixture of length scales is.
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds, alpha_bounds : (float, float), optional
        Where learning may take them; a factor 1e5 either way if left out.
    length_scale_bounds : (float, float) or one pair per feature, optional
        The same for the length scales.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import RationalQuadratic
    >>> kernel = RationalQuadratic(length_scale=2.0, alpha=0.5)
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [2.0], [20.0]])).round(4)
    array([[1.    , 0.7071, 0.0995]])
    """

    _parameters = ("variance", "length_scale", "alpha")

    alpha: float

    def __init__(
        self,
        variance: float = 1.0,
        length_scale: float | Sequence[float] | np.ndarray = 1.0,
        alpha: float = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        active_dims: Any = None,
        variance_bounds: Any = None,
        length_scale_bounds: Any = None,
        alpha_bounds: Any = None,
    ):
        self._store(
            fixed,
            active_dims,
            variance=(variance, variance_bounds),
            length_scale=(length_scale, length_scale_bounds),
            alpha=(alpha, alpha_bounds),
        )

    def _cross(self, B: Array) -> StationaryCross:
        return _RationalQuadraticCross(B, self)


class _RationalQuadraticCross(StationaryCross):
    part = StationaryCross._with_some

    def __init__(self, B: Array, kernel: RationalQuadratic):
        super().__init__(B, kernel)
        self.alpha = kernel.alpha
        # The product is then u = r^2 / (2 alpha).
        self.scale = -1.0 / kernel.alpha

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        return self._values(self._logarithms(self.product(self.scaled(A), out), out), out)

    def _logarithms(self, U: Array, out: Array | None) -> Array:
        """Return `log(1 + u)`; changes U in place."""
        U[U < 0.0] = 0.0
        return self.backend.log1p(U, out=out)

    def _values(self, logarithms: Array, out: Array | None) -> Array:
        """Return `variance * (1 + u)^-alpha`, changing the logarithms in place."""
        logarithms *= -self.alpha
        logarithms += math.log(self.variance)
        return self.backend.exp(logarithms, out=out)

    def weighted(self, W: Array, X: Array) -> tuple[dict[str, float], Array]:
        U = self.product(X, None)
        logarithms = self._logarithms(U, None)
        share = U / (1.0 + U)
        # dk/dlog alpha = alpha k (u / (1 + u) - log(1 + u))
        by_alpha = share - logarithms
        H = self._values(logarithms, None)
        H *= W
        by_parameter = {
            "variance": float(self.backend.sums(H)),
            "alpha": self.alpha * float(self.backend.sums(H * by_alpha)),
        }
        # dk/d(r^2) = -k / (2 (1 + u))
        H *= -0.5 / (1.0 + U)
        return by_parameter, H
