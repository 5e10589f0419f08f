"""The solve of a full GP as a use of the greedy loop: an action is one step of a solver.

The loop ends when `max|g|`, the largest entry of the gradient, is small. Before that is believed
the gradient is recomputed from scratch. It may end earlier, where all that is wanted of the
solution is certain enough. It ends as well where rounding lets no solver go on. What comes out is a
value, a status and statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from greedygp import greedy
from greedygp.arrays import Array
from greedygp.dense.solvers.base import Solver
from greedygp.greedy import Action, GreedyModel, Path, Stopping
from greedygp.progress import NEVER, Deadline
from greedygp.threads import numpy_threads_only

__all__ = ["HISTORY_FIELDS", "Limits", "Solution", "solve"]

HISTORY_FIELDS = np.dtype(
    [
        ("objective", np.float64),
        ("gradient_norm", np.float64),
        ("seconds", np.float64),
        ("kernel_passes", np.float64),
    ]
)

NOTABLE = 0.9  # a norm below this share of the smallest so far counts as progress
MOST_IDLE_LOOKS = 3  # gradients from scratch without progress: it is rounding that is left
MOST_IDLE_STEPS = 100  # without progress, near rounding
NEAR_ROUNDING = 10.0  # times what rounding leaves of the gradient
MOST_STEPS_BELIEVED = 30  # steps through which a gradient is carried, where digits are not wanted

STEP = Action(0, np.nan, "step")


@dataclass(frozen=True)
class Limits:
    """When a solve ends.

    Parameters
    ----------
    tol : float
        The largest `max|g|` that counts as solved.
    max_iter : int or None
        The most steps.
    """

    tol: float
    max_iter: int | None = None


@dataclass
class Solution:
    """A value, a status and statistics."""

    alpha: Array
    # "converged", "max_iter", "time_limit", "callback", "interrupted", "stalled", "hopeless"
    status: str
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
        """Return a structured array: one line for the start, and one for every step."""
        return np.array(self.history, dtype=HISTORY_FIELDS)


def solve(
    solver: Solver,
    limits: Limits,
    watch: Callable[[Solver, int], bool] | None = None,
    *,
    deadline: Deadline = NEVER,
    first: int = 0,
    gives_up: Callable[[Solver], bool] | None = None,
    is_enough: Callable[[Solver], bool] | None = None,
) -> Solution:
    """Make steps until the gradient is small.

    Parameters
    ----------
    solver : Solver
        Changed in place.
    limits : Limits
    watch : callable, optional
        Called with the solver and the number of steps after every step; a true result ends the
        solve.
    deadline : Deadline
        A direct solver makes its first step all the same.
    first : int
        Steps made before, where a solve goes on.
    gives_up : callable, optional
        Called with the solver at the start and after every step; a true result ends the solve as
        "hopeless".
    is_enough : callable, optional
        Called with the solver after every step; a true result ends the solve as "converged",
        however large the gradient is.
    """

    def after_step(path: Path) -> bool:
        if watch is None or not np.isfinite(descent.norm):
            return False
        return watch(solver, first + len(path) - 1)

    with numpy_threads_only():
        begin = time.perf_counter()
        descent = Descent(solver, limits.tol, gives_up, is_enough)
        path = Path(HISTORY_FIELDS, [descent.line(STEP, 0.0)])  # the start
        path.seconds = time.perf_counter() - begin
        most = None if limits.max_iter is None else limits.max_iter - first + len(path)
        # A direct solver has paid for its only step when it has its factor. The path has the start.
        least = 0 if solver.descends else 2
        stopping = Stopping(max_steps=most, deadline=deadline, least_steps=least)
        greedy.run(descent, stopping, after_step, path)
    return Solution(
        solver.alpha,
        path.reason,
        solver.norm,
        first + len(path) - 1,
        path.seconds,
        _kernel_passes(solver),
        path.steps,
    )


class Descent(GreedyModel):
    """A solver as the loop sees it.

    Parameters
    ----------
    solver : Solver
    tol : float
        The largest `max|g|` that counts as solved.
    gives_up, is_enough : callable or None
        See :func:`solve`.
    """

    fields = HISTORY_FIELDS
    nothing_left = "stalled"

    def __init__(
        self,
        solver: Solver,
        tol: float,
        gives_up: Callable[[Solver], bool] | None,
        is_enough: Callable[[Solver], bool] | None,
    ):
        self.solver, self.tol = solver, tol
        self.gives_up, self.is_enough = gives_up, is_enough
        self.norm = np.inf  # of the solver's present gradient
        self._carried = 0  # steps since the gradient was computed from scratch
        self._best = self._best_exact = np.inf
        self._idle_steps = self._idle_looks = 0

    @property
    def size(self) -> int:
        """All dual variables are there from the start."""
        return self.solver.system.n

    def done(self) -> str | None:
        if not np.isfinite(self.norm):
            return "stalled"
        if self.gives_up is not None and self.gives_up(self.solver):
            return "hopeless"
        if not self._is_solved():
            return None
        if not self.solver.is_exact and (
            self.norm <= self.tol or self._carried > MOST_STEPS_BELIEVED
        ):
            self.solver.refresh()
            self.norm, self._carried = self.solver.norm, 0
            return "converged" if self._is_solved() else None
        return "converged"

    def _is_solved(self) -> bool:
        return self.norm <= self.tol or (self.is_enough is not None and self.is_enough(self.solver))

    def propose(self) -> Action | None:
        return None if self._is_stuck() else STEP

    def act(self, action: Action) -> None:
        self.solver.is_exact = False
        self._carried += 1
        self.solver.step()

    def line(self, action: Action, seconds: float) -> tuple:
        self.norm = self.solver.norm
        return self.solver.objective, self.norm, seconds, _kernel_passes(self.solver)

    def _is_stuck(self) -> bool:
        """Look at the gradient: does it still shrink, or is rounding all that is left of it?"""
        is_exact = self.solver.is_exact
        self._idle_steps += 1
        if self.norm < NOTABLE * self._best:
            self._best, self._idle_steps = self.norm, 0
        self._idle_looks += is_exact
        if is_exact and self.norm < NOTABLE * self._best_exact:
            self._best_exact, self._idle_looks = self.norm, 0
        if self._idle_looks >= MOST_IDLE_LOOKS:
            return True
        many = self._idle_steps >= MOST_IDLE_STEPS
        return many and self.norm <= NEAR_ROUNDING * self.solver.rounding


def _kernel_passes(solver: Solver) -> float:
    return solver.system.entries / solver.system.n**2
