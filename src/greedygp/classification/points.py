"""Kernel and bias as the optimiser sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.kernels import Kernel
from greedygp.minimise import FIRST_STEP

__all__ = ["Coordinates", "Evaluation", "Point"]

REACH = 1e3  # the largest factor between a kernel parameter's start and where it may go
LARGEST_BIAS = 10.0


@dataclass
class Evaluation:
    """An objective's value and its gradient by theta and by the bias."""

    value: float
    theta: np.ndarray
    bias: float


@dataclass(frozen=True)
class Point:
    """Hyperparameters."""

    kernel: Kernel
    bias: float


@dataclass
class Coordinates:
    """What of a point may move, as one vector (see `greedygp.minimise`).

    Parameters
    ----------
    start : Point
    kernel, bias : bool
        Whether they move.
    tied : bool
        Whether all length scales move by one common factor.
    """

    start: Point
    kernel: bool = True
    bias: bool = True
    tied: bool = False

    def __post_init__(self) -> None:
        kernel = self.start.kernel
        groups = np.arange(len(kernel.theta))
        if self.tied and np.any(kernel.is_length_scale):
            groups[kernel.is_length_scale] = np.argmax(kernel.is_length_scale)
        self._ties = (groups[:, None] == np.unique(groups)).astype(np.float64)

    def vector(self, point: Point) -> np.ndarray:
        """Return the parts of the point that move, relative to the start."""
        shift = point.kernel.theta - self.start.kernel.theta
        common = self._ties.T @ shift / np.maximum(self._ties.sum(axis=0), 1.0)
        return self._join(common, point.bias - self.start.bias) / FIRST_STEP

    def point(self, x: np.ndarray) -> Point:
        """Return the point that a vector stands for."""
        kernel, bias, x, used = self.start.kernel, self.start.bias, FIRST_STEP * x, 0
        if self.kernel:
            used = self._ties.shape[1]
            kernel = kernel.with_theta(kernel.theta + self._ties @ x[:used])
        return Point(kernel, bias + float(x[used]) if self.bias else bias)

    def gradient(self, evaluation: Evaluation) -> np.ndarray:
        """Return the gradient by the vector."""
        return FIRST_STEP * self._join(self._ties.T @ evaluation.theta, evaluation.bias)

    def bounds(self) -> np.ndarray:
        """Return bounds of the vector, around the start."""
        parts = []
        if self.kernel:
            room = self.start.kernel.bounds - self.start.kernel.theta[:, None]
            near = np.clip(room, -np.log(REACH), np.log(REACH))
            groups = self._ties.T.astype(bool)
            parts += [[np.max(near[group, 0]), np.min(near[group, 1])] for group in groups]
        if self.bias:
            parts.append([-LARGEST_BIAS - self.start.bias, LARGEST_BIAS - self.start.bias])
        return np.array(parts).reshape(-1, 2) / FIRST_STEP

    def _join(self, theta: np.ndarray, bias: float) -> np.ndarray:
        parts = [theta] if self.kernel else []
        parts += [np.array([bias])] if self.bias else []
        return np.concatenate(parts) if parts else np.empty(0)
