"""The tasks of a fit as scikit-learn's callbacks see them: select and optimise by turns."""

from __future__ import annotations

from typing import Any

from greedygp.sparse.posterior import Posterior
from greedygp.sparse.state import SparseState

__all__ = ["FitTasks"]

# what a callback's copy of the model needs besides the posterior
CARRIED = ("n_features_in_", "feature_names_in_", "_scale", "_target_shape")


class FitTasks:
    """Tells the estimator's callbacks what begins and what ends.

    Parameters
    ----------
    estimator : CallbackSupportMixin
    context : callback context of the fit
    given : dict
        What `fit` was given: X, y, metadata.
    """

    def __init__(self, estimator: Any, context: Any, given: dict[str, Any]):
        self.estimator, self.context, self.given = estimator, context, given
        self._state: SparseState | None = None
        self._open: Stage | None = None
        self._begin(context)

    def stage(self, name: str, steps: int, state: SparseState) -> Stage:
        """End the stage before, and begin one of at most so many steps that work on `state`."""
        self._end_stage()
        self._state = state
        self._open = Stage(self, self.context.subcontext(task_name=name, max_subtasks=steps))
        return self._open

    def end(self, state: SparseState) -> None:
        """End the fit, whose model is in `state`."""
        self._end_stage()
        self._state = state
        self._end(self.context)

    def _end_stage(self) -> None:
        if self._open is not None:
            self._end(self._open.context)
            self._open = None

    def _begin(self, task: Any) -> None:
        task.call_on_fit_task_begin(estimator=self.estimator, **self.given)

    def _end(self, task: Any) -> bool:
        return task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self._so_far, **self.given
        )

    def _so_far(self) -> dict[str, Any]:
        """Return what the model would be if the fit ended now."""
        now = {name: getattr(self.estimator, name) for name in CARRIED if name in self._known()}
        assert self._state is not None
        now |= {"kernel_": self._state.kernel, "noise_variance_": self._state.noise_variance}
        return now | {"_posterior": Posterior(self._state)}

    def _known(self) -> dict[str, Any]:
        return vars(self.estimator)


class Stage:
    """One stage of a fit, made of steps."""

    def __init__(self, tasks: FitTasks, context: Any):
        self.tasks, self.context = tasks, context
        tasks._begin(context)

    def step(self, name: str) -> bool:
        """Report a step that is done; a true result asks to stop."""
        step = self.context.subcontext(task_name=name)
        self.tasks._begin(step)
        return self.tasks._end(step)
