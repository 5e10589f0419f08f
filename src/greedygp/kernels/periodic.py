"""The periodic kernel: a Gaussian of the places on a circle.

With the angles `t_k = 2 pi a_k / period_k` and `u_k = 2 pi b_k / period_k`, the logarithm of the
kernel is `log variance + sum_k (cos(t_k - u_k) - 1) / length_scale_k^2`, one matrix product of
cosines and sines. Given `H = W * K`, the contracted gradients need the products of H with
`cos u`, `sin u`, `u cos u` and `u sin u`:

    dF/dlog l_k      = 2 / l_k^2 sum_ij H_ij (1 - cos(t_ik - u_jk))
    dF/dlog period_k = 1 / l_k^2 sum_ij H_ij (t_ik - u_jk) sin(t_ik - u_jk)
    dF/da_ik         = -2 pi / (period_k l_k^2) sum_j H_ij sin(t_ik - u_jk)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.kernels.cross import Cross
from greedygp.kernels.parametric import ParametricKernel

__all__ = ["Periodic"]


class Periodic(ParametricKernel):
    """`k(a, b) = variance * exp(-2 sum_k (sin(pi (a_k - b_k) / period_k) / length_scale_k)^2)`.

    Smooth functions that repeat themselves exactly. Times a `Gaussian` with a long length scale,
    they repeat themselves for a while: `Periodic() * Gaussian(1.0, 10.0, fixed="variance")`.

    Parameters
    ----------
    variance : float
        Prior variance of the function at any input.
    length_scale : float or sequence of float
        How much the function varies within a period (it has no unit: 1 is smooth, 0.1 rough), one
        for all features or one for each.
    period : float or sequence of float
        Distance after which the function repeats itself, in the units of the inputs. Learning
        improves a period that is nearly right; it does not find one.
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds : (float, float), optional
        Where learning may take the variance; a factor 1e5 either way if left out.
    length_scale_bounds, period_bounds : (float, float) or one pair per feature, optional
        The same for length scales and periods.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Periodic
    >>> kernel = Periodic(period=7.0, active_dims="day")
    >>> kernel = kernel.for_inputs(1, ["day"])
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [3.5], [7.0]])).round(4)
    array([[1.    , 0.1353, 1.    ]])
    """

    _parameters = ("variance", "length_scale", "period")
    _per_feature = ("length_scale", "period")
    _length_scales = ("length_scale",)

    variance: float
    length_scale: float | np.ndarray
    period: float | np.ndarray

    def __init__(
        self,
        variance: float = 1.0,
        length_scale: float | Sequence[float] | np.ndarray = 1.0,
        period: float | Sequence[float] | np.ndarray = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        active_dims: Any = None,
        variance_bounds: Any = None,
        length_scale_bounds: Any = None,
        period_bounds: Any = None,
    ):
        self._store(
            fixed,
            active_dims,
            variance=(variance, variance_bounds),
            length_scale=(length_scale, length_scale_bounds),
            period=(period, period_bounds),
        )

    def _cross(self, B: Array) -> _PeriodicCross:
        return _PeriodicCross(B, self)

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        cross = self._cross(B)
        backend, xp = cross.backend, cross.backend.xp
        T, cos_t, sin_t = cross.angles(A)
        U, cos_u, sin_u = cross.angles(B)
        H = cross(A)
        H *= W
        H_cos, H_sin = backend.matmul(H, cos_u), backend.matmul(H, sin_u)
        # Sums over j of H times the cosine and the sine of t_i - u_j.
        cosines, sines = cos_t * H_cos + sin_t * H_sin, sin_t * H_cos - cos_t * H_sin
        moved = sin_t * backend.matmul(H, U * cos_u) - cos_t * backend.matmul(H, U * sin_u)
        square = np.asarray(self.length_scale) ** 2
        total = float(backend.sums(H))
        by_scale = 2.0 * (total - backend.sums(cosines, axis=0)) / square
        by_period = backend.sums(T * sines - moved, axis=0) / square
        theta_gradient = self._free_vector(
            variance=total,
            length_scale=by_scale if np.ndim(self.length_scale) else by_scale.sum(),
            period=by_period if np.ndim(self.period) else by_period.sum(),
        )
        factor = backend.asarray(-2.0 * np.pi / np.asarray(self.period) / square)
        return theta_gradient, xp.astype(sines, A.dtype, copy=False) * factor

    def length_scales(self, n_features: int) -> np.ndarray:
        """Return `length_scale_k period_k / (2 pi)`: that of a Gaussian which is alike nearby."""
        nearby = np.asarray(self.length_scale) * np.asarray(self.period) / (2.0 * np.pi)
        return self._spread_out(nearby, n_features, np.inf)

    @property
    def shares_length_scale(self) -> bool:
        return np.ndim(self.length_scale) == 0 and np.ndim(self.period) == 0

    def relevances(self, n_features: int) -> np.ndarray:
        """Return `2 pi sqrt(variance) / (length_scale_k period_k)`."""
        return np.sqrt(self.variance) / self.length_scales(n_features)


class _PeriodicCross(Cross):
    def __init__(self, B: Array, kernel: Periodic):
        super().__init__(B)
        xp, (n, D) = self.backend.xp, B.shape
        # Angles are counted from the mean of B: those of inputs far from zero would be inaccurate.
        self.centre = self.backend.zeros((D,))
        if n:
            self.centre += xp.astype(xp.mean(xp.astype(B, xp.float64), axis=0), B.dtype)
        self.frequency = self.backend.asarray(2.0 * np.pi / np.asarray(kernel.period))
        inverse = 1.0 / np.broadcast_to(kernel.length_scale, D)
        self.inverse_length_scale = self.backend.asarray(inverse)
        self.offset = math.log(kernel.variance) - float(np.sum(inverse**2))
        self.right = self._circles(B, 1.0).T

    def angles(self, A: Array) -> tuple[Array, Array, Array]:
        """Return angles (a, D), their cosines and sines."""
        xp = self.backend.xp
        T = (self.rows(A) - self.centre) * self.frequency
        return T, xp.cos(T), xp.sin(T)

    def _circles(self, A: Array, last: float) -> Array:
        """Return the places on the circles, scaled, and one number more, (a, 2 D + 1)."""
        _, cosines, sines = self.angles(A)
        n, D = cosines.shape
        places = self.backend.empty((n, 2 * D + 1))
        places[:, :D] = cosines * self.inverse_length_scale
        places[:, D : 2 * D] = sines * self.inverse_length_scale
        places[:, 2 * D] = last
        return places

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        exponents = self.backend.matmul(self._circles(A, self.offset), self.right, out)
        return self.backend.exp(exponents, out=exponents)
