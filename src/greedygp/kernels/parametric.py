"""Kernels with positive parameters of their own: `theta`, bounds, what is fixed, repr, equality."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.base import Kernel
from greedygp.kernels.columns import (
    ColumnsCross,
    places_of,
    scattered,
    selected,
    validate_columns,
)
from greedygp.kernels.cross import Cross, ValuesCross, as_inputs
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
    `_per_feature` as well, and those that are length scales in `_length_scales`; its constructor
    hands them to `_store`. The columns that `active_dims` names are chosen here, so that a subclass
    only ever sees those. It has

    - `_values(A, B)`, the kernel matrix; or `_cross(B)`, where preparing B once pays;
    - `_contracted(W, A, B)`, which returns `dF/dtheta` and `dF/dA`, given `W = dF/dK(A, B)`;
    - `_diag`, `_diag_gradient` and `_diag_input_gradient`, unless the diagonal is the variance.

    Parameters
    ----------
    variance : float
        Prior variance of the function.
    fixed : str or sequence of str
        Names of the parameters that learning leaves alone.
    active_dims : int, str or sequence of these, optional
        The columns that the kernel looks at, by number or by name; all of them if left out.
    variance_bounds : (float, float), optional
        Where learning may take the variance; a factor 1e5 either way if left out.
    """

    variance: Any
    variance_bounds: Any
    fixed: tuple[str, ...]
    active_dims: tuple[int | str, ...] | None = None

    _parameters: tuple[str, ...] = ("variance",)
    _per_feature: tuple[str, ...] = ()
    _length_scales: tuple[str, ...] = ()
    _places: tuple[int, ...] | None = None  # the numbers of active_dims, where they are known

    def __init__(
        self,
        variance: float | Sequence[float] | np.ndarray = 1.0,
        *,
        fixed: str | Iterable[str] = (),
        active_dims: Any = None,
        variance_bounds: Any = None,
    ):
        self._store(fixed, active_dims, variance=(variance, variance_bounds))

    def _store(
        self, fixed: str | Iterable[str], active_dims: Any, **parameters: tuple[Any, Any]
    ) -> None:
        """Validate and store parameters, given as `name=(value, bounds)`."""
        kind = type(self).__name__
        self.fixed = validate_fixed(kind, fixed, self._parameters)
        self.active_dims = validate_columns(kind, "active_dims", active_dims)
        n_active = None if self.active_dims is None else len(self.active_dims)
        for name, (value, bounds) in parameters.items():
            value = validate_positive(kind, name, value, name in self._per_feature)
            setattr(self, name, value)
            setattr(self, f"{name}_bounds", validate_bounds(kind, name, bounds, np.size(value)))
            self._check_size(name, n_active, "active_dims has")
        if self.active_dims and all(isinstance(column, int) for column in self.active_dims):
            self._places = places_of(kind, self.active_dims, None)

    # --- values and gradients, of the columns that the kernel looks at -------------------------

    def diag(self, A: Array) -> Array:
        (A,) = as_inputs(A)
        return self._diag(self._seen(A))

    def against(self, B: Array) -> Cross:
        (B,) = as_inputs(B)
        cross = self._cross(self._seen(B))
        return cross if self._places is None else ColumnsCross(B, self._places, cross)

    def diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        (A,) = as_inputs(A)
        return self._diag_gradient(w, self._seen(A))

    def diag_input_gradient(self, w: Array, A: Array) -> Array:
        (A,) = as_inputs(A)
        return scattered(self._diag_input_gradient(w, self._seen(A)), A, self._places)

    def _gradients(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        theta_gradient, input_gradient = self._contracted(W, self._seen(A), self._seen(B))
        return theta_gradient, scattered(input_gradient, A, self._places)

    def _seen(self, A: Array) -> Array:
        """Return the columns of A that the kernel looks at."""
        self.check_features(A.shape[1])
        return selected(A, self._places)

    # --- what a subclass has -------------------------------------------------------------------

    def _values(self, A: Array, B: Array) -> Array:
        """Return `K(A, B)`."""
        raise NotImplementedError(f"{type(self).__name__} needs _values(A, B) or _cross(B)")

    def _cross(self, B: Array) -> Cross:
        """Return the kernel against B."""
        return ValuesCross(B, self._values)

    def _contracted(self, W: Array, A: Array, B: Array) -> tuple[np.ndarray, Array]:
        """Return `dF/dtheta` and `dF/dA` with B held fixed; leave W as it is."""
        raise NotImplementedError(f"{type(self).__name__} needs _contracted(W, A, B)")

    def _diag(self, A: Array) -> Array:
        """Return the diagonal of `K(A, A)`."""
        return Backend(A).full((A.shape[0],), self.variance)

    def _diag_gradient(self, w: Array, A: Array) -> np.ndarray:
        """Return `dF/dtheta`, given `w = dF/d diag(A)`."""
        parts = {name: np.zeros_like(getattr(self, name)) for name in self._free}
        parts["variance"] = self.variance * Backend(w).sums(w)
        return self._free_vector(**parts)

    def _diag_input_gradient(self, w: Array, A: Array) -> Array:
        """Return `dF/dA`, given `w = dF/d diag(A)`."""
        return Backend(A).zeros(A.shape)

    # --- parameters ----------------------------------------------------------------------------

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

    # --- features ------------------------------------------------------------------------------

    def for_inputs(self, n_features: int, names: Sequence[Any] | None = None) -> Self:
        """Return this kernel with its columns found among those of the inputs."""
        kernel = self
        if self.active_dims is not None and not (names is None and self._places is not None):
            kernel = copy.copy(self)
            kernel._places = places_of(type(self).__name__, self.active_dims, names)
        kernel.check_features(n_features)
        return kernel

    def of_feature(self, column: int | str, place: int, n_features: int) -> Self:
        kind = type(self).__name__
        if self.active_dims is not None:
            raise ValueError(
                f"{kind} has active_dims already; leave them to the kernel that it is a part of"
            )
        kernel = copy.copy(self)
        kernel.active_dims = (column,)
        kernel._places = (column,) if isinstance(column, int) else None
        for name in self._per_feature:
            self._check_size(name, n_features, "there are")
            value, bounds = getattr(self, name), getattr(self, f"{name}_bounds")
            if np.ndim(value) > 0:
                setattr(kernel, name, float(value[place]))
            if np.ndim(bounds) == 2:
                setattr(kernel, f"{name}_bounds", bounds[place])
        return kernel

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if a parameter with one value per feature does not match."""
        kind = type(self).__name__
        if self.active_dims is None:
            for name in self._per_feature:
                self._check_size(name, n_features, "the inputs have")
            return
        if self._places is None:
            places_of(kind, self.active_dims, None)  # says that the inputs have no names
        elif max(self._places) >= n_features:
            raise ValueError(
                f"active_dims of {kind} has the column {max(self._places)}, but the inputs have "
                f"{n_features} features, counted from 0"
            )

    def _check_size(self, name: str, n_features: int | None, whose: str) -> None:
        """Raise a ValueError if a parameter's values are not one per feature."""
        value = getattr(self, name)
        if n_features is not None and np.ndim(value) > 0 and len(value) != n_features:
            raise ValueError(
                f"{name} of {type(self).__name__} has {len(value)} values, but {whose} "
                f"{n_features} features; give one value per feature, or a single number"
            )

    @property
    def n_features(self) -> int | None:
        if self.active_dims is not None:
            return None
        values = [getattr(self, name) for name in self._per_feature]
        return next((len(value) for value in values if np.ndim(value) > 0), None)

    @property
    def treats_features_alike(self) -> bool:
        return self.active_dims is None and self.n_features is None

    def features_sharing_length_scale(self, n_features: int) -> list[np.ndarray]:
        places = self._features(n_features)
        return [places] if self.shares_length_scale and len(places) > 1 else []

    @property
    def is_length_scale(self) -> np.ndarray:
        sizes = [np.size(getattr(self, name)) for name in self._free]
        return np.repeat([name in self._length_scales for name in self._free], sizes).astype(bool)

    def _features(self, n_features: int) -> np.ndarray:
        """Return the numbers of the features that the kernel looks at."""
        return np.arange(n_features) if self._places is None else np.array(self._places)

    def _spread_out(self, value: Any, n_features: int, elsewhere: float) -> np.ndarray:
        """Return values of the features that the kernel looks at as one for each feature, (D,)."""
        result = np.full(n_features, elsewhere)
        result[self._features(n_features)] = value
        return result

    # --- as an object --------------------------------------------------------------------------

    def _arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        arguments: dict[str, Any] = {name: getattr(self, name) for name in self._parameters}
        arguments["fixed"] = self.fixed
        arguments["active_dims"] = self.active_dims
        for name in self._parameters:
            arguments[f"{name}_bounds"] = getattr(self, f"{name}_bounds")
        return arguments

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        theirs = other._arguments()
        return all(_same(mine, theirs[key]) for key, mine in self._arguments().items())

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


def _same(mine: Any, theirs: Any) -> bool:
    """Compare two arguments: numbers, arrays, tuples of names or bounds, None."""
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return bool(np.array_equal(mine, theirs))
    return bool(mine == theirs)
