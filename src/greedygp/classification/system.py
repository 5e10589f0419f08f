"""The posterior of rows that all have a site, from one factor and its inverse.

With sites (m_i, p_i) at n rows and `S = Pi^{1/2}`, `B = I + S K S = L L'`,

    W = (K + Pi^-1)^-1 = S B^-1 S,   beta = W m,   f = K beta,
    p_i a_i = 1 - (B^-1)_ii,         (B^-1)_ii = sum_k (L^-1)_ki^2.

A site that says next to nothing leaves no digits in the last difference; there
`a = k - |L^-1 S k_i|^2`. O(n^3), two thirds of a matrix product.
"""

from __future__ import annotations

import numpy as np

from greedygp.cholesky import factor_and_inverse_with_sites, inverse_from_factor

__all__ = ["SiteSystem"]

LEAST_SHARE = 1e-8  # of p k, below which a comes by the other formula


class SiteSystem:
    """Marginals of rows with sites; :meth:`place` gives them other sites, in place.

    Parameters
    ----------
    K : (n, n) array
    """

    def __init__(self, K: np.ndarray):
        self.K, self.prior = K, np.diagonal(K).copy()
        self._work = np.empty_like(K)
        self.log_determinant = 0.0
        self.means = self.precisions = self.beta = self.f = np.zeros(len(K))
        self.a = self.prior

    def place(self, natural: np.ndarray, precisions: np.ndarray) -> None:
        """Take sites `(p m, p)` and compute the marginals `f` and `a`, in place."""
        self.precisions = precisions
        self._root = root = np.sqrt(precisions)
        self.means = np.divide(
            natural, precisions, out=np.zeros_like(natural), where=precisions > 0
        )
        diagonal, self._inverse = factor_and_inverse_with_sites(self.K, root, self._work)
        self.log_determinant = 2.0 * float(np.sum(np.log(diagonal)))
        inverse = self._inverse
        self.beta = root * (inverse.T @ (inverse @ (root * self.means)))
        self.f = self.K @ self.beta
        share = 1.0 - np.einsum("ij,ij->j", inverse, inverse)
        few = np.flatnonzero(precisions * self.prior < LEAST_SHARE)
        self.a = np.divide(share, precisions, out=self.prior.copy(), where=precisions > 0)
        if len(few):
            M = inverse @ (root[:, None] * self.K[:, few])
            self.a[few] = self.prior[few] - np.einsum("ij,ij->j", M, M)
        np.maximum(self.a, 0.0, out=self.a)

    def inverse(self) -> np.ndarray:
        """Return W; the system wants other sites before it is used again."""
        return inverse_from_factor(self._inverse, self._root)
