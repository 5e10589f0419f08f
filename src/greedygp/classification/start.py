"""Where learning starts: expectation propagation's evidence of a full GP on a subset of the rows.

From a Gaussian scaled to the data, variance, length scale and bias are learnt by the evidence of at
most `SUBSET_ROWS` random rows with all of them in the basis. The sites are at their fixed point at
every evaluation, where the derivative with the sites held fixed is the whole derivative, so this is
an ordinary smooth minimisation; O(n^3) for an evaluation.

With the default kernel the features share one length scale at first, in units of their spreads.
Then each gets its own, and this is kept if the gain in log evidence, less what the prior takes for
it (:mod:`.prior`), is significant (a likelihood ratio test at the level `SIGNIFICANCE`): on small
sets a length scale for each feature over-fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtri, ndtri

from greedygp.classification.points import Evaluation, Point, moving_parts
from greedygp.classification.prior import Prior
from greedygp.classification.propagation import propagated_evidence
from greedygp.data import feature_spreads
from greedygp.kernels import Gaussian, Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import Deadline

__all__ = ["learnt_start", "starting_bias", "starting_kernel"]

SUBSET_ROWS = 500
SIGNIFICANCE = 1e-3  # of a length scale for each feature
VARIANCE = 4.0  # of the latent function to begin with
OPTIMISER_TOL = 1e-5  # relative improvement of the sum over rows


def starting_kernel(X: np.ndarray, weights: np.ndarray | None) -> Gaussian:
    """Return a Gaussian with a length scale for each feature, scaled to the data (n, D)."""
    return Gaussian(VARIANCE, feature_spreads(X, weights) * np.sqrt(X.shape[1]))


def starting_bias(y: np.ndarray, mass: np.ndarray, kernel: Kernel, X: np.ndarray) -> float:
    """Return the bias at which the prior predicts the classes' shares."""
    share = float(mass[y > 0].sum() / mass.sum())
    return float(ndtri(share) * np.sqrt(1.0 + np.mean(kernel.diag(X))))


class _SubsetEvidence:
    """The evidence of a full GP as a function of the point; sites go on from the last one."""

    def __init__(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None):
        self.X, self.y, self.weights = X, y, weights
        self.sites = np.zeros(len(y)), np.zeros(len(y))

    def __call__(self, point: Point) -> Evaluation:
        evaluation, *sites = propagated_evidence(
            point.kernel, point.bias, self.X, self.y, self.weights, *self.sites
        )
        self.sites = sites[0], sites[1]
        return evaluation


def learnt_start(
    start: Point,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    prior: Prior | None,
    learn_bias: bool,
    max_iter: int,
    deadline: Deadline,
    rng: np.random.Generator,
) -> tuple[Minimum[Point], bool]:
    """Learn kernel and bias by the evidence of at most `SUBSET_ROWS` random rows.

    Returns the minimum, and whether the length scales are tied there.

    Parameters
    ----------
    start : Point
    X, y, weights : (n, D) array, (n,) array of +1 and -1, (n,) array or None
    prior : Prior or None
        That of the default kernel, whose length scales are tied unless they pay; None: another one.
    learn_bias : bool
    max_iter : int
        Iterations of L-BFGS, in each of both searches.
    deadline : Deadline
        When to stop with what there is.
    rng : numpy.random.Generator
        Chooses the rows.
    """
    if len(y) > SUBSET_ROWS:
        rows = np.sort(rng.choice(len(y), SUBSET_ROWS, replace=False))
        X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
    objective: Any = _SubsetEvidence(X, y, weights)
    total = float(len(y) if weights is None else np.sum(weights))
    if prior is not None:
        objective = prior.added_to(objective, total)

    def search(point: Point, tied: bool) -> Minimum[Point]:
        coordinates = moving_parts(point, bias=learn_bias, tied=tied)
        return minimise(
            objective,
            coordinates,
            max_iter=max_iter,
            factor=total,
            tol=OPTIMISER_TOL,
            deadline=deadline,
        )

    found = search(start, prior is not None)
    if prior is None or X.shape[1] == 1 or found.interrupted:
        return found, prior is not None
    each = search(found.point, False)
    price = 0.5 * chdtri(X.shape[1] - 1, SIGNIFICANCE)  # a quantile of chi-square
    pays = total * (found.value - each.value) > price
    return (each, False) if pays or each.interrupted else (found, True)
