"""THE forward-selection loop, shared by every greedy family of the library.

A `Selector` knows the candidates, what each is worth, and how to add one; this page knows the
order of events: propose, take the best, add, look whether to stop, and in the end go back to the
best size that was seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

__all__ = ["SelectionPath", "Selector", "Stopping", "forward_selection"]

PATH_FIELDS = np.dtype(
    [("index", np.int64), ("value", np.float64), ("score", np.float64), ("seconds", np.float64)]
)


class Selector(Protocol):
    """What the loop needs of a model that grows."""

    @property
    def size(self) -> int:
        """How many basis vectors the model has."""

    def propose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return candidates and what each is worth (the lowest wins); none left: empty arrays."""

    def add(self, index: int) -> float:
        """Add one of the proposed candidates and return the model's measure after that."""

    def progress(self) -> float:
        """Return what must fall for the run to go on (often the measure itself)."""


@dataclass
class SelectionPath:
    """What happened, a step a line."""

    steps: list[tuple[int, float, float, float]] = field(default_factory=list)
    reason: str = "max_basis"

    def __len__(self) -> int:
        return len(self.steps)

    def as_array(self) -> np.ndarray:
        """Return the steps as a structured array with the fields index, value, score, seconds."""
        return np.array(self.steps, dtype=PATH_FIELDS)


@dataclass
class Stopping:
    """When to stop, and which size to go back to.

    Parameters
    ----------
    patience : int or None
        Steps without a new minimum, of the measure or of the progress, before stopping. None:
        never stop, and keep every step.
    tol : float
        Relative improvement of the measure that counts as a new minimum.
    deadline : float or None
        Value of `time.perf_counter()` at which to stop.
    """

    patience: int | None = None
    tol: float = 0.0
    deadline: float | None = None
    best: float = np.inf
    best_size: int = 0
    _furthest: float = np.inf
    _last_progress: int = 0

    def observe(self, size: int, value: float, progress: float) -> str | None:
        """Take note of a step; return why to stop, or None."""
        if self._is_better(value, self.best, self.best_size):
            self.best, self.best_size = value, size
            self._last_progress = size
        if self._is_better(progress, self._furthest, self._last_progress):
            self._furthest, self._last_progress = progress, size
        if self.patience is not None and size - self._last_progress >= self.patience:
            return "patience"
        if self.deadline is not None and time.perf_counter() > self.deadline:
            return "time_limit"
        return None

    def _is_better(self, value: float, best: float, size: int) -> bool:
        return size == 0 or not np.isfinite(best) or value < best - self.tol * abs(best)

    def size_to_keep(self, size: int) -> int:
        """Return the size to go back to."""
        return size if self.patience is None else self.best_size


def forward_selection(
    selector: Selector,
    limit: int,
    stopping: Stopping,
    after_step: Callable[[SelectionPath], bool] | None = None,
) -> SelectionPath:
    """Grow the selector's model, one basis vector at a time.

    Parameters
    ----------
    selector : Selector
    limit : int
        The largest size.
    stopping : Stopping
    after_step : callable, optional
        Called with the path after every step; a true result stops the loop.

    Returns
    -------
    SelectionPath
        Its `reason` says what ended it: "max_basis", "exhausted" (no candidate is left that is
        not numerically in the span of the basis), "patience", "time_limit", "callback" or
        "interrupted" (Ctrl-C: the model holds what was reached).
    """
    path = SelectionPath()
    start = time.perf_counter()
    try:
        while selector.size < limit:
            index, score = selector.propose()
            if len(index) == 0:
                path.reason = "exhausted"
                break
            best = first_lowest(index, score)
            value = selector.add(int(index[best]))
            path.steps.append(
                (int(index[best]), value, float(score[best]), time.perf_counter() - start)
            )
            reason = stopping.observe(selector.size, value, selector.progress())
            if after_step is not None and after_step(path):
                reason = "callback"
            if reason is not None:
                path.reason = reason
                break
    except KeyboardInterrupt:
        path.reason = "interrupted"
    return path


def first_lowest(index: np.ndarray, score: np.ndarray) -> int:
    """Return the place of the lowest score; of scores that differ by rounding, the lowest index."""
    lowest = float(np.min(score))
    tied = np.flatnonzero(score <= lowest + 1e-12 * max(abs(lowest), 1e-300))
    return int(tied[np.argmin(index[tied])])
