"""Minimisation by L-BFGS, whatever the point: hyperparameters, basis inputs, sites.

An objective is a function of a point that gives an evaluation: its value and its derivatives by the
parts of the point. :class:`greedygp.coordinates.Coordinates` turns points into vectors. Outside the
region where numbers can be had the optimiser meets a bowl that leads back to the best point so far.
The search returns the best point that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import scipy.optimize

from greedygp.coordinates import Coordinates
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.progress import NEVER, Deadline

__all__ = ["Minimum", "minimise"]

MEMORY = 20  # corrections that L-BFGS keeps

P = TypeVar("P")


class HasValue(Protocol):
    """An objective's value; its derivatives have the names that the coordinates' parts ask for."""

    value: float


@dataclass
class Minimum(Generic[P]):
    """Where the search ended: the best point it saw, and how it got there."""

    point: P
    value: float
    first_value: float  # at the start
    n_iter: int
    converged: bool
    interrupted: bool = False  # by Ctrl-C

    def followed_by(self, other: Minimum[P]) -> Minimum[P]:
        """Return what both searches are together, the other having begun where this one ended."""
        better = other if other.value <= self.value else self
        return replace(
            better,
            first_value=self.first_value,
            n_iter=self.n_iter + other.n_iter,
            converged=other.converged,
            interrupted=other.interrupted,
        )


def minimise(
    objective: Callable[[P], HasValue],
    coordinates: Coordinates[P],
    *,
    max_iter: int,
    factor: float = 1.0,
    tol: float = 2e-9,
    deadline: Deadline = NEVER,
    watch: Callable[[P, float], bool] | None = None,
) -> Minimum[P]:
    """Minimise from `coordinates.start`.

    Parameters
    ----------
    objective : callable
    coordinates : Coordinates
    max_iter : int
        Iterations of L-BFGS; 0: only the start is evaluated.
    factor : float
        Multiplies the objective for the optimiser, whose stopping rules mean sums over rows.
    tol : float
        Relative improvement in one iteration below which the search has converged.
    deadline : Deadline
        When to stop with what there is.
    watch : callable, optional
        Called with the best point and value after every iteration; a true result stops.
    """
    search = _Search(objective, coordinates, factor)
    x = coordinates.vector(coordinates.start)
    try:
        first, _ = search(x)
    except KeyboardInterrupt:
        return Minimum(coordinates.start, np.nan, np.nan, 0, False, interrupted=True)
    if len(x) == 0 or max_iter == 0 or deadline.passed:
        return Minimum(coordinates.start, first / factor, first / factor, 0, len(x) == 0)
    steps = 0

    def after_step(intermediate_result: Any) -> None:
        nonlocal steps
        steps += 1
        if deadline.passed:
            raise StopIteration
        if watch is not None and watch(search.best_point, search.best_value / factor):
            raise StopIteration

    bounds = coordinates.bounds()
    converged = interrupted = False
    try:
        result = scipy.optimize.minimize(
            search,
            np.clip(x, bounds[:, 0], bounds[:, 1]),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_step,
            options={"maxiter": max_iter, "maxcor": MEMORY, "ftol": tol},
        )
        converged = bool(result.success)
    except KeyboardInterrupt:
        interrupted = True
    best = search.best_value / factor
    return Minimum(search.best_point, best, first / factor, steps, converged, interrupted)


class _Search(Generic[P]):
    """The objective as a function of the vector; remembers the best point."""

    def __init__(
        self, objective: Callable[[P], HasValue], coordinates: Coordinates[P], factor: float
    ):
        self.objective, self.coordinates, self.factor = objective, coordinates, factor
        self.best: np.ndarray | None = None
        self.best_value = np.inf

    @property
    def best_point(self) -> P:
        return self.coordinates.start if self.best is None else self.coordinates.point(self.best)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            evaluation = self.objective(self.coordinates.point(x))
        except NotPositiveDefiniteError:
            if self.best is None:
                raise
            return self._bowl(x)
        value = self.factor * evaluation.value
        gradient = self.factor * self.coordinates.gradient(evaluation)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return self._bowl(x)
        if value < self.best_value:
            self.best, self.best_value = x.copy(), value
        return value, gradient

    def _bowl(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """No numbers out there: a bowl that leads back to where they were best."""
        away = x if self.best is None else x - self.best
        return 1e10 * (1.0 + float(away @ away)), 2e10 * away
