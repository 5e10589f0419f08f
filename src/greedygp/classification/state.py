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

FEW = 4  # candidates whose columns are computed one by one


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
        self.size = 0  # how many basis vectors there are
        self._places = np.empty(capacity, dtype=np.intp)
        self._sites = np.empty((2, capacity))
        self.outside = np.ones(n, dtype=bool)
        self._reset()

    def _reset(self) -> None:
        self.L = GrowingFactor()
        self.f = np.zeros_like(self.prior)
        self.a = self.prior.copy()
        self._log_probability: np.ndarray | None = None

    @property
    def indices(self) -> list[int]:
        """The rows of the basis."""
        return self._places[: self.size].tolist()

    @property
    def sites(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and precisions of the sites, (m,) each."""
        means, precisions = self._sites[:, : self.size].copy()
        return means, precisions

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
        u = self._places[: self.size]
        mean, variance, _ = cavity(self.f[u], self.a[u], *self.sites)
        log_probability[u] = log_ndtr(self.y[u] * (mean + self.bias) / np.sqrt(1.0 + variance))
        return float(-(self.mass @ log_probability) / self.data.total)

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return the columns `ktilde` of A that belong to some rows, as rows, (c, n)."""
        m = self.size
        ktilde = np.empty((len(index), len(self.f)))
        self.cross(self.X[index], out=ktilde)
        if m:
            M = self.M[:m]
            if len(index) <= FEW:  # BLAS is slow with matrices of few rows
                for row, place in zip(ktilde, index):
                    row -= np.ascontiguousarray(M[:, place]) @ M
            else:
                M_J = np.ascontiguousarray(M[:, index])
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
        self._places[m], self._sites[:, m] = index, (mean, precision)
        self.size = m + 1
        self.outside[index] = False
        self._log_probability = None

    def replace(self, means: np.ndarray, precisions: np.ndarray, size: int | None = None) -> None:
        """Give the first `size` basis vectors other sites, forget the rest, and rebuild."""
        size = len(means) if size is None else size
        self.outside[self._places[size : self.size]] = True
        self.size = size
        self._sites[:, :size] = means[:size], precisions[:size]
        self.rebuild()

    def adopt(self, indices: list[int], means: np.ndarray, precisions: np.ndarray) -> None:
        """Take another basis with its sites, and rebuild."""
        self.outside[...] = True
        self.outside[indices] = False
        self.size = len(indices)
        self._places[: self.size] = indices
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
        u = self._places[:m]
        K_uf = np.asarray(self.cross(self.X[u], out=self.M[:m]))
        lower = factorise_with_sites(K_uf[:, u], root)
        self.L.replace(lower)
        K_uf *= root[:, None]
        # From the right, since BLAS sees the C-ordered array as its transpose.
        dtrsm(1.0, lower, K_uf.T, side=True, lower=True, trans_a=True, overwrite_b=True)
        coefficient = scipy.linalg.solve_triangular(lower, root * means, lower=True)
        self.f = coefficient @ K_uf
        self.a = np.maximum(self.prior - np.einsum("ij,ij->j", K_uf, K_uf), 0.0)
