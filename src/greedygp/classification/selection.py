"""The classifier's use of the greedy loop, and the choice of a basis with given hyperparameters.

:class:`GreedyClassifier` is what `greedy.run` works on: it grows by one basis vector at a time,
whom a criterion proposes and judges. :class:`BasisSelector` is a stage of the fit, as often as
learning wants a basis: it runs the loop, revisits the sites by expectation propagation, and where
two criteria are open it keeps the better basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.classification.criteria import CRITERIA, Candidates, Criterion
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.propagation import propagate
from greedygp.classification.site_search import optimised_sites
from greedygp.classification.stages import ClassStages
from greedygp.classification.state import ClassificationState
from greedygp.greedy import ForwardSelection, Path, Stopping, run
from greedygp.progress import Deadline
from greedygp.threads import serial_blas, thread_count

__all__ = ["BasisSelector", "GreedyClassifier", "Selected", "grow"]

LARGE_PART = 4  # a basis of more than one row in so many is a large part of them


class GreedyClassifier(ForwardSelection):
    """A two-class model that grows by the best of the rows that a criterion proposes.

    Parameters
    ----------
    state : ClassificationState
        Changed in place.
    criterion : Criterion
    working_set : int or None
        Candidates of a step; None: the criterion's own number.
    optimise : bool
        Whether sites are optimised, not only matched.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        state: ClassificationState,
        criterion: Criterion,
        *,
        working_set: int | None,
        optimise: bool,
        rng: np.random.Generator,
    ):
        self.state, self.criterion, self.rng = state, criterion, rng
        self.working_set = working_set or criterion.working_set
        self.optimise = optimise
        self._candidates: Candidates

    @property
    def size(self) -> int:
        """How many basis vectors there are."""
        return self.state.size

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of this step and their scores."""
        if not np.any(self.state.outside):
            return np.empty(0, dtype=np.intp), np.empty(0)
        index = self.criterion.propose(self.state, self.working_set, self.rng)
        self._candidates = self._evaluated(index)
        return index, self.criterion.score(self.state, self._candidates)

    def _evaluated(self, index: np.ndarray) -> Candidates:
        """Return candidates with their columns and sites."""
        state, moments = self.state, self.state.moments(index)
        columns = state.columns(index)
        sites = moments.site_mean, moments.site_precision
        if self.optimise:
            sites = optimised_sites(state, index, columns, *sites)
        return Candidates(index, columns, moments, *sites)

    def add(self, index: int) -> float:
        """Append one of the candidates and return the leave-one-out NLP after that."""
        among = self._candidates
        place = int(np.flatnonzero(among.index == index)[0])
        mean, precision = float(among.means[place]), float(among.precisions[place])
        self.state.append(index, mean, precision, among.columns[place])
        return self.state.loo_loss()

    def go_back(self, size: int) -> None:
        """Return to the first so many basis vectors, in place."""
        if size < self.state.size:
            self.state.truncate(size)


def grow(
    model: GreedyClassifier, stopping: Stopping, watch: Callable[[Path], bool] | None = None
) -> Path:
    """Run the greedy loop; its products are too small for threads, which would only wait."""
    with serial_blas(thread_count()):
        return run(model, stopping, watch)


@dataclass
class Selected:
    """A basis with its sites, and how it came about."""

    state: ClassificationState
    path: Path
    criterion: Criterion | None = None  # None: nothing was selected


@dataclass(frozen=True)
class BasisSelector:
    """Selects a basis with given hyperparameters, by one criterion or by the better of several.

    Parameters
    ----------
    parameters : SparseGPClassifier
        Its parameters are read.
    data : LabelledRows
    limit : int
        The most basis vectors.
    rng : numpy.random.Generator
    stages : ClassStages
        Told of every basis vector.
    deadline : Deadline
        When to end with what there is.
    """

    parameters: Any
    data: LabelledRows
    limit: int
    rng: np.random.Generator
    stages: ClassStages
    deadline: Deadline

    @property
    def optimises_sites(self) -> bool:
        """Whether sites are optimised when their rows come in, and stay as they are then."""
        return self.parameters.sites == "optimized"

    @property
    def passes(self) -> int:
        """The most passes of expectation propagation over a basis."""
        return 0 if self.optimises_sites else self.parameters.ep_passes

    def select(self, point: LatentPoint, criterion: Criterion | None = None) -> Selected:
        """Return a basis chosen with the point's hyperparameters, its sites settled.

        Parameters
        ----------
        point : LatentPoint
        criterion : Criterion or None
            The only one to select by; None: all that are open, and the better basis is kept.
        """
        first, *others = self._criteria() if criterion is None else [criterion]
        best = self._select_by(first, point)
        for criterion in others:
            if best.path.cut_short:
                break
            other = self._select_by(criterion, point)
            if other.path.cut_short:  # the fit ends, with the basis that is complete
                best.path.reason = other.path.reason
            elif other.state.loo_loss() < best.state.loo_loss():
                best = other
        return best

    def _criteria(self) -> list[Criterion]:
        """Return the criteria to select by; of several the better basis is kept."""
        parameters, n = self.parameters, len(self.data)
        if parameters.criterion != "auto":
            names = [parameters.criterion]
        elif parameters.patience is not None or self.optimises_sites:
            names = ["adaptive"]
        elif self.limit == n:
            names = ["entropy"]
        else:
            names = ["adaptive", "entropy"] if LARGE_PART * self.limit >= n else ["adaptive"]
        return [CRITERIA[name] for name in names]

    def _select_by(self, criterion: Criterion, point: LatentPoint) -> Selected:
        parameters = self.parameters
        state = ClassificationState(point, self.data, capacity=self.limit)
        model = GreedyClassifier(
            state,
            criterion,
            working_set=parameters.working_set,
            optimise=self.optimises_sites,
            rng=self.rng,
        )
        stopping = Stopping(
            max_size=self.limit,
            patience=parameters.patience,
            tol=parameters.tol,
            deadline=self.deadline,
        )
        stage = self.stages.begin("select", self.limit, state)
        path = grow(model, stopping, lambda _: stage.step("basis vector"))
        before = state.sites
        try:
            self._propagate(state)
        except KeyboardInterrupt:  # the basis is there, with the sites it was selected with
            path.reason = "interrupted"
            state.replace(*before)
        return Selected(state, path, criterion)

    def _propagate(self, state: ClassificationState) -> None:
        """Revisit the sites, and go back if that does not serve the prediction."""
        if self.passes == 0 or state.size == 0:
            return
        before, loss = state.sites, state.loo_loss()
        propagate(state, self.passes)
        if state.loo_loss() > loss:
            state.replace(*before)
