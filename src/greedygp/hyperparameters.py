"""Kernel, noise variance and basis inputs of a GP regression, and how a search may move them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from greedygp.coordinates import ColumnsPart, Coordinates, KernelPart, LogPart, Part
from greedygp.kernels import Kernel

__all__ = ["NOISE_BOUNDS", "Evaluation", "Point", "highest_noise", "moving_parts", "rescaled"]

REACH = 1e4  # the largest factor between a kernel parameter's start and where it may go
NOISE_BOUNDS = (1e-6, 1e1)  # relative to the variance of y


@dataclass(frozen=True)
class Point:
    """Hyperparameters and basis inputs (m, D) on the host; None: a full GP has none."""

    kernel: Kernel
    noise_variance: float
    basis: np.ndarray | None = None


@dataclass
class Evaluation:
    """An objective's value and its gradient."""

    value: float
    theta: np.ndarray  # by the kernel's theta
    log_noise: float  # by the logarithm of the noise variance
    basis: np.ndarray | None = None  # (m, D), by the basis inputs

    def times(self, factor: float) -> Evaluation:
        """Return that of the objective multiplied by a number."""
        if factor == 1.0:
            return self
        basis = None if self.basis is None else factor * self.basis
        return Evaluation(factor * self.value, factor * self.theta, factor * self.log_noise, basis)


def moving_parts(
    start: Point,
    variance: float,
    *,
    kernel: bool = True,
    noise: bool = True,
    basis_box: np.ndarray | None = None,
    basis_units: np.ndarray | None = None,
    reach: float = REACH,
) -> Coordinates[Point]:
    """Return the coordinates of a search: which parts of a point move, and within which bounds.

    Parameters
    ----------
    start : Point
    variance : float
        Of the targets: what the noise is bounded by.
    kernel, noise : bool
        Whether they move.
    basis_box : (2, D) array or None
        Bounds of the basis inputs; None: they stay. Along features with categories they always do.
    basis_units : (D,) array or None
        Units of the basis inputs.
    reach : float
        The largest factor by which a kernel parameter may move.
    """
    parts: list[Part] = []
    if kernel:
        parts.append(KernelPart(start.kernel, reach))
    if noise:
        bounds = np.log(_noise_bounds(start, variance))
        parts.append(LogPart("noise_variance", "log_noise", (), bounds))
    if basis_box is not None:
        assert start.basis is not None
        assert basis_units is not None
        # Between two categories there is nothing: basis inputs stay at theirs.
        columns = np.flatnonzero(~start.kernel.has_categories(start.basis.shape[1]))
        parts.append(ColumnsPart("basis", "basis", start.basis, columns, basis_box, basis_units))
    return Coordinates(start, parts)


def highest_noise(variance: float, start_noise: float) -> float:
    """Return how far the noise variance may rise with a basis, given y's variance and the start."""
    return max(0.3 * variance, 2.0 * start_noise)


def _noise_bounds(start: Point, variance: float) -> np.ndarray:
    """Return bounds of the noise variance, relative to the variance of y and to the start.

    With a basis, everything-is-noise is often a minimum of its own, and a first long step would
    fall into it. So the noise may not rise much unless it was high to begin with.
    """
    least, most = variance * np.array(NOISE_BOUNDS)
    if start.basis is not None:
        most = highest_noise(variance, start.noise_variance)
    return np.array([min(least, start.noise_variance), most])


def rescaled(point: Point, factor: float) -> Point | None:
    """Return the point with kernel and noise multiplied by one factor; None: that cannot be.

    Some leave-one-out measures do not tell such a factor (`LooMeasure.tells_scale`): the residuals
    stay as they are. Learning sets it afterwards to `mean(r^2 / t)`, what NLGPP would choose, so
    that the error bars have the right size. It cannot be where the factor is not a positive number,
    or where the kernel's bounds forbid it.
    """
    if not (np.isfinite(factor) and factor > 0):
        return None
    kernel = point.kernel.scaled(factor)
    if kernel is None or not kernel.within_bounds():
        return None
    return replace(point, kernel=kernel, noise_variance=factor * point.noise_variance)
