"""A point in hyperparameter space as one vector: which of its parts move, how far, in which units.

A point is a frozen dataclass (kernel and noise, say, or kernel and bias). :class:`Coordinates` lays
the parts that may move out as one vector, part after part. Each part knows its own units: kernel
parameters, noise and precisions move in logarithms, inputs in units of the features' scales. All
units are divided by `FIRST_STEP`, because the first step of L-BFGS has length one.

An objective's evaluation holds its value and, under the names that the parts give, its derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from greedygp.kernels import Kernel

__all__ = [
    "ArrayPart",
    "ColumnsPart",
    "Coordinates",
    "KernelPart",
    "LogPart",
    "NumberPart",
    "Part",
]

FIRST_STEP = 0.1  # length of L-BFGS' first step, in logarithms and in units of the inputs

P = TypeVar("P")


class Part:
    """One attribute of a point, as a vector.

    Parameters
    ----------
    name : str
        The point's attribute.
    slope : str
        The evaluation's attribute that holds the derivatives by this part.
    """

    def __init__(self, name: str, slope: str):
        self.name, self.slope = name, slope

    @property
    def size(self) -> int:
        """The length of the vector."""
        raise NotImplementedError

    def vector(self, value: Any) -> np.ndarray:
        """Return the attribute's value as a vector."""
        raise NotImplementedError

    def value(self, x: np.ndarray) -> Any:
        """Return the attribute's value that a vector stands for."""
        raise NotImplementedError

    def gradient(self, slope: Any) -> np.ndarray:
        """Return the derivatives by the vector."""
        raise NotImplementedError

    def bounds(self) -> np.ndarray:
        """Return the lowest and the highest vector, (size, 2)."""
        raise NotImplementedError


class KernelPart(Part):
    """The logarithms of the kernel's free parameters.

    Parameters
    ----------
    start : Kernel
    reach : float
        The largest factor by which a parameter may move: distances stay accurate within it.
    ties : (parameters, groups) array or None
        Parameters of one group move by one common factor. The vector then holds the logarithms of
        the groups' factors instead of the parameters themselves.
    """

    def __init__(self, start: Kernel, reach: float, ties: np.ndarray | None = None):
        super().__init__("kernel", "theta")
        self.start, self.reach, self.ties = start, reach, ties

    @property
    def size(self) -> int:
        return len(self.start.theta) if self.ties is None else self.ties.shape[1]

    def vector(self, value: Kernel) -> np.ndarray:
        if self.ties is None:
            return value.theta
        shift = value.theta - self.start.theta
        return self.ties.T @ shift / np.maximum(self.ties.sum(axis=0), 1.0)

    def value(self, x: np.ndarray) -> Kernel:
        theta = x if self.ties is None else self.start.theta + self.ties @ x
        return self.start.with_theta(theta)

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        return slope if self.ties is None else self.ties.T @ slope

    def bounds(self) -> np.ndarray:
        most = np.log(self.reach)
        if self.ties is None:
            theta = self.start.theta[:, None]
            near = theta + most * np.array([-1.0, 1.0])
            return np.clip(self.start.bounds, near[:, :1], near[:, 1:])
        room = np.clip(self.start.bounds - self.start.theta[:, None], -most, most)
        groups = self.ties.T.astype(bool)
        tightest = [[np.max(room[group, 0]), np.min(room[group, 1])] for group in groups]
        return np.array(tightest).reshape(-1, 2)


class NumberPart(Part):
    """One number, as its difference from the start."""

    def __init__(self, name: str, slope: str, start: float, bounds: tuple[float, float]):
        super().__init__(name, slope)
        self.start, self._bounds = start, bounds

    @property
    def size(self) -> int:
        return 1

    def vector(self, value: float) -> np.ndarray:
        return np.array([value - self.start])

    def value(self, x: np.ndarray) -> float:
        return self.start + float(x[0])

    def gradient(self, slope: float) -> np.ndarray:
        return np.array([slope])

    def bounds(self) -> np.ndarray:
        return np.array([self._bounds]) - self.start


