"""Learning objectives of a full GP: the evidence, and leave-one-out measures in closed form.

With `C = K + s2 diag(1 / w)` (n, n), `G = C^-1`, `g = diag(G)` (n,), `alpha = G y` (n, p), a row
of weight w being w copies with noise s2 each. Without row i its latent value is
`N(y_i - alpha_i / g_i, v_i)`, `v_i = 1 / g_i - s2 / w_i`. Leaving out `c = min(w, 1)` copies puts
the other `w - c` back, a measurement of y_i with noise `s2 / (w - c)`. With `a = max(w, 1)` the
residual and the variance of a noisy left-out copy come to

    u_i = g_i + a (w - c) / s2,   r_i = a alpha_i / u_i,   t_i = a^2 / u_i - s2 (1 / c - 1),

which for w = 1 are the known `alpha_i / g_i` and `1 / g_i` (Sundararajan and Keerthi, 2001). The
measures are means over copies and targets:

    loo_cve  r^2        nlgpp  r^2 / t + log t        gpe  r^2 + t

Their gradient needs the derivatives `A_bar = dF/dalpha` and `g_bar = dF/dg`, one adjoint

    dF/dC = -G diag(g_bar) G - (G A_bar alpha' + alpha A_bar' G) / 2,

contracted with the kernel, and what depends on s2 otherwise. An evaluation costs the Cholesky
factor and the inverse of C, as the evidence does, and one symmetric product of the size n^3 / 2.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.full_gp import evidence, factor_and_solve, triangle_gradient
from greedygp.hyperparameters import Evaluation, Point

__all__ = ["DENSE_OBJECTIVES", "DenseObjective", "loo_residuals"]

DENSE_OBJECTIVES = ("nlml", "loo_cve", "nlgpp", "gpe")
BLOCK = 256  # rows or columns of a triangle that are handled together


def loo_residuals(
    L: np.ndarray, alpha: np.ndarray, noise_variance: float, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leave-one-out residuals and variances of every row.

    Parameters
    ----------
    L : (n, n) array
        Lower Cholesky factor of `C = K + s2 diag(1 / w)`; its upper triangle is not read.
    alpha : (n, p) array
        `C^-1 y`.
    noise_variance : float
    weights : (n,) array or None
        Positive: a row of weight w stands for w copies, of which `min(w, 1)` are left out.

    Returns
    -------
    r : (n, p) array
        A left-out target minus its predicted mean.
    t : (n,) array
        The variance of a left-out target, noise included.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.objectives import loo_residuals
    >>> C = np.array([[2.0, 1.0], [1.0, 2.0]])  # y_1 given y_2 = 4 has mean 2, variance 1.5
    >>> r, t = loo_residuals(np.linalg.cholesky(C), np.linalg.solve(C, [[1.0], [4.0]]), 1.0, None)
    >>> r[0].round(12), t[0].round(12)
    (array([-1.]), np.float64(1.5))
    """
    left_out = _LeftOut(_inverse_diagonal(L), alpha, noise_variance, weights)
    return left_out.r, left_out.t


