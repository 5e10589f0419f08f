"""Minimisation over hyperparameters and basis inputs: what may move, how far, and by L-BFGS.

An objective is a function of a :class:`Point` (kernel, noise variance, basis inputs) that gives an
:class:`Evaluation`. :class:`Coordinates` lays the parts that may move out as one vector:
logarithms of the kernel's parameters and of the noise, and basis inputs in units of the features'
scales, all of them divided by `FIRST_STEP`, since the first step of L-BFGS has the length one.
Outside the region where numbers can be had the optimiser meets a bowl that leads back to the best
point so far, and the best point it has seen is what it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.kernels import Kernel

__all__ = ["Coordinates", "Evaluation", "Minimum", "Point", "minimise"]

REACH = 1e4  # the largest factor between a parameter's start and where it may go
NOISE_BOUNDS = (1e-6, 1e1)  # relative to the variance of y
MEMORY = 20  # corrections that L-BFGS keeps
FIRST_STEP = 0.1  # length of L-BFGS' first step, in logarithms and in units of the inputs


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


@dataclass
class Minimum:
    """Where the search ended: the best point it saw, and how it got there."""

    point: Point
    value: float
    first_value: float  # at the start
    n_iter: int
    converged: bool
    interrupted: bool = False  # by Ctrl-C

    def followed_by(self, other: Minimum) -> Minimum:
        """Return what both searches are together, the other having begun where this one ended."""
        better = other if other.value <= self.value else self
        return replace(
            better,
            first_value=self.first_value,
            n_iter=self.n_iter + other.n_iter,
            converged=other.converged,
            interrupted=other.interrupted,
        )


@dataclass
class Coordinates:
    """Which parts of a point may move, and within which bounds.

    Parameters
    ----------
    start : Point
    variance : float
        Of the targets: what the noise is bounded by.
    kernel, noise : bool
        Whether they move.
    basis_box : (2, D) array or None
        Bounds of the basis inputs; None: they stay.
    basis_scale : (D,) array or None
        Units of the basis inputs.
    reach : float
        The largest factor by which a kernel parameter may move.
    """

    start: Point
    variance: float
    kernel: bool = True
    noise: bool = True
    basis_box: np.ndarray | None = None
    basis_scale: np.ndarray | None = None
    reach: float = REACH

    def vector(self, point: Point) -> np.ndarray:
        """Return the parts of the point that move, as one vector."""
        basis = None
        if self.basis_box is not None:
            assert point.basis is not None
            basis = point.basis / self.basis_scale
        return self._join(point.kernel.theta, np.log(point.noise_variance), basis) / FIRST_STEP

    def point(self, x: np.ndarray) -> Point:
        """Return the point that a vector stands for."""
        kernel, noise, basis = self.start.kernel, self.start.noise_variance, self.start.basis
        x, used = FIRST_STEP * x, 0
        if self.kernel:
            used = len(kernel.theta)
            kernel = kernel.with_theta(x[:used])
        if self.noise:
            noise = float(np.exp(x[used]))
            used += 1
        if self.basis_box is not None:
            assert basis is not None
            basis = x[used:].reshape(basis.shape) * np.asarray(self.basis_scale)
        return Point(kernel, noise, basis)

    def gradient(self, evaluation: Evaluation) -> np.ndarray:
        """Return the gradient by the vector."""
        basis = None
        if self.basis_box is not None:
            assert evaluation.basis is not None
            basis = evaluation.basis * self.basis_scale
        return FIRST_STEP * self._join(evaluation.theta, evaluation.log_noise, basis)

    def bounds(self) -> np.ndarray:
        """Return bounds, no further from the start than distances stay accurate."""
        theta = self.start.kernel.theta[:, None]
        near = theta + np.log(self.reach) * np.array([-1.0, 1.0])
        parts = [np.clip(self.start.kernel.bounds, near[:, :1], near[:, 1:])] if self.kernel else []
        if self.noise:
            parts.append(np.log(self._noise_bounds())[None, :])
        if self.basis_box is not None:
            assert self.start.basis is not None
            box = self.basis_box.T / np.asarray(self.basis_scale)[:, None]
            parts.append(np.tile(box, (len(self.start.basis), 1)))
        return np.vstack(parts) / FIRST_STEP if parts else np.empty((0, 2))

    def _noise_bounds(self) -> np.ndarray:
        """Return bounds of the noise variance, relative to the variance of y and to the start.

        With a basis, everything-is-noise is often a minimum of its own, into which a first long
        step would fall: the noise may not rise much unless it was high to begin with.
        """
        least, most = self.variance * np.array(NOISE_BOUNDS)
        if self.start.basis is not None:
            most = max(0.3 * self.variance, 2.0 * self.start.noise_variance)
        return np.array([min(least, self.start.noise_variance), most])

    def _join(self, theta: np.ndarray, noise: float, basis: np.ndarray | None) -> np.ndarray:
        parts = [theta] if self.kernel else []
        parts += [np.array([noise])] if self.noise else []
        parts += [] if basis is None else [basis.reshape(-1)]
        return np.concatenate(parts) if parts else np.empty(0)


def minimise(
    objective: Callable[[Point], Evaluation],
    coordinates: Coordinates,
    *,
    max_iter: int,
    factor: float = 1.0,
    tol: float = 2e-9,
    deadline: float | None = None,
    watch: Callable[[Point, float], bool] | None = None,
) -> Minimum:
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
    deadline : float or None
        Value of `time.perf_counter()` at which to stop.
    watch : callable, optional
        Called with the best point and value after every iteration; a true result stops.
    """
    search = _Search(objective, coordinates, factor)
    x = coordinates.vector(coordinates.start)
    try:
        first, _ = search(x)
    except KeyboardInterrupt:
        return Minimum(coordinates.start, np.nan, np.nan, 0, False, interrupted=True)
    late = deadline is not None and time.perf_counter() > deadline
    if len(x) == 0 or max_iter == 0 or late:
        return Minimum(coordinates.start, first / factor, first / factor, 0, len(x) == 0)
    steps = 0

    def after_step(intermediate_result: Any) -> None:
        nonlocal steps
        steps += 1
        late = deadline is not None and time.perf_counter() > deadline
        if late or (watch is not None and watch(search.best_point, search.best_value / factor)):
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


class _Search:
    """The objective as a function of the vector; remembers the best point."""

    def __init__(self, objective, coordinates: Coordinates, factor: float):
        self.objective, self.coordinates, self.factor = objective, coordinates, factor
        self.best: np.ndarray | None = None
        self.best_value = np.inf

    @property
    def best_point(self) -> Point:
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
