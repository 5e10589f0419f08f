"""What single rows do to the predictions of a sparse GP.

With the symbols of `state.py` and `loo.py`: leaving out `c` (`min(w, 1)`) of the w copies of row i
takes `c V_i V_i' / w` from B. By Sherman and Morrison the mean at x falls by `p_i r_i` and the
variance rises by `g_i p_i^2`, with

    p_i = (c / w) z'Z_i scale_i,   g_i = lam_i / (c (1 - c eta_i)),   z = L_B^-1 G^-1 k_u*.

The numbers `(c / w) Z_i scale_i` are kept, m of them a row, for a limited number of rows: O(m n)
memory, and O(m n) time for an x.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.jackknife import LeftOut
from greedygp.noise import NoiseFunction
from greedygp.sparse.loo import SMALLEST, copies_left_out, loo_rows
from greedygp.sparse.model import SparseModel
from greedygp.sparse.passes import filled_block
from greedygp.sparse.posterior import Posterior

__all__ = ["MOST_ROWS", "SparseInfluence"]

MOST_ROWS = 1000  # that are kept


class SparseInfluence:
    """Rows of a fitted model, and how far each pulls its predictions.

    Parameters
    ----------
    model : SparseModel
    X, y, weights : (n, D), (p, n) and (n,) row arrays, or None
        The rows, as the model was fitted to them.
    noise : NoiseFunction or None
        None: constant.
    counts : (n,) array or None
        How many rows each one stands for.
    copies : (n,) array or None
        How much of its weight each row takes along; None: at most one.
    """

    def __init__(
        self,
        model: SparseModel,
        X: Array,
        y: Array,
        weights: Array | None,
        noise: NoiseFunction | None,
        counts: Array | None,
        copies: Array | None = None,
    ):
        block, xp = filled_block(model, X, y, weights), model.backend.xp
        residual, variance = loo_rows(model, block, copies)
        if noise is not None:
            variance = noise.instead_of_constant(variance, X, (block.y - residual).T)
        weight = block.weights
        copies = copies_left_out(block, copies)
        left = xp.clip(1.0 - copies * block.leverage / weight, min=SMALLEST)
        factor = model.backend.asarray(copies / weight * block.scale)
        self.pulls = block.Z[: model.size, :] * factor[None, :]  # (m, n)
        self.left_out = LeftOut(
            to_numpy(residual).T.copy(),
            to_numpy(variance),
            to_numpy(block.lam / (copies * left)),
            None if counts is None else to_numpy(counts).astype(np.float64),
        )

    def of(self, posterior: Posterior) -> InfluenceOn:
        """Return what the rows do to the predictions of the posterior."""
        return InfluenceOn(self, posterior)


class InfluenceOn:
    """What rows do to the predictions of a posterior."""

    def __init__(self, rows: SparseInfluence, posterior: Posterior):
        self.rows, self.posterior = rows, posterior
        self.left_out = rows.left_out

    def at(self, X: Array) -> tuple[Array, Array, Array]:
        """Return at X the mean (N, p), the latent variance (N,), and all pulls (N, n)."""
        mean, latent = self.posterior.mean_and_variance(X)
        backend = Backend(mean)
        Z = self.posterior.projections(X)[1]
        return mean, latent, backend.matmul(Z.T, backend.asarray(self.rows.pulls))
