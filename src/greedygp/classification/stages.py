"""The stages of a classifier's fit as callbacks see them: one class is under way, others wait."""

from __future__ import annotations

from collections.abc import Sequence

from greedygp.classification.posterior import Posterior
from greedygp.classification.state import ClassificationState
from greedygp.progress import FitProgress, LaterStage, Stage

__all__ = ["ClassStages"]


class ClassStages:
    """Tells callbacks of the stages in which the model of one class is fitted.

    Parameters
    ----------
    progress : FitProgress
    posteriors : sequence of Posterior
        Those of all classes as far as they are known.
    place : int
        Which of them is being fitted.
    """

    def __init__(self, progress: FitProgress, posteriors: Sequence[Posterior], place: int):
        self.progress, self.posteriors, self.place = progress, posteriors, place

    def begin(self, name: str, steps: int, state: ClassificationState) -> Stage:
        """Begin a stage of at most so many steps, in which the model of the class is `state`."""
        return self.progress.stage(name, steps, lambda: self._fitted(state))

    def later(self, name: str, steps: int, state: ClassificationState) -> LaterStage:
        """Return such a stage that begins with its first step."""
        return self.progress.later_stage(name, steps, lambda: self._fitted(state))

    def _fitted(self, state: ClassificationState) -> dict[str, list[Posterior]]:
        """Return what the estimator would have if the fit ended now."""
        posteriors = list(self.posteriors)
        posteriors[self.place] = Posterior(state)
        return {"_posteriors": posteriors}
