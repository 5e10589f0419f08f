"""Minimisation by L-BFGS, whatever the point: hyperparameters, basis inputs, sites.

An objective is a function of a point that gives an evaluation: its value and its derivatives by the
parts of the point. :class:`greedygp.coordinates.Coordinates` turns points into vectors. Outside the
region where numbers can be had the optimiser meets a bowl that leads back to the best point so far.
The search returns the best point that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import scipy.optimize

from greedygp.coordinates import Coordinates
from greedygp.descent import Descent, Memory
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.progress import NEVER, Deadline

__all__ = ["Minimum", "interrupted_searches", "minimise"]

MEMORY = 20  # corrections that L-BFGS keeps
WINDOW = 10  # iterations over which, by default, a gain may be too little to go on

# Where searches that Ctrl-C ends leave the best that they have seen, if anyone wants it.
_ended: ContextVar[list[Minimum[Any]] | None] = ContextVar("interrupted searches", default=None)

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
    interrupted: bool = False  # by Ctrl-C, where the search keeps what it has
    values: tuple[float, ...] = ()  # the best so far, after each iteration

    def followed_by(self, other: Minimum[P]) -> Minimum[P]:
        """Return what both searches are together, the other having begun where this one ended."""
        better = other if other.value <= self.value else self
        return replace(
            better,
            first_value=self.first_value,
            n_iter=self.n_iter + other.n_iter,
            values=self.values + other.values,
            converged=other.converged,
            interrupted=other.interrupted,
        )

    def taken_up_by(self, other: Minimum[P]) -> Minimum[P]:
        """Return the same where the other one's objective sees more, so that it is the judge."""
        return replace(self, value=np.inf).followed_by(other)


@contextmanager
def interrupted_searches() -> Iterator[list[Minimum[Any]]]:
    """Give a list of the searches that Ctrl-C ends while this lasts, though it goes up from there.

    For callers far above the search, who then have a model to keep. A search that has made no
    iteration is not among them.
    """
    noted: list[Minimum[Any]] = []
    before = _ended.set(noted)
    try:
        yield noted
    finally:
        _ended.reset(before)


def minimise(
    objective: Callable[[P], HasValue],
    coordinates: Coordinates[P],
    *,
    max_iter: int,
    factor: float = 1.0,
    tol: float = 2e-9,
    deadline: Deadline = NEVER,
    watch: Callable[[P, float], bool] | None = None,
    keep_if_interrupted: bool = False,
    memory: Memory | None = None,
    little: float = 0.0,
    window: int = WINDOW,
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
    keep_if_interrupted : bool
        Whether Ctrl-C ends the search with the best point that it has seen (`interrupted` says so),
        for callers who then have a model to keep. Else it goes up; see
        :func:`interrupted_searches`.
    memory : Memory, optional
        What is known of the curvature: the search is a `Descent` that goes on with it. Without it
        the search is SciPy's.
    little : float
        The search has converged, too, where `window` iterations together gain less than that.
    window : int
    """
    search = _Search(objective, coordinates, factor)
    bounds, x = coordinates.bounds(), coordinates.vector(coordinates.start)
    x = np.clip(x, bounds[:, 0], bounds[:, 1])
    try:
        first, _ = search(x)
    except KeyboardInterrupt:
        if not keep_if_interrupted:
            raise
        return Minimum(coordinates.start, np.nan, np.nan, 0, False, interrupted=True)
    if len(x) == 0 or max_iter == 0 or deadline.passed:
        return Minimum(coordinates.start, first / factor, first / factor, 0, len(x) == 0)
    values = [first / factor]

    def after_step(intermediate_result: Any = None) -> None:
        values.append(search.best_value / factor)
        asked = watch is not None and watch(search.best_point, values[-1])
        if asked or deadline.passed or _gain_is_below(little, values, window):
            raise StopIteration

    def minimum(converged: bool, interrupted: bool) -> Minimum[P]:
        best = search.best_value / factor
        ended = converged, interrupted, tuple(values[1:])
        return Minimum(search.best_point, best, values[0], len(values) - 1, *ended)

    converged = interrupted = False
    try:
        if memory is None:
            converged = _scipy(search, x, bounds, max_iter, tol, after_step)
        else:
            converged = _descent(Descent(search, x, bounds, memory), max_iter, tol, after_step)
    except KeyboardInterrupt:
        interrupted, noted = True, _ended.get()
        if not keep_if_interrupted:
            if noted is not None and len(values) > 1:
                noted.append(minimum(False, True))
            raise
    return minimum(converged or _gain_is_below(little, values, window), interrupted)


def _gain_is_below(little: float, values: list[float], window: int) -> bool:
    """Tell whether the last iterations gained too little."""
    return len(values) > window and values[-1 - window] - values[-1] < little


def _scipy(
    search: _Search, x: np.ndarray, bounds: np.ndarray, max_iter: int, tol: float, after_step: Any
) -> bool:
    """Let SciPy search, and tell whether it has converged."""
    result = scipy.optimize.minimize(
        search,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=after_step,
        options={"maxiter": max_iter, "maxcor": MEMORY, "ftol": tol},
    )
    return bool(result.success)


def _descent(descent: Descent, max_iter: int, tol: float, after_step: Callable[[], None]) -> bool:
    """Go down step by step, and tell whether the search has converged."""
    for _ in range(max_iter):
        before = descent.value
        if not descent.step():
            return True
        try:
            after_step()
        except StopIteration:
            return False
        if before - descent.value <= tol * max(abs(before), abs(descent.value), 1.0):
            return True
    return False


class _Search(Generic[P]):
    """The objective as a function of the vector; remembers the best point, and the last one."""

    def __init__(
        self, objective: Callable[[P], HasValue], coordinates: Coordinates[P], factor: float
    ):
        self.objective, self.coordinates, self.factor = objective, coordinates, factor
        self.best: np.ndarray | None = None
        self.best_value = np.inf
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    @property
    def best_point(self) -> P:
        return self.coordinates.start if self.best is None else self.coordinates.point(self.best)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if self._last is None or not np.array_equal(x, self._last[0]):
            self._last = (x.copy(), *self._at(x))
        return self._last[1], self._last[2].copy()

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slope; where there are no numbers, those of a bowl."""
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
