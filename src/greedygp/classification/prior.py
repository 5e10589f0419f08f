"""What is taken for granted of the default kernel before the labels have spoken.

A few hundred labels do not tell many length scales apart, and where the classes can be separated
the evidence lets the variance grow without end: by the evidence alone, features that are noise get
short length scales by chance, and probabilities become too sure. So with the default kernel

- length scales, in units of the features' spreads, differ from their geometric mean by factors
  whose logarithms have the standard deviation `SPREAD`;
- the logarithm of the variance differs from that of the start by `VARIANCE_SPREAD`, likewise;

both normal. A kernel that the user gives is learnt without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint
from greedygp.kernels import Kernel

__all__ = ["Prior"]

SPREAD = 1.0
VARIANCE_SPREAD = 2.0


@dataclass(frozen=True)
class Prior:
    """The prior of a Gaussian kernel with a length scale for each feature.

    Parameters
    ----------
    centre : Kernel
        Where learning starts: length scales in the ratios of the features' spreads.
    """

    centre: Kernel

    def loss(self, kernel: Kernel) -> tuple[float, np.ndarray]:
        """Return minus its log density, up to a constant, and the derivatives by theta."""
        shift = kernel.theta - self.centre.theta
        is_length = kernel.is_length_scale
        deviation = np.where(is_length, shift - np.mean(shift[is_length]), 0.0)
        growth = np.where(is_length, 0.0, shift)
        theta = deviation / SPREAD**2 + growth / VARIANCE_SPREAD**2
        return 0.5 * float(theta @ (deviation + growth)), theta

    def added_to(
        self, objective: Callable[[LatentPoint], LatentEvaluation], total: float
    ) -> Callable[[LatentPoint], LatentEvaluation]:
        """Return an objective in nats per row, of so many rows, with the prior's share."""

        def both(point: LatentPoint) -> LatentEvaluation:
            evaluation, (value, theta) = objective(point), self.loss(point.kernel)
            return replace(
                evaluation,
                value=evaluation.value + value / total,
                theta=evaluation.theta + theta / total,
            )

        return both
