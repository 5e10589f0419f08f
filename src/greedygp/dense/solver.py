"""One interface for every solver of `A alpha = y`, and the loop that drives them.

A solver minimises `f(alpha) = 0.5 alpha'A alpha - y'alpha` (for every right-hand side), whose
gradient is `g = A alpha - y`. It starts somewhere, makes steps, and keeps `alpha` and `g` up to
date; the loop looks at `max|g|`, recomputes `g` from scratch before it believes that the end is
reached, sees where rounding lets no solver go on, and writes the history. What comes out is a
value, a status and statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.dense.system import System
from greedygp.progress import NEVER, Deadline
from greedygp.threads import numpy_threads_only

__all__ = ["HISTORY_FIELDS", "Limits", "Solution", "Solver", "solve"]

HISTORY_FIELDS = np.dtype(
    [
        ("objective", np.float64),
        ("gradient_norm", np.float64),
        ("seconds", np.float64),
        ("kernel_passes", np.float64),
    ]
)

BETTER = 0.9  # times the smallest norm so far: progress
EXACT_LOOKS = 3  # at gradients from scratch, without progress: it is rounding that is left
STEPS = 100  # without progress where rounding is in sight
IN_SIGHT = 10.0  # times what rounding leaves of the gradient


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
        self.is_exact = True  # the gradient: not the sum of many updates

    def step(self) -> None:
        """Move `alpha` and `gradient`, in place."""
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

    # --- to go on later --------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return what must be kept to go on later as if nothing had happened."""
        return {"alpha": to_numpy(1.0 * self.alpha), "gradient": to_numpy(1.0 * self.gradient)}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.alpha = 1.0 * self.backend.asarray(kept["alpha"])
        self.gradient = 1.0 * self.backend.asarray(kept["gradient"])
        self.is_exact = False


@dataclass(frozen=True)
class Limits:
    """When a solve ends.

    Parameters
    ----------
    tol : float
        The largest `max|g|` that counts as solved.
    max_iter : int or None
    deadline : Deadline
    """

    tol: float
    max_iter: int | None = None
    deadline: Deadline = NEVER

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Models saved by version 0.1.0 have None where there is no deadline.
        self.__dict__.update(state, deadline=state["deadline"] or NEVER)


@dataclass
class Solution:
    """A value, a status and statistics."""

    alpha: Array
    status: str  # "converged", "max_iter", "time_limit", "callback", "interrupted", "stalled"
    norm: float
    n_iter: int
    seconds: float
    kernel_passes: float  # kernel entries evaluated, over n^2
    history: list[tuple] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the gradient, computed from scratch, is as small as was asked for."""
        return self.status == "converged"

    def followed_by(self, other: Solution) -> Solution:
        """Return what both solves are together, the other having begun where this one ended."""
        later = [(f, g, self.seconds + t, passes) for f, g, t, passes in other.history[1:]]
        return replace(
            other,
            n_iter=self.n_iter + other.n_iter,
            seconds=self.seconds + other.seconds,
            history=self.history + later,
        )

    def history_array(self) -> np.ndarray:
        """Return a structured array, one line an iteration."""
        return np.array(self.history, dtype=HISTORY_FIELDS)


def solve(
    solver: Solver,
    limits: Limits,
    watch: Callable[[Solver, int], bool] | None = None,
    first: int = 0,
) -> Solution:
    """Drive a solver until its gradient is small.

    Parameters
    ----------
    solver : Solver
    limits : Limits
    watch : callable, optional
        Called with the solver and the number of steps after every step; a true result ends the
        solve.
    first : int
        Steps made before, where a solve goes on.
    """
    with numpy_threads_only():
        return _solve(solver, limits, watch, first)


def _solve(
    solver: Solver, limits: Limits, watch: Callable[[Solver, int], bool] | None, first: int
) -> Solution:
    begin = time.perf_counter()
    history: list[tuple] = []
    n_iter, status, progress = first, "", _Progress()
    try:
        _note(history, solver, begin)
        while True:
            if solver.norm <= limits.tol and not solver.is_exact:
                solver.refresh()
            if solver.norm <= limits.tol:
                break
            status = _why_stop(limits, n_iter) or progress.status(solver)
            if status:
                break
            solver.is_exact = False
            solver.step()
            n_iter += 1
            _note(history, solver, begin)
            if not np.isfinite(history[-1][1]):
                status = "stalled"
                break
            if watch is not None and watch(solver, n_iter):
                status = "callback"
                break
    except KeyboardInterrupt:
        status = "interrupted"
    status = status or "converged"
    passes = solver.system.entries / solver.system.n**2
    seconds = time.perf_counter() - begin
    return Solution(solver.alpha, status, solver.norm, n_iter, seconds, passes, history)


class _Progress:
    """Whether the gradient still shrinks, where rounding could be all that is left of it."""

    def __init__(self) -> None:
        self.best = self.best_exact = np.inf
        self.steps = self.looks = 0

    def status(self, solver: Solver) -> str:
        """Look at the gradient after a step, and return "stalled" or nothing."""
        norm = solver.norm
        self.steps += 1
        if norm < BETTER * self.best:
            self.best, self.steps = norm, 0
        self.looks += solver.is_exact
        if solver.is_exact and norm < BETTER * self.best_exact:
            self.best_exact, self.looks = norm, 0
        stuck = self.steps >= STEPS and norm <= IN_SIGHT * solver.rounding
        return "stalled" if stuck or self.looks >= EXACT_LOOKS else ""


def _why_stop(limits: Limits, n_iter: int) -> str:
    """Return which limit is reached, or nothing."""
    if limits.max_iter is not None and n_iter >= limits.max_iter:
        return "max_iter"
    if limits.deadline.passed:
        return "time_limit"
    return ""


def _note(history: list[tuple], solver: Solver, begin: float) -> None:
    passes = solver.system.entries / solver.system.n**2
    history.append((solver.objective, solver.norm, time.perf_counter() - begin, passes))
