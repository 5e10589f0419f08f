"""What a sparse GP can be learnt by: small objects, and their value and gradient on given data.

An :class:`Objective` says what its value is at a state, what it takes from each row, and what
learning needs to know of it: its units, whether it wants a guard, which approximations it goes
with. Listed in `OBJECTIVES` are the evidence, the variational bound, and every leave-one-out
measure of `greedygp.measures`. :class:`Guarded` adds the guard. A :class:`SparseObjective`
evaluates it on data whose row state is kept, a `StreamedObjective` on data that only pass by;
`gradient.py` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.hyperparameters import Evaluation
from greedygp.measures import MEASURES, LooMeasure
from greedygp.sparse.gradient import EvidenceGradient, Gradient, PredictionGradient, RowAdjoints
from greedygp.sparse.loo import loo_adjoints, loo_mean, loo_scale, loo_sum
from greedygp.sparse.model import SparseModel
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState
from greedygp.validation import check_choice

__all__ = [
    "OBJECTIVES",
    "AdjustableObjective",
    "Guarded",
    "Objective",
    "SparseObjective",
    "check_objective",
]


class Objective:
    """Something to learn by; lower is better."""

    name: str
    gradient: type[Gradient]
    first_approximation = "fitc"  # where the user leaves the choice to the fit
    compares_approximations = False  # whether its values tell which approximation predicts better
    wants_guard = False  # whether it can be fooled by basis inputs that move to please it
    tells_scale = True  # whether it determines a common factor of kernel and noise

    judges_rows = False  # whether its value has a sum over rows that only a whole model gives

    def rows_part(self, state: SparseModel, block: SparseRows) -> Any:
        """Return the block's part of that sum."""
        return 0.0

    def value(self, state: SparseModel, total: Any) -> float:
        """Return the objective, given that sum over all rows, without trace term and guard."""
        raise NotImplementedError

    def adjoints(self, state: SparseModel, block: SparseRows) -> RowAdjoints:
        """Return its derivatives by what it takes from a row of the block, and `rows_part`."""
        raise NotImplementedError

    def nats_per_row(self, total_weight: float) -> float:
        """Return what one nat per row is in the objective's units."""
        raise NotImplementedError

    def unit(self, state: SparseModel) -> float:
        """Return what a row of weight one counts in trace term and guard."""
        raise NotImplementedError

    def through_q(self, state: SparseModel) -> bool:
        """Tell whether it depends on how much of a row's prior variance is explained (not FITC)."""
        return False

    def trace_term(self, xp: Any, left: Array, s2: float) -> tuple[Array, Array, Array]:
        """Return what each row adds, given `left = k - q`, and its derivatives by k and s2."""
        zero = xp.zeros_like(left)
        return zero, zero, zero

    def check_approximation(self, approximation: str) -> None:
        """Raise a ValueError if it does not go with the approximation."""


class Evidence(Objective):
    """`nlml`: the negative log marginal likelihood, a sum over rows and targets."""

    name = "nlml"
    gradient = EvidenceGradient

    def value(self, state: SparseModel, total: Any) -> float:
        return state.nlml()

    def adjoints(self, state: SparseModel, block: SparseRows) -> RowAdjoints:
        zero = state.backend.xp.zeros_like(block.lam)
        lam = 0.5 * state.n_targets * block.weights / block.lam
        return RowAdjoints(lam=lam, k=zero, q=zero, scale=zero)

    def nats_per_row(self, total_weight: float) -> float:
        return total_weight

    def unit(self, state: SparseModel) -> float:
        return 0.5 * state.n_targets


