"""What every kernel offers: values, parameters, answers to what others ask, gradients, sums."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.cross import Cross, as_inputs
from greedygp.kernels.parameters import log_bounds

__all__ = ["Kernel"]

# Rows of K(A, A) that are computed together. The diagonal block should stay in the processor's
# cache while it is mirrored.
GRAM_BLOCK = 256


class Kernel:
    """A covariance function `k(a, b)`.

    Kernels add and multiply: `k1 + k2`, `k1 * k2`. A number in a product is a scale held fixed
    (each kernel has a variance of its own to learn); a number in a sum is a `Constant`.
    """

    # --- values --------------------------------------------------------------------------------

    def __call__(self, A: Array, B: Array | None = None) -> Array:
        """Return the kernel matrix.

        Parameters
        ----------
        A : array of shape (a, D)
        B : array of shape (b, D), optional
            `A` itself if left out: then the matrix is exactly symmetric and its diagonal is
            exactly `diag(A)`.

        Returns
        -------
        K : array of shape (a, b)
        """
        if B is None:
            return self._gram(*as_inputs(A))
        A, B = as_inputs(A, B)
        return self.against(B)(A)

    def _gram(self, A: Array) -> Array:
        """Return `K(A, A)`: each block of rows from the diagonal to the right, then mirrored."""
        backend, n = Backend(A), A.shape[0]
        K = backend.empty((n, n))
        for start in range(0, n, GRAM_BLOCK):
            stop = min(start + GRAM_BLOCK, n)
            self.against(A[start:, :])(A[start:stop, :], out=K[start:stop, start:])
            K[stop:, start:stop] = K[start:stop, stop:].T
            square = K[start:stop, start:stop]
            square = square + square.T
            square *= 0.5
            K[start:stop, start:stop] = square
        # Every (n + 1)-th entry of the flat matrix is on the diagonal.
        backend.xp.reshape(K, (-1,))[:: n + 1] = self.diag(A)
        return K

    def diag(self, A: Array) -> Array:
        """Return the diagonal of `K(A, A)`, shape (a,)."""
        raise NotImplementedError

    def against(self, B: Array) -> Cross:
        """Prepare the kernel against fixed inputs.

        Parameters
        ----------
        B : array of shape (b, D)

        Returns
        -------
        cross : callable
            `cross(A, out=None)` is `K(A, B)`; `out` is an (a, b) array to fill and return.
        """
        raise NotImplementedError

    # --- parameters ----------------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free parameters, shape (p,); empty unless a kernel has some."""
        return np.zeros(0)

    @property
    def theta_names(self) -> list[str]:
        """Names of the entries of `theta`, written like attributes of the kernel."""
        return [f"theta[{k}]" for k in range(len(self.theta))]

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper bounds of the entries of `theta`, shape (p, 2)."""
        return log_bounds(np.exp(self.theta), None)

    def with_theta(self, theta: Sequence[float] | np.ndarray) -> Self:
        """Return this kernel with other values of the free parameters (given as logarithms)."""
        if len(self._check_theta(theta)):
            raise NotImplementedError(f"{type(self).__name__} has parameters but no with_theta")
        return self

    def scaled(self, factor: float) -> Kernel | None:
        """Return `factor` times this kernel, by its free variances; None where it has none."""
        return None

    def within_bounds(self) -> bool:
        """Tell whether `theta` keeps to the bounds that were given (the default ones move)."""
        low, high = self.bounds.T
        return bool(np.all((low <= self.theta) & (self.theta <= high)))

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if a parameter with one value per feature does not match."""
        if self.n_features not in (None, n_features):
            raise ValueError(
                f"{type(self).__name__} is for {self.n_features} features, but the inputs have "
                f"{n_features}"
            )

    def for_inputs(self, n_features: int, names: Sequence[Any] | None = None) -> Kernel:
        """Return this kernel ready for inputs with so many features, or say what does not match.

        Estimators call it when they are fitted. Columns that a kernel has by name (`active_dims`)
        are found here, and `Additive` makes its terms.

        Parameters
        ----------
        n_features : int
        names : sequence of str, optional
            Those of the columns, where they have some.
        """
        self.check_features(n_features)
        return self

    def of_feature(self, column: int | str, place: int, n_features: int) -> Kernel:
        """Return this kernel of one column only.

        Parameters
        ----------
        column : int or str
            Its number among all columns, or its name.
        place : int
            Where it stands among the `n_features` that parameters may have one value for each of.
        n_features : int
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot be restricted to a column; derive it from "
            "ParametricKernel, which can"
        )

    def _check_theta(self, theta: Any) -> np.ndarray:
        theta = np.asarray(theta, dtype=np.float64)
        expected = len(self.theta_names)
        if theta.shape != (expected,):
            raise ValueError(
                f"theta must have shape ({expected},), one entry for each of "
                f"{self.theta_names}, got shape {theta.shape}"
            )
        return theta

    # --- what others may ask -------------------------------------------------------------------

    # A kernel that overrides none of these is used without what the answer would allow: inputs
    # are measured by the spread of the data, and there are no relevances to show.

    @property
    def n_features(self) -> int | None:
        """How many features the kernel has numbers of its own for; None: it treats all alike."""
        return None

    @property
    def treats_features_alike(self) -> bool:
        """Whether the kernel has neither numbers of its own for features nor columns it ignores."""
        return self.n_features is None

    def length_scales(self, n_features: int) -> np.ndarray | None:
        """Return the distance along each feature over which the kernel changes, shape (D,).

        For kernels of `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2` it is `length_scale_k`; for
        sums and products, that of the first part that has one; infinite along a feature that the
        kernel does not look at. None: there is no such distance.
        """
        return None

    @property
    def shares_length_scale(self) -> bool:
        """Whether one length scale, of some part of the kernel, serves all features it looks at."""
        return False

    def features_sharing_length_scale(self, n_features: int) -> list[np.ndarray]:
        """Return groups of features, by number, that have one length scale between them."""
        return [np.arange(n_features)] if self.shares_length_scale and n_features > 1 else []

    def has_categories(self, n_features: int) -> np.ndarray:
        """Return which features are compared for equality only, shape (D,), bool.

        Basis inputs are not moved along them: between two categories there is nothing.
        """
        return np.zeros(n_features, dtype=bool)

    @property
    def is_length_scale(self) -> np.ndarray:
        """Which entries of `theta` are logarithms of length scales, shape (p,), bool."""
        return np.zeros(len(self.theta), dtype=bool)

    def relevances(self, n_features: int) -> np.ndarray | None:
        """Return how strongly functions vary with each feature a priori, shape (D,).

        It is the standard deviation of the slope along the feature,
        `sqrt(d^2 k(a, b) / da_k db_k)` at a = b = 0. None: not known.
        """
        return None

    # --- contracted gradients ------------------------------------------------------------------

    def gradients(
        self, W: Array, A: Array, B: Array | None = None, *, prepared: Cross | None = None
    ) -> tuple[np.ndarray, Array]:
        """Return `gradient` and `input_gradient` together, at little more than the cost of one.

        Parameters
        ----------
        W : array of shape (a, b)
            `dF/dK(A, B)` of a scalar F.
        A : array of shape (a, D)
        B : array of shape (b, D), optional
            `A` itself if left out: then both arguments move with A.
        prepared : Cross, optional
            A part of what `against` gave, the one that B is. A kernel that takes it does not
            prepare B again.

        Returns
        -------
        theta_gradient : ndarray of shape (p,)
        input_gradient : array of shape (a, D)
        """
        if B is None:
            (A,) = as_inputs(A)
            # K(A, A) is symmetric, so only the symmetric part of W counts, and the two
            # arguments contribute the same to the gradient of the inputs.
            theta_gradient, input_gradient = self._gradients(0.5 * (W + W.T), A, A)
            return theta_gradient, 2.0 * input_gradient
        A, B = as_inputs(A, B)
        if prepared is not None and self.takes_prepared:
            return self._prepared_gradients(W, A, prepared)
        return self._gradients(W, A, B)

    def gradient(self, W: Array, A: Array, B: Array | None = None) -> np.ndarray:
        """Return `dF/dtheta` (p,), given `W = dF/dK(A, B)`."""
        return self.gradients(W, A, B)[0]

    def input_gradient(self, W: Array, A: Array, B: Array | None = None) -> Array:
        """Return `dF/dA` (a, D), given `W = dF/dK(A, B)`; B is held fixed.

        With B left out, `W = dF/dK(A, A)` and both arguments move.
        """
        return self.gradients(W, A, B)[1]

    def diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        """Return `dF/dtheta` (p,), given `w = dF/d diag(A)` (a,)."""
        raise NotImplementedError

    def diag_input_gradient(self, w: Array, A: Array) -> Array:
        """Return `dF/dA` (a, D), given `w = dF/d diag(A)` (a,)."""
        raise NotImplementedError

    def _gradients(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        """Return `dF/dtheta` and `dF/dA` with B held fixed; leave W as it is."""
        raise NotImplementedError

    @property
    def takes_prepared(self) -> bool:
        """Whether `gradients` can do with what `against` has prepared."""
        return False

    def _prepared_gradients(self, W: Array, A: Array, cross: Any) -> tuple[np.ndarray, Array]:
        """Return the same, given what `against(B)` is; for kernels of which it has parts."""
        raise NotImplementedError

    # --- composition ---------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        return _sum(self, other)

    def __radd__(self, other: Any) -> Kernel:
        return _sum(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return _product(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return _product(other, self)


def _sum(*terms: Any) -> Any:
    """Return the sum of kernels; a number is a constant."""
    from greedygp.kernels.composite import Sum

    kernels = [_number_as_kernel(term, fixed=()) for term in terms]
    return Sum(*kernels) if all(kernels) else NotImplemented


def _product(*factors: Any) -> Any:
    """Return the product of kernels; a number is a constant held fixed."""
    from greedygp.kernels.composite import Product

    kernels = [_number_as_kernel(factor, fixed=("variance",)) for factor in factors]
    return Product(*kernels) if all(kernels) else NotImplemented


def _number_as_kernel(operand: Any, fixed: tuple[str, ...]) -> Any:
    """Return an operand of `+` or `*` as a kernel; None where it cannot be one."""
    from greedygp.kernels.linear import Constant

    if isinstance(operand, Real):
        return Constant(float(operand), fixed=fixed)
    return operand if isinstance(operand, Kernel) else None