class DenseObjective:
    """A learning objective as a function of the hyperparameters.

    Parameters
    ----------
    name : {"nlml", "loo_cve", "nlgpp", "gpe"}
    X : (n, D) array
    y : (n, p) array
    weights : (n,) array or None
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.objectives import DenseObjective
    >>> from greedygp.hyperparameters import Point
    >>> from greedygp.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> objective = DenseObjective("loo_cve", X, np.sin(X), None)
    >>> good, poor = (objective(Point(Gaussian(1.0, scale), 1e-4)) for scale in (1.5, 0.1))
    >>> good.value < 1e-4 < 0.1 < poor.value
    True
    """

    def __init__(self, name: str, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None):
        if name not in DENSE_OBJECTIVES:
            raise ValueError(f"objective must be one of {DENSE_OBJECTIVES}, got {name!r}")
        self.name, self.X, self.y, self.weights = name, X, y, weights

    def __call__(self, point: Point) -> Evaluation:
        """Return the value and its gradient."""
        if self.name == "nlml":
            return evidence(point.kernel, point.noise_variance, self.X, self.y, self.weights)
        s2 = point.noise_variance
        L, alpha = self._factor(point)
        lower, _ = scipy.linalg.lapack.dpotri(L, lower=True, overwrite_c=True)
        G = _mirrored(lower)
        left_out = _LeftOut(np.diagonal(G), alpha, s2, self.weights)
        value, r_bar, t_bar = left_out.measure(self.name)
        A_bar, g_bar, d_noise = left_out.adjoints(r_bar, t_bar)
        dF_dC = _inverse_adjoint(G, g_bar, alpha, G @ A_bar)
        d_noise += s2 * float(np.sum(np.diagonal(dF_dC) / left_out.w))
        return Evaluation(value, triangle_gradient(point.kernel, dF_dC, self.X), d_noise)

    def value(self, point: Point) -> float:
        """Return the value alone."""
        if self.name == "nlml":
            return self(point).value
        return self._left_out(point).measure(self.name)[0]

    def scale(self, point: Point) -> float:
        """Return `mean(r^2 / t)`: the factor of all variances that left-out targets ask for."""
        left_out = self._left_out(point)
        each = np.mean(left_out.r**2, axis=1) / left_out.t
        return float(np.average(each, weights=left_out.w))

    def _left_out(self, point: Point) -> _LeftOut:
        L, alpha = self._factor(point)
        return _LeftOut(_inverse_diagonal(L), alpha, point.noise_variance, self.weights)

    def _factor(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the Cholesky factor of C and `C^-1 y`."""
        return factor_and_solve(point.kernel, point.noise_variance, self.X, self.y, self.weights)


class _LeftOut:
    """What is predicted of every row without it: `r` (n, p) and `t` (n,)."""

    def __init__(self, g: np.ndarray, alpha: np.ndarray, s2: float, weights: np.ndarray | None):
        self.s2, self.w = s2, np.ones(len(g)) if weights is None else weights
        self.a, self.c = np.maximum(self.w, 1.0), np.minimum(self.w, 1.0)
        self.u = g + self.a * (self.w - self.c) / s2
        self.r = (self.a / self.u)[:, None] * alpha
        # never below the noise of one copy but for rounding
        self.t = np.maximum(self.a**2 / self.u - s2 * (1.0 / self.c - 1.0), s2)

    def measure(self, name: str) -> tuple[float, np.ndarray, np.ndarray]:
        """Return a measure and its derivatives by r and by t."""
        share = self.w / np.sum(self.w)
        square = np.mean(self.r**2, axis=1)
        r_bar = (2.0 / self.r.shape[1]) * share[:, None] * self.r
        if name == "nlgpp":
            value = share @ (square / self.t + np.log(self.t))
            return float(value), r_bar / self.t[:, None], share * (1.0 - square / self.t) / self.t
        if name == "gpe":
            return float(share @ (square + self.t)), r_bar, share
        return float(share @ square), r_bar, np.zeros_like(share)

    def adjoints(
        self, r_bar: np.ndarray, t_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return derivatives by alpha, by g, and by log s2 where it stands in the formulas."""
        A_bar = (self.a / self.u)[:, None] * r_bar
        u_bar = -np.sum(r_bar * self.r, axis=1) / self.u - t_bar * (self.a / self.u) ** 2
        by_u = -u_bar @ (self.a * (self.w - self.c)) / self.s2
        by_t = -self.s2 * (t_bar @ (1.0 / self.c - 1.0))
        return A_bar, u_bar, float(by_u + by_t)


def _inverse_adjoint(
    G: np.ndarray, g_bar: np.ndarray, alpha: np.ndarray, G_A_bar: np.ndarray
) -> np.ndarray:
    """Return the lower triangle of `-G diag(g_bar) G - (G A_bar alpha' + alpha A_bar' G) / 2`.

    Overwrites G. `g_bar` is negative, but for NLGPP and some rows that weigh less than one: a sign
    at a time the first term is a symmetric product.
    """
    n = len(G)
    adjoint = np.zeros((n, n), order="F")
    G *= np.sqrt(np.abs(g_bar))[:, None]
    for sign in (-1.0, 1.0):
        rows = sign * g_bar > 0
        if np.any(rows):  # of the symmetric G, which lie as BLAS wants columns
            scaled = G if np.all(rows) else G[rows]
            adjoint = scipy.linalg.blas.dsyrk(
                -sign, scaled.T, beta=1.0, c=adjoint, lower=True, overwrite_c=True
            )
    return scipy.linalg.blas.dsyr2k(
        -0.5, G_A_bar, alpha, beta=1.0, c=adjoint, lower=True, overwrite_c=True
    )


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of a lower triangle in columns, in place and as C-ordered."""
    upper = lower.T
    for start in range(0, len(upper), BLOCK):
        stop = min(start + BLOCK, len(upper))
        square = np.triu(upper[start:stop, start:stop])
        upper[start:stop, start:stop] = square + np.triu(square, 1).T
        upper[stop:, start:stop] = upper[start:stop, stop:].T
    return upper


def _inverse_diagonal(L: np.ndarray) -> np.ndarray:
    """Return the diagonal of `(L L')^-1`: the squared norms of the columns of `L^-1`."""
    if L.flags.f_contiguous:
        inverse, _ = scipy.linalg.lapack.dtrtri(L, lower=True)
    else:
        inverse, _ = scipy.linalg.lapack.dtrtri(L.T, lower=False)
        inverse = inverse.T
    squares = np.empty(len(L))
    for start in range(0, len(L), BLOCK):
        stop = min(start + BLOCK, len(L))
        corner, below = np.tril(inverse[start:stop, start:stop]), inverse[stop:, start:stop]
        squares[start:stop] = np.sum(corner**2, axis=0) + np.einsum("ij,ij->j", below, below)
    return squares
