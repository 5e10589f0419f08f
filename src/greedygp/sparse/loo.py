"""Leave-one-out in closed form for the present basis: residuals, variances, measures of both.

Row i (weight w_i, noise lam_i of a copy) has the leverage `eta_i` of a copy. Leaving out
`c = min(w, 1)` copies of it (or `c` that are given, where weights say how far a row is trusted)
gives

    r_i = (y_i - f_i) / (1 - c eta_i),
    t_i = b_i + lam_i (1 + (1 - c) eta_i) / (1 - c eta_i),   b_i = k_i - q_i (DTC), 0 (FITC, SoR),

the residual and the variance of the noisy left-out target. What is made of them is a measure
(`greedygp.measures`). Where a measure adds up variances only, `b_i` is summed without knowing it
row by row. `scoring.py` computes the same for candidates.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array
from greedygp.measures import LooMeasure
from greedygp.sparse.gradient import RowAdjoints
from greedygp.sparse.model import SparseModel
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState

__all__ = [
    "SMALLEST",
    "copies_left_out",
    "loo_adjoints",
    "loo_mean",
    "loo_measure",
    "loo_rows",
    "loo_scale",
    "loo_scale_sum",
    "loo_sum",
    "prior_left",
    "sum_of_prior_left",
]

SMALLEST = 1e-12  # of 1 - c eta, which is positive but for rounding


def loo_rows(
    state: SparseModel, block: SparseRows, copies: Array | None = None
) -> tuple[Array, Array]:
    """Return the leave-one-out residuals (p, T) and variances (T,) of a block's rows."""
    return _residuals_and_variances(state, block, state.uses_prior_variance, copies)


def copies_left_out(block: SparseRows, copies: Array | None = None) -> Array:
    """Return how much of its weight each row takes along, (T,)."""
    return block.backend.xp.clip(block.weights, max=1.0) if copies is None else copies


def _residuals_and_variances(
    state: SparseModel, block: SparseRows, with_prior: bool, copies: Array | None = None
) -> tuple[Array, Array]:
    xp = state.backend.xp
    if block.weight is None:
        left = xp.clip(1.0 - block.leverage, min=SMALLEST)
        t = block.lam / left
    else:
        eta = block.leverage / block.weight
        copies = copies_left_out(block, copies)
        left = xp.clip(1.0 - copies * eta, min=SMALLEST)
        t = block.lam * (1.0 + (1.0 - copies) * eta) / left
    if with_prior:
        t = t + prior_left(block)
    residual = (block.yt - block.fit) / (block.scale * left)[None, :]
    return residual, t


def prior_left(block: SparseRows) -> Array:
    """Return `k_i - q_i`, freed of the rounding that would make it negative."""
    return block.backend.xp.clip(block.unexplained, min=0.0)


def sum_of_prior_left(state: SparseModel) -> float:
    """Return `sum w_i (k_i - q_i)` by `sum q = s2 tr(V V') = s2 (|L_B|^2 - m)` (DTC)."""
    trace = float(np.sum(state.L_B.lower**2)) - state.size
    return state.weighted_prior - state.noise_variance * trace


def loo_measure(state: SparseState, measure: LooMeasure) -> float:
    """Return a measure of the present basis."""
    total = state.rows.sum(lambda block: loo_sum(state, block, measure), light=True)
    return loo_mean(state, total, measure)


def loo_sum(state: SparseModel, block: SparseRows, measure: LooMeasure) -> np.ndarray:
    """Return the sum of a measure over a block's rows."""
    xp = state.backend.xp
    with_prior = measure.needs_each_variance and state.uses_prior_variance
    r, t = _residuals_and_variances(state, block, with_prior)
    return block.weighted_sum(measure.each(xp, xp.mean(r * r, axis=0), t))


def loo_mean(state: SparseModel, total: np.ndarray | float, measure: LooMeasure) -> float:
    """Return a measure, given its sum over all rows."""
    total = float(total)
    if measure.adds_variance and state.uses_prior_variance:
        total += sum_of_prior_left(state)
    return total / state.total_weight


def loo_scale(state: SparseState) -> float:
    """Return `mean(r^2 / t)`: the factor of all variances that the left-out targets ask for."""
    total = state.rows.sum(lambda block: loo_scale_sum(state, block), light=True)
    return float(total) / state.total_weight


def loo_scale_sum(state: SparseModel, block: SparseRows) -> np.ndarray:
    """Return the sum of `r^2 / t` over a block's rows."""
    xp = state.backend.xp
    r, t = loo_rows(state, block)
    return block.weighted_sum(xp.mean(r * r, axis=0) / t)


def loo_adjoints(state: SparseModel, block: SparseRows, measure: LooMeasure) -> RowAdjoints:
    """Return a measure's sum and its derivatives by what it takes from each row of a block."""
    xp = state.backend.xp
    r, noise = _residuals_and_variances(state, block, with_prior=False)
    with_prior = measure.uses_variance and state.uses_prior_variance
    t = noise + prior_left(block) if with_prior else noise
    weight = block.weights
    copies = copies_left_out(block)
    eta = block.leverage / weight
    left = xp.clip(1.0 - copies * eta, min=SMALLEST)
    r_bar, t_bar = measure.slopes(xp, r, t, weight / state.total_weight)
    through_r = xp.sum(r_bar * r, axis=0)
    spread = (1.0 + (1.0 - copies) * eta) / left  # t = b + lam spread
    left_bar = -through_r / left - t_bar * block.lam * spread / left
    by_prior = t_bar if with_prior else xp.zeros_like(t_bar)
    judged = t if measure.needs_each_variance else noise
    return RowAdjoints(
        total=block.weighted_sum(measure.each(xp, xp.mean(r * r, axis=0), judged)),
        phi=-r_bar / (block.scale * left)[None, :],
        eta=(t_bar * block.lam * (1.0 - copies) / left - copies * left_bar) / weight,
        lam=t_bar * spread,
        k=by_prior,
        q=-by_prior,
        scale=-through_r,
    )
