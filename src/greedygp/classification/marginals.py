"""Marginals of rows as a function of kernel and sites, and the way back of derivatives.

With `W = (K_uu + Pi_u^-1)^-1 = S B^-1 S`, `S = Pi_u^{1/2}`, `B = I + S K_uu S = L L'`,

    beta = W m,   H = W K_uf,   f = K_fu beta,   a = k - diag(K_fu H).

Given `g_f = dF/df` and `g_a = dF/da` (n,) of a scalar F, with `h = H g_f`:

    dF/dK_uf = beta g_f' - 2 H diag(g_a),   dF/dk = g_a,
    dF/dK_uu = -0.5 (h beta' + beta h') + H diag(g_a) H',
    dF/dm = h,   dF/dlog p_j = -(dF/dK_uu)_jj / p_j.

O(n m^2 + n m D) both ways.
"""

from __future__ import annotations

import numpy as np

from greedygp.cholesky import factor_and_inverse_with_sites, inverse_from_factor
from greedygp.kernels import Kernel

__all__ = ["Marginals"]


class Marginals:
    """Means `f` and variances `a` of the latent values of some rows.

    Parameters
    ----------
    kernel : Kernel
    X : (n, D) array
    X_u : (m, D) array
        The basis.
    means, precisions : (m,) arrays
        Its sites.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: np.ndarray,
        X_u: np.ndarray,
        means: np.ndarray,
        precisions: np.ndarray,
    ):
        self.kernel, self.X, self.X_u, self.precisions = kernel, X, X_u, precisions
        root = np.sqrt(precisions)
        K_uf = np.asarray(kernel(X_u, X))
        K_uu = np.asarray(kernel(X_u))
        diagonal, inverse = factor_and_inverse_with_sites(K_uu, root, np.empty_like(K_uu))
        self.log_determinant = 2.0 * float(np.sum(np.log(diagonal)))
        self.W = inverse_from_factor(inverse, root)
        self.beta, self.H = self.W @ means, self.W @ K_uf
        self.f = self.beta @ K_uf
        explained = np.einsum("ij,ij->j", K_uf, self.H)
        self.a = np.maximum(np.asarray(kernel.diag(X)) - explained, 0.0)

    def pull_back(
        self, g_f: np.ndarray, g_a: np.ndarray, more_K_uu: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return derivatives by theta (p,), by the site means and by the log precisions (m,).

        `more_K_uu` is a part of dF/dK_uu that does not come by way of f and a; it is taken for the
        derivative by theta only.
        """
        h = self.H @ g_f
        scaled = self.H * g_a
        dK_uu = scaled @ self.H.T
        dK_uu -= 0.5 * (np.outer(h, self.beta) + np.outer(self.beta, h))
        by_log_precision = -np.diagonal(dK_uu) / np.maximum(self.precisions, 1e-300)
        scaled *= -2.0
        scaled += np.outer(self.beta, g_f)
        theta = self.kernel.gradient(scaled, self.X_u, self.X)
        dK_uu = dK_uu if more_K_uu is None else dK_uu + more_K_uu
        theta = theta + self.kernel.gradient(dK_uu, self.X_u)
        return theta + self.kernel.diag_gradient(g_a, self.X), h, by_log_precision
