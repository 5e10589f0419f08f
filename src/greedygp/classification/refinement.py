"""All sites together, with kernel and bias, by the predictive loss of the rows outside the basis.

Selection estimates every site once, from what was known when its row came in. Where the basis is
small against the number of rows, the m sites can be learnt instead: (m_j, log p_j), the kernel's
parameters and the bias move together (L-BFGS) to lower NLP (4), the mean of `-log Phi(z_i)` over
the rows outside the basis, which has an exact gradient at O(n m^2 + n m D).

That many free numbers can over-fit. A share of the rows is therefore held out: it has no part in
the gradient, and the point at which the loss of those rows was lowest is the one that is kept. If
no point is better than the start, the start stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint, moving_parts
from greedygp.classification.marginals import Marginals
from greedygp.classification.objectives import row_loss
from greedygp.classification.state import ClassificationState
from greedygp.coordinates import ArrayPart, Coordinates, LogPart
from greedygp.minimise import Minimum, minimise
from greedygp.progress import Deadline
from greedygp.rounds import OPTIMISER_TOL

__all__ = ["Refined", "refine"]

HELD_OUT = 0.2  # share of the rows outside the basis
PATIENCE = 15  # evaluations without a better loss of the rows held out
MEANS = 30.0  # largest |m|
LOG_PRECISIONS = (-14.0, 4.0)


@dataclass(frozen=True)
class SitePoint(LatentPoint):
    """Hyperparameters and sites."""

    means: np.ndarray
    precisions: np.ndarray


@dataclass
class SiteEvaluation(LatentEvaluation):
    """Value and gradient, by the sites too."""

    means: np.ndarray
    log_precisions: np.ndarray


def moving_sites(start: SitePoint, kernel: bool, bias: bool, tied: bool) -> Coordinates[SitePoint]:
    """Return the coordinates of a search: the sites and, where they may move, kernel and bias."""
    shape = start.means.shape
    means = ArrayPart("means", "means", shape, np.array([[-MEANS], [MEANS]]), np.ones(1))
    precisions = LogPart("precisions", "log_precisions", shape, LOG_PRECISIONS)
    others = moving_parts(start, kernel=kernel, bias=bias, tied=tied)
    return Coordinates(start, [*others.parts, means, precisions])


class HeldOutLoss:
    """NLP (4) without the rows held out; remembers where their own loss was lowest."""

    def __init__(self, state: ClassificationState, held_out: np.ndarray):
        self.X, self.y = state.X, state.y
        self.indices = np.array(state.indices, dtype=np.intp)
        used = state.mass * state.outside
        self.train = np.where(held_out, 0.0, used) / np.sum(used[~held_out])
        self.test = np.where(held_out, used, 0.0) / np.sum(used[held_out])
        self.best: SitePoint | None = None
        self.best_loss = np.inf
        self.first_loss = np.inf
        self.since_best = 0

    def __call__(self, point: SitePoint) -> SiteEvaluation:
        X_u = self.X[self.indices]
        rows = Marginals(point.kernel, self.X, X_u, point.means, point.precisions)
        loss, g_f, g_a = row_loss(rows.f, rows.a, self.y, point.bias)
        g_f *= self.train
        g_a *= self.train
        self._observe(point, float(self.test @ loss))
        theta, means, log_precisions = rows.pull_back(g_f, g_a)
        value = float(self.train @ loss)
        return SiteEvaluation(value, theta, float(np.sum(g_f)), means, log_precisions)

    def _observe(self, point: SitePoint, loss: float) -> None:
        if self.best is None:
            self.first_loss = loss
        if loss < self.best_loss:
            self.best, self.best_loss, self.since_best = point, loss, -1
        self.since_best += 1


@dataclass
class Refined:
    """Where the refinement ended."""

    point: SitePoint
    loss: float  # of the rows held out
    first_loss: float
    search: Minimum


def refine(
    state: ClassificationState,
    *,
    tied: bool,
    learn_kernel: bool,
    learn_bias: bool,
    max_iter: int,
    deadline: Deadline,
    rng: np.random.Generator,
    watch: Callable[[], bool] | None = None,
) -> Refined:
    """Learn all sites together with kernel and bias; the state is left as it is.

    Parameters
    ----------
    state : ClassificationState
    tied, learn_kernel, learn_bias : bool
        What moves besides the sites; `tied`: length scales by one common factor.
    max_iter : int
    deadline : Deadline
        When to stop with what there is.
    rng : numpy.random.Generator
        Chooses the rows held out.
    watch : callable, optional
        Called after every iteration; a true result stops.
    """
    objective = HeldOutLoss(state, _held_out(state, rng))
    means, precisions = state.sites
    low, high = np.exp(LOG_PRECISIONS)
    start = SitePoint(
        state.kernel, state.bias, np.clip(means, -MEANS, MEANS), np.clip(precisions, low, high)
    )

    def after_iteration(point: SitePoint, value: float) -> bool:
        asked = watch is not None and watch()
        return asked or objective.since_best > PATIENCE

    found = minimise(
        objective,
        moving_sites(start, learn_kernel, learn_bias, tied),
        max_iter=max_iter,
        factor=state.data.total,
        tol=OPTIMISER_TOL,
        deadline=deadline,
        watch=after_iteration,
        keep_if_interrupted=True,
    )
    best = start if objective.best is None else objective.best
    return Refined(best, objective.best_loss, objective.first_loss, found)


def _held_out(state: ClassificationState, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of some rows outside the basis, drawn at random."""
    outside = np.flatnonzero(state.outside)
    held_out = np.zeros(len(state.y), dtype=bool)
    count = max(int(HELD_OUT * len(outside)), 1)
    held_out[rng.choice(outside, count, replace=False)] = True
    return held_out
