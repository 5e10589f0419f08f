"""What is taken for granted of the default kernel, and of the noise, before the data have spoken.

A few hundred rows do not tell many length scales apart. By the evidence alone, the length scales of
features that matter little run away to thousands of times the data's spread, where no gradient
brings them back; features that are noise get short ones by chance; where classes can be separated
the variance grows without end, and with few rows the noise vanishes. So for the default kernel, in
units of the start, all of these are normal:

- the differences of the logarithms of the length scales from their mean, and that mean;
- the logarithm of the variance;
- in regression, the logarithm of the noise variance.

The prior is weak: a factor of three costs about half a nat, whatever the number of rows. A kernel
that the user gives is learnt without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from greedygp.hyperparameters import Evaluation, Point
from greedygp.kernels import Kernel

__all__ = ["KernelPrior", "NoisePrior"]

P = TypeVar("P")


@dataclass(frozen=True)
class KernelPrior:
    """A prior of a kernel's parameters.

    Parameters
    ----------
    centre : Kernel
        Where learning starts: length scales in the ratios of the features' spreads.
    spread : float
        Standard deviation of the logarithms of the length scales around their mean.
    level : float
        Standard deviation of that mean; infinity: it may be anything.
    variance_spread : float
        Standard deviation of the logarithm of the variance.
    """

    centre: Kernel
    spread: float = 1.0
    level: float = 1.0
    variance_spread: float = 1.5

    def loss(self, kernel: Kernel) -> tuple[float, np.ndarray]:
        """Return minus the log density, up to a constant, and the derivatives by theta."""
        shift = kernel.theta - self.centre.theta
        scales = kernel.is_length_scale
        mean = float(np.mean(shift[scales])) if np.any(scales) else 0.0
        deviation = np.where(scales, shift - mean, 0.0)
        growth = np.where(scales, 0.0, shift)
        theta = deviation / self.spread**2 + growth / self.variance_spread**2
        value = 0.5 * float(theta @ (deviation + growth)) + 0.5 * mean**2 / self.level**2
        theta[scales] += mean / (self.level**2 * max(int(np.sum(scales)), 1))
        return value, theta

    def added_to(self, objective: Callable[[P], Any], total: float = 1.0) -> Callable[[P], Any]:
        """Return an objective with the prior added; `total` nats are one of the objective's."""

        def both(point: P) -> Any:
            evaluation, (value, theta) = objective(point), self.loss(point.kernel)  # type: ignore[attr-defined]
            return replace(
                evaluation,
                value=evaluation.value + value / total,
                theta=evaluation.theta + theta / total,
            )

        return both


@dataclass(frozen=True)
class NoisePrior:
    """A prior of the noise variance: normal in the logarithm.

    Parameters
    ----------
    variance : float
        Of the targets.
    share : float
        What the noise has of it in the middle of the prior.
    spread : float
        Standard deviation of the logarithm.
    """

    variance: float
    share: float = 0.05
    spread: float = 2.0

    def loss(self, noise_variance: float) -> tuple[float, float]:
        """Return minus the log density, up to a constant, and its slope by the logarithm."""
        away = float(np.log(noise_variance / (self.share * self.variance)))
        return 0.5 * (away / self.spread) ** 2, away / self.spread**2

    def added_to(self, objective: Callable[[Point], Evaluation]) -> Callable[[Point], Evaluation]:
        """Return an objective, a sum over rows in nats, with the prior added."""

        def both(point: Point) -> Evaluation:
            evaluation, (value, slope) = objective(point), self.loss(point.noise_variance)
            return replace(
                evaluation,
                value=evaluation.value + value,
                log_noise=evaluation.log_noise + slope,
            )

        return both
