"""Predictions of a sparse GP: SoR, DTC, FITC, from the factors alone.

With `v = G^-1 k_u*` and `z = L_B^-1 v`: the mean is `z'w`, the variance of the latent value
`k_** - v'v + z'z` (SoR: `z'z`), and the noise `s2` comes on top. The cost of a row is O(m) for the
mean and O(m^2) for the variance; rows are worked through in tiles, so that memory does not grow
with their number. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from greedygp.arrays import Array, Backend
from greedygp.sparse.model import SparseModel

__all__ = ["Posterior"]

TILE_ENTRIES = 2_000_000


class Posterior:
    """The fitted model: basis inputs, factors and coefficients, in the units of normalised y.

    Parameters
    ----------
    state : SparseModel
        Only what predictions need is taken from it.
    """

    def __init__(self, state: SparseModel):
        self.kernel = state.kernel
        self.noise_variance = state.noise_variance
        self.approximation = state.approximation
        self.basis = state.basis
        self.G = state.G.lower.copy()
        self.L_B = state.L_B.lower.copy()
        self.w = state.w.copy()
        solved = state.L_B.solve_transposed(state.w)
        self.alpha = state.G.solve_transposed(solved)  # (m, p)

    @property
    def n_targets(self) -> int:
        """The number of target columns."""
        return self.w.shape[1]

    def mean(self, X: Array) -> Array:
        """Return the mean of the targets at X, (rows, p)."""
        X = _wide(X)
        backend = Backend(X)
        if len(self.alpha) == 0:
            return backend.zeros((X.shape[0], self.n_targets))
        cross = self.kernel.against(self._basis_on(backend))
        alpha = backend.asarray(self.alpha)
        return self._in_tiles(backend, X, lambda tile: backend.matmul(cross(tile), alpha))

    def mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        """Return the mean (rows, p) and the variance of the latent value (rows,)."""
        X = _wide(X)
        backend, xp = Backend(X), Backend(X).xp
        if len(self.alpha) == 0:
            prior = self.kernel.diag(X)
            return self.mean(X), prior if self.approximation != "sor" else 0.0 * prior
        cross = self.kernel.against(self._basis_on(backend))
        alpha = backend.asarray(self.alpha)

        def tile_of_both(tile: Array) -> Array:
            K = cross(tile)
            V, Z = self._projections(backend, K.T)
            variance = xp.sum(Z * Z, axis=0)
            if self.approximation != "sor":
                left = xp.clip(self.kernel.diag(tile) - xp.sum(V * V, axis=0), min=0.0)
                variance = variance + left
            return xp.concat([backend.matmul(K, alpha), variance[:, None]], axis=1)

        both = self._in_tiles(backend, X, tile_of_both)
        return both[:, :-1], both[:, -1]

    def covariance(self, X: Array) -> Array:
        """Return the full covariance of the latent values at X, (rows, rows)."""
        X = _wide(X)
        backend = Backend(X)
        prior = self.kernel(X)
        if len(self.alpha) == 0:
            return prior if self.approximation != "sor" else 0.0 * prior
        V, Z = self.projections(X)
        covariance = backend.matmul(Z.T, Z)
        if self.approximation != "sor":
            covariance += prior - backend.matmul(V.T, V)
        return covariance

    def projections(self, X: Array) -> tuple[Array, Array]:
        """Return `V = G^-1 K_us` and `Z = L_B^-1 V` at X, (m, rows) each."""
        X = _wide(X)
        backend = Backend(X)
        return self._projections(backend, self.kernel(self._basis_on(backend), X))

    def _projections(self, backend: Backend, K_us: Array) -> tuple[Array, Array]:
        V = backend.solve_lower(self.G, K_us)
        return V, backend.solve_lower(self.L_B, V)

    def _basis_on(self, backend: Backend) -> Array:
        return backend.asarray(self.basis)

    def _in_tiles(self, backend: Backend, X: Array, function: Callable[[Array], Any]) -> Array:
        rows = max(1, TILE_ENTRIES // max(1, len(self.alpha)))
        if X.shape[0] <= rows:
            return function(X)
        parts = [function(X[start : start + rows, :]) for start in range(0, X.shape[0], rows)]
        return backend.xp.concat(parts, axis=0)


def _wide(X: Array) -> Array:
    """Return X in float64: large coefficients of both signs would magnify a coarser kernel."""
    return Backend(X).as_float64(X)
