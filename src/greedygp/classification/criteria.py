"""Who is proposed as the next basis vector, and what a candidate is worth.

==============  ==============================================  ==================================
criterion       candidates of a step                            score (the lowest wins)
==============  ==============================================  ==================================
`entropy`       the best of all rows outside the basis          `log(1 - nu_i a_i)`
`info_gain`     the best of all rows outside the basis          `-KL(new marginal || old)` of f_i
`validation`    a random working set                            NLP (4) outside the basis
`random`        one at random                                   the same
`adaptive`      drawn by the predicted chance of error (11)     NLP_a (5) over all rows
`violated`      the one most surely wrong                       `log Phi(y (f + b) / sqrt(1 + a))`
==============  ==============================================  ==================================

The first two and the last cost O(n) per step. The others evaluate the columns of A of c candidates
in one product, O(c n m), and their losses elementwise. To add a criterion, write a subclass and
list it in `CRITERIA`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from greedygp.classification.candidate_losses import coefficients, losses
from greedygp.classification.sites import Moments
from greedygp.classification.state import ClassificationState

__all__ = ["CRITERIA", "Candidates", "Criterion"]


@dataclass(frozen=True)
class Candidates:
    """Rows that may come in next, and with what."""

    index: np.ndarray  # (c,)
    columns: np.ndarray  # (c, n): their columns of A
    moments: Moments  # what their likelihoods say, given their marginals
    means: np.ndarray  # (c,): of their sites
    precisions: np.ndarray


class Criterion:
    """A way to choose the next basis vector."""

    name: str
    working_set = 1  # candidates of a step, unless the user says how many

    def propose(self, state: ClassificationState, count: int, rng: Generator) -> np.ndarray:
        """Return the candidates of a step, at most `count` of the rows outside the basis."""
        raise NotImplementedError

    def score(self, state: ClassificationState, candidates: Candidates) -> np.ndarray:
        """Return what each candidate is worth (c,), the lower the better."""
        raise NotImplementedError


class MarginalCriterion(Criterion):
    """Looks at every row's own marginal, which costs little, and proposes the best row alone."""

    def propose(self, state: ClassificationState, count: int, rng: Generator) -> np.ndarray:
        outside = np.flatnonzero(state.outside)
        worth = self.worth(state.moments(outside), state.a[outside])
        return outside[[int(np.argmin(worth))]]

    def score(self, state: ClassificationState, candidates: Candidates) -> np.ndarray:
        return self.worth(candidates.moments, state.a[candidates.index])

    def worth(self, moments: Moments, variance: np.ndarray) -> np.ndarray:
        """Return the score of rows from their moments and the variances of their marginals."""
        raise NotImplementedError


class Entropy(MarginalCriterion):
    """The entropy of the row's latent value falls most (informative vector machine)."""

    name = "entropy"

    def worth(self, moments: Moments, variance: np.ndarray) -> np.ndarray:
        return np.log(moments.shrinkage)


class InformationGain(MarginalCriterion):
    """The marginal after the row has come in is furthest from the one before."""

    name = "info_gain"

    def worth(self, moments: Moments, variance: np.ndarray) -> np.ndarray:
        shift = variance * moments.alpha**2
        return -0.5 * (-np.log(moments.shrinkage) + moments.shrinkage - 1.0 + shift)


class MostViolated(Criterion):
    """The row whose class is predicted with the least probability; noisy rows mislead it."""

    name = "violated"

    def propose(self, state: ClassificationState, count: int, rng: Generator) -> np.ndarray:
        outside = np.flatnonzero(state.outside)
        return outside[[int(np.argmin(state.log_probability[outside]))]]

    def score(self, state: ClassificationState, candidates: Candidates) -> np.ndarray:
        return state.log_probability[candidates.index]


class LossCriterion(Criterion):
    """Judges a few candidates by the predictive loss after each of them has come in."""

    only_outside: bool  # whether rows of the basis have no part in the loss: (4) instead of (5)

    def score(self, state: ClassificationState, candidates: Candidates) -> np.ndarray:
        index = candidates.index
        alpha, eta = coefficients(state, index, candidates.means, candidates.precisions)
        return losses(state, index, candidates.columns, alpha, eta, only_outside=self.only_outside)


class Validation(LossCriterion):
    """Random candidates, judged by the rows outside the basis."""

    name = "validation"
    working_set = 59
    only_outside = True

    def propose(self, state: ClassificationState, count: int, rng: Generator) -> np.ndarray:
        outside = np.flatnonzero(state.outside)
        return np.sort(rng.choice(outside, min(count, len(outside)), replace=False))


class Random(Validation):
    """Any row: with a working set of one there is nothing to choose."""

    name = "random"
    working_set = 1


class Adaptive(LossCriterion):
    """Candidates drawn by their predicted chance of error, judged by all rows."""

    name = "adaptive"
    working_set = 2
    only_outside = False

    def propose(self, state: ClassificationState, count: int, rng: Generator) -> np.ndarray:
        """Draw rows with probability proportional to (11), by the row's weight."""
        chance = -np.expm1(state.log_probability)
        chance *= state.mass
        chance[~state.outside] = 0.0
        drawn: list[int] = []
        for _ in range(min(count, int(np.sum(state.outside)))):
            total = np.cumsum(chance)
            if total[-1] <= 0.0:  # every row that is left is certain: any will do
                chance = state.outside.astype(np.float64)
                chance[drawn] = 0.0
                total = np.cumsum(chance)
            place = np.searchsorted(total, rng.random() * total[-1], side="right")
            place = min(int(place), int(np.flatnonzero(chance)[-1]))
            drawn.append(place)
            chance[place] = 0.0
        return np.array(sorted(drawn), dtype=np.intp)


CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Adaptive(),
        Validation(),
        Entropy(),
        InformationGain(),
        Random(),
        MostViolated(),
    )
}
