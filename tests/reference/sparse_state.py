"""The state of a sparse GP straight from the definitions, dense and on the host.

Rows are whitened by ``scale_i = sqrt(w_i / lambda_i)``. The factor of ``K_uu + Kt Kt'`` comes from
the QR decomposition of ``[V'; I]``, never from a product of matrices, so that these numbers stay
exact where the kernel matrix is nearly singular. Nothing is imported from the package.
"""

from types import SimpleNamespace

import numpy as np


def sparse_state(kernel, basis, X, y, noise_variance, approximation="dtc", weights=None):
    """Return every maintained quantity for the basis inputs (m, D) and the targets y (p, n)."""
    m, n = len(basis), len(X)
    weights = np.ones(n) if weights is None else weights
    K_uf = kernel(basis, X)
    G = np.linalg.cholesky(kernel(basis, basis)) if m else np.zeros((0, 0))
    V = np.linalg.solve(G, K_uf)
    q = np.sum(V**2, axis=0)
    lam = np.full(n, float(noise_variance))
    if approximation == "fitc":
        lam += np.diag(kernel(X, X)) - q
    scale = np.sqrt(weights / lam)
    V = V * scale
    yt = y * scale
    orthonormal, R = np.linalg.qr(np.vstack([V.T, np.eye(m)]))
    sign = np.sign(np.diag(R))
    orthonormal, L_B = orthonormal * sign, (R * sign[:, None]).T
    Z, Y = orthonormal[:n].T, orthonormal[n:]
    w = Z @ yt.T
    return SimpleNamespace(
        G=G,
        V=V,
        L_B=L_B,
        Z=Z,
        Y=Y,
        w=w,
        fit=w.T @ Z,
        leverage=np.sum(Z**2, axis=0),
        explained=np.sum(V**2, axis=0),
        lam=lam,
        scale=scale,
        yt=yt,
    )
