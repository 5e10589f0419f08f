"""The criteria: what a basis is worth, and what a candidate would make of it.

Every criterion is a small class. `value(state)` is the measure of the present basis, exactly as
the papers print it; `score(state, candidates)` tells, for a block of candidates at once, what the
measure would be (lower is better). The class attributes say what a criterion needs:

* `needs_residual`: the candidates' new rows of Z (LOO measures);
* `needs_v`: their new rows of V (NLGPP with DTC);
* `needs_explained`: the rows' `q_i` at every step (information gain);
* `chooses_size`: the measure has a minimum that tells when to stop;
* `needs_targets`: candidates are scored by their own targets, so they must be training rows;
* `exact_fitc`: under FITC the measure is FITC's own, so candidates that pass the screening are
  scored exactly (every one of them changes Lambda in every row);
* `little_work`: a step takes a few products with vectors, which threads share with many rows only.

To add one, write a subclass and list it in `CRITERIA`. What is known of the basis is in the
properties of `SparseState`, what is known of each candidate in the attributes of `Candidates`: with
`gain`, `d2` and `e2` the evidence and the posterior need one line each.

Equation numbers (2)-(4) are those of Sundararajan, Keerthi and Shevade; (5)-(8) those of Keerthi
and Chu.
"""

from __future__ import annotations

import numpy as np

from greedygp.measures import MEASURES, LooMeasure
from greedygp.sparse.candidates import Candidates
from greedygp.sparse.loo import loo_measure
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.scoring import candidate_sums
from greedygp.sparse.state import SparseState

__all__ = ["CRITERIA", "Criterion"]


class Criterion:
    """Base of all criteria; see the module's text."""

    name: str
    needs_residual = False
    needs_v = False
    needs_explained = False
    chooses_size = False
    exact_fitc = False
    needs_targets = False
    little_work = False

    def value(self, state: SparseState) -> float:
        """Return the measure of the present basis."""
        return state.nlml()

    def progress(self, state: SparseState) -> float | None:
        """Return what must fall for a run to go on, where that is not the measure."""
        return None

    def score(self, state: SparseState, candidates: Candidates) -> np.ndarray:
        """Return what the measure would be with each of the candidates."""
        raise NotImplementedError


class NegativeLogMarginalLikelihood(Criterion):
    """`nlml`: adding j changes it by `log(d_j / e_j) - 0.5 |w_j|^2` (a column of y)."""

    name = "nlml"
    chooses_size = True
    exact_fitc = True

    def score(self, state: SparseState, candidates: Candidates) -> np.ndarray:
        log_determinant = 0.5 * state.n_targets * np.log(candidates.d2 / candidates.e2)
        fitted = 0.5 * np.sum(candidates.gain**2, axis=1) / candidates.d2
        return state.nlml() + log_determinant - fitted


class NegativeLogPosterior(Criterion):
    """`nlpp` (Smola and Bartlett): the minimum of (5), `-0.5 s2 |w|^2`; it can only fall."""

    name = "nlpp"

    def value(self, state: SparseState) -> float:
        return -0.5 * state.noise_variance * float(np.sum(state.w**2))

    def score(self, state: SparseState, candidates: Candidates) -> np.ndarray:
        fitted = np.sum(candidates.gain**2, axis=1) / candidates.d2
        return self.value(state) - 0.5 * state.noise_variance * fitted


class LeaveOneOut(Criterion):
    """`loo_cve` (2), `nlgpp` (3) and `gpe` (4): the measures of `greedygp.measures`.

    With little noise DTC is over-confident while the basis is small, and a measure that judges the
    variances first rises; the squared error (2) falls all the while, and tells that the run is not
    at its end.
    """

    needs_residual = True
    chooses_size = True
    exact_fitc = True

    def __init__(self, measure: LooMeasure):
        self.measure, self.name = measure, measure.name
        self.needs_v = measure.needs_each_variance

    def value(self, state: SparseState) -> float:
        return loo_measure(state, self.measure)

    def progress(self, state: SparseState) -> float | None:
        return loo_measure(state, MEASURES["loo_cve"]) if self.measure.tells_scale else None

    def score(self, state: SparseState, candidates: Candidates) -> np.ndarray:
        return candidate_sums(state, candidates, self.measure) / state.total_weight


class MatchingPursuit(NegativeLogPosterior):
    """`matching_pursuit`: the decrease (8) of (5) when only the new coefficient moves. O(n)."""

    name = "matching_pursuit"
    little_work = True


class InformationGain(Criterion):
    """`info_gain`: O(1) for each row, all rows; KL(new ‖ old) if `f_i` were tied to `y_i` only.

    With `a = s2 eta_i` the variance of the projected latent p, `l = k_i - q_i`, `s` the noise and
    `h = a / s`: take the site of y_i away from p (variance `a / (1 - h)`, residual `r`), put it
    on `f_i = p + N(0, l)` (innovation variance `S = a / (1 - h) + l + s`). In this form `a -> 0`
    and `l -> 0` are harmless.
    """

    name = "info_gain"
    needs_explained = True
    needs_targets = True
    little_work = True

    def gains(self, state: SparseState, block: SparseRows) -> np.ndarray:
        """Return the negative gain of each of the block's rows (lower is better)."""
        xp = state.backend.xp
        s = 1.0 / (block.scale * block.scale)
        h = xp.clip(block.leverage, min=0.0, max=1.0 - 1e-12)
        a, left = h * s, 1.0 - h
        unexplained = xp.clip(block.prior - block.explained * s, min=0.0)
        S = a / left + unexplained + s
        r2 = xp.sum((block.yt - block.fit) ** 2, axis=0) * s / (left * left)
        spread = (1.0 - a / (left * S)) / left - unexplained / S - 1.0 + xp.log(left * S / s)
        moved = a * (1.0 / (left * S) - 1.0 / s) ** 2 + unexplained / (S * S)
        return -0.5 * (state.n_targets * spread + r2 * moved)


class Random(Criterion):
    """`random`: the baseline."""

    name = "random"
    little_work = True


CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Random(),
        InformationGain(),
        MatchingPursuit(),
        NegativeLogPosterior(),
        NegativeLogMarginalLikelihood(),
        *map(LeaveOneOut, MEASURES.values()),
    )
}
