"""Kernel and bias of a latent GP, and how a search may move them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.coordinates import Coordinates, KernelPart, NumberPart, Part
from greedygp.kernels import Kernel

__all__ = ["LatentEvaluation", "LatentPoint", "moving_parts"]

REACH = 1e3  # the largest factor between a kernel parameter's start and where it may go
LARGEST_BIAS = 10.0


@dataclass(frozen=True)
class LatentPoint:
    """The hyperparameters of the latent function."""

    kernel: Kernel
    bias: float


@dataclass
class LatentEvaluation:
    """An objective's value and its gradient by theta and by the bias."""

    value: float
    theta: np.ndarray
    bias: float


def moving_parts(
    start: LatentPoint, *, kernel: bool = True, bias: bool = True, tied: bool = False
) -> Coordinates[LatentPoint]:
    """Return the coordinates of a search: which parts of a point move, and within which bounds.

    Parameters
    ----------
    start : LatentPoint
    kernel, bias : bool
        Whether they move.
    tied : bool
        Whether all length scales move by one common factor.
    """
    parts: list[Part] = []
    if kernel:
        parts.append(KernelPart(start.kernel, REACH, _ties(start.kernel, tied)))
    if bias:
        bounds = (-LARGEST_BIAS, LARGEST_BIAS)
        parts.append(NumberPart("bias", "bias", start.bias, bounds))
    return Coordinates(start, parts)


def _ties(kernel: Kernel, tied: bool) -> np.ndarray:
    """Return which parameters (rows) move together (columns)."""
    groups = np.arange(len(kernel.theta))
    if tied and np.any(kernel.is_length_scale):
        groups[kernel.is_length_scale] = np.argmax(kernel.is_length_scale)
    return (groups[:, None] == np.unique(groups)).astype(np.float64)
