"""Rows with labels +1 and -1: what one two-class model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["LabelledRows"]


@dataclass(frozen=True)
class LabelledRows:
    """Inputs, labels and weights.

    Parameters
    ----------
    X : (n, D) float64 array
    y : (n,) array of +1 and -1
    weights : (n,) array or None
        None: every row counts once.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def mass(self) -> np.ndarray:
        """How often each row counts in a loss, (n,)."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @cached_property
    def total(self) -> float:
        """How many rows there are, each counted by its weight."""
        return float(np.sum(self.mass))

    def take(self, index: np.ndarray) -> LabelledRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[index]
        return LabelledRows(self.X[index], self.y[index], weights)
