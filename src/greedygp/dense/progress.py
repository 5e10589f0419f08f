"""The solve of a full GP as scikit-learn's callbacks see it."""

from __future__ import annotations

from typing import Any

from greedygp.dense.solver import Solver

__all__ = ["SolveTasks"]

# what a callback's copy of the model needs besides the posterior
CARRIED = ("n_features_in_", "feature_names_in_", "_scale", "_target_shape")


class SolveTasks:
    """The solve as scikit-learn's callbacks see it: a task with one subtask a step."""

    def __init__(self, estimator: Any, given: dict[str, Any]):
        self.estimator, self.given = estimator, given
        self.model_of: Any = None
        self.solver: Solver | None = None
        self.context = estimator._init_callback_context(max_subtasks=estimator.max_iter)
        self.context.call_on_fit_task_begin(estimator=estimator, **given)

    def step(self, solver: Solver) -> bool:
        """Report a step that is done; a true result asks to stop."""
        self.solver = solver
        task = self.context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.given)
        return self._end(task)

    def end(self) -> None:
        """Report that the fit is done."""
        self._end(self.context)

    def _end(self, task: Any) -> bool:
        return task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self._so_far, **self.given
        )

    def _so_far(self) -> dict[str, Any]:
        """Return what the model would be if the fit ended now."""
        known = vars(self.estimator)
        now = {name: known[name] for name in CARRIED if name in known}
        now |= {name: known[name] for name in ("kernel_", "noise_variance_")}
        if self.solver is None:
            return now | {"_posterior": known.get("_posterior")}
        return now | {"_posterior": self.model_of(self.solver)}
