"""Kernels of the scaled distance `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2`.

The squared distances of a block come out of one matrix product: with `x = (a - c) / l` and
`y = (b - c) / l`,

    [s x, -s |x|^2 / 2 + t, s] [y, 1, -|y|^2 / 2]' = -s r^2 / 2 + t

for any numbers s and t. The centre c is the mean of B: without it the squared norms of inputs
far from the origin would swamp the distances. It is rounded to the inputs' dtype and
subtracted in it, which for nearby numbers is exact.

Contracted gradients need `R = W * dk/d(r^2)` (up to a factor, `times`) and its row sums, column
sums and product with y:

    dF/dlog l_k = -2 sum_ij R_ij (x_ik - y_jk)^2
    dF/da_i     = 2 (x_i sum_j R_ij - sum_j R_ij y_j) / l
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.kernels.cross import Cross
from greedygp.kernels.parametric import ParametricKernel

__all__ = ["Gaussian", "Matern"]


class StationaryCross(Cross):
    """Squared distances to B by one matrix product, turned into kernel values in place."""

    # What the product gives: -scale r^2 / 2 + offset.
    scale = 1.0
    offset = 0.0
    # What `weighted` gives is to be multiplied by.
    times = 1.0

    def __init__(self, B: Array, kernel: Stationary):
        super().__init__(B)
        xp, (n, D) = self.backend.xp, B.shape
        self.variance = kernel.variance
        self.centre = self.backend.zeros((D,))
        if n:
            self.centre += xp.astype(xp.mean(xp.astype(B, xp.float64), axis=0), B.dtype)
        self.inverse_length_scale = self.backend.asarray(1.0 / np.asarray(kernel.length_scale))
        Y = self.scaled(B)
        self.right = self.backend.empty((D + 2, n))
        self.right[:D, :] = Y.T
        self.right[D, :] = 1.0
        self.right[D + 1, :] = -0.5 * self.squared_norms(Y)

    def _with_some(self, columns: slice) -> StationaryCross:
        """Return `part`, for a cross that has nothing of the columns but `right`."""
        other = copy.copy(self)
        other.right = self.right[:, columns]
        other.n_columns = other.right.shape[1]
        return other

    def scaled(self, A: Array) -> Array:
        """Return `(A - centre) / length_scale`."""
        X = self.rows(A) - self.centre
        X *= self.inverse_length_scale
        return X

    def squared_norms(self, X: Array) -> Array:
        """Return the squared norm of each row, summed in float64."""
        xp = self.backend.xp
        X = xp.astype(X, xp.float64, copy=False)
        return xp.astype(xp.sum(X * X, axis=1), self.backend.dtype, copy=False)

    def product(self, X: Array, out: Array | None) -> Array:
        """Return `-scale r^2 / 2 + offset` for scaled rows X."""
        n, D = X.shape
        left = self.backend.empty((n, D + 2))
        left[:, :D] = X if self.scale == 1.0 else self.scale * X
        left[:, D] = (-0.5 * self.scale) * self.squared_norms(X) + self.offset
        left[:, D + 1] = self.scale
        return self.backend.matmul(left, self.right, out)

    def weighted(self, W: Array, X: Array) -> tuple[dict[str, float], Array]:
        """Return `dF/dlog parameter`, and R, where `times R = W * dk/d(r^2)`, for scaled rows X.

        The parameters are those besides the length scales. The variance's derivative `sum(W * K)`
        may be left out where it is the sum of R.
        """
        raise NotImplementedError


class Stationary(ParametricKernel):
    """A kernel of the scaled distance; a subclass gives the function of it as a cross."""

    _parameters: tuple[str, ...] = ("variance", "length_scale")
    _per_feature = ("length_scale",)
    _length_scales = ("length_scale",)

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

    def length_scales(self, n_features: int) -> np.ndarray:
        return self._spread_out(self.length_scale, n_features, np.inf)

    @property
    def shares_length_scale(self) -> bool:
        return np.ndim(self.length_scale) == 0

    def relevances(self, n_features: int) -> np.ndarray:
        """Return `sqrt(variance) / length_scale_k` (a measure, not a slope, for nu = 0.5)."""
        return np.sqrt(self.variance) / self.length_scales(n_features)

    def _cross(self, B: Array) -> StationaryCross:
        raise NotImplementedError

    @property
    def takes_prepared(self) -> bool:
        kind = type(self)
        return (
            kind._contracted is Stationary._contracted
            and kind._gradients is ParametricKernel._gradients
        )

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        return self._prepared_gradients(W, A, self._cross(B))

    def _prepared_gradients(
        self, W: Array, A: Array, cross: StationaryCross
    ) -> tuple[np.ndarray, Array]:
        backend, xp, D = cross.backend, cross.backend.xp, A.shape[1]
        X, Y = cross.scaled(A), cross.right[:D, :].T
        by_parameter, R = cross.weighted(W, X)
        rows = xp.sum(R, axis=1, dtype=xp.float64)[:, None]
        columns = xp.sum(R, axis=0, dtype=xp.float64)[:, None]
        R_Y = backend.matmul(R, Y)
        # sum_ij R_ij (x_ik - y_jk)^2, without a matrix of differences for each feature k.
        spread = xp.sum(rows * X * X - 2.0 * X * R_Y, axis=0, dtype=xp.float64)
        spread = to_numpy(spread + xp.sum(columns * Y * Y, axis=0))
        per_feature = -2.0 * cross.times * spread
        by_parameter.setdefault("variance", float(backend.sums(rows)))
        theta_gradient = self._free_vector(
            length_scale=per_feature if np.ndim(self.length_scale) else per_feature.sum(),
            **by_parameter,
        )
        input_gradient = xp.astype(rows, A.dtype, copy=False) * X - R_Y
        input_gradient *= 2.0 * cross.times * cross.inverse_length_scale
        return theta_gradient, input_gradient


class Gaussian(Stationary):
    """`k(a, b) = variance * exp(-0.5 * sum_k ((a_k - b_k) / length_scale_k)^2)`.

    Functions with derivatives of every order.

    Parameters
    ----------
    variance : float
        Prior variance of the function at any input.
    length_scale : float or sequence of float
        Distance over which the function changes, one for all features or one for each
        (automatic relevance determination).
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds : (float, float), optional
        Where learning may take the variance; a factor 1e5 either way if left out.
    length_scale_bounds : (float, float) or one pair per feature, optional
        The same for the length scales.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Gaussian
    >>> kernel = Gaussian(variance=2.0, length_scale=[1.0, 10.0], fixed="variance")
    >>> kernel(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 10.0]])).round(4)
    array([[2.    , 0.7358]])
    >>> kernel.theta_names
    ['length_scale[0]', 'length_scale[1]']
    >>> kernel.with_theta(np.log([3.0, 4.0])).length_scale.round(12)
    array([3., 4.])
    >>> Gaussian(length_scale=2.0, active_dims=[0, 3])
    Gaussian(variance=1.0, length_scale=2.0, active_dims=(0, 3))
    """

    def _cross(self, B: Array) -> StationaryCross:
        return _GaussianCross(B, self)


class _GaussianCross(StationaryCross):
    times = -0.5  # dk/d(r^2) = -k / 2
    part = StationaryCross._with_some

    def __init__(self, B: Array, kernel: Gaussian):
        super().__init__(B, kernel)
        # The variance goes into the exponent, so that no pass over the block is spent on it.
        self.offset = math.log(kernel.variance)

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        return self._values(self.scaled(A), out)

    def _values(self, X: Array, out: Array | None) -> Array:
        exponents = self.product(X, out)
        return self.backend.exp(exponents, out=exponents)

    def weighted(self, W: Array, X: Array) -> tuple[dict[str, float], Array]:
        H = self._values(X, None)
        H *= W
        return {}, H


class Matern(Stationary):
    """`k(a, b) = variance * p(s) * exp(-s)`, with `s = sqrt(2 nu) r` and a polynomial p.

    `p(s) = 1` for nu = 0.5, `1 + s` for nu = 1.5, `1 + s + s^2 / 3` for nu = 2.5, and
    `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2`. Functions that are continuous, once, or twice
    differentiable.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness; not learnt.
    variance : float
        Prior variance of the function at any input.
    length_scale : float or sequence of float
        Distance over which the function changes, one for all features or one for each.
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds : (float, float), optional
        Where learning may take the variance; a factor 1e5 either way if left out.
    length_scale_bounds : (float, float) or one pair per feature, optional
        The same for the length scales.

    Notes
    -----
    For nu = 0.5 the kernel has a kink where its arguments coincide; the derivative by the inputs
    is taken as 0 there.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Matern
    >>> Matern(nu=1.5, length_scale=2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.4834]])
    """

    def __init__(
        self,
        nu: float = 2.5,
        variance: float = 1.0,
        length_scale: float | Sequence[float] | np.ndarray = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        active_dims: Any = None,
        variance_bounds: Any = None,
        length_scale_bounds: Any = None,
    ):
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu of Matern must be 0.5, 1.5 or 2.5, got {nu!r}")
        self.nu = float(nu)
        super().__init__(
            variance,
            length_scale,
            fixed=fixed,
            active_dims=active_dims,
            variance_bounds=variance_bounds,
            length_scale_bounds=length_scale_bounds,
        )

    def _arguments(self) -> dict[str, Any]:
        return {"nu": self.nu, **super()._arguments()}

    def _cross(self, B: Array) -> StationaryCross:
        return _MaternCross(B, self)


class _MaternCross(StationaryCross):
    part = StationaryCross._with_some

    def __init__(self, B: Array, kernel: Matern):
        super().__init__(B, kernel)
        self.nu = kernel.nu
        # The product is then s^2 = 2 nu r^2.
        self.scale = -4.0 * kernel.nu

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        S = self._distances(self.scaled(A), out)
        polynomial = self._polynomial(S)
        S *= -1.0
        K = self.backend.exp(S, out=S)
        K *= polynomial
        return K

    def weighted(self, W: Array, X: Array) -> tuple[dict[str, float], Array]:
        S = self._distances(X, None)
        E = self.backend.exp(-S)
        E *= W
        total = float(self.backend.sums(E * self._polynomial(S)))
        # dk/d(r^2) = (dk/dr) / (2 r)
        if self.nu == 0.5:
            S[S == 0.0] = math.inf
            E *= -0.5 * self.variance
            E /= S
        elif self.nu == 1.5:
            E *= -1.5 * self.variance
        else:
            S += 1.0
            E *= S
            E *= -5.0 / 6.0 * self.variance
        return {"variance": total}, E

    def _distances(self, X: Array, out: Array | None) -> Array:
        """Return `s = sqrt(2 nu) r`."""
        if self.nu == 0.5:
            S = self._squared_differences(X, out)
        else:
            S = self.product(X, out)
            S[S < 0.0] = 0.0
        return self.backend.sqrt(S, out=S)

    def _squared_differences(self, X: Array, out: Array | None) -> Array:
        """Return `r^2` feature by feature, accurate relative to itself.

        The product is accurate relative to the squared norms only. For nu = 0.5, whose square
        root is steep at zero, that would leave half of the digits of nearby pairs.
        """
        shape = (X.shape[0], self.n_columns)
        S = self.backend.empty(shape) if out is None else out
        S[...] = 0.0
        difference = self.backend.empty(shape)
        for k in range(self.n_features):
            self.backend.subtract(X[:, k, None], self.right[None, k, :], out=difference)
            difference *= difference
            S += difference
        return S

    def _polynomial(self, S: Array) -> float | Array:
        """Return `variance * p(s)`."""
        if self.nu == 0.5:
            return self.variance
        if self.nu == 1.5:
            P = S + 1.0
        else:
            P = S / 3.0
            P += 1.0
            P *= S
            P += 1.0
        P *= self.variance
        return P
