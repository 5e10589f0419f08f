"""What hyperparameters are learnt by, with the basis and its sites held fixed.

Three measures, all in nats a row (a row of weight w counts w times):

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
for a value with its gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from greedygp.classification.marginals import Marginals
from greedygp.classification.points import Evaluation
from greedygp.classification.sites import mills, probit_moments
from greedygp.classification.state import ClassificationState
from greedygp.kernels import Kernel

__all__ = ["OBJECTIVES", "Basis", "cavity", "evaluate", "loo_loss", "row_loss"]

OBJECTIVES = ("nlml", "loo", "nlp")


@dataclass
class Basis:
    """Training rows, which of them are the basis, its sites and its cavities."""

    X: np.ndarray
    y: np.ndarray
    mass: np.ndarray
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
        return cls(state.X, state.y, state.mass, u, *state.sites, mean, variance)


def cavity(
    f: np.ndarray, a: np.ndarray, means: np.ndarray, precisions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and variance of basis rows without their own sites, and `1 - p a`."""
    rest = np.maximum(1.0 - precisions * a, 1e-12)
    return (f - precisions * a * means) / rest, a / rest, rest


def loo_loss(state: ClassificationState) -> float:
    """Return the leave-one-out NLP: (4) for the rows outside, the cavity for those of the basis."""
    log_probability = state.log_probability.copy()
    u = state.indices
    mean, variance, _ = cavity(state.f[u], state.a[u], *state.sites)
    log_probability[u] = log_ndtr(state.y[u] * (mean + state.bias) / np.sqrt(1.0 + variance))
    return float(-(state.mass @ log_probability) / np.sum(state.mass))


def row_loss(
    f: np.ndarray, a: np.ndarray, y: np.ndarray, bias: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `-log Phi(z)` of every row and its derivatives by f and by a."""
    s2 = 1.0 + a
    s = np.sqrt(s2)
    z = y * (f + bias) / s
    r = mills(z)[0]
    return -log_ndtr(z), -r * y / s, 0.5 * r * z / s2


def evaluate(objective: str, kernel: Kernel, bias: float, basis: Basis) -> Evaluation:
    """Return an objective's value and gradient.

    Parameters
    ----------
    objective : {"nlml", "loo", "nlp"}
    kernel : Kernel
    bias : float
    basis : Basis
    """
    rows = Marginals(kernel, basis.X, basis.indices, basis.means, basis.precisions)
    value, g_f, g_a, by_bias = _measure(objective, rows.f, rows.a, bias, basis)
    more = None
    if objective == "nlml":
        total = float(np.sum(basis.mass))
        part, part_by_bias = _basis_evidence(rows, bias, basis)
        value, by_bias = value + part / total, by_bias + part_by_bias / total
        more = (0.5 / total) * (rows.W - np.outer(rows.beta, rows.beta))
    return Evaluation(value, rows.pull_back(g_f, g_a, more)[0], by_bias)


def _measure(objective, f, a, bias, basis: Basis) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Return the loss of the rows and its derivatives by f and a, (n,) each, and by the bias."""
    u = basis.indices
    loss, g_f, g_a = row_loss(f, a, basis.y, bias)
    by_bias = g_f.copy()  # of a row itself; in a cavity the site stays where it is
    mass = basis.mass.copy()
    if objective == "nlml" or (objective == "nlp" and len(u) < len(f)):
        mass[u] = 0.0
    else:
        mean, variance, rest = cavity(f[u], a[u], basis.means, basis.precisions)
        loss[u], by_mean, by_variance = row_loss(mean, variance, basis.y[u], bias)
        g_f[u], by_bias[u] = by_mean / rest, by_mean
        lag = basis.precisions * (mean - basis.means)
        g_a[u] = by_mean * lag / rest + by_variance / rest**2
    total = np.sum(basis.mass) if objective == "nlml" else np.sum(mass)
    scale = mass / max(float(total), 1e-300)
    return float(scale @ loss), scale * g_f, scale * g_a, float(scale @ by_bias)


def _basis_evidence(rows: Marginals, bias: float, basis: Basis) -> tuple[float, float]:
    """Return `-log Z(y_u)` of expectation propagation and its derivative by the bias."""
    u, m, p = basis.indices, basis.means, basis.precisions
    mean, variance = basis.cavity_means, basis.cavity_variances
    moments = probit_moments(mean, variance, basis.y[u], bias, basis.mass[u])
    grown = 1.0 + p * variance
    terms = moments.log_z + 0.5 * np.log(grown) + 0.5 * p * (mean - m) ** 2 / grown
    gaussian = float(np.sum(np.log(np.diagonal(rows.L)))) + 0.5 * float(m @ rows.beta)
    return gaussian - float(np.sum(terms)), -float(np.sum(moments.alpha))
