"""What a sparse GP can be learnt by: small objects, and their value and gradient on given data.

An :class:`Objective` says what its value is at a state, what it takes from each row, and what
learning needs to know of it: its units, whether it wants a guard, which approximations it goes
with. Listed in `OBJECTIVES` are the evidence, the variational bound, and every leave-one-out
measure of `greedygp.measures`. A :class:`SparseObjective` evaluates one of them on data;
`gradient.py` has the formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.hyperparameters import Evaluation
from greedygp.measures import MEASURES, LooMeasure
from greedygp.sparse.gradient import EvidenceGradient, Gradient, PredictionGradient, RowAdjoints
from greedygp.sparse.loo import loo_adjoints, loo_measure
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState
from greedygp.validation import check_choice

__all__ = ["OBJECTIVES", "Objective", "SparseObjective", "check_objective"]


class Objective:
    """Something to learn by; lower is better."""

    name: str
    gradient: type[Gradient]
    first_approximation = "fitc"  # where the user leaves the choice to the fit
    compares_approximations = False  # whether its values tell which approximation predicts better
    wants_guard = False  # whether it can be fooled by basis inputs that move to please it
    tells_scale = True  # whether it determines a common factor of kernel and noise

    def value(self, state: SparseState) -> float:
        """Return the objective, without trace term and guard."""
        raise NotImplementedError

    def adjoints(self, state: SparseState, block: SparseRows) -> RowAdjoints:
        """Return its derivatives by what it takes from each row of a block."""
        raise NotImplementedError

    def nats_per_row(self, total_weight: float) -> float:
        """Return what one nat per row is in the objective's units."""
        raise NotImplementedError

    def unit(self, state: SparseState) -> float:
        """Return what a row of weight one counts in trace term and guard."""
        raise NotImplementedError

    def through_q(self, state: SparseState) -> bool:
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

    def value(self, state: SparseState) -> float:
        return state.nlml()

    def adjoints(self, state: SparseState, block: SparseRows) -> RowAdjoints:
        zero = state.backend.xp.zeros_like(block.lam)
        lam = 0.5 * state.n_targets * block.weights / block.lam
        return RowAdjoints(lam=lam, k=zero, q=zero, scale=zero)

    def nats_per_row(self, total_weight: float) -> float:
        return total_weight

    def unit(self, state: SparseState) -> float:
        return 0.5 * state.n_targets


class VariationalBound(Evidence):
    """`vfe`: the evidence of DTC and a trace term, `0.5 p sum (k - q) / s2`."""

    name = "vfe"
    first_approximation = "dtc"

    def through_q(self, state: SparseState) -> bool:
        return True

    def trace_term(self, xp: Any, left: Array, s2: float) -> tuple[Array, Array, Array]:
        return left / s2, xp.zeros_like(left) + 1.0 / s2, -left / s2**2

    def check_approximation(self, approximation: str) -> None:
        if approximation != "dtc":
            raise ValueError(
                f"objective='vfe' is the variational bound, which goes with approximation='dtc'; "
                f"got approximation={approximation!r}. Use that, or objective='nlml'."
            )


class LeaveOneOut(Objective):
    """A mean over rows: a leave-one-out measure."""

    gradient = PredictionGradient
    wants_guard = True

    def __init__(self, measure: LooMeasure):
        self.measure, self.name = measure, measure.name
        self.tells_scale = measure.tells_scale
        # One that judges the variances, too, tells how well approximations predict.
        self.compares_approximations = measure.tells_scale

    def value(self, state: SparseState) -> float:
        return loo_measure(state, self.measure)

    def adjoints(self, state: SparseState, block: SparseRows) -> RowAdjoints:
        return loo_adjoints(state, block, self.measure)

    def nats_per_row(self, total_weight: float) -> float:
        return 2.0

    def unit(self, state: SparseState) -> float:
        return 1.0 / state.total_weight

    def through_q(self, state: SparseState) -> bool:
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


class SparseObjective:
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
        Weight of the guard against over-fitting, `mean(log(1 + (k - q) / s2))`: large where the
        basis leaves more prior variance unexplained than there is noise. It is added to the
        leave-one-out measures as it stands, to the evidence as a sum over rows and targets, halved.
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
        check_objective(name, approximation)
        self.objective = OBJECTIVES[name]
        self.guard = guard
        self.backend = Backend(X)
        self._data = X, y, weights
        self._approximation, self.capacity = approximation, capacity
        self.state: SparseState | None = None

    def value(self, kernel: Any, noise_variance: float, basis: Array) -> float:
        """Return the objective's value alone."""
        state = self._state_at(kernel, noise_variance, basis)
        value = self.objective.value(state)
        return value + float(state.rows.sum(lambda block: self._penalty(block)[0], light=True))

    def __call__(
        self, kernel: Any, noise_variance: float, basis: Array, with_basis: bool = True
    ) -> Evaluation:
        """Return value and gradient; `with_basis` says whether basis inputs have a part in it."""
        value = self.value(kernel, noise_variance, basis)
        state, objective = self.state, self.objective
        assert state is not None
        adjoints = state.rows.map(self._adjoints)
        through_q = self.guard > 0.0 or objective.through_q(state)
        return objective.gradient(state, adjoints, through_q).evaluation(value, with_basis)

    def _adjoints(self, block: SparseRows) -> RowAdjoints:
        """Return the adjoints of a block's rows, those of trace term and guard included."""
        assert self.state is not None
        found = self.objective.adjoints(self.state, block)
        _, by_k, by_s2 = self._penalty(block)
        found.k, found.q, found.s2 = found.k + by_k, found.q - by_k, by_s2
        return found

    def _penalty(self, block: SparseRows) -> tuple[np.ndarray, Array, Array]:
        """Return the block's part of trace term and guard, and their derivatives by k and s2."""
        state = self.state
        assert state is not None
        xp, s2, left = state.backend.xp, state.noise_variance, block.unexplained
        value, by_k, by_s2 = self.objective.trace_term(xp, left, s2)
        if self.guard:
            total = s2 + xp.clip(left, min=0.0)
            value = value + self.guard * xp.log(total / s2)
            by_k = by_k + self.guard / total
            by_s2 = by_s2 + self.guard * (1.0 / total - 1.0 / s2)
        share = self.objective.unit(state) * block.weights
        return state.backend.sums(share * value), share * by_k, share * by_s2

    @property
    def approximation(self) -> str:
        """Which model the objective judges; setting it costs nothing until the next call."""
        return self._approximation

    @approximation.setter
    def approximation(self, name: str) -> None:
        check_objective(self.objective.name, name)
        self._approximation = name

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
