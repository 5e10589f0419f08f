"""What single rows do to the predictions of a full GP.

With the symbols of `loo.py` and `s = C^-1 k_*`: leaving out `c = min(w, 1)` of the w copies of row
i adds to the i-th entry of C's diagonal. By Sherman and Morrison the mean at x falls by `p_i r_i`
and the variance rises by `g_i p_i^2`, with `p_i = s_i / a_i` and `g_i = a_i^2 / u_i`. An x costs a
solve with the Cholesky factor.
"""

from __future__ import annotations

import numpy as np

from greedygp import jackknife
from greedygp.arrays import Array, Backend, to_numpy
from greedygp.dense.loo import LeftOut
from greedygp.dense.posterior import DensePosterior
from greedygp.noise import NoiseFunction

__all__ = ["DenseInfluence"]


class DenseInfluence:
    """The rows of a full GP, and how far each pulls its predictions.

    Parameters
    ----------
    posterior : DensePosterior
    noise : NoiseFunction or None
        None: constant.
    y : (p, n) array
        The targets.
    counts : (n,) array or None
        How many rows each one stands for.
    """

    def __init__(
        self,
        posterior: DensePosterior,
        noise: NoiseFunction | None,
        y: Array,
        counts: Array | None,
    ):
        self.posterior = posterior
        rows: LeftOut = posterior.left_out()
        variance: Array = rows.t
        if noise is not None:
            backend = Backend(posterior.X)
            mean = to_numpy(y).astype(np.float64).T - rows.r
            variance = noise.instead_of_constant(
                backend.asarray(rows.t), posterior.X, backend.asarray(mean)
            )
        self.weights = rows.a
        self.left_out = jackknife.LeftOut(
            rows.r,
            to_numpy(variance).astype(np.float64),
            rows.a**2 / rows.u,
            None if counts is None else to_numpy(counts).astype(np.float64),
        )

    def at(self, X: Array) -> tuple[Array, Array, Array]:
        """Return at X the mean (N, p), the latent variance (N,), and all pulls (N, n)."""
        posterior, backend = self.posterior, Backend(self.posterior.X)
        X = posterior.like_training(X)
        K = posterior.kernel(X, posterior.X)
        smoother = posterior.solved_for(K)
        explained = backend.asarray(backend.row_dots(smoother, K))
        latent = backend.xp.clip(posterior.kernel.diag(X) - explained, min=0.0)
        pull = smoother / backend.asarray(self.weights)[None, :]
        return backend.matmul(K, posterior.alpha.T), latent, pull
