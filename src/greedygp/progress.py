"""How far a fit is: the clock that may end it, and what scikit-learn's callbacks are told.

A fit is a task with stages ("select", "optimise"), and a stage is made of steps. After every step a
callback may look at the model that the fit would give if it ended now, and may ask it to end. All
families tell their callbacks through :class:`FitProgress`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["NEVER", "Deadline", "FitProgress", "LaterStage", "Stage", "met_deadlines"]

# Where deadlines that are met are noted, if anyone wants to know.
_met: ContextVar[list[Deadline] | None] = ContextVar("met", default=None)

# What a callback's copy of the model needs besides the part that is being fitted.
CARRIED = ("n_features_in_", "feature_names_in_", "classes_", "_scale", "_target_shape")

FittedAttributes = dict[str, Any]


@dataclass(frozen=True)
class Deadline:
    """The moment at which work must end, as a value of `time.perf_counter()`; None: never."""

    moment: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the moment so many seconds from now; None: never."""
        return cls(None if seconds is None else time.perf_counter() + seconds)

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        late = self.moment is not None and time.perf_counter() > self.moment
        noted = _met.get()
        if late and noted is not None:
            noted.append(self)
        return late

    def share(self, share: float) -> Deadline:
        """Return the moment at which this share of the time that is left will have passed."""
        if self.moment is None:
            return self
        now = time.perf_counter()
        return Deadline(now + share * max(self.moment - now, 0.0))


NEVER = Deadline()


@contextmanager
def met_deadlines() -> Iterator[list[Deadline]]:
    """Give a list of the deadlines that end something while this lasts; empty: none did."""
    noted: list[Deadline] = []
    before = _met.set(noted)
    try:
        yield noted
    finally:
        _met.reset(before)


class FitProgress:
    """Tells an estimator's callbacks what begins and what ends.

    Parameters
    ----------
    estimator : CallbackSupportMixin
    given : dict
        What `fit` was given: X, y, metadata.
    max_subtasks : int or None
        The most stages, or the most steps where there are no stages; None: not known.
    """

    def __init__(self, estimator: Any, given: dict[str, Any], max_subtasks: int | None = None):
        self.estimator, self.given = estimator, given
        # What the fit has so far; the stages of the fit set it as they go.
        self.model: Callable[[], FittedAttributes] = dict
        self._watched = bool(getattr(estimator, "_skl_callbacks", None))
        self._context = estimator._init_callback_context(max_subtasks=max_subtasks)
        self._stage: Stage | None = None
        self._begin(self._context)

    def stage(self, name: str, steps: int | None, model: Callable[[], FittedAttributes]) -> Stage:
        """End the stage before and begin one of at most so many steps.

        `model` returns the fitted attributes as they would be if the fit ended now.
        """
        self._end_stage()
        self.model = model
        self._stage = Stage(self, self._context.subcontext(task_name=name, max_subtasks=steps))
        return self._stage

    def later_stage(
        self, name: str, steps: int | None, model: Callable[[], FittedAttributes]
    ) -> LaterStage:
        """Return a stage that begins with its first step, and not at all if there is none."""
        return LaterStage(lambda: self.stage(name, steps, model))

    def step(self, name: str) -> bool:
        """Report a step of a fit that has no stages; a true result asks to stop."""
        return self._step(self._context, name)

    def end(self, model: Callable[[], FittedAttributes] | None = None) -> None:
        """End the fit, whose fitted attributes `model` returns."""
        self._end_stage()
        self.model = model or self.model
        self._end(self._context)
        self.model = dict  # the stages hold this object and large arrays: no cycle keeps them

    def _end_stage(self) -> None:
        if self._stage is not None:
            self._end(self._stage.context)
            self._stage = None

    def _step(self, context: Any, name: str) -> bool:
        if not self._watched:
            return False
        task = context.subcontext(task_name=name)
        self._begin(task)
        return self._end(task)

    def _begin(self, task: Any) -> None:
        task.call_on_fit_task_begin(estimator=self.estimator, **self.given)

    def _end(self, task: Any) -> bool:
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=self._so_far, **self.given
            )
        )

    def _so_far(self) -> FittedAttributes:
        """Return what the model would be if the fit ended now."""
        known = vars(self.estimator)
        return {name: known[name] for name in CARRIED if name in known} | self.model()


class Stage:
    """One stage of a fit, made of steps."""

    def __init__(self, progress: FitProgress, context: Any):
        self.progress, self.context = progress, context
        progress._begin(context)

    def step(self, name: str) -> bool:
        """Report a step that is done; a true result asks to stop."""
        return self.progress._step(self.context, name)


class LaterStage:
    """A stage that begins with its first step."""

    def __init__(self, begin: Callable[[], Stage]):
        self._begin = begin
        self._stage: Stage | None = None

    def step(self, name: str) -> bool:
        """Report a step that is done; a true result asks to stop."""
        if self._stage is None:
            self._stage = self._begin()
        return self._stage.step(name)
