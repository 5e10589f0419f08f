"""A sparse GP with given hyperparameters, seen from the basis: factors, and what a block needs.

The symbols are those of `state.py`. Nothing of the rows is kept here. A block of rows is filled in
three steps, :meth:`set_v`, :meth:`set_z` and :meth:`set_fit`. The first two lead to sums over all
rows (`V V'`, `Z yt'`) that the next step needs. So the same formulas serve rows whose state is kept
(`state.py`) and rows that only pass by (`passes.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.cholesky import GrowingFactor, GrowingTriangle, factorise
from greedygp.sparse.row_state import SparseRows

__all__ = ["SparseModel"]

REMEDY_PRIOR = (
    "Basis vectors are (nearly) equal to one another: lower max_basis, or use a kernel with "
    "shorter length scales."
)
REMEDY_POSTERIOR = "Raise noise_variance, or check that the kernel's values are finite."


class SparseModel:
    """Kernel, noise, basis inputs and their factors.

    Parameters
    ----------
    kernel : Kernel
    noise_variance : float
    approximation : {"sor", "dtc", "fitc"}
    basis : (m, D) row array
    n_targets : int
    backend : Backend
    """

    def __init__(
        self,
        kernel: Any,
        noise_variance: float,
        approximation: str,
        basis: Array,
        n_targets: int,
        backend: Backend,
    ):
        self.kernel, self.noise_variance = kernel, float(noise_variance)
        self.approximation = approximation
        self.basis, self.n_targets, self.backend = basis, n_targets, backend
        self.G = GrowingFactor()
        self.L_B = GrowingFactor()
        self.Y = GrowingTriangle()
        self.w = np.zeros((0, n_targets))
        self.jitter = self.drift = 0.0
        # Sums over all rows: of the weights, of yt^2, of weight * log(lam), of weight * prior.
        self.total_weight = self.yt_yt = self.weighted_log_noise = self.weighted_prior = 0.0

    @property
    def size(self) -> int:
        """The number of basis vectors, m."""
        return self.basis.shape[0]

    @property
    def uses_prior_variance(self) -> bool:
        """Whether predictions add `k - q` (DTC; in FITC it is part of `lam`, in SoR it is lost)."""
        return self.approximation == "dtc"

    @property
    def degrees_of_freedom(self) -> float:
        """The sum of the rows' leverages, at most m."""
        return self.size - float(np.sum(to_numpy(self.Y.square) ** 2))

    @property
    def basis_float64(self) -> Array:
        """The basis inputs in float64, for the factors."""
        return self.backend.as_float64(self.basis)

    def nlml(self) -> float:
        """Return the negative log marginal likelihood, summed over the target columns."""
        log_det = 2.0 * float(np.sum(np.log(np.diagonal(self.L_B.lower))))
        quadratic = self.yt_yt - float(np.sum(self.w**2))
        constant = self.weighted_log_noise + self.total_weight * np.log(2.0 * np.pi)
        return 0.5 * quadratic + 0.5 * self.n_targets * (log_det + constant)

    # --- the factors ---------------------------------------------------------------------------

    def factorise_prior(self) -> None:
        """Set G, in place."""
        K_uu = to_numpy(self.kernel(self.basis_float64))
        G, self.jitter = factorise(K_uu, "The basis' kernel matrix K_uu", REMEDY_PRIOR)
        self.G.replace(G)

    def factorise_posterior(self, V_V: np.ndarray) -> None:
        """Set L_B and Y, in place, given `V V'` over all rows."""
        L_B, jitter = factorise(np.eye(self.size) + V_V, "I + V V'", REMEDY_POSTERIOR)
        self.jitter = max(self.jitter, jitter)
        self.take_posterior_factor(L_B)

    def take_posterior_factor(self, L_B: np.ndarray) -> None:
        """Set L_B, and Y, its inverse transposed, in place."""
        self.L_B.replace(L_B)
        self.Y.replace(self.L_B.inverse().T)

    def take_sums(self, sums: np.ndarray) -> None:
        """Set the sums over all rows, in place, given those of `sums_of` added up."""
        values = (float(value) for value in sums)
        self.total_weight, self.yt_yt, self.weighted_log_noise, self.weighted_prior = values

    # --- a block of rows -----------------------------------------------------------------------

    def noise_of(self, block: SparseRows, q: Array | float) -> Array | float:
        """Return `lam`, the noise of one copy of each row, given the explained prior variance.

        It is one number where all rows share it.
        """
        if self.approximation == "fitc":
            return self.backend.xp.clip(block.prior - q, min=0.0) + self.noise_variance
        return self.noise_variance

    def set_kernel(self, block: SparseRows) -> None:
        """Set what depends on the kernel and the noise but not on the basis, in place."""
        block.set_kernel(self.kernel)
        block.whiten(self.noise_of(block, q=0.0))

    def set_v(self, block: SparseRows) -> Array:
        """Set V (for now in Z, where V is not kept), explained, scale; return V."""
        backend, m = self.backend, self.size
        V = (block.Z if block.V is None else block.V)[:m, :]
        block.cross(self.basis, out=V)
        backend.solve_lower(self.G.lower, V, out=V)
        squares = backend.column_squares(V)
        if self.approximation == "fitc":
            block.whiten(self.noise_of(block, squares))
        V *= block.row_scale[None, :]
        block.explained = squares * block.scale**2
        return V

    def v_products(self, block: SparseRows) -> np.ndarray:
        """Set V and what goes with it; return `V V'`."""
        V = self.backend.as_float64(self.set_v(block))
        return to_numpy(self.backend.matmul(V, V.T))

    def set_z(self, block: SparseRows) -> np.ndarray:
        """Set Z and the leverage; return `Z yt'`."""
        backend, m = self.backend, self.size
        Z = block.Z[:m, :]
        if block.V is None:
            backend.solve_lower(self.L_B.lower, Z, out=Z)
        else:
            inverse = self.Y.square.T
            backend.apply_inverse(self.L_B.lower, inverse, block.V[:m, :], out=Z)
        block.leverage = backend.column_squares(Z)
        return backend.host_product(Z, block.row_yt.T)

    def set_fit(self, block: SparseRows) -> None:
        """Set the whitened fit."""
        backend, m = self.backend, self.size
        fit = backend.matmul(backend.asarray(self.w.T), block.Z[:m, :])
        block.fit = backend.xp.astype(fit, backend.float64)

    def sums_of(self, block: SparseRows) -> np.ndarray:
        """Return the block's part of the sums over all rows."""
        weight, xp = block.weights, self.backend.xp
        parts = (weight, block.yt**2, weight * xp.log(block.lam), weight * block.prior)
        return np.array([float(self.backend.sums(part)) for part in parts])
