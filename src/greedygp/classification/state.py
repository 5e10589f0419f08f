"""The posterior of a sparse GP classifier, which grows by one basis vector at a time.

With sites (m_i, p_i) at the m basis rows u (section 2 of the additive-model paper) the posterior of
the latent values is N(f, A) with `A = (K^-1 + Pi)^-1`, `f = A Pi m`. Kept are

* row state: `f` (n,), `a = diag(A)` (n,), `M = L^-1 Pi_u^{1/2} K_uf` (capacity, n), rows last;
* basis state: `L` with `L L' = I + Pi_u^{1/2} K_uu Pi_u^{1/2}`, the indices, the sites.

Invariant: `A = K - M'M`. Row j enters with its column of A, `ktilde_j = k_j - M_j' M`, by

    a -= eta_j ktilde_j^2,   f += eta_j (m_j - f_j) ktilde_j,   eta_j = p_j / (1 + p_j a_j)

(equation (7)), and M gets the row `sqrt(eta_j) ktilde_j`: O(n m), in place. :meth:`rebuild`
computes everything anew from indices and sites in O(n m^2).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dgemm, dtrsm
from scipy.special import log_ndtr

from greedygp.cholesky import GrowingFactor, factorise_with_sites
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.sites import Moments, cavity, probit_moments

__all__ = ["ClassificationState"]


class ClassificationState:
    """Row and basis state of one two-class model; changed in place by `append` and `rebuild`.

    Parameters
    ----------
    point : LatentPoint
    data : LabelledRows
    capacity : int
        The most basis vectors.
    """

    def __init__(self, point: LatentPoint, data: LabelledRows, *, capacity: int):
        kernel, X, n = point.kernel, data.X, len(data)
        self.point, self.data = point, data
        self.kernel, self.bias = kernel, float(point.bias)
        self.X, self.y, self.mass = X, data.y, data.mass
        self.prior = np.array(kernel.diag(X), dtype=np.float64)
        self.cross = kernel.against(X)
        self.M = np.empty((capacity, n))
        self.indices: list[int] = []
        self.site_means: list[float] = []
        self.site_precisions: list[float] = []
        self.outside = np.ones(n, dtype=bool)
        self._reset()

    def _reset(self) -> None:
        self.L = GrowingFactor()
        self.f = np.zeros_like(self.prior)
        self.a = self.prior.copy()
        self._log_probability: np.ndarray | None = None

    @property
    def size(self) -> int:
        """How many basis vectors there are."""
        return len(self.indices)

    @property
    def sites(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and precisions of the sites, (m,) each."""
        return np.array(self.site_means), np.array(self.site_precisions)

    @property
    def log_probability(self) -> np.ndarray:
        """Log Phi(y (f + b) / sqrt(1 + a)) of every row, (n,); computed once after a change."""
        if self._log_probability is None:
            z = self.f + self.bias
            z *= self.y
            z /= np.sqrt(1.0 + self.a)
            self._log_probability = log_ndtr(z, out=z)
        return self._log_probability

    def moments(self, index: np.ndarray) -> Moments:
        """Return what the likelihood says about some rows, given their marginals."""
        weights = None if self.data.weights is None else self.data.weights[index]
        return probit_moments(self.f[index], self.a[index], self.y[index], self.bias, weights)

    def loo_loss(self) -> float:
        """Return the leave-one-out NLP: (4) for the rows outside, the cavity for the basis."""
        log_probability = self.log_probability.copy()
        u = self.indices
        mean, variance, _ = cavity(self.f[u], self.a[u], *self.sites)
        log_probability[u] = log_ndtr(self.y[u] * (mean + self.bias) / np.sqrt(1.0 + variance))
        return float(-(self.mass @ log_probability) / self.data.total)

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return the columns `ktilde` of A that belong to some rows, as rows, (c, n)."""
        m = self.size
        ktilde = np.empty((len(index), len(self.f)))
        self.cross(self.X[index], out=ktilde)
        if m:
            M, M_J = self.M[:m], np.ascontiguousarray(self.M[:m, index])
            if len(index) == 1:
                ktilde[0] -= M_J[:, 0] @ M
            else:
                # In place: BLAS sees the C-ordered arrays as their transposes.
                dgemm(-1.0, M.T, M_J.T, trans_b=True, beta=1.0, c=ktilde.T, overwrite_c=True)
        return ktilde

    def append(self, index: int, mean: float, precision: float, ktilde: np.ndarray) -> None:
        """Append row `index` with its site and its column of A, in place."""
        m, a_j = self.size, max(float(self.a[index]), 0.0)
        ratio = 1.0 + precision * a_j
        eta = precision / ratio
        self.L.append(np.sqrt(precision) * self.M[:m, index], np.sqrt(ratio))
        shift = eta * (mean - float(self.f[index]))
        row = np.multiply(ktilde, np.sqrt(eta), out=self.M[m])
        self.f += shift * ktilde
        self.a -= row * row
        np.maximum(self.a, 0.0, out=self.a)
        self.indices.append(int(index))
        self.site_means.append(float(mean))
        self.site_precisions.append(float(precision))
        self.outside[index] = False
        self._log_probability = None

    def replace(self, means: np.ndarray, precisions: np.ndarray, size: int | None = None) -> None:
        """Give the first `size` basis vectors other sites, forget the rest, and rebuild."""
        size = len(means) if size is None else size
        self.outside[self.indices[size:]] = True
        self.indices = self.indices[:size]
        self.site_means = [float(mean) for mean in means[:size]]
        self.site_precisions = [float(precision) for precision in precisions[:size]]
        self.rebuild()

    def adopt(self, indices: list[int], means: np.ndarray, precisions: np.ndarray) -> None:
        """Take another basis with its sites, and rebuild."""
        self.outside[...] = True
        self.outside[indices] = False
        self.indices = [int(index) for index in indices]
        self.replace(means, precisions)

    def truncate(self, size: int) -> None:
        """Go back to the first `size` basis vectors and rebuild."""
        self.replace(*self.sites, size=size)

    def rebuild(self) -> None:
        """Compute everything anew from the indices and sites, in place."""
        m = self.size
        self._reset()
        if m == 0:
            return
        means, precisions = self.sites
        root = np.sqrt(precisions)
        K_uf = np.asarray(self.cross(self.X[self.indices], out=self.M[:m]))
        lower = factorise_with_sites(K_uf[:, self.indices], root)
        self.L.replace(lower)
        K_uf *= root[:, None]
        # From the right, since BLAS sees the C-ordered array as its transpose.
        dtrsm(1.0, lower, K_uf.T, side=True, lower=True, trans_a=True, overwrite_b=True)
        coefficient = scipy.linalg.solve_triangular(lower, root * means, lower=True)
        self.f = coefficient @ K_uf
        self.a = np.maximum(self.prior - np.einsum("ij,ij->j", K_uf, K_uf), 0.0)
