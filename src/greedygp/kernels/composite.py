"""Sums and products of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from greedygp.arrays import Array
from greedygp.kernels.base import Kernel
from greedygp.kernels.cross import Cross, as_inputs

__all__ = ["Product", "Sum"]


class Composite(Kernel):
    """Several kernels combined; `theta` is theirs, one after the other."""

    _symbol: str

    kernels: tuple[Kernel, ...]

    def __init__(self, *kernels: Kernel):
        for kernel in kernels:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{type(self).__name__} takes kernels, got {kernel!r}")
        if not kernels:
            raise ValueError(f"{type(self).__name__} needs at least one kernel")
        flat: list[Kernel] = []
        for kernel in kernels:
            flat += kernel.kernels if type(kernel) is type(self) else [kernel]
        self.kernels = tuple(flat)

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free parameters, shape (p,)."""
        return np.concatenate([kernel.theta for kernel in self.kernels])

    @property
    def theta_names(self) -> list[str]:
        """Names of the entries of `theta`: `kernels[0].variance`, ..."""
        return [
            f"kernels[{i}].{name}"
            for i, kernel in enumerate(self.kernels)
            for name in kernel.theta_names
        ]

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper bounds of the entries of `theta`, shape (p, 2)."""
        return np.concatenate([kernel.bounds for kernel in self.kernels])

    def with_theta(self, theta: Sequence[float] | np.ndarray) -> Self:
        """Return this kernel with other values of the free parameters (given as logarithms)."""
        theta = self._check_theta(theta)
        ends = np.cumsum([len(kernel.theta_names) for kernel in self.kernels])
        parts = np.split(theta, ends[:-1])
        return type(self)(*(kernel.with_theta(part) for kernel, part in zip(self.kernels, parts)))

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if a parameter with one value per feature does not match."""
        for kernel in self.kernels:
            kernel.check_features(n_features)

    def for_inputs(self, n_features: int, names: Sequence[Any] | None = None) -> Kernel:
        """Return this kernel with every part ready for inputs with so many features."""
        return type(self)(*(kernel.for_inputs(n_features, names) for kernel in self.kernels))

    def of_feature(self, column: int | str, place: int, n_features: int) -> Kernel:
        """Return this kernel with every part of one column only."""
        parts = (kernel.of_feature(column, place, n_features) for kernel in self.kernels)
        return type(self)(*parts)

    @property
    def treats_features_alike(self) -> bool:
        """Whether all parts do."""
        return all(kernel.treats_features_alike for kernel in self.kernels)

    def features_sharing_length_scale(self, n_features: int) -> list[np.ndarray]:
        """Return the groups of all parts."""
        parts = [kernel.features_sharing_length_scale(n_features) for kernel in self.kernels]
        return [group for part in parts for group in part]

    def has_categories(self, n_features: int) -> np.ndarray:
        """Return which features some part compares for equality only."""
        return np.any([kernel.has_categories(n_features) for kernel in self.kernels], axis=0)

    @property
    def n_features(self) -> int | None:
        """How many features a part has numbers of its own for; None: all treat them alike."""
        numbers = (kernel.n_features for kernel in self.kernels)
        return next((number for number in numbers if number is not None), None)

    def length_scales(self, n_features: int) -> np.ndarray | None:
        """Return, along each feature, that of the first part that has one."""
        total = None
        for kernel in self.kernels:
            scales = kernel.length_scales(n_features)
            if total is None or scales is None:
                total = scales if total is None else total
            else:
                total = np.where(np.isfinite(total), total, scales)
        return total

    @property
    def shares_length_scale(self) -> bool:
        """Whether one length scale of some part serves all features."""
        return any(kernel.shares_length_scale for kernel in self.kernels)

    @property
    def is_length_scale(self) -> np.ndarray:
        """Which entries of `theta` are logarithms of length scales, shape (p,), bool."""
        return np.concatenate([kernel.is_length_scale for kernel in self.kernels])

    def relevances(self, n_features: int) -> np.ndarray | None:
        """Return the root of the sum of the parts' squares; None unless all parts know theirs.

        That is the slope of a sum. Factors of a product count as if the others were 1.
        """
        found = [kernel.relevances(n_features) for kernel in self.kernels]
        known = [relevances for relevances in found if relevances is not None]
        return np.sqrt(np.sum(np.square(known), axis=0)) if len(known) == len(found) else None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.kernels == other.kernels

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Only a sum inside a product needs parentheses: equal operations are flattened.
        return self._symbol.join(
            f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel) for kernel in self.kernels
        )


