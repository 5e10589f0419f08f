"""Where learning starts: expectation propagation's evidence of a full GP on a subset of the rows.

From a Gaussian scaled to the data, variance, length scale and bias are learnt by the evidence of at
most `SUBSET_ROWS` random rows with all of them in the basis. The sites are at their fixed point at
every evaluation, where the derivative with the sites held fixed is the whole derivative, so this is
an ordinary smooth minimisation; O(n^3) for an evaluation.

The searches begin with few of the rows (`FIRST_ROWS`), which cost little, and go on from there with
all of them.

With the default kernel the features share one length scale at first, in units of their spreads.
Then each gets its own, and this is kept if the gain in log evidence, less what the prior takes for
it (:mod:`greedygp.prior`), is significant (a likelihood ratio test at the level `SIGNIFICANCE`): on
small sets a length scale for each feature over-fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri

from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint, moving_parts
from greedygp.classification.propagation import propagated_evidence
from greedygp.data import feature_spreads
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.kernels import Gaussian, Kernel
from greedygp.minimise import minimise
from greedygp.prior import KernelPrior
from greedygp.progress import Deadline

__all__ = ["Start", "learnt_start", "starting_bias", "starting_kernel", "starting_point"]

SUBSET_ROWS = 500
FIRST_ROWS = 150  # with which the searches begin, where there are twice as many
SIGNIFICANCE = 1e-3  # of a length scale for each feature
VARIANCE = 4.0  # of the latent function to begin with
OPTIMISER_TOL = 3e-5  # relative improvement of the sum over rows
ROUGH_TOL = 5e-4  # the same while two searches are compared, and where rounds follow


def starting_kernel(X: np.ndarray, weights: np.ndarray | None) -> Gaussian:
    """Return a Gaussian with a length scale for each feature, scaled to the data (n, D)."""
    return Gaussian(VARIANCE, feature_spreads(X, weights) * np.sqrt(X.shape[1]))


def default_prior(kernel: Kernel) -> KernelPrior:
    """Return the prior of the default kernel; its length scales may be long or short together."""
    return KernelPrior(kernel, spread=1.0, level=np.inf, variance_spread=2.0)


def starting_bias(data: LabelledRows, kernel: Kernel) -> float:
    """Return the bias at which the prior predicts the classes' shares."""
    share = float(data.mass[data.y > 0].sum() / data.mass.sum())
    return float(ndtri(share) * np.sqrt(1.0 + np.mean(kernel.diag(data.X))))


def starting_point(data: LabelledRows, kernel: Kernel | None, bias: float | None) -> LatentPoint:
    """Return the hyperparameters to begin with: those that are given, or scaled to the data."""
    if kernel is None:
        kernel = starting_kernel(data.X, data.weights)
    return LatentPoint(kernel, starting_bias(data, kernel) if bias is None else float(bias))


class SubsetEvidence:
    """The evidence of a full GP as a function of the point; sites go on from the last one.

    Where those of another point are too large for rounding, they begin afresh.
    """

    def __init__(self, data: LabelledRows):
        self.data = data
        self.sites = self._none = np.zeros(len(data)), np.zeros(len(data))

    def __call__(self, point: LatentPoint) -> LatentEvaluation:
        try:
            evaluation, *sites = propagated_evidence(point, self.data, *self.sites)
        except NotPositiveDefiniteError:
            evaluation, *sites = propagated_evidence(point, self.data, *self._none)
        self.sites = sites[0], sites[1]
        return evaluation


@dataclass(frozen=True)
class Start:
    """Where selection and learning begin."""

    point: LatentPoint
    value: float = np.nan  # of what it was learnt by
    tied: bool = False  # whether all length scales move by one common factor


def learnt_start(
    first: LatentPoint,
    data: LabelledRows,
    *,
    prior: KernelPrior | None,
    learn_bias: bool,
    max_iter: int,
    tol: float = OPTIMISER_TOL,
    deadline: Deadline,
    rng: np.random.Generator,
) -> Start:
    """Learn kernel and bias by the evidence of at most `SUBSET_ROWS` random rows.

    Parameters
    ----------
    first : LatentPoint
    data : LabelledRows
    prior : KernelPrior or None
        That of the default kernel, whose length scales are tied unless they pay; None: another one.
    learn_bias : bool
    max_iter : int
        Iterations of L-BFGS, in each of the searches.
    tol : float
        Relative improvement of the sum over rows at which a search has converged.
    deadline : Deadline
        When to stop with what there is.
    rng : numpy.random.Generator
        Chooses the rows.
    """
    if len(data) > SUBSET_ROWS:
        data = data.take(np.sort(rng.choice(len(data), SUBSET_ROWS, replace=False)))
    n_features, ties = data.X.shape[1], prior is not None
    unties = ties and n_features > 1
    price = 0.5 * chdtri(max(n_features - 1, 1), SIGNIFICANCE)  # a quantile of chi-square
    parts = [data]
    if len(data) >= 2 * FIRST_ROWS:
        parts = [data.take(np.sort(rng.choice(len(data), FIRST_ROWS, replace=False))), data]

    def search(start: LatentPoint, tied: bool, tol: float) -> Start:
        found = minimise(
            objective,
            moving_parts(start, bias=learn_bias, tied=tied),
            max_iter=max_iter,
            factor=part.total,
            tol=tol,
            deadline=deadline,
        )
        return Start(found.point, found.value, tied)

    together, each, pays = Start(first), None, False
    for part in parts:
        # Few rows cost little; many are compared roughly first.
        objective, rough = _objective(part, prior), OPTIMISER_TOL if part is parts[0] else ROUGH_TOL
        if not pays:
            together = search(together.point, ties, rough if unties else tol)
        if unties:
            each = search((each or together).point, False, rough)
            # What pays with few rows pays with more.
            pays = pays or part.total * (together.value - each.value) > price
    best = each if each is not None and pays else together
    polish = unties and len(parts) > 1 and tol < ROUGH_TOL
    return search(best.point, best.tied, tol) if polish else best


def _objective(
    data: LabelledRows, prior: KernelPrior | None
) -> Callable[[LatentPoint], LatentEvaluation]:
    """Return the evidence of all these rows, with the share of the prior."""
    evidence = SubsetEvidence(data)
    return evidence if prior is None else prior.added_to(evidence, data.total)
