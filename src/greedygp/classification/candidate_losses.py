"""The predictive loss of many candidates at once, with its derivatives by their coefficients.

A candidate's column of A, `k = ktilde_j` (n,), enters with two numbers, `alpha` and `eta` (equation
(7) of the additive-model paper): `f -> f + alpha k`, `a -> a - eta k^2`. The loss is

    F = -sum_i mass_i log Phi(z_i) / sum_i mass_i,   z_i = y_i (f_i + b + alpha k_i) / s_i,
    s_i^2 = 1 + a_i - eta k_i^2,

equation (5) over all rows, equation (4) over those outside the basis. Everything is elementwise on
the (c, n) block of columns, in tiles that stay in the cache, in buffers that are used again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from greedygp.classification.sites import mills
from greedygp.classification.state import ClassificationState

__all__ = ["Curvature", "coefficients", "losses", "losses_and_curvature"]

TILE = 16384  # numbers in a tile


def coefficients(
    state: ClassificationState, index: np.ndarray, means: np.ndarray, precisions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return `alpha` and `eta` (c,) of candidates with given sites."""
    eta = precisions / (1.0 + precisions * state.a[index])
    return eta * (means - state.f[index]), eta


def losses(
    state: ClassificationState,
    index: np.ndarray,
    ktilde: np.ndarray,
    alpha: np.ndarray,
    eta: np.ndarray,
    *,
    only_outside: bool,
) -> np.ndarray:
    """Return the loss (c,) after including each candidate.

    Parameters
    ----------
    state : ClassificationState
    index : (c,) int array
    ktilde : (c, n) array
    alpha, eta : (c,) arrays
    only_outside : bool
        Whether the loss is over the rows that are still outside the basis then, as in (4).
    """
    c, n = ktilde.shape
    mass = state.mass * state.outside if only_outside else state.mass
    own = mass[index] if only_outside else np.zeros(c)
    total = np.zeros(c)
    step = max(TILE // c, 64)
    mean, scale = np.empty((c, step)), np.empty((c, step))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        z, s = mean[:, : part.stop - start], scale[:, : part.stop - start]
        k = ktilde[:, part]
        np.multiply(k, k, out=s)
        s *= -eta[:, None]
        s += 1.0 + state.a[part]
        np.maximum(s, 1.0, out=s)
        np.sqrt(s, out=s)
        np.multiply(k, alpha[:, None], out=z)
        z += state.f[part] + state.bias
        z *= state.y[part]
        z /= s
        total += log_ndtr(z, out=z) @ mass[part]
    if only_outside:
        total -= own * _own_terms(state, index, ktilde, alpha, eta)
    weight = np.sum(mass) - own
    return np.divide(-total, weight, out=np.zeros(c), where=weight > 0)


def _own_terms(state, index, ktilde, alpha, eta) -> np.ndarray:
    """Return log Phi of each candidate's own row."""
    k = ktilde[np.arange(len(index)), index]
    variance = np.maximum(state.a[index] - eta * k**2, 0.0)
    z = state.y[index] * (state.f[index] + state.bias + alpha * k) / np.sqrt(1.0 + variance)
    return log_ndtr(z)


@dataclass
class Curvature:
    """Loss (5) of each candidate with first and second derivatives by (alpha, eta)."""

    value: np.ndarray  # (c,)
    slope: np.ndarray  # (c, 2)
    bend: np.ndarray  # (c, 2, 2)


def losses_and_curvature(
    state: ClassificationState, ktilde: np.ndarray, alpha: np.ndarray, eta: np.ndarray
) -> Curvature:
    """Return loss (5) over all rows with its derivatives by `alpha` and `eta`."""
    c, n = ktilde.shape
    value, slope, bend = np.zeros(c), np.zeros((c, 2)), np.zeros((c, 2, 2))
    step = max(TILE // c, 64)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        k, y, mass = ktilde[:, part], state.y[part], state.mass[part]
        s2 = np.maximum(1.0 + state.a[part] - eta[:, None] * k**2, 1.0)
        s = np.sqrt(s2)
        z = y * (state.f[part] + state.bias + alpha[:, None] * k) / s
        r, gap, _ = mills(z)
        curve = r * gap  # -d2 log Phi/dz2
        z_alpha = y * k / s
        half = 0.5 * k**2 / s2
        z_eta = half * z
        value -= log_ndtr(z) @ mass
        slope[:, 0] -= (r * z_alpha) @ mass
        slope[:, 1] -= (r * z_eta) @ mass
        bend[:, 0, 0] += (curve * z_alpha**2) @ mass
        bend[:, 0, 1] += (curve * z_alpha * z_eta - r * z_alpha * half) @ mass
        bend[:, 1, 1] += (curve * z_eta**2 - 3.0 * r * z * half**2) @ mass
    bend[:, 1, 0] = bend[:, 0, 1]
    weight = np.sum(state.mass)
    return Curvature(value / weight, slope / weight, bend / weight)