class Sum(Composite):
    """`k(a, b) = k1(a, b) + k2(a, b) + ...`, written `k1 + k2`.

    Parameters
    ----------
    *kernels : Kernel
        The terms.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Constant, Linear
    >>> kernel = Linear() + Constant(4.0)
    >>> kernel(np.array([[1.0]]), np.array([[2.0], [3.0]]))
    array([[6., 7.]])
    >>> kernel.theta_names
    ['kernels[0].variance', 'kernels[1].variance']
    """

    _symbol = " + "

    def scaled(self, factor: float) -> Kernel | None:
        """Return `factor` times this kernel: every term is scaled."""
        terms = [term for kernel in self.kernels if (term := kernel.scaled(factor)) is not None]
        return Sum(*terms) if len(terms) == len(self.kernels) else None

    def diag(self, A: Array) -> Array:
        return _reduce_sum([kernel.diag(A) for kernel in self.kernels])

    def against(self, B: Array) -> Cross:
        (B,) = as_inputs(B)
        return _SumCross(B, self.kernels)

    def _gradients(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        parts = [kernel._gradients(W, A, B) for kernel in self.kernels]
        return np.concatenate([part[0] for part in parts]), _reduce_sum([p[1] for p in parts])

    def diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        return np.concatenate([kernel.diag_gradient(w, A) for kernel in self.kernels])

    def diag_input_gradient(self, w: Array, A: Array) -> Array:
        return _reduce_sum([kernel.diag_input_gradient(w, A) for kernel in self.kernels])


class Product(Composite):
    """`k(a, b) = k1(a, b) * k2(a, b) * ...`, written `k1 * k2`.

    Parameters
    ----------
    *kernels : Kernel
        The factors. Their variances multiply: hold all but one of them fixed to learn them.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Gaussian, Linear
    >>> kernel = Gaussian(fixed="variance") * Linear(2.0)
    >>> kernel(np.array([[1.0]]), np.array([[1.0], [3.0]])).round(4)
    array([[2.   , 0.812]])
    """

    _symbol = " * "

    def scaled(self, factor: float) -> Kernel | None:
        """Return `factor` times this kernel: one factor that can be is scaled."""
        for place, kernel in enumerate(self.kernels):
            scaled = kernel.scaled(factor)
            if scaled is not None:
                return Product(*self.kernels[:place], scaled, *self.kernels[place + 1 :])
        return None

    def diag(self, A: Array) -> Array:
        return _reduce_product([kernel.diag(A) for kernel in self.kernels])

    def against(self, B: Array) -> Cross:
        (B,) = as_inputs(B)
        return _ProductCross(B, self.kernels)

    def _gradients(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        values = [kernel.against(B)(A) for kernel in self.kernels]
        parts = [
            kernel._gradients(weights, A, B)
            for kernel, weights in zip(self.kernels, _times_others(W, values))
        ]
        return np.concatenate([part[0] for part in parts]), _reduce_sum([p[1] for p in parts])

    def diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        weights = _times_others(w, [kernel.diag(A) for kernel in self.kernels])
        return np.concatenate([k.diag_gradient(v, A) for k, v in zip(self.kernels, weights)])

    def diag_input_gradient(self, w: Array, A: Array) -> Array:
        weights = _times_others(w, [kernel.diag(A) for kernel in self.kernels])
        return _reduce_sum([k.diag_input_gradient(v, A) for k, v in zip(self.kernels, weights)])


class _CompositeCross(Cross):
    def __init__(self, B: Array, kernels: Sequence[Kernel]):
        super().__init__(B)
        self.crosses = [kernel.against(B) for kernel in kernels]


class _SumCross(_CompositeCross):
    def __call__(self, A: Array, out: Array | None = None) -> Array:
        K = self.crosses[0](A, out)
        for cross in self.crosses[1:]:
            K = cross.add_to(K, A)
        return K


class _ProductCross(_CompositeCross):
    def __call__(self, A: Array, out: Array | None = None) -> Array:
        K = self.crosses[0](A, out)
        for cross in self.crosses[1:]:
            K = cross.multiply_into(K, A)
        return K


def _reduce_sum(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _reduce_product(factors: list[Array]) -> Array:
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def _times_others(weights: Array, values: list[Array]) -> list[Any]:
    """Return, for each value, the weights times all the other values."""
    return [_reduce_product([weights, *values[:i], *values[i + 1 :]]) for i in range(len(values))]
