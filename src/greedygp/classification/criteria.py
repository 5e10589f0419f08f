"""Who is proposed as the next basis vector, and by what it is judged.

==============  ==============================================  ==================================
criterion       candidates of a step                            score (the lowest wins)
==============  ==============================================  ==================================
`entropy`       all rows outside the basis                      `log(1 - nu_i a_i)`
`info_gain`     all rows outside the basis                      `-KL(new marginal || old)` of f_i
`validation`    a random working set                            NLP (4) outside the basis
`random`        one at random                                   the same
`adaptive`      drawn by the predicted chance of error (11)     NLP_a (5) over all rows
==============  ==============================================  ==================================

The first two cost O(n) a step. The others evaluate the columns of A of c candidates in one product,
O(c n m), and their losses elementwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from greedygp.classification.loss import coefficients, losses
from greedygp.classification.objectives import loo_loss
from greedygp.classification.search import optimised_sites
from greedygp.classification.sites import Moments, probit_moments
from greedygp.classification.state import ClassificationState
from greedygp.greedy import ForwardSelection, Path, Stopping, run
from greedygp.threads import serial_blas, thread_count

__all__ = ["CRITERIA", "WORKING_SETS", "ClassificationSelector", "grow"]

CRITERIA = ("adaptive", "validation", "entropy", "info_gain", "random")
WORKING_SETS = {"adaptive": 2, "validation": 59, "random": 1}
NOTHING = (np.empty(0, dtype=np.intp), np.empty(0))


def grow(
    selector: ClassificationSelector,
    stopping: Stopping,
    watch: Callable[[Path], bool] | None = None,
) -> Path:
    """Run the greedy loop; its products are too small for threads, which would only wait."""
    with serial_blas(thread_count()):
        return run(selector, stopping, watch)


class ClassificationSelector(ForwardSelection):
    """The classification family's side of the greedy loop.

    Parameters
    ----------
    state : ClassificationState
    criterion : str
    working_set : int or None
        Candidates a step; None: the criterion's own number.
    optimise : bool
        Whether sites are optimised, not only matched.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        state: ClassificationState,
        criterion: str,
        *,
        working_set: int | None,
        optimise: bool,
        rng: np.random.Generator,
    ):
        self.state, self.criterion, self.rng = state, criterion, rng
        self.working_set = working_set or WORKING_SETS.get(criterion, 1)
        self.optimise = optimise
        self._index, self._columns = NOTHING[0], np.empty((0, 0))
        self._sites = (np.empty(0), np.empty(0))

    @property
    def size(self) -> int:
        """How many basis vectors there are."""
        return self.state.size

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of this step and their scores."""
        members = np.flatnonzero(self.state.outside)
        if len(members) == 0:
            return NOTHING
        if self.criterion in ("entropy", "info_gain"):
            return self._propose_by_marginal(members)
        if self.criterion == "adaptive":
            index = self._draw_by_chance_of_error()
        else:
            count = min(self.working_set, len(members))
            index = np.sort(self.rng.choice(members, count, replace=False))
        self._evaluate(index)
        alpha, eta = coefficients(self.state, index, *self._sites)
        outside = self.criterion != "adaptive"
        score = losses(self.state, index, self._columns, alpha, eta, only_outside=outside)
        return index, score

    def _propose_by_marginal(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score every row by its own marginal and propose the best alone."""
        moments = self._moments(members)
        log_shrinkage = np.log(moments.shrinkage)
        if self.criterion == "entropy":
            score = log_shrinkage
        else:
            shift = self.state.a[members] * moments.alpha**2
            score = -0.5 * (-log_shrinkage + moments.shrinkage - 1.0 + shift)
        best = int(np.argmin(score))
        self._evaluate(members[best : best + 1])
        return self._index, score[best : best + 1]

    def _moments(self, index: np.ndarray) -> Moments:
        state = self.state
        weights = None if state.weights is None else state.weights[index]
        return probit_moments(state.f[index], state.a[index], state.y[index], state.bias, weights)

    def _draw_by_chance_of_error(self) -> np.ndarray:
        """Draw rows with probability proportional to (11), by the row's weight."""
        chance = -np.expm1(self.state.log_probability)
        chance *= self.state.mass
        chance[~self.state.outside] = 0.0
        drawn: list[int] = []
        for _ in range(min(self.working_set, int(np.sum(self.state.outside)))):
            total = np.cumsum(chance)
            if total[-1] <= 0.0:  # every row that is left is certain: any will do
                chance = self.state.outside.astype(np.float64)
                chance[drawn] = 0.0
                total = np.cumsum(chance)
            place = np.searchsorted(total, self.rng.random() * total[-1], side="right")
            place = min(int(place), int(np.flatnonzero(chance)[-1]))
            drawn.append(place)
            chance[place] = 0.0
        return np.array(sorted(drawn), dtype=np.intp)

    def _evaluate(self, index: np.ndarray) -> None:
        """Compute the columns and sites of the candidates."""
        state, moments = self.state, self._moments(index)
        self._index, self._columns = index, state.columns(index)
        self._sites = moments.site_mean, moments.site_precision
        if self.optimise:
            self._sites = optimised_sites(state, index, self._columns, *self._sites)

    def add(self, index: int) -> float:
        """Append one of the proposed rows and return the leave-one-out NLP after that."""
        place = int(np.flatnonzero(self._index == index)[0])
        means, precisions = self._sites
        column = self._columns[place]
        self.state.append(index, float(means[place]), float(precisions[place]), column)
        return loo_loss(self.state)

    def go_back(self, size: int) -> None:
        """Return to the first so many basis vectors, in place."""
        if size < self.state.size:
            self.state.truncate(size)
