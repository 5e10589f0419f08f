"""Predictions of a sparse GP classifier, from the basis, its sites and one factor.

With `M_* = L^-1 S k_u*` the latent value at x has the mean `M_*' (L^-1 S m)` and the variance
`k_** - M_*' M_*`; the probability of the class +1 is `Phi((f + b) / sqrt(1 + variance))`. O(m^2)
per row; rows are worked through in tiles, so that memory does not grow with their number.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.classification.state import ClassificationState

__all__ = ["Posterior"]

TILE_ENTRIES = 2_000_000


class Posterior:
    """A fitted two-class model.

    Parameters
    ----------
    state : ClassificationState
        Only what predictions need is taken from it.
    """

    def __init__(self, state: ClassificationState):
        self.kernel, self.bias = state.kernel, state.bias
        self.basis = state.X[state.indices]
        means, precisions = state.sites
        self.root = np.sqrt(precisions)
        self.L = state.L.lower.copy()
        self.coefficient = state.L.solve(self.root * means)

    def latent(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of f at the rows of X, (N,) each."""
        mean, variance = np.zeros(len(X)), np.array(self.kernel.diag(X), dtype=np.float64)
        if len(self.basis) == 0:
            return mean, variance
        cross = self.kernel.against(self.basis)
        step = max(TILE_ENTRIES // len(self.basis), 1)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            right = (np.asarray(cross(X[rows])) * self.root).T
            M = scipy.linalg.solve_triangular(self.L, right, lower=True, check_finite=False)
            mean[rows] = self.coefficient @ M
            variance[rows] -= np.einsum("ij,ij->j", M, M)
        return mean, np.maximum(variance, 0.0)

    def score(self, X: np.ndarray) -> np.ndarray:
        """Return `(f + b) / sqrt(1 + variance)`, whose Phi is the probability of the class +1."""
        mean, variance = self.latent(X)
        return (mean + self.bias) / np.sqrt(1.0 + variance)
