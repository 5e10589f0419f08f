"""The actions of a fit as scikit-learn's callbacks see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["FitActions"]

CARRIED = ("n_features_in_", "feature_names_in_", "classes_")


class FitActions:
    """Tells the estimator's callbacks what begins and what ends.

    Parameters
    ----------
    estimator : CallbackSupportMixin
    given : dict
        What `fit` was given: X, y, metadata.
    """

    def __init__(self, estimator: Any, given: dict[str, Any]):
        self.estimator, self.given = estimator, given
        self.watched = bool(getattr(estimator, "_skl_callbacks", None))
        self.context = estimator._init_callback_context(max_subtasks=None)
        self.context.call_on_fit_task_begin(estimator=estimator, **given)

    def step(self, name: str, now: Callable[[], dict[str, Any]]) -> bool:
        """Report an action; `now` gives the fitted attributes as of now. True: stop."""
        if not self.watched:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator, **self.given)
        return self._end(task, now)

    def end(self, now: Callable[[], dict[str, Any]]) -> None:
        """Report that the fit is over."""
        self._end(self.context, now)

    def _end(self, task: Any, now: Callable[[], dict[str, Any]]) -> bool:
        def attributes() -> dict[str, Any]:
            known = vars(self.estimator)
            return {name: known[name] for name in CARRIED if name in known} | now()

        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=attributes, **self.given
            )
        )
