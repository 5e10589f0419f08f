"""Kernels with positive parameters of their own: `theta`, bounds, what is fixed, repr, equality."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from greedygp.kernels.base import Kernel
from greedygp.kernels.parameters import (
    log_bounds,
    validate_bounds,
    validate_fixed,
    validate_positive,
)

__all__ = ["ParametricKernel"]


class ParametricKernel(Kernel):
    """A kernel with positive parameters of its own, each of which can be held fixed.

    A subclass lists its parameters in `_parameters`, those that may have one value per feature in
    `_per_feature` as well, and those that are length scales in `_length_scales`.
    """

    variance: Any
    variance_bounds: Any
    fixed: tuple[str, ...]

    _parameters: tuple[str, ...] = ("variance",)
    _per_feature: tuple[str, ...] = ()
    _length_scales: tuple[str, ...] = ()

    def __init__(
        self,
        variance: float | Sequence[float] = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        variance_bounds: Any = None,
    ):
        self._store(fixed, variance=(variance, variance_bounds))

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

    def _free_vector(self, **parts: Any) -> np.ndarray:
        """Return per-parameter derivatives as one vector, without the fixed ones."""
        chosen = [np.asarray(parts[name], dtype=np.float64).reshape(-1) for name in self._free]
        return np.concatenate(chosen) if chosen else np.zeros(0)

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the free parameters, shape (p,)."""
        return self._free_vector(**{name: np.log(getattr(self, name)) for name in self._free})

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
        return np.repeat([name in self._length_scales for name in self._free], sizes).astype(bool)

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
