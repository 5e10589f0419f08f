"""What a loop needs of a measure: the best zeta of one basis function, and what it would change.

A measure judges one basis function j with everything else held fixed, from what the model would be
without it (`state.Without`). `optimum` returns the best `zeta_j` in [least, infinity], infinity
meaning that j should not be in the model; `change` returns how the cost (smaller is better)
differs from that of the model without j.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from greedygp.linear.state import LinearState, Without

__all__ = ["Measure", "delta_of"]


class Measure(Protocol):
    """GCV or the evidence."""

    squares: bool  # whether xi and u are needed

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""

    def optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        """Return the best zeta of each basis function."""

    def change(self, without: Without, zeta: np.ndarray) -> np.ndarray:
        """Return the cost with the basis function at zeta, less the cost without it."""

    def cost(self, state: LinearState) -> float:
        """Return the cost of the model."""

    def value(self, state: LinearState) -> float:
        """Return the measure of the model, as it is reported."""

    def noise(self, state: LinearState) -> float:
        """Return the noise variance of the model."""


def delta_of(without: Without, zeta: np.ndarray) -> np.ndarray:
    """Return 1 / Delta_j = 1 / (phi'P_-j phi + zeta) (equation 15); zero where zeta is infinite."""
    return 1.0 / (without.gamma + zeta)
