"""Expectation propagation over a chosen basis: its sites are revisited until they settle.

Assumed density filtering computes each site once, with what was known when its row came in. Here
all m sites are renewed together (parallel expectation propagation): the cavity of a row is its
marginal without its own site; the new site matches the moments of cavity times likelihood; steps
in the natural parameters `(p, p m)` are damped, more so where the sites do not come closer.

A pass costs O(m^3) whatever the number of rows. At the fixed point the sites do not depend on
the order in which the basis was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from greedygp.cholesky import factorise_with_sites, inverse_with_sites
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentEvaluation, LatentPoint
from greedygp.classification.sites import Moments, cavity, probit_moments
from greedygp.classification.state import ClassificationState

__all__ = [
    "Propagated",
    "negative_log_evidence",
    "propagate",
    "propagated_evidence",
    "propagated_sites",
]

TOL = 1e-6  # change of a site, in units of the latent value's spread, at which it has settled
EVIDENCE_TOL = 1e-4  # the same for the evidence, which at the fixed point is flat in the sites
EVIDENCE_PASSES = 50


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
    """Sites after some passes, and the marginals that belong to them; (m,) arrays."""

    means: np.ndarray
    precisions: np.ndarray
    f: np.ndarray
    a: np.ndarray
    passes: int  # how many were made


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
    step, last = 1.0 if np.any(precisions > 0) else 0.5, np.inf
    natural = precisions * means
    for made in range(passes + 1):
        f, a = _marginals(K_uu, natural, precisions)
        m = np.divide(natural, precisions, out=np.zeros_like(natural), where=precisions > 0)
        mean, variance, _ = cavity(f, a, m, precisions)
        moments = probit_moments(mean, variance, y, bias, weights)
        new_natural = moments.site_precision * moments.site_mean
        gap = np.abs(new_natural - natural) + np.abs(moments.site_precision - precisions)
        change = float(np.max(gap * np.sqrt(a)))
        if change < tol or made == passes:
            break
        step = step if change < 0.9 * last else max(0.7 * step, 0.1)
        last = change
        natural = natural + step * (new_natural - natural)
        precisions = precisions + step * (moments.site_precision - precisions)
    return Propagated(m, precisions, f, a, made)


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
    m, p = found.means, found.precisions
    mean, variance, _ = cavity(found.f, found.a, m, p)
    moments = probit_moments(mean, variance, data.y, point.bias, data.weights)
    root = np.sqrt(p)
    L = factorise_with_sites(K, root)
    W = inverse_with_sites(L, root)
    beta = W @ m
    value = negative_log_evidence(L, beta, m, p, mean, variance, moments)
    theta = point.kernel.gradient((0.5 / data.total) * (W - np.outer(beta, beta)), data.X)
    by_bias = -float(np.sum(moments.alpha))
    return LatentEvaluation(value / data.total, theta, by_bias / data.total), m, p


def negative_log_evidence(
    L: np.ndarray,
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
    L : (m, m) array
        The factor of `I + S K S`.
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
    gaussian = float(np.sum(np.log(np.diagonal(L)))) + 0.5 * float(means @ beta)
    return gaussian - float(np.sum(terms))


def _marginals(K_uu, natural, precisions) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of the basis' latent values."""
    root = np.sqrt(precisions)
    L = factorise_with_sites(K_uu, root)
    M = scipy.linalg.solve_triangular(L, root[:, None] * K_uu, lower=True, check_finite=False)
    a = np.maximum(np.diagonal(K_uu) - np.einsum("ij,ij->j", M, M), 0.0)
    return K_uu @ natural - (M @ natural) @ M, a