class VariationalBound(Evidence):
    """`vfe`: the evidence of DTC and a trace term, `0.5 p sum (k - q) / s2`."""

    name = "vfe"
    first_approximation = "dtc"

    def through_q(self, state: SparseModel) -> bool:
        return True

    def trace_term(self, xp: Any, left: Array, s2: float) -> tuple[Array, Array, Array]:
        return left / s2, xp.zeros_like(left) + 1.0 / s2, -left / s2**2

    def check_approximation(self, approximation: str) -> None:
        if approximation != "dtc":
            raise ValueError(
                f"objective={self.name!r} is the variational bound, which goes with "
                f"approximation='dtc'; got approximation={approximation!r}. Use that, or "
                f"objective='nlml'."
            )


class LeaveOneOut(Objective):
    """A mean over rows: a leave-one-out measure."""

    gradient = PredictionGradient
    judges_rows = True
    wants_guard = True

    def __init__(self, measure: LooMeasure):
        self.measure, self.name = measure, measure.name
        self.tells_scale = measure.tells_scale
        # One that judges the variances, too, tells how well approximations predict.
        self.compares_approximations = measure.tells_scale

    def rows_part(self, state: SparseModel, block: SparseRows) -> Any:
        return loo_sum(state, block, self.measure)

    def value(self, state: SparseModel, total: Any) -> float:
        return loo_mean(state, total, self.measure)

    def adjoints(self, state: SparseModel, block: SparseRows) -> RowAdjoints:
        return loo_adjoints(state, block, self.measure)

    def nats_per_row(self, total_weight: float) -> float:
        return 2.0

    def unit(self, state: SparseModel) -> float:
        return 1.0 / state.total_weight

    def through_q(self, state: SparseModel) -> bool:
        return self.measure.uses_variance and state.uses_prior_variance


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (Evidence(), VariationalBound(), *map(LeaveOneOut, MEASURES.values()))
}


def check_objective(name: str, approximation: str) -> None:
    """Raise a ValueError for an unknown objective, or one that the approximation does not have."""
    check_choice("objective", name, tuple(OBJECTIVES))
    check_choice("approximation", approximation, ("dtc", "fitc", "sor"))
    OBJECTIVES[name].check_approximation(approximation)


@dataclass
class Guarded:
    """An objective with its trace term and a guard, as a function of model and block of rows.

    Parameters
    ----------
    objective : Objective
    weight : float
        Of the guard against over-fitting, `mean(log(1 + (k - q) / s2))`: large where the basis
        leaves more prior variance unexplained than there is noise. It is added to the leave-one-out
        measures as it stands, to the evidence as a sum over rows and targets, halved.
    """

    objective: Objective
    weight: float = 0.0

    def gradient(self, state: SparseModel) -> Gradient:
        """Return the gradient at a model."""
        through_q = self.weight > 0.0 or self.objective.through_q(state)
        return self.objective.gradient(state, through_q)

    def adjoints(self, state: SparseModel, block: SparseRows) -> RowAdjoints:
        """Return the adjoints of a block's rows, those of trace term and guard included."""
        found = self.objective.adjoints(state, block)
        found.penalty, by_k, by_s2 = self.penalty(state, block)
        found.k, found.q, found.s2 = found.k + by_k, found.q - by_k, by_s2
        return found

    def penalty(self, state: SparseModel, block: SparseRows) -> tuple[np.ndarray, Array, Array]:
        """Return the block's part of trace term and guard, and their derivatives by k and s2."""
        xp, s2, left = state.backend.xp, state.noise_variance, block.unexplained
        value, by_k, by_s2 = self.objective.trace_term(xp, left, s2)
        if self.weight:
            total = s2 + xp.clip(left, min=0.0)
            value = value + self.weight * xp.log(total / s2)
            by_k = by_k + self.weight / total
            by_s2 = by_s2 + self.weight * (1.0 / total - 1.0 / s2)
        share = self.objective.unit(state) * block.weights
        return state.backend.sums(share * value), share * by_k, share * by_s2


