"""Leave-one-out predictions of a full GP in closed form.

With `C = K + s2 diag(1 / w)` (n, n), `g = diag(C^-1)` (n,) and `alpha = C^-1 y` (n, p), a row of
weight w being w copies with noise s2 each. Without row i its latent value is
`N(y_i - alpha_i / g_i, v_i)`, `v_i = 1 / g_i - s2 / w_i`. Leaving out `c = min(w, 1)` copies (or
`c` that are given, where weights say how far a row is trusted) puts the other `w - c` back, a
measurement of y_i with noise `s2 / (w - c)`. With `a = w / c` the residual and the variance of a
noisy left-out copy come to

    u_i = g_i + a (w - c) / s2,   r_i = a alpha_i / u_i,   t_i = a^2 / u_i - s2 (1 / c - 1),

which for w = 1 are the known `alpha_i / g_i` and `1 / g_i` (Sundararajan and Keerthi, 2001).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.measures import LooMeasure

__all__ = ["LeftOut", "inverse_diagonal", "loo_residuals"]

BLOCK = 256  # columns of a triangle that are handled together


def loo_residuals(
    L: np.ndarray,
    alpha: np.ndarray,
    noise_variance: float,
    weights: np.ndarray | None,
    copies: np.ndarray | None = None,
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
    copies : (n,) array, optional
        How many of them are left out.

    Returns
    -------
    r : (n, p) array
        A left-out target minus its predicted mean.
    t : (n,) array
        The variance of a left-out target, noise included.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.loo import loo_residuals
    >>> C = np.array([[2.0, 1.0], [1.0, 2.0]])  # y_1 given y_2 = 4 has mean 2, variance 1.5
    >>> r, t = loo_residuals(np.linalg.cholesky(C), np.linalg.solve(C, [[1.0], [4.0]]), 1.0, None)
    >>> r[0].round(12), t[0].round(12)
    (array([-1.]), np.float64(1.5))
    """
    left_out = LeftOut(inverse_diagonal(L), alpha, noise_variance, weights, copies)
    return left_out.r, left_out.t


class LeftOut:
    """What is predicted of every row without it: residuals `r` (n, p) and variances `t` (n,).

    Parameters
    ----------
    g : (n,) array
        The diagonal of `C^-1`.
    alpha : (n, p) array
        `C^-1 y`.
    s2 : float
        The noise variance.
    weights : (n,) array or None
    copies : (n,) array or None
        How many of a row's copies are left out; None: at most one.
    """

    def __init__(
        self,
        g: np.ndarray,
        alpha: np.ndarray,
        s2: float,
        weights: np.ndarray | None,
        copies: np.ndarray | None = None,
    ):
        self.s2, self.w = s2, np.ones(len(g)) if weights is None else weights
        self.c = np.minimum(self.w, 1.0) if copies is None else copies
        self.a = self.w / self.c
        self.u = g + self.a * (self.w - self.c) / s2
        self.r = (self.a / self.u)[:, None] * alpha
        # In exact arithmetic it is at least the noise of one copy.
        self.t = np.maximum(self.a**2 / self.u - s2 * (1.0 / self.c - 1.0), s2)

    @property
    def share(self) -> np.ndarray:
        """What each row counts, (n,)."""
        return self.w / np.sum(self.w)

    @property
    def square(self) -> np.ndarray:
        """The squared residuals, averaged over the targets, (n,)."""
        return np.mean(self.r**2, axis=1)

    def mean_of(self, measure: LooMeasure) -> float:
        """Return a measure's mean over the rows."""
        return float(self.share @ measure.each(np, self.square, self.t))

    def adjoints(
        self, r_bar: np.ndarray, t_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return derivatives by alpha, by g, and by log s2 as far as the formulas contain it."""
        A_bar = (self.a / self.u)[:, None] * r_bar
        u_bar = -np.sum(r_bar * self.r, axis=1) / self.u - t_bar * (self.a / self.u) ** 2
        by_u = -u_bar @ (self.a * (self.w - self.c)) / self.s2
        by_t = -self.s2 * (t_bar @ (1.0 / self.c - 1.0))
        return A_bar, u_bar, float(by_u + by_t)


def inverse_diagonal(L: np.ndarray) -> np.ndarray:
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
