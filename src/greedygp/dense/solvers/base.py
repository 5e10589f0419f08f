"""One interface for every solver of `A alpha = y`.

A solver minimises `f(alpha) = 0.5 alpha'A alpha - y'alpha` (for every right-hand side), whose
gradient is `g = A alpha - y`. It starts somewhere, makes steps, and keeps `alpha` and `g` up to
date. When to stop is not its business: see :mod:`greedygp.dense.solving`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from greedygp.arrays import Array, to_numpy
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System

__all__ = ["Solver"]


class Solver:
    """What every solver has: the system, the right-hand sides, `alpha` and its gradient.

    Parameters
    ----------
    system : System
    y : (p, n) array
    alpha : (p, n) array, optional
        Where to start; zero if left out.
    """

    name = ""
    descends = True  # whether f falls at every step

    def __init__(self, system: System, y: Array, alpha: Array | None = None):
        self.system, self.y = system, y
        self.backend = system.backend
        self.alpha = self.backend.zeros(tuple(y.shape)) if alpha is None else 1.0 * alpha
        self.gradient = -1.0 * y if alpha is None else self.product(self.alpha) - y
        # Whether the gradient was computed from scratch; `solving` takes it back after each step.
        self.is_exact = True

    @staticmethod
    def settings(options: SolverOptions, system: System, p: int, rng: Generator) -> dict[str, Any]:
        """Return the solver's further arguments, by the user's options, for p right-hand sides."""
        return {}

    def step(self) -> None:
        """Move `alpha` and `gradient`, in place.

        A right-hand side may be solved already: its gradient is zero, and it stays where it is.
        """
        raise NotImplementedError

    def refresh(self) -> None:
        """Recompute the gradient from scratch."""
        self.gradient = self.product(self.alpha) - self.y
        self.is_exact = True

    def product(self, vectors: Array) -> Array:
        """Return `vectors A`, (p, n)."""
        return self.system.product(vectors)

    @property
    def norm(self) -> float:
        """The largest entry of the gradient."""
        return float(self.backend.xp.max(self.backend.xp.abs(self.gradient)))

    @property
    def mean_norm(self) -> float:
        """The root mean square of the gradient."""
        squares = np.sum(self.backend.row_dots(self.gradient, self.gradient))
        return float(np.sqrt(squares / (self.gradient.shape[0] * self.gradient.shape[1])))

    @property
    def rounding(self) -> float:
        """About what rounding leaves of the gradient, whatever the solver does."""
        lengths = np.sqrt(self.backend.row_dots(self.alpha, self.alpha))
        xp = self.backend.xp
        products = float(xp.max(self.system.diagonal)) * float(np.max(lengths))
        return self.backend.epsilon * (products + float(xp.max(xp.abs(self.y))))

    @property
    def objective(self) -> float:
        """`f`, summed over the right-hand sides."""
        return 0.5 * float(np.sum(self.backend.row_dots(self.alpha, self.gradient - self.y)))

    def most_left(self) -> np.ndarray:
        """Return what `g'A^-1 g` is at most, for every right-hand side, (p,).

        That is twice what f may still fall. `A` is no smaller than its ridge, nor than the sum of
        the ridge and a factor of low rank of K.
        """
        return self.backend.row_dots(self.gradient / self.system.ridge[None, :], self.gradient)

    # --- to go on later --------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return what must be kept to go on later as if nothing had happened."""
        return {"alpha": to_numpy(1.0 * self.alpha), "gradient": to_numpy(1.0 * self.gradient)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.alpha = 1.0 * self.backend.asarray(kept["alpha"])
        self.gradient = 1.0 * self.backend.asarray(kept["gradient"])
        self.is_exact = False