class AdjustableObjective:
    """What a schedule may change between two evaluations of an objective: guard, approximation.

    Parameters
    ----------
    name : {"nlml", "vfe", "loo_cve", "nlgpp", "gpe"}
    approximation : {"dtc", "fitc", "sor"}
    guard : float
        Weight of the guard, see :class:`Guarded`.
    """

    def __init__(self, name: str, approximation: str, guard: float = 0.0):
        check_objective(name, approximation)
        self.guarded = Guarded(OBJECTIVES[name], guard)
        self._approximation = approximation

    @property
    def guard(self) -> float:
        """Weight of the guard."""
        return self.guarded.weight

    @guard.setter
    def guard(self, weight: float) -> None:
        self.guarded.weight = weight

    def judge_by(self, name: str, approximation: str) -> None:
        """Become another objective of another approximation, without guard."""
        check_objective(name, approximation)
        self.guarded, self._approximation = Guarded(OBJECTIVES[name]), approximation

    @property
    def approximation(self) -> str:
        """Which model the objective judges; setting it costs nothing until the next call."""
        return self._approximation

    @approximation.setter
    def approximation(self, name: str) -> None:
        check_objective(self.guarded.objective.name, name)
        self._approximation = name


class SparseObjective(AdjustableObjective):
    """An objective on given data, to be evaluated at many hyperparameters and bases.

    Parameters
    ----------
    name : {"nlml", "vfe", "loo_cve", "nlgpp", "gpe"}
    X : (n, D) row array
    y : (p, n) row array
    weights : (n,) row array or None
    approximation : {"dtc", "fitc", "sor"}
    capacity : int
        The most basis vectors.
    guard : float
        Weight of the guard, see :class:`Guarded`.
    """

    def __init__(
        self,
        name: str,
        X: Array,
        y: Array,
        weights: Array | None,
        *,
        approximation: str,
        capacity: int,
        guard: float = 0.0,
    ):
        super().__init__(name, approximation, guard)
        self.backend = Backend(X)
        self._data, self.capacity = (X, y, weights), capacity
        self.state: SparseState | None = None

    def value(self, kernel: Any, noise_variance: float, basis: Array) -> float:
        """Return the objective's value alone."""
        state, guarded = self._state_at(kernel, noise_variance, basis), self.guarded
        objective, total = guarded.objective, 0.0
        if objective.judges_rows:
            total = state.rows.sum(lambda block: objective.rows_part(state, block), light=True)
        value = objective.value(state, total)
        penalty = state.rows.sum(lambda block: guarded.penalty(state, block)[0], light=True)
        return value + float(penalty)

    def __call__(
        self, kernel: Any, noise_variance: float, basis: Array, with_basis: bool = True
    ) -> Evaluation:
        """Return value and gradient; `with_basis` says whether basis inputs have a part in it."""
        state, guarded = self._state_at(kernel, noise_variance, basis), self.guarded
        gradient = guarded.gradient(state)
        adjoints: dict[int, RowAdjoints] = {}

        def judge(block: SparseRows) -> tuple:
            found = adjoints[block.number] = guarded.adjoints(state, block)
            return found.total, found.penalty, gradient.products(block, found)

        total, penalty, products = state.rows.sum(judge)
        gradient.take_products(*products)
        value = guarded.objective.value(state, total) + float(penalty)
        sums = state.rows.sum(lambda block: gradient.last_pass(block, adjoints[block.number]))
        return gradient.evaluation(value, sums, with_basis)

    def loo_scale(self) -> float:
        """Return `mean(r^2 / t)` of left-out rows of the present model."""
        assert self.state is not None
        return loo_scale(self.state)

    def _state_at(self, kernel: Any, noise_variance: float, basis: Array) -> SparseState:
        if self.state is None:
            self.state = SparseState(
                kernel,
                noise_variance,
                *self._data,
                approximation=self._approximation,
                capacity=self.capacity,
                backend=self.backend,
                keep_v=True,
            )
        self.state.set_model(self._approximation, kernel, noise_variance, basis)
        return self.state
