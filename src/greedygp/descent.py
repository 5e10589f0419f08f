"""L-BFGS within bounds that can go on where another descent ended.

A step goes along `-H g`, where H is what the last pairs of steps `s` and changes of slope `y` say
of the inverse curvature (Nocedal's two loops). They begin with a diagonal, since hyperparameters
and the inputs of a basis differ in their curvature by orders of magnitude: coordinate i has
`sqrt(sum w s_i^2 / sum w y_i^2)`, where a pair weighs `w = 1 / s'y`, older ones less. It stays
within a factor of `SPREAD` of `s'y / y'y` of the last pair, which is what all coordinates usually
have; that took half as many evaluations again. A step is shortened by a parabola until the value
has fallen enough (Armijo). The very first step has length one, and in no later one a coordinate
moves farther than `FARTHEST`: after a step or two little is known of the curvature, and a long step
may end on a plateau where nothing is explained.
Coordinates at a bound to which the slope pushes them stay there, the others are clipped.

The pairs are in a :class:`Memory`. Another descent may begin with a copy of it, where its function
is the same or nearly so, such as an objective of another approximation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Descent", "Memory"]

PAIRS = 20  # steps that are remembered
FADING = 0.8  # what a pair weighs in the diagonal, of what the next one does
SPREAD = 10.0
FARTHEST = 10.0  # that a coordinate moves in one step; of hyperparameters, a factor of e
ENOUGH = 1e-4  # share of the fall that the slope promises
TRIALS = 20  # lengths of a step that are tried
LEAST_SLOPE = 1e-5  # where no coordinate that may move has more, the search has converged
LEAST_BEND = 1e-10  # cosine between a step and the change of slope, for the pair to be kept

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Memory:
    """What descents know of the curvature: their last steps, and how the slope changed."""

    pairs: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def note(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a pair, unless the function bends down along the step."""
        if step @ change > LEAST_BEND * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs = [*self.pairs[1 - PAIRS :], (step, change)]

    def diagonal(self) -> np.ndarray:
        """Return how far each coordinate has gone for a change of its slope by one."""
        steps, changes = (np.array(parts) for parts in zip(*self.pairs, strict=True))
        along = np.sum(steps * changes, axis=1)
        weights = FADING ** np.arange(len(along))[::-1] / along
        gone, bent = weights @ steps**2, weights @ changes**2
        usual = along[-1] / float(changes[-1] @ changes[-1])
        ratio = np.sqrt(gone / np.where(bent > 0.0, bent, 1.0))
        return np.clip(np.where(bent > 0.0, ratio, usual), usual / SPREAD, usual * SPREAD)

    def direction(self, slope: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return `-H slope` for the coordinates that are free; the others stay."""
        left, shares = np.where(free, slope, 0.0), []
        for step, change in reversed(self.pairs):
            shares.append((step @ left) / (step @ change))
            left = left - shares[-1] * change
        if self.pairs:
            left = left * self.diagonal()
        for (step, change), share in zip(self.pairs, reversed(shares), strict=True):
            left = left + step * (share - (change @ left) / (step @ change))
        return np.where(free, -left, 0.0)


class Descent:
    """A descent from a vector; `x`, `value` and `slope` are where it is.

    Parameters
    ----------
    function : callable
        Gives value and slope at a vector.
    x : (n,) array
        Within the bounds.
    bounds : (n, 2) array
    memory : Memory
        Goes on to learn.
    """

    def __init__(self, function: Function, x: np.ndarray, bounds: np.ndarray, memory: Memory):
        self.function, self.memory = function, memory
        self.low, self.high = bounds.T
        self.x = x
        self.value, self.slope = function(x)

    @property
    def free(self) -> np.ndarray:
        """Which coordinates are not pushed against a bound."""
        below = (self.x <= self.low) & (self.slope > 0.0)
        return ~(below | ((self.x >= self.high) & (self.slope < 0.0)))

    def step(self) -> bool:
        """Go to a lower point; False: there is none that way."""
        free = self.free
        if np.max(np.abs(self.slope[free]), initial=0.0) <= LEAST_SLOPE:
            return False
        way = self.memory.direction(self.slope, free)
        if way @ self.slope >= 0.0:
            self.memory.pairs = []
            way = self.memory.direction(self.slope, free)
        reach = FARTHEST / float(np.max(np.abs(way)))
        length = min(1.0, reach if self.memory.pairs else 1.0 / float(np.linalg.norm(way)))
        fall = float(way @ self.slope)
        for _ in range(TRIALS):
            x = np.clip(self.x + length * way, self.low, self.high)
            value, slope = self.function(x)
            if value <= self.value + ENOUGH * float(self.slope @ (x - self.x)):
                self.memory.note(x - self.x, slope - self.slope)
                self.x, self.value, self.slope = x, value, slope
                return True
            parabola = -0.5 * fall * length**2 / (value - self.value - fall * length)
            length = float(np.clip(parabola, 0.1 * length, 0.5 * length))
        return False
