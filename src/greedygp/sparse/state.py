"""What is known per row and per basis vector of a sparse GP, and how it grows.

The symbols (n rows, m basis vectors `u`, p target columns; see `docs/notation.md`):

* `lam_i` is the noise of one copy of row i: `s2` (SoR, DTC) or `k_i - q_i + s2` (FITC); a row of
  weight `w_i` stands for `w_i` copies. Rows are *whitened* by `scale_i = sqrt(w_i / lam_i)`, so
  that weights and FITC need no formulas of their own: `Kt = K_uf scale`, `yt = y scale`.
* `G G' = K_uu`, `V = G^-1 Kt`, `B = I + V V' = L_B L_B'`, `Z = L_B^-1 V`, `w = Z yt`; the factor
  of `K_uu + Kt Kt'` is `G L_B`. `[Z'; L_B^-T]` has orthonormal columns: the invariant that the
  growing keeps, and by which its rounding errors are measured.
* per row: whitened fit `fit = Z'w`, leverage `leverage_i = sum_k Z_ki^2`, and
  `explained_i = sum_k V_ki^2`, the whitened `q_i`.

Appending costs O(nm). `V` is stored only where `keep_v` says so (it is the price of the stable
form of scoring, of NLGPP and of FITC); otherwise its new row is formed as `L_B[m] Z`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.cholesky import GrowingFactor, factorise
from greedygp.rows import RowBlock, Rows

__all__ = ["Column", "SparseState"]

REMEDY_PRIOR = (
    "Basis vectors are (nearly) equal to one another: lower max_basis, or use a kernel with "
    "shorter length scales."
)
DRIFT_TOLERANCE = 1e-9
REMEDY_POSTERIOR = "Raise noise_variance, or check that the kernel's values are finite."


@dataclass
class Column:
    """A new basis vector, ready to be appended (lists have one entry a block of rows)."""

    index: int
    inputs: Array  # (D,)
    nu: np.ndarray  # (m,)   G^-1 K_uj
    e: float  # sqrt(k_j - nu'nu)
    z: np.ndarray  # (m,)   coefficients of `base` on the rows of Z
    base: list[Array]  # (T,)  Kt_j (direct form) or Kt_j - nu'V (stable form)
    residual: list[Array] | None  # (T,)  base - z'Z, not normalised; None: not at hand
    stable: bool


class SparseState:
    """Row state and basis state of a sparse GP with given hyperparameters. Grows in place.

    Parameters
    ----------
    kernel : Kernel
    noise_variance : float
    X : (n, D) row array
    y : (p, n) row array
    weights : (n,) row array or None
    approximation : {"sor", "dtc", "fitc"}
    capacity : int
        The most basis vectors that will be appended.
    backend : Backend
    keep_v : bool
        Whether V is stored.
    """

    def __init__(
        self,
        kernel: Any,
        noise_variance: float,
        X: Array,
        y: Array,
        weights: Array | None,
        *,
        approximation: str,
        capacity: int,
        backend: Backend,
        keep_v: bool,
    ):
        self.kernel = kernel
        self.noise_variance = float(noise_variance)
        self.approximation = approximation
        self.backend = backend
        self.capacity = capacity
        # float32 rows lose too much in the direct form; FITC rescales V with every basis vector.
        self.keep_v = keep_v or approximation == "fitc" or backend.epsilon > 1e-12
        self.rows = Rows(backend, X.shape[0])
        self.n_targets = y.shape[0]
        self.G = GrowingFactor(capacity)
        self.L_B = GrowingFactor(capacity)
        self.w = np.zeros((0, self.n_targets))
        self.indices: list[int] = []
        self.basis = X[:0, :]
        self.jitter = 0.0
        self.drift = 0.0
        self.repairs = 0
        self.rows.map(lambda block: self._start(block, X, y, weights))
        self.total_weight, self.yt_yt, self.weighted_log_noise = self._sums_over_rows()

    def _start(self, block: RowBlock, X: Array, y: Array, weights: Array | None) -> None:
        backend, xp = self.backend, self.backend.xp
        part = slice(block.start, block.stop)
        block.X = X[part, :]
        block.cross = self.kernel.against(block.X)
        block.prior = xp.astype(self.kernel.diag(block.X), backend.float64)
        block.weight = None if weights is None else xp.astype(weights[part], backend.float64)
        block.y = xp.astype(y[:, part], backend.float64)
        block.Z = backend.empty((self.capacity, block.stop - block.start))
        block.V = backend.empty((self.capacity, block.stop - block.start)) if self.keep_v else None
        self._clear(block)

    def _clear(self, block: RowBlock) -> None:
        """Set the block to an empty basis, in place."""
        backend, n = self.backend, block.stop - block.start
        block.fit = backend.zeros((self.n_targets, n), backend.float64)
        block.leverage = backend.zeros((n,), backend.float64)
        block.explained = backend.zeros((n,), backend.float64)
        self._whiten(block, backend.zeros((n,), backend.float64))

    def _whiten(self, block: RowBlock, q: Array) -> None:
        """Set `lam` and the scale from the explained prior variance `q`, in place."""
        backend, xp = self.backend, self.backend.xp
        if self.approximation == "fitc":
            block.lam = xp.clip(block.prior - q, min=0.0) + self.noise_variance
        else:
            block.lam = xp.zeros_like(block.prior) + self.noise_variance
        noise = block.lam if block.weight is None else block.lam / block.weight
        block.scale = 1.0 / xp.sqrt(noise)
        block.row_scale = backend.asarray(block.scale)
        block.yt = block.y * block.scale[None, :]
        block.row_yt = backend.asarray(block.yt)

    # --- what others read ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of basis vectors, m."""
        return len(self.indices)

    @property
    def uses_prior_variance(self) -> bool:
        """Whether predictions add `k - q` (DTC; in FITC it is part of `lam`, in SoR it is lost)."""
        return self.approximation == "dtc"

    @property
    def wide_basis(self) -> Array:
        """The basis inputs in float64, for the factors."""
        return self.backend.xp.astype(self.basis, self.backend.float64, copy=False)

    def map(self, function: Callable[[RowBlock], Any]) -> list[Any]:
        """Apply a function to every block of rows."""
        return self.rows.map(function)

    def sum(self, function: Callable[[RowBlock], Any]) -> Any:
        """Apply a function to every block of rows and add up the results."""
        return self.rows.sum(function)

    def nlml(self) -> float:
        """Return the negative log marginal likelihood, summed over the target columns."""
        log_det = 2.0 * float(np.sum(np.log(np.diagonal(self.L_B.lower))))
        quadratic = self.yt_yt - float(np.sum(self.w**2))
        constant = self.weighted_log_noise + self.total_weight * np.log(2.0 * np.pi)
        return 0.5 * quadratic + 0.5 * self.n_targets * (log_det + constant)

    def _sums_over_rows(self) -> tuple[float, float, float]:
        """Return the sums of the weights, of yt^2, and of weight * log(lam)."""
        backend, xp = self.backend, self.backend.xp

        def sums(block: RowBlock) -> np.ndarray:
            weight = xp.ones_like(block.lam) if block.weight is None else block.weight
            parts = (weight, block.yt * block.yt, weight * xp.log(block.lam))
            return np.array([float(backend.sums(part)) for part in parts])

        total, squares, logs = self.rows.sum(sums, light=True)
        return float(total), float(squares), float(logs)

    def product(self, rows_of_coefficients: np.ndarray) -> list[Array]:
        """Return `coefficients @ Z` block by block, for coefficients of shape (..., m)."""
        coefficients = self.backend.asarray(rows_of_coefficients)
        m = self.size
        return self.map(lambda block: self.backend.matmul(coefficients, block.Z[:m, :]))

    # --- growing -------------------------------------------------------------------------------

    def append(self, column: Column) -> AppendedRow:
        """Append a basis vector, in place, and return its rows of Z and V."""
        sweep = self._orthogonalise(column)
        m, e, d_B = self.size, column.e, sweep.d / column.e
        w_new = sweep.targets / sweep.d
        zeta: list[Array] = []
        v: list[Array] = []

        def grow(block: RowBlock) -> None:
            zeta_b = sweep.residual[block.number] / sweep.d
            if column.stable:
                v_b = column.base[block.number] / e
            else:
                v_b = sweep.along[block.number] + d_B * zeta_b
            block.Z[m, :] = zeta_b
            if block.V is not None:
                block.V[m, :] = v_b
            block.leverage += zeta_b * zeta_b
            block.explained += v_b * v_b
            for k in range(self.n_targets):
                block.fit[k, :] += float(w_new[k]) * zeta_b
            zeta.append(zeta_b)
            v.append(v_b)

        self.rows.map(grow, light=True)
        self.G.append(column.nu, e)
        self.L_B.append(sweep.l_row, d_B)
        self.w = np.vstack([self.w, w_new[None, :]])
        self.indices.append(int(column.index))
        self.basis = self.backend.xp.concat([self.basis, column.inputs[None, :]], axis=0)
        appended = AppendedRow(column, zeta, v, sweep.l_row, d_B, w_new)
        if self.approximation == "fitc":
            self.rebuild()
        return appended

    def _orthogonalise(self, column: Column) -> _Sweep:
        """Return the column's residual, orthogonal to the rows of Z to rounding.

        In the space where `[Z'; L_B^-T]` is orthonormal the column is `(base; nu or 0; e)`. What
        one Gram-Schmidt sweep left along Z is the drift; where it matters, a second sweep removes
        it ("twice is enough"). The norm comes from the residual itself, not from a difference.
        """
        z, e = column.z, column.e
        mid = (0.0 if column.stable else column.nu) - self.L_B.solve_transposed(z)
        l_row = z / e if column.stable else (z - self.L_B.lower.T @ column.nu) / e
        sweep = self._sweep(column, z, l_row)
        left = sweep.overlap + self.L_B.solve(mid)
        sweep.d = float(np.sqrt(sweep.squares + mid @ mid + e**2))
        drift = float(np.max(np.abs(left), initial=0.0)) / sweep.d
        self.drift = max(self.drift, drift)
        if drift > (DRIFT_TOLERANCE if self.backend.epsilon < 1e-12 else 1e-6):
            self.repairs += 1
            mid = mid - self.L_B.solve_transposed(left)
            self._remove(sweep, left, e)
            sweep.d = float(np.sqrt(sweep.squares + mid @ mid + e**2))
        return sweep

    def _sweep(self, column: Column, z: np.ndarray, l_row: np.ndarray) -> _Sweep:
        """Take the column's part along Z away, form the new row of V, see what is left along Z."""
        backend, m = self.backend, self.size
        wanted = [] if column.residual is not None else [z]
        wanted += [] if column.stable else [l_row]
        coefficients = backend.asarray(np.stack(wanted)) if wanted else None
        residual: list = [None] * len(self.rows.blocks)
        along: list = [None] * len(self.rows.blocks)

        def part(block: RowBlock) -> tuple[np.ndarray, float, np.ndarray]:
            Z, i = block.Z[:m, :], block.number
            rows = None if coefficients is None else backend.matmul(coefficients, Z)
            if column.residual is None:
                residual[i] = column.base[i] - rows[0, :]
            else:
                residual[i] = column.residual[i]
            if not column.stable:
                along[i] = rows[-1, :]
            overlap = to_numpy(backend.matmul(Z, residual[i])).astype(np.float64)
            return overlap, *self._squares_and_targets(block, residual[i])

        overlap, squares, targets = self.sum(part)
        return _Sweep(residual, along, overlap, squares, targets, l_row)

    def _squares_and_targets(self, block: RowBlock, row: Array) -> tuple[float, np.ndarray]:
        targets = to_numpy(self.backend.matmul(block.row_yt, row)).astype(np.float64)
        return float(self.backend.sums(row * row)), targets

    def _remove(self, sweep: _Sweep, left: np.ndarray, e: float) -> None:
        """Take another part along Z away, in place; the row of L_B and of V follow."""
        parts = self.product(left)

        def part(block: RowBlock) -> tuple[float, np.ndarray]:
            i = block.number
            sweep.residual[i] = sweep.residual[i] - parts[i]
            if sweep.along[i] is not None:
                sweep.along[i] = sweep.along[i] + parts[i] / e
            return self._squares_and_targets(block, sweep.residual[i])

        sweep.squares, sweep.targets = self.rows.sum(part, light=True)
        sweep.l_row = sweep.l_row + left / e

    # --- exact ---------------------------------------------------------------------------------

    def truncate(self, size: int) -> None:
        """Go back to the first `size` basis vectors, in place, and rebuild."""
        self.indices = self.indices[:size]
        self.basis = self.basis[:size, :]
        self.rebuild()

    def set_basis(self, inputs: Array, indices: list[int]) -> None:
        """Replace the basis, in place, and rebuild."""
        self.basis = inputs
        self.indices = list(indices)
        self.rebuild()

    def trial(self, inputs: Array, index: int) -> SparseState:
        """Return another state with one more basis vector, computed exactly. O(n m^2)."""
        other = copy.copy(self)
        other.G, other.L_B = GrowingFactor(self.size + 1), GrowingFactor(self.size + 1)
        other.rows = copy.copy(self.rows)
        other.rows.blocks = [RowBlock(**vars(block)) for block in self.rows.blocks]
        for block in other.rows.blocks:
            shape = (self.size + 1, block.stop - block.start)
            block.Z = self.backend.empty(shape)
            block.V = None if block.V is None else self.backend.empty(shape)
        basis = self.backend.xp.concat([self.basis, inputs[None, :]], axis=0)
        other.set_basis(basis, [*self.indices, index])
        return other

    def rebuild(self) -> None:
        """Recompute every quantity from its definition, in place. O(n m^2)."""
        if self.size == 0:
            self.map(self._clear)
            for factor in (self.G, self.L_B):
                factor.truncate(0)
            self.w = np.zeros((0, self.n_targets))
            self.total_weight, self.yt_yt, self.weighted_log_noise = self._sums_over_rows()
            return
        K_uu = to_numpy(self.kernel(self.wide_basis))
        G, self.jitter = factorise(K_uu, "The basis' kernel matrix K_uu", REMEDY_PRIOR)
        self.G.replace(G)
        B = np.eye(self.size) + self.sum(self._rebuild_v)
        L_B, _ = factorise(B, "I + V V'", REMEDY_POSTERIOR)
        self.L_B.replace(L_B)
        self.w = np.asarray(self.sum(self._rebuild_z), dtype=np.float64)
        self.map(self._rebuild_fit)
        self.total_weight, self.yt_yt, self.weighted_log_noise = self._sums_over_rows()

    def _rebuild_v(self, block: RowBlock) -> np.ndarray:
        """Set V (for now in Z, where V is not kept), explained, scale; return V V'."""
        backend, xp, m = self.backend, self.backend.xp, self.size
        target = block.Z if block.V is None else block.V
        V = backend.solve_lower(self.G.lower, block.cross(self.basis))
        if self.approximation == "fitc":
            self._whiten(block, xp.sum(V * V, axis=0, dtype=backend.float64))
        V *= block.row_scale[None, :]
        target[:m, :] = V
        V = xp.astype(V, backend.float64, copy=False)
        block.explained = xp.sum(V * V, axis=0)
        return to_numpy(backend.matmul(V, V.T))

    def _rebuild_z(self, block: RowBlock) -> np.ndarray:
        backend, xp, m = self.backend, self.backend.xp, self.size
        V = (block.Z if block.V is None else block.V)[:m, :]
        Z = backend.solve_lower(self.L_B.lower, V)
        block.Z[:m, :] = Z
        block.leverage = xp.sum(Z * Z, axis=0, dtype=backend.float64)
        return to_numpy(backend.matmul(Z, block.row_yt.T)).astype(np.float64)

    def _rebuild_fit(self, block: RowBlock) -> None:
        backend, m = self.backend, self.size
        fit = backend.matmul(backend.asarray(self.w.T), block.Z[:m, :])
        block.fit = backend.xp.astype(fit, backend.float64)

    def store_v(self) -> None:
        """Start to keep V (and rebuild), in place."""
        self.keep_v = True
        for block in self.rows.blocks:
            block.V = self.backend.empty((self.capacity, block.stop - block.start))
        self.rebuild()


@dataclass
class AppendedRow:
    """What the others need to know of a basis vector that has just been appended."""

    column: Column
    zeta: list[Array]  # its row of Z
    v: list[Array]  # its row of V
    l_row: np.ndarray  # its row of L_B, without the diagonal
    d_B: float  # the diagonal
    w: np.ndarray  # (p,)


@dataclass
class _Sweep:
    """A Gram-Schmidt sweep over the rows (lists have one entry a block)."""

    residual: list[Array]  # base - z'Z
    along: list[Array]  # l_row'Z, for the new row of V (direct form)
    overlap: np.ndarray  # Z residual
    squares: float  # |residual|^2
    targets: np.ndarray  # yt residual
    l_row: np.ndarray
    d: float = 0.0
