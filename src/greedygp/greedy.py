"""THE loop: every greedy algorithm of the library runs on this page.

A :class:`GreedyModel` knows what could be done next and what that is worth. The loop knows the
order of events: ask for the best action, perform it, write a line of the path, look whether to
stop; and in the end go back to the best size that was seen. Ctrl-C and the clock end it between two
actions, and the model holds what was reached.

========================  ===============================  =======================================
use of the loop           an action                        where
========================  ===============================  =======================================
forward selection         add a basis vector               `sparse`, `classification`, `linear`
                                                           (OLS and RFS): :class:`ForwardSelection`
add, re-estimate, delete  change one basis function        `linear`: fast GCV, fast RVM
one weight after another  set the next one to its optimum  `linear`: local ridge
renewals                  renew a linear approximation,    `linear`: the classifier
                          with actions of the loop inside
descent of a full GP      one step: a block, a direction   `dense`: every solver
========================  ===============================  =======================================

Descent over hyperparameters is not greedy: L-BFGS owns its loop (`minimise.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from greedygp.progress import NEVER, Deadline

__all__ = [
    "Action",
    "CannotGoOnError",
    "ForwardSelection",
    "GreedyModel",
    "Path",
    "Stopping",
    "run",
]


@dataclass(frozen=True)
class Action:
    """What to do next: to which candidate, chosen by which score (the lowest wins)."""

    index: int
    score: float
    name: str = "add"
    detail: Any = None  # whatever the model needs to perform it


class CannotGoOnError(Exception):
    """Raised by a model whose numbers can no longer be trusted; `reason` ends the path."""

    reason = "ill_conditioned"


class GreedyModel:
    """What the loop needs of a model that changes by one action at a time."""

    fields: np.dtype  # of a line of the path
    nothing_left = "exhausted"  # why the loop ends where no action is proposed

    @property
    def size(self) -> int:
        """How many basis vectors the model has."""
        raise NotImplementedError

    @property
    def value(self) -> float:
        """The model's measure, the lower the better."""
        return np.nan

    @property
    def progress(self) -> float:
        """What must fall for patience to last: the measure itself, unless a model knows better."""
        return self.value

    def done(self) -> str | None:
        """Return why nothing needs to be done any more ("converged", say), or None."""
        return None

    def propose(self) -> Action | None:
        """Return the best action; None: nothing is left that is worth it.

        :meth:`done` is asked again then, and its reason goes before :attr:`nothing_left`.
        """
        raise NotImplementedError

    def act(self, action: Action) -> None:
        """Perform an action, in place."""
        raise NotImplementedError

    def line(self, action: Action, seconds: float) -> tuple:
        """Return the path's line about the action that was just performed."""
        raise NotImplementedError

    def go_back(self, size: int) -> None:
        """Return to an earlier size, in place.

        A model that is larger than what is used of it stays as it is: `Path.size` tells.
        """

    def recover(self) -> None:
        """Return to the last state that could be trusted, in place."""


@dataclass
class Path:
    """What happened, one line per action."""

    fields: np.dtype
    steps: list[tuple] = field(default_factory=list)
    reason: str = ""
    seconds: float = 0.0
    size: int = 0  # after the last complete action; when the loop has ended, what it went back to

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def broken_off(self) -> bool:
        """Whether somebody asked for the end: Ctrl-C, or a callback."""
        return self.reason in ("interrupted", "callback")

    @property
    def cut_short(self) -> bool:
        """Whether it was broken off, or its time was up."""
        return self.broken_off or self.reason == "time_limit"

    def as_array(self) -> np.ndarray:
        """Return the lines as a structured array."""
        return np.array(self.steps, dtype=self.fields)

    def elsewhere(self, places: Callable[[np.ndarray], np.ndarray]) -> Path:
        """Return the same path where what its field `index` counts has other places."""
        steps = self.as_array()
        steps["index"] = places(steps["index"])
        return replace(self, steps=steps.tolist())


