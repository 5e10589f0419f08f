"""What is taken for granted of the default kernel before the data have spoken.

A few hundred rows do not tell many length scales apart. By the evidence alone, the length scales of
features that matter little run away to thousands of times the data's spread, where no gradient
brings them back, and with few rows the noise vanishes. So for the default kernel, in units of the
start (the features' spreads times the root of their number, the targets' mean square),

- the logarithms of the length scales differ from their mean by normal deviates of standard
  deviation `spread`, and that mean is itself normal with standard deviation `level`;
- the logarithm of the variance is normal with standard deviation `variance_spread`;
- the logarithm of the noise variance is normal around `noise_centre` with `noise_spread`.

The prior is weak: a factor of three costs half a nat or less, whatever the number of rows. A kernel
that the user gives is learnt without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from greedygp.hyperparameters import Evaluation, Point
from greedygp.kernels import Kernel

__all__ = ["HyperparameterPrior"]

NOISE_SHARE = 0.05  # of the targets' variance: the centre of the noise


@dataclass(frozen=True)
class HyperparameterPrior:
    """A prior of kernel and noise.

    Parameters
    ----------
    centre : Kernel
        Where learning starts.
    variance : float
        Of the targets.
    spread, level, variance_spread, noise_spread : float
        Standard deviations, in logarithms.
    """

    centre: Kernel
    variance: float
    spread: float = 1.0
    level: float = 1.0
    variance_spread: float = 1.5
    noise_spread: float = 2.0

    def loss(self, point: Point) -> tuple[float, np.ndarray, float]:
        """Return minus the log density, up to a constant, and its slopes by theta and log noise."""
        shift = point.kernel.theta - self.centre.theta
        scales = self.centre.is_length_scale
        theta = shift / self.variance_spread**2
        value = 0.5 * float(np.sum(shift[~scales] * theta[~scales]))
        if np.any(scales):
            mean = float(np.mean(shift[scales]))
            apart = shift[scales] - mean
            value += 0.5 * float(np.sum(apart**2)) / self.spread**2
            value += 0.5 * mean**2 / self.level**2
            theta[scales] = apart / self.spread**2 + mean / (self.level**2 * len(apart))
        noise = np.log(point.noise_variance / (NOISE_SHARE * self.variance))
        value += 0.5 * (noise / self.noise_spread) ** 2
        return value, theta, float(noise / self.noise_spread**2)

    def added_to(self, objective: Callable[[Point], Evaluation]) -> Callable[[Point], Evaluation]:
        """Return an objective, a sum over rows in nats, with minus the log density added."""

        def both(point: Point) -> Evaluation:
            evaluation, (value, theta, log_noise) = objective(point), self.loss(point)
            return replace(
                evaluation,
                value=evaluation.value + value,
                theta=evaluation.theta + theta,
                log_noise=evaluation.log_noise + log_noise,
            )

        return both
