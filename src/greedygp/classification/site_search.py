"""Sites by a two-dimensional search: the predictive loss (5) over (m_j, log p_j).

All candidates of a step are searched at once. From the sites of moment matching each makes Newton
steps on `x = (m, log p)` inside a box, with the exact 2 x 2 second derivatives shifted to be
positive definite and damped as in Levenberg and Marquardt's method; coordinates held by the box
take no part. A step is kept only if it lowers the loss, so no candidate ends above moment matching.

Most unconstrained optima run off to infinite or vanishing precision; the box keeps them. The
paper's bound `eta_j <= min_l a_l / ktilde_lj^2` is true in exact arithmetic (Cauchy-Schwarz) and
guards against rounding here: no variance can become negative.

One iteration costs O(c n).
"""

from __future__ import annotations

import numpy as np

from greedygp.classification.candidate_losses import Curvature, coefficients, losses_and_curvature
from greedygp.classification.state import ClassificationState

__all__ = ["optimised_sites"]

PRECISIONS = (1e-6, 1e2)  # smallest and largest p; moment matching stays below 1
FURTHEST = 10.0  # largest |m|, in prior standard deviations of a noisy label
ITERATIONS = 25
TOL = 1e-9  # relative improvement below which a candidate has settled
STRONGEST = 1e8  # damping at which a candidate is given up


def optimised_sites(
    state: ClassificationState,
    index: np.ndarray,
    ktilde: np.ndarray,
    means: np.ndarray,
    precisions: np.ndarray,
    *,
    iterations: int = ITERATIONS,
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and precisions (c,) that lower the loss (5) of each candidate.

    Parameters
    ----------
    state : ClassificationState
    index : (c,) int array
    ktilde : (c, n) array
    means, precisions : (c,) arrays
        Where the search begins: moment matching.
    iterations : int
    """
    x = np.stack([means, np.log(np.maximum(precisions, 1e-300))], axis=1)
    low, high = _box(state, index, ktilde, x)
    x = np.clip(x, low, high)
    damping = np.full(len(index), 1e-3)
    now = _derivatives(state, index, ktilde, x)
    active = np.ones(len(index), dtype=bool)
    for _ in range(iterations):
        at = np.flatnonzero(active)
        if len(at) == 0:
            break
        here = Curvature(now.value[at], now.slope[at], now.bend[at])
        step = _newton_step(here, x[at], low[at], high[at], damping[at])
        trial = np.clip(x[at] + step, low[at], high[at])
        there = _derivatives(state, index[at], ktilde[at], trial)
        gain = here.value - there.value
        better = gain > 0.0
        won = at[better]
        x[won] = trial[better]
        now.value[won], now.slope[won] = there.value[better], there.slope[better]
        now.bend[won] = there.bend[better]
        damping[at] *= np.where(better, 0.2, 8.0)
        settled = better & (gain <= TOL * np.abs(here.value))
        active[at] = ~(settled | (damping[at] > STRONGEST))
    return x[:, 0], np.exp(x[:, 1])


def _box(state, index, ktilde, x) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest (m, log p) of each candidate; the start is inside."""
    a = state.a[index]
    squares = np.maximum(ktilde**2, 1e-300)
    eta_most = (1.0 - 1e-9) * np.min(state.a / squares, axis=1)
    room = 1.0 - eta_most * a
    safe = np.where(room > 0.0, eta_most / np.maximum(room, 1e-300), np.inf)
    least, most = PRECISIONS
    furthest = FURTHEST * np.sqrt(1.0 + state.prior[index])
    low = np.stack([-furthest, np.full(len(a), np.log(least))], axis=1)
    high = np.stack([furthest, np.log(np.minimum(most, safe))], axis=1)
    low, high = np.minimum(low, x), np.maximum(high, x)
    high[:, 1] = np.minimum(high[:, 1], np.maximum(np.log(safe), low[:, 1]))
    return low, high


def _derivatives(state, index, ktilde, x) -> Curvature:
    """Return the loss with its derivatives by x = (m, log p), by the chain rule."""
    precision = np.exp(x[:, 1])
    alpha, eta = coefficients(state, index, x[:, 0], precision)
    inner = losses_and_curvature(state, ktilde, alpha, eta)
    shrink = 1.0 / (1.0 + precision * state.a[index])
    eta_1 = eta * shrink  # d eta/d log p
    eta_2 = eta_1 * (2.0 * shrink - 1.0)
    lag = x[:, 0] - state.f[index]
    jacobian = np.zeros((len(x), 2, 2))  # rows alpha, eta; columns m, log p
    jacobian[:, 0, 0] = eta
    jacobian[:, 0, 1] = eta_1 * lag
    jacobian[:, 1, 1] = eta_1
    slope = np.einsum("cij,ci->cj", jacobian, inner.slope)
    bend = np.einsum("cij,cik,ckl->cjl", jacobian, inner.bend, jacobian)
    cross = inner.slope[:, 0] * eta_1
    bend[:, 0, 1] += cross
    bend[:, 1, 0] += cross
    bend[:, 1, 1] += inner.slope[:, 0] * eta_2 * lag + inner.slope[:, 1] * eta_2
    return Curvature(inner.value, slope, bend)


def _newton_step(here: Curvature, x, low, high, damping) -> np.ndarray:
    """Return damped Newton steps of the coordinates that the box does not hold."""
    held = ((x <= low) & (here.slope > 0)) | ((x >= high) & (here.slope < 0))
    slope = np.where(held, 0.0, here.slope)
    g, h, cross = here.bend[:, 0, 0], here.bend[:, 1, 1], here.bend[:, 0, 1].copy()
    cross[np.any(held, axis=1)] = 0.0
    middle, radius = 0.5 * (g + h), np.hypot(0.5 * (g - h), cross)
    scale = np.abs(middle) + radius + 1e-12
    shift = np.maximum(0.0, 1e-6 * scale - (middle - radius)) + damping * scale
    g, h = g + shift, h + shift
    determinant = g * h - cross**2
    return np.stack(
        [
            -(h * slope[:, 0] - cross * slope[:, 1]) / determinant,
            -(g * slope[:, 1] - cross * slope[:, 0]) / determinant,
        ],
        axis=1,
    )