class LogPart(Part):
    """The logarithms of a positive number or of an array of positive numbers.

    `bounds` are those of the logarithm, the same for every entry.
    """

    def __init__(self, name: str, slope: str, shape: tuple[int, ...], bounds: Sequence[float]):
        super().__init__(name, slope)
        self.shape, self._bounds = shape, bounds

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def vector(self, value: Any) -> np.ndarray:
        return np.log(value).reshape(-1)

    def value(self, x: np.ndarray) -> Any:
        values = np.exp(x)
        return values.reshape(self.shape) if self.shape else float(values[0])

    def gradient(self, slope: Any) -> np.ndarray:
        return np.asarray(slope, dtype=np.float64).reshape(-1)

    def bounds(self) -> np.ndarray:
        return np.tile(self._bounds, (self.size, 1))


class ArrayPart(Part):
    """An array (m, D), or (m,) where D is one, inside a box that is the same for all its rows.

    Parameters
    ----------
    name, slope : str
    shape : tuple of int
    box : (2, D) array
        The lowest and the highest row.
    units : (D,) array
        What a step of one means for each column.
    """

    def __init__(
        self, name: str, slope: str, shape: tuple[int, ...], box: np.ndarray, units: np.ndarray
    ):
        super().__init__(name, slope)
        self.shape, self.box, self.units = shape, box, units

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def vector(self, value: np.ndarray) -> np.ndarray:
        return (value / self.units).reshape(-1)

    def value(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(self.shape) * self.units

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        return (slope * self.units).reshape(-1)

    def bounds(self) -> np.ndarray:
        return np.tile(self.box.T / self.units[:, None], (self.shape[0], 1))


class ColumnsPart(Part):
    """Some columns of an array (m, D); the others stay as they are at the start.

    Parameters
    ----------
    name, slope : str
    start : (m, D) array
    columns : (d,) int array
        Those that move.
    box : (2, D) array
    units : (D,) array
        As those of :class:`ArrayPart`.
    """

    def __init__(
        self,
        name: str,
        slope: str,
        start: np.ndarray,
        columns: np.ndarray,
        box: np.ndarray,
        units: np.ndarray,
    ):
        super().__init__(name, slope)
        self.start, self.columns = start, columns
        shape = (len(start), len(columns))
        self.moving = ArrayPart(name, slope, shape, box[:, columns], units[columns])

    @property
    def size(self) -> int:
        return self.moving.size

    def vector(self, value: np.ndarray) -> np.ndarray:
        return self.moving.vector(value[:, self.columns])

    def value(self, x: np.ndarray) -> np.ndarray:
        value = self.start.copy()
        value[:, self.columns] = self.moving.value(x)
        return value

    def gradient(self, slope: np.ndarray) -> np.ndarray:
        return self.moving.gradient(slope[:, self.columns])

    def bounds(self) -> np.ndarray:
        return self.moving.bounds()


@dataclass
class Coordinates(Generic[P]):
    """A point's moving parts as one vector.

    Parameters
    ----------
    start : frozen dataclass
        The point where a search begins. What is in none of the parts stays as it is there.
    parts : sequence of Part
    """

    start: P
    parts: Sequence[Part]

    def vector(self, point: P) -> np.ndarray:
        """Return the parts of the point that move, as one vector."""
        return _joined([part.vector(getattr(point, part.name)) for part in self.parts]) / FIRST_STEP

    def point(self, x: np.ndarray) -> P:
        """Return the point that a vector stands for."""
        x = FIRST_STEP * x
        moved, used = {}, 0
        for part in self.parts:
            moved[part.name] = part.value(x[used : used + part.size])
            used += part.size
        return replace(self.start, **moved)  # type: ignore[type-var]

    def gradient(self, evaluation: Any) -> np.ndarray:
        """Return the derivatives by the vector."""
        slopes = [part.gradient(getattr(evaluation, part.slope)) for part in self.parts]
        return FIRST_STEP * _joined(slopes)

    def bounds(self) -> np.ndarray:
        """Return the lowest and the highest vector, (size, 2)."""
        parts = [part.bounds() for part in self.parts]
        return np.vstack(parts) / FIRST_STEP if parts else np.empty((0, 2))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)