@dataclass
class Stopping:
    """When to stop, and which size to go back to.

    Parameters
    ----------
    max_size : int or None
        The largest size; the reason is "max_basis".
    max_steps : int or None
        The most actions; the reason is "max_iter".
    patience : int or None
        Steps without a new minimum, of the measure or of the progress, before stopping. None:
        never stop for that, and keep every step.
    tol : float
        Relative improvement of the measure that counts as a new minimum.
    deadline : Deadline
        When to stop; the reason is "time_limit".
    least_steps : int
        So many actions are made whatever the clock says.
    empty_value : float
        The measure of the empty model: where no size is better, the loop goes back to none.
    """

    max_size: int | None = None
    max_steps: int | None = None
    patience: int | None = None
    tol: float = 0.0
    deadline: Deadline = NEVER
    least_steps: int = 1
    empty_value: float = np.inf
    best: float = np.inf
    best_size: int = 0
    _furthest: float = np.inf
    _last_progress: int = 0

    def observe(self, model: GreedyModel) -> None:
        """Take note of a step."""
        if self.patience is None:
            return
        size, value, progress = model.size, model.value, model.progress
        if self._is_better(value, self.best, self.best_size):
            self.best, self.best_size = value, size
            self._last_progress = size
        if self._is_better(progress, self._furthest, self._last_progress):
            self._furthest, self._last_progress = progress, size

    def _is_better(self, value: float, best: float, size: int) -> bool:
        return size == 0 or not np.isfinite(best) or value < best - self.tol * abs(best)

    def reason(self, model: GreedyModel, steps: int) -> str | None:
        """Return why to stop after so many steps, or None."""
        if self.patience is not None and model.size - self._last_progress >= self.patience:
            return "patience"
        if self.max_steps is not None and steps >= self.max_steps:
            return "max_iter"
        if steps >= self.least_steps and self.deadline.passed:
            return "time_limit"
        if self.max_size is not None and model.size >= self.max_size:
            return "max_basis"
        return None

    def size_to_keep(self, size: int) -> int:
        """Return the size to go back to."""
        if self.patience is None:
            return size
        return self.best_size if self.best < self.empty_value else 0


def run(
    model: GreedyModel,
    stopping: Stopping,
    watch: Callable[[Path], bool] | None = None,
    path: Path | None = None,
) -> Path:
    """Act greedily until there is a reason to stop, and go back to the best.

    Parameters
    ----------
    model : GreedyModel
        Changed in place.
    stopping : Stopping
    watch : callable, optional
        Called with the path after every step; a true result stops the loop.
    path : Path, optional
        An earlier one to go on with.

    Returns
    -------
    Path
        Its `reason` says what ended it: one of the model's own, one of :class:`Stopping`'s,
        "callback" or "interrupted" (Ctrl-C).
    """
    path = Path(model.fields) if path is None else path
    begin = time.perf_counter() - path.seconds
    try:
        path.reason = _steps(model, stopping, watch, path, begin)
    except KeyboardInterrupt:
        path.reason = "interrupted"
    except CannotGoOnError as error:
        path.reason = error.reason
        model.recover()
    path.seconds = time.perf_counter() - begin
    path.size = stopping.size_to_keep(path.size)
    model.go_back(path.size)
    return path


def _steps(
    model: GreedyModel,
    stopping: Stopping,
    watch: Callable[[Path], bool] | None,
    path: Path,
    begin: float,
) -> str:
    """Make one step after the other; return why they ended."""
    while True:
        reason = model.done() or stopping.reason(model, len(path))
        if reason is not None:
            return reason
        action = model.propose()
        if action is None:
            return model.done() or model.nothing_left
        model.act(action)
        path.steps.append(model.line(action, time.perf_counter() - begin))
        path.size = model.size
        stopping.observe(model)
        if watch is not None and watch(path):
            return "callback"


class ForwardSelection(GreedyModel):
    """A model that grows by one of several candidates at a time, the one of the lowest score.

    A subclass offers :meth:`candidates`, adds one with :meth:`add`, and has a `size`.
    """

    fields = np.dtype(
        [("index", np.int64), ("value", np.float64), ("score", np.float64), ("seconds", np.float64)]
    )
    _value = np.inf

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return candidates and what each is worth (the lowest wins); none left: empty arrays."""
        raise NotImplementedError

    def add(self, index: int) -> float:
        """Add one of the candidates, in place, and return the model's measure after that."""
        raise NotImplementedError

    @property
    def value(self) -> float:
        return self._value

    def propose(self) -> Action | None:
        index, score = self.candidates()
        if len(index) == 0:
            return None
        best = first_lowest(index, score)
        return Action(int(index[best]), float(score[best]))

    def act(self, action: Action) -> None:
        self._value = self.add(action.index)

    def line(self, action: Action, seconds: float) -> tuple:
        return action.index, self.value, action.score, seconds


def first_lowest(index: np.ndarray, score: np.ndarray) -> int:
    """Return the place of the lowest score; of scores that differ by rounding, the lowest index."""
    score = np.where(np.isnan(score), np.inf, score)  # what is not known is not chosen
    lowest = float(np.min(score))
    margin = 1e-12 * max(abs(lowest), 1e-300) if np.isfinite(lowest) else 0.0
    tied = np.flatnonzero(score <= lowest + margin)
    return int(tied[np.argmin(index[tied])])
