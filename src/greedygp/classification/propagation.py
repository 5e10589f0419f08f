"""Expectation propagation over a chosen basis: its sites are revisited until they settle.

Assumed density filtering computes each site once, with what was known when its row came in. Here
all m sites are renewed together (parallel expectation propagation): the cavity of a row is its
marginal without its own site; the new site matches the moments of cavity times likelihood. The
natural parameters `(p, p m)` go where the last few passes say that they settle
(:mod:`.acceleration`).

A pass costs O(m^3) whatever the number of rows (:mod:`.system`). At the fixed point the sites do
not depend on the order in which the basis was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.classification.acceleration import Anderson
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint
from greedygp.classification.sites import Moments, cavity, probit_moments
from greedygp.classification.state import ClassificationState
from greedygp.classification.system import SiteSystem

__all__ = [
    "Propagated",
    "negative_log_evidence",
    "propagate",
    "propagated_evidence",
    "propagated_sites",
]

TOL = 1e-6  # change of a site, in units of the latent value's spread, at which it has settled
EVIDENCE_TOL = 1e-2  # the same for the evidence, which at the fixed point is flat in the sites
EVIDENCE_PASSES = 50
LEAST = 0.1  # of a precision, the least that a pass leaves of it


def propagate(state: ClassificationState, passes: int, tol: float = TOL) -> int:
    """Revisit the sites of a state in place; return how many passes were made."""
    if passes == 0 or state.size == 0:
        return 0
    basis = state.data.take(np.array(state.indices, dtype=np.intp))
    K_uu = np.asarray(state.kernel(basis.X))
    found = propagated_sites(
        K_uu, basis.y, state.bias, basis.weights, *state.sites, passes=passes, tol=tol
    )
    state.replace(found.means, found.precisions)
    return found.passes


@dataclass
class Propagated:
    """Sites after some passes, and what they say of their rows; (m,) arrays."""

    system: SiteSystem
    cavity_means: np.ndarray
    cavity_variances: np.ndarray
    moments: Moments  # of the likelihoods, given the cavities
    passes: int  # how many were made

    @property
    def means(self) -> np.ndarray:
        """The means of the sites."""
        return self.system.means

    @property
    def precisions(self) -> np.ndarray:
        """Their precisions."""
        return self.system.precisions


def propagated_sites(
    K_uu: np.ndarray,
    y: np.ndarray,
    bias: float,
    weights: np.ndarray | None,
    means: np.ndarray,
    precisions: np.ndarray,
    *,
    passes: int,
    tol: float = TOL,
) -> Propagated:
    """Return sites nearer to the fixed point.

    Parameters
    ----------
    K_uu : (m, m) array
    y : (m,) array of +1 and -1
    bias : float
    weights : (m,) array or None
    means, precisions : (m,) arrays
        Where to begin.
    passes : int
        The most passes.
    tol : float
    """
    system, n = SiteSystem(K_uu), len(y)
    search = Anderson(1.0 if np.any(precisions > 0) else 0.5)
    natural = precisions * means
    for made in range(passes + 1):
        system.place(natural, precisions)
        mean, variance, _ = cavity(system.f, system.a, system.means, precisions)
        moments = probit_moments(mean, variance, y, bias, weights)
        new, spread = moments.site_precision, np.sqrt(system.a)
        gaps = np.concatenate([new * moments.site_mean - natural, new - precisions])
        change = float(np.max((np.abs(gaps[:n]) + np.abs(gaps[n:])) * spread))
        if change < tol or made == passes:
            break
        sites = np.concatenate([natural, precisions])
        sites = search.next(sites, gaps, np.concatenate([spread, spread]))
        natural = sites[:n]
        precisions = np.maximum(sites[n:], LEAST * np.minimum(precisions, new))
    return Propagated(system, mean, variance, moments, made)


def propagated_evidence(
    point: LatentPoint, data: LabelledRows, means: np.ndarray, precisions: np.ndarray
) -> tuple[LatentEvaluation, np.ndarray, np.ndarray]:
    """Return the negative log evidence of a full GP in nats per row, and the sites at that point.

    With settled sites, `W = (K + Pi^-1)^-1` and `beta = W m`, its derivative by K is
    `0.5 (W - beta beta')`, by the bias minus the sum of the cavities' alpha.

    Parameters
    ----------
    point : LatentPoint
    data : LabelledRows
    means, precisions : (n,) arrays
        Sites to begin with.
    """
    K = np.asarray(point.kernel(data.X))
    found = propagated_sites(
        K,
        data.y,
        point.bias,
        data.weights,
        means,
        precisions,
        passes=EVIDENCE_PASSES,
        tol=EVIDENCE_TOL,
    )
    system, moments = found.system, found.moments
    m, p, beta = system.means, system.precisions, system.beta
    cavities = found.cavity_means, found.cavity_variances
    value = negative_log_evidence(system.log_determinant, beta, m, p, *cavities, moments)
    dK = system.inverse()
    dK -= np.outer(beta, beta)
    dK *= 0.5 / data.total
    theta = point.kernel.gradient(dK, data.X)
    by_bias = -float(np.sum(moments.alpha))
    return LatentEvaluation(value / data.total, theta, by_bias / data.total), m, p


def negative_log_evidence(
    log_determinant: float,
    beta: np.ndarray,
    means: np.ndarray,
    precisions: np.ndarray,
    cavity_means: np.ndarray,
    cavity_variances: np.ndarray,
    moments: Moments,
) -> float:
    """Return expectation propagation's `-log Z` of the labels of m rows.

    Parameters
    ----------
    log_determinant : float
        Of `I + S K S`.
    beta : (m,) array
        `(K + Pi^-1)^-1 m`.
    means, precisions : (m,) arrays
        The sites.
    cavity_means, cavity_variances : (m,) arrays
        The rows' marginals without their own sites.
    moments : Moments
        What the likelihoods say, given the cavities.
    """
    grown = 1.0 + precisions * cavity_variances
    lag = cavity_means - means
    terms = moments.log_z + 0.5 * np.log(grown) + 0.5 * precisions * lag**2 / grown
    gaussian = 0.5 * (log_determinant + float(means @ beta))
    return gaussian - float(np.sum(terms))
