"""What every kernel offers, and what those with parameters of their own share."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.cross import Cross, as_inputs
from greedygp.kernels.parameters import (
    log_bounds,
    validate_bounds,
    validate_fixed,
    validate_positive,
)

__all__ = ["Kernel", "ParametricKernel"]

# Rows of K(A, A) that are computed together: the part right of the diagonal block is mirrored.
# Small enough for the diagonal block to stay in the processor's cache while it is mirrored.
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
        """Return `K(A, A)`, in blocks of rows from the diagonal to the right, mirrored."""
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
        """Names of the entries of `theta`, as attributes of the kernel are written."""
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

    def length_scales(self, n_features: int) -> np.ndarray | None:
        """Return the distance along each feature over which the kernel changes, shape (D,).

        For kernels of `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2` it is `length_scale_k`; for
        sums and products, that of the first part that has some. None: there is no such distance.
        """
        return None

    @property
    def shares_length_scale(self) -> bool:
        """Whether one length scale, of some part of the kernel, serves all features."""
        return False

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

    def gradients(self, W: Array, A: Array, B: Array | None = None) -> tuple[np.ndarray, Array]:
        """Return `gradient` and `input_gradient` together, for little more than one of them.

        Parameters
        ----------
        W : array of shape (a, b)
            `dF/dK(A, B)` of a scalar F.
        A : array of shape (a, D)
        B : array of shape (b, D), optional
            `A` itself if left out: then both arguments move with A.

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


class ParametricKernel(Kernel):
    """A kernel with positive parameters of its own, each of which can be held fixed.

    A subclass lists them in `_parameters`, those that may have one value per feature in
    `_per_feature` too, and those that are length scales in `_lengths`.
    """

    variance: Any
    variance_bounds: Any
    _parameters: tuple[str, ...] = ("variance",)
    _per_feature: tuple[str, ...] = ()
    _lengths: tuple[str, ...] = ()

    fixed: tuple[str, ...]

    def _store(self, fixed: str | Iterable[str], **parameters: tuple[Any, Any]) -> None:
        """Validate and store parameters, given as `name=(value, bounds)`."""
        kind = type(self).__name__
        self.fixed = validate_fixed(kind, fixed, self._parameters)
        for name, (value, bounds) in parameters.items():
            value = validate_positive(kind, name, value, name in self._per_feature)
            setattr(self, name, value)
            setattr(self, f"{name}_bounds", validate_bounds(kind, name, bounds, np.size(value)))

    @property
    def _free(self) -> list[str]:
        return [name for name in self._parameters if name not in self.fixed]

    def _pick(self, **parts: Any) -> np.ndarray:
        """Return per-parameter derivatives as one vector, without the fixed ones."""
        chosen = [np.asarray(parts[name], dtype=np.float64).reshape(-1) for name in self._free]
        return np.concatenate(chosen) if chosen else np.zeros(0)

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free parameters, shape (p,)."""
        return self._pick(**{name: np.log(getattr(self, name)) for name in self._free})

    @property
    def theta_names(self) -> list[str]:
        """Names of the entries of `theta`: `variance`, `length_scale[0]`, ..."""
        names = []
        for name in self._free:
            value = getattr(self, name)
            many = np.ndim(value) > 0
            names += [f"{name}[{k}]" for k in range(len(value))] if many else [name]
        return names

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper bounds of the entries of `theta`, shape (p, 2)."""
        parts = [
            log_bounds(getattr(self, name), getattr(self, f"{name}_bounds")) for name in self._free
        ]
        return np.concatenate(parts) if parts else np.zeros((0, 2))

    def with_theta(self, theta: Sequence[float] | np.ndarray) -> Self:
        """Return this kernel with other values of the free parameters (given as logarithms)."""
        theta = self._check_theta(theta)
        kernel, used = copy.copy(self), 0
        for name in self._free:
            old = getattr(self, name)
            with np.errstate(over="ignore"):
                value = np.exp(theta[used : used + np.size(old)]).reshape(np.shape(old))
            used += np.size(old)
            value = validate_positive(type(self).__name__, name, value, name in self._per_feature)
            setattr(kernel, name, value)
        return kernel

    def scaled(self, factor: float) -> Kernel | None:
        """Return `factor` times this kernel, by its free variance; None: it is held fixed."""
        if "variance" in self.fixed:
            return None
        kernel = copy.copy(self)
        kernel.variance = factor * self.variance
        return kernel

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if a parameter with one value per feature does not match."""
        for name in self._per_feature:
            value = getattr(self, name)
            if np.ndim(value) > 0 and len(value) != n_features:
                raise ValueError(
                    f"{name} of {type(self).__name__} has {len(value)} values, but the inputs "
                    f"have {n_features} features; give one value per feature, or a single number"
                )

    @property
    def n_features(self) -> int | None:
        values = [getattr(self, name) for name in self._per_feature]
        return next((len(value) for value in values if np.ndim(value) > 0), None)

    @property
    def is_length_scale(self) -> np.ndarray:
        sizes = [np.size(getattr(self, name)) for name in self._free]
        return np.repeat([name in self._lengths for name in self._free], sizes).astype(bool)

    def _arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        arguments: dict[str, Any] = {name: getattr(self, name) for name in self._parameters}
        arguments["fixed"] = self.fixed
        for name in self._parameters:
            arguments[f"{name}_bounds"] = getattr(self, f"{name}_bounds")
        return arguments

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        theirs = other._arguments()
        return all(np.array_equal(mine, theirs[key]) for key, mine in self._arguments().items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the kernel as it would be written, without what is left at its default."""
        shown = []
        for name, value in self._arguments().items():
            if isinstance(value, np.ndarray):
                shown.append(f"{name}={value.tolist()}")
            elif value not in (None, ()):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
