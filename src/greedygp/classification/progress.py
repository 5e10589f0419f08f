"""The tasks of a classifier's fit as scikit-learn's callbacks see them."""

from __future__ import annotations

from typing import Any

from greedygp.classification.posterior import Posterior
from greedygp.classification.state import ClassificationState
from greedygp.sparse.progress import FitTasks, Stage

__all__ = ["ClassifierTasks"]

CARRIED = ("n_features_in_", "feature_names_in_", "classes_")


class ClassifierTasks(FitTasks):
    """Tells the estimator's callbacks what begins and what ends; a model per class or pair.

    `prior` is a state without a basis: the model of classes whose turn has not come yet.
    """

    def __init__(
        self, estimator: Any, context: Any, given: dict[str, Any], prior: list[ClassificationState]
    ):
        self.posteriors = [Posterior(state) for state in prior]
        self.current = 0
        super().__init__(estimator, context, given)

    def stage(self, name: str, steps: int, state: Any) -> Stage:
        """End the stage before, and begin one of at most so many steps that work on `state`."""
        return super().stage(name, steps, state)

    @property
    def state(self) -> Any:
        """What the stage under way works on."""
        return self._state

    def keep(self, state: ClassificationState) -> None:
        """Take note of the finished model of the current class, and go on to the next."""
        self.posteriors[self.current] = Posterior(state)
        self.current += 1
        self._state = None

    def finish(self) -> None:
        """End the fit."""
        self._end_stage()
        self._end(self.context)

    def _so_far(self) -> dict[str, Any]:
        """Return what the model would be if the fit ended now."""
        known = vars(self.estimator)
        posteriors = list(self.posteriors)
        if self._state is not None:
            posteriors[self.current] = Posterior(self._state)  # type: ignore[arg-type]
        now = {name: known[name] for name in CARRIED if name in known}
        return now | {"_posteriors": posteriors}
