"""What hyperparameters are learnt by, with the basis and its sites held fixed.

Three measures, all in nats per row (a row of weight w counts w times):

* `nlp`: equation (4) of the additive-model paper, over the rows outside the basis (where none are
  left it is `loo`);
* `loo`: the same, and rows of the basis by their cavity, that is without their own site:
  `v = a / (1 - p a)`, `mu = (f - p a m) / (1 - p a)`. An estimate of the leave-one-out loss that is
  honest for a basis of any size;
* `nlml`: the approximate evidence, `-log Z(y_u) - sum over the rest log Phi(z_i)`: expectation
  propagation's evidence of the basis' labels, and the others' labels given those. Where the sites
  have settled its derivative is that of `0.5 log|B| + 0.5 m'W m` with sites and cavities held
  fixed, so that is how it moves here.

The derivatives by the rows' marginals go back to the kernel in :mod:`.marginals`: O(n m^2 + n m D)
for a value with its gradient. To add an objective, write a subclass and list it in `OBJECTIVES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint
from greedygp.classification.marginals import Marginals
from greedygp.classification.propagation import negative_log_evidence
from greedygp.classification.sites import cavity, mills, probit_moments
from greedygp.classification.state import ClassificationState

__all__ = ["OBJECTIVES", "Basis", "Objective", "row_loss"]


@dataclass
class Basis:
    """Training rows, which of them are the basis, its sites and its cavities."""

    data: LabelledRows
    indices: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    cavity_means: np.ndarray
    cavity_variances: np.ndarray

    @classmethod
    def of(cls, state: ClassificationState) -> Basis:
        """Return the basis of a state."""
        u = np.array(state.indices, dtype=np.intp)
        mean, variance, _ = cavity(state.f[u], state.a[u], *state.sites)
        return cls(state.data, u, *state.sites, mean, variance)

    @cached_property
    def members(self) -> LabelledRows:
        """The rows of the basis."""
        return self.data.take(self.indices)

    @cached_property
    def others(self) -> LabelledRows:
        """The rows outside the basis."""
        outside = np.ones(len(self.data), dtype=bool)
        outside[self.indices] = False
        return self.data.take(np.flatnonzero(outside))

    def marginals(self, point: LatentPoint, rows: LabelledRows) -> Marginals:
        """Return the marginals of some rows with other hyperparameters and the same sites."""
        return Marginals(point.kernel, rows.X, self.members.X, self.means, self.precisions)


def row_loss(
    f: np.ndarray, a: np.ndarray, y: np.ndarray, bias: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `-log Phi(z)` of every row and its derivatives by f and by a."""
    s2 = 1.0 + a
    s = np.sqrt(s2)
    z = y * (f + bias) / s
    r = mills(z)[0]
    return -log_ndtr(z), -r * y / s, 0.5 * r * z / s2


@dataclass
class RowLosses:
    """The loss of each row with its derivatives, (n,) each."""

    loss: np.ndarray
    by_f: np.ndarray
    by_a: np.ndarray
    by_bias: np.ndarray

    @classmethod
    def plain(cls, rows: Marginals, y: np.ndarray, bias: float) -> RowLosses:
        """Return the losses of all rows with all sites."""
        loss, by_f, by_a = row_loss(rows.f, rows.a, y, bias)
        return cls(loss, by_f, by_a, by_f.copy())

    def leave_out(self, rows: Marginals, basis: Basis, bias: float) -> None:
        """Take the rows of the basis without their own sites instead, in place."""
        u = basis.indices
        mean, variance, rest = cavity(rows.f[u], rows.a[u], basis.means, basis.precisions)
        self.loss[u], by_mean, by_variance = row_loss(mean, variance, basis.data.y[u], bias)
        # In a cavity the site stays where it is, so that f has more leverage than the bias.
        self.by_f[u], self.by_bias[u] = by_mean / rest, by_mean
        lag = basis.precisions * (mean - basis.means)
        self.by_a[u] = by_mean * lag / rest + by_variance / rest**2

    def summed(
        self, rows: Marginals, share: np.ndarray, more_K_uu: np.ndarray | None = None
    ) -> LatentEvaluation:
        """Return the losses' sum with its gradient; `share` (n,) is what each row counts.

        `more_K_uu` is a further part of the derivative by K_uu.
        """
        theta = rows.pull_back(share * self.by_f, share * self.by_a, more_K_uu)[0]
        return LatentEvaluation(float(share @ self.loss), theta, float(share @ self.by_bias))


class Objective:
    """A measure that hyperparameters are learnt by."""

    name: str
    # Whether the start has minimised it already where the basis is all rows and sites have settled.
    is_minimised_by_start = False

    def evaluate(self, point: LatentPoint, basis: Basis) -> LatentEvaluation:
        """Return value and gradient."""
        raise NotImplementedError


class LeaveOneOutLoss(Objective):
    """All rows, those of the basis without their own sites."""

    name = "loo"

    def evaluate(self, point: LatentPoint, basis: Basis) -> LatentEvaluation:
        rows = basis.marginals(point, basis.data)
        losses = RowLosses.plain(rows, basis.data.y, point.bias)
        losses.leave_out(rows, basis, point.bias)
        return losses.summed(rows, _shares(basis.data.mass))


class OutsideLoss(LeaveOneOutLoss):
    """The rows outside the basis; the leave-one-out loss where all rows are in it."""

    name = "nlp"

    def evaluate(self, point: LatentPoint, basis: Basis) -> LatentEvaluation:
        if len(basis.indices) == len(basis.data):
            return super().evaluate(point, basis)
        others = basis.others
        rows = basis.marginals(point, others)
        losses = RowLosses.plain(rows, others.y, point.bias)
        return losses.summed(rows, _shares(others.mass))


class ApproximateEvidence(Objective):
    """The evidence of the basis' labels, and the others' labels given those."""

    name = "nlml"
    is_minimised_by_start = True

    def evaluate(self, point: LatentPoint, basis: Basis) -> LatentEvaluation:
        members, others, total = basis.members, basis.others, basis.data.total
        rows = basis.marginals(point, others)
        losses = RowLosses.plain(rows, others.y, point.bias)
        more_K_uu = (0.5 / total) * (rows.W - np.outer(rows.beta, rows.beta))
        outside = losses.summed(rows, others.mass / max(total, 1e-300), more_K_uu)
        mean, variance = basis.cavity_means, basis.cavity_variances
        moments = probit_moments(mean, variance, members.y, point.bias, members.weights)
        sites = basis.means, basis.precisions
        of_basis = negative_log_evidence(
            rows.log_determinant, rows.beta, *sites, mean, variance, moments
        )
        return LatentEvaluation(
            outside.value + of_basis / total,
            outside.theta,
            outside.bias - float(np.sum(moments.alpha)) / total,
        )


def _shares(mass: np.ndarray) -> np.ndarray:
    return mass / max(float(np.sum(mass)), 1e-300)


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (ApproximateEvidence(), LeaveOneOutLoss(), OutsideLoss())
}
