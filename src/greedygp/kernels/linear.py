"""Kernels without a distance: the constant and the linear one."""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.cross import Cross
from greedygp.kernels.parametric import ParametricKernel

__all__ = ["Constant", "Linear"]


class Constant(ParametricKernel):
    """`k(a, b) = variance`: a bias of unknown value.

    Parameters
    ----------
    variance : float
        Prior variance of the bias.
    fixed : str or sequence of str
        `"variance"` holds it fixed.
    variance_bounds : (float, float), optional
        Where learning may take it; a factor 1e5 either way if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Constant, Gaussian
    >>> Constant(2.0)(np.zeros((1, 3)), np.ones((2, 3)))
    array([[2., 2.]])
    >>> Gaussian() + Constant(10.0)
    Gaussian(variance=1.0, length_scale=1.0) + Constant(variance=10.0)
    """

    variance: float

    def _cross(self, B: Array) -> Cross:
        return _ConstantCross(B, self.variance)

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        backend = Backend(A)
        theta_gradient = self._free_vector(variance=self.variance * backend.sums(W))
        return theta_gradient, backend.zeros(A.shape)

    def relevances(self, n_features: int) -> np.ndarray:
        """Return zeros: a constant does not vary."""
        return np.zeros(n_features)


class _ConstantCross(Cross):
    def __init__(self, B: Array, variance: float):
        super().__init__(B)
        self.variance = variance

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        if out is None:
            out = self.backend.empty((A.shape[0], self.n_columns))
        out[...] = self.variance
        return out

    def add_to(self, K: Array, A: Array) -> Array:
        K += self.variance
        return K

    def multiply_into(self, K: Array, A: Array) -> Array:
        K *= self.variance
        return K


class Linear(ParametricKernel):
    """`k(a, b) = sum_k variance_k a_k b_k`: linear functions through the origin.

    Parameters
    ----------
    variance : float or sequence of float
        Prior variance of the slopes, one for all features or one for each.
    fixed : str or sequence of str
        `"variance"` holds it fixed.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds : (float, float) or one pair per feature, optional
        Where learning may take it; a factor 1e5 either way if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Linear
    >>> Linear([1.0, 10.0])(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[83.]])
    """

    _per_feature = ("variance",)

    variance: float | np.ndarray

    def _diag(self, A: Array) -> Array:
        backend = Backend(A)
        return backend.xp.sum(A * A * self._on(backend), axis=1)

    def _cross(self, B: Array) -> Cross:
        return _LinearCross(B, self._on(Backend(B)))

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        backend = Backend(A)
        moments = backend.matmul(W, B)
        theta_gradient = self._slopes(backend.sums(A * moments, axis=0))
        return theta_gradient, moments * self._on(backend)

    def _diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        return self._slopes(Backend(A).sums(w[:, None] * A * A, axis=0))

    def _diag_input_gradient(self, w: Array, A: Array) -> Array:
        return 2.0 * w[:, None] * A * self._on(Backend(A))

    def relevances(self, n_features: int) -> np.ndarray:
        """Return `sqrt(variance_k)`, the standard deviation of each slope."""
        return self._spread_out(np.sqrt(self.variance), n_features, 0.0)

    def _on(self, backend: Backend) -> Array:
        """Return the variance as an array of the backend."""
        return backend.asarray(np.array(self.variance))

    def _slopes(self, per_feature: np.ndarray) -> np.ndarray:
        """Return `dF/dtheta` from the derivatives by each feature's variance."""
        by_log = self.variance * per_feature
        return self._free_vector(variance=by_log if np.ndim(self.variance) else by_log.sum())


class _LinearCross(Cross):
    def __init__(self, B: Array, variance: Array):
        super().__init__(B)
        self.right = (B * variance).T

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        return self.backend.matmul(self.rows(A), self.right, out)
