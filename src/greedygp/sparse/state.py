"""What is known per row and per basis vector of a sparse GP, and how it grows.

The symbols (n rows, m basis vectors `u`, p target columns; see `docs/notation.md`):

* `lam_i` is the noise of one copy of row i: `s2` (SoR, DTC) or `k_i - q_i + s2` (FITC); a row of
  weight `w_i` stands for `w_i` copies. Rows are *whitened* by `scale_i = sqrt(w_i / lam_i)`, so
  that weights and FITC need no formulas of their own: `Kt = K_uf scale`, `yt = y scale`.
* `G G' = K_uu`, `V = G^-1 Kt`, `B = I + V V' = L_B L_B'`, `Z = L_B^-1 V`, `w = Z yt`; the factor
  of `K_uu + Kt Kt'` is `G L_B`. With `Y = L_B^-T`, `[Z'; Y]` has orthonormal columns: the
  invariant that the growing keeps, and by which its rounding errors are measured.
* per row: whitened fit `fit = Z'w`, leverage `leverage_i = sum_k Z_ki^2`, and
  `explained_i = sum_k V_ki^2`, the whitened `q_i`.

Appending costs O(nm). `V` is stored only where `keep_v` says so (it is the price of the stable
form of scoring, of NLGPP and of FITC); otherwise its new row is formed as `L_B[m] Z`, where
`explained` is wanted.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import SHARED_FROM, Array, Backend
from greedygp.cholesky import GrowingFactor, GrowingMatrix, GrowingTriangle
from greedygp.rows import RowBlock, Rows, add_up
from greedygp.sparse.model import SparseModel
from greedygp.sparse.row_state import SparseRows

__all__ = ["Column", "SparseState"]

NO_ROW = -1  # the index of a basis vector that is no row of the data


@dataclass
class Column:
    """A new basis vector, ready to be appended (lists have one entry for each block)."""

    index: int
    inputs: Array  # (D,)
    nu: np.ndarray  # (m,)   G^-1 K_uj
    e: float  # sqrt(k_j - nu'nu)
    z: np.ndarray  # (m,)   coefficients of `base` on the rows of Z (corrected with residual)
    base: list[Array]  # (T,)  Kt_j (direct form) or Kt_j - nu'V (stable form)
    residual: list[Array] | None  # (T,)  base - z'Z, not normalised; None: not at hand
    stable: bool


class SparseState(SparseModel):
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
    track_explained : bool
        Whether `explained` is kept up to date where V is not stored.
    shared_from : int
        With so many rows or more, threads share them.
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
        track_explained: bool = False,
        shared_from: int = SHARED_FROM,
    ):
        super().__init__(kernel, noise_variance, approximation, X[:0, :], y.shape[0], backend)
        self.capacity = capacity
        # float32 rows lose too much in the direct form; FITC rescales V with every basis vector.
        self.keep_v = keep_v or approximation == "fitc" or backend.epsilon > 1e-12
        self.track_explained = track_explained
        self.rows: Rows[SparseRows] = Rows(backend, X.shape[0], shared_from).with_state(
            lambda block: self._start(block, X, y, weights)
        )
        self.indices: list[int] = []
        self._defect = GrowingMatrix()
        self._largest_defect = 0.0
        self.last_row_checked = True
        self._sums_over_rows()

    def _start(self, block: RowBlock, X: Array, y: Array, weights: Array | None) -> SparseRows:
        """Return the block with the state of an empty basis."""
        rows = SparseRows.of(
            block, self.backend, X, y, weights, capacity=self.capacity, keep_v=self.keep_v
        )
        rows.set_kernel(self.kernel)
        self._clear(rows)
        return rows

    def _clear(self, block: SparseRows) -> None:
        """Set the block to an empty basis, in place."""
        block.clear()
        block.whiten(self.noise_of(block, q=0.0))

    # --- what others read ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of basis vectors, m."""
        return len(self.indices)

    def _sums_over_rows(self) -> None:
        self.take_sums(self.rows.sum(self.sums_of, light=True))

    # --- growing -------------------------------------------------------------------------------

    def append(self, column: Column) -> AppendedRow:
        """Append a basis vector, in place, and return its rows of Z and V.

        In the space where `[Z'; Y]` is orthonormal the column is `(base; nu or 0; e)`; what is
        left of it after its part along Z is its new direction. The norm is taken from the
        residual itself, not from a difference of large numbers.
        """
        assert column.stable or not self.keep_v, "a state with V takes columns of the stable form"
        m, e, z = self.size, column.e, column.z
        if not self.last_row_checked:
            self.check_last_row(self._along_last_row())
        if column.residual is None:
            z = self.corrected(z)
        mid = (0.0 if column.stable else column.nu) - self.Y.square @ z
        l_row = (z if column.stable else z - self.L_B.lower.T @ column.nu) / e
        residual, along, squares, targets = self._split(column, z, l_row)
        d = float(np.sqrt(squares + mid @ mid + e**2))
        w_new = targets / d

        def grow(block: SparseRows) -> tuple[Array, Array | None]:
            backend = self.backend
            zeta_b, v_b = residual[block.number] / d, None
            if column.stable:
                v_b = column.base[block.number] / e
            elif along[block.number] is not None:
                v_b = along[block.number] + (d / e) * zeta_b
            block.Z[m, :] = zeta_b
            if block.V is not None:
                block.V[m, :] = v_b
            if v_b is not None:
                backend.add_product(block.explained, v_b, v_b)
            backend.add_product(block.leverage, zeta_b, zeta_b)
            for k in range(self.n_targets):
                backend.add_product(block.fit[k, :], float(w_new[k]), zeta_b)
            return zeta_b, v_b

        zeta, v = zip(*self.rows.map(grow, light=True), strict=True)
        self.G.append(column.nu, e)
        self.L_B.append(l_row, d / e)
        self.Y.append(mid / d, e / d)
        self.w = np.vstack([self.w, w_new[None, :]])
        self.indices.append(int(column.index))
        self.basis = self.backend.xp.concat([self.basis, column.inputs[None, :]], axis=0)
        self.last_row_checked = False
        if self.approximation == "fitc":
            self.rebuild()
        return AppendedRow(column, list(zeta), list(v), l_row, d / e, w_new)

    def _split(self, column: Column, z: np.ndarray, l_row: np.ndarray) -> tuple:
        """Return the residual rows, `l_row'Z` (or None), `|residual|^2` and `yt residual`."""
        backend, m = self.backend, self.size
        with_along = self.track_explained and not column.stable

        def part(block: SparseRows) -> tuple[Array, Array | None, Array, Array]:
            Z, along = block.Z[:m, :], None
            if column.residual is None:
                residual = column.base[block.number] - backend.matmul(backend.asarray(z), Z)
            else:
                residual = column.residual[block.number]
            if with_along:
                along = backend.matmul(backend.asarray(l_row), Z)
            squares = backend.xp.sum(residual * residual, dtype=backend.float64)
            return residual, along, squares, backend.matmul(block.row_yt, residual)

        light = column.residual is not None and not with_along
        residual, along, squares, targets = zip(*self.rows.map(part, light=light), strict=True)
        return residual, along, *backend.to_host(add_up(squares), add_up(targets))

    # --- rounding ------------------------------------------------------------------------------

    def check_last_row(self, along: np.ndarray) -> None:
        """Take note of what the last row of Z has along all of them (`along = Z Z[m-1]`).

        Whoever forms products with Z anyway adds that row to them. A defect of orthogonality
        would grow from step to step by the ratio of a column to what is new in it; knowing it,
        `corrected` takes it out of the next coefficients.
        """
        row = along + self.Y.square.T @ self.Y.square[:, -1]
        row[-1] -= 1.0
        self._defect.append_symmetric(row)
        self._largest_defect = max(self._largest_defect, float(np.max(np.abs(row))))
        self.drift = max(self.drift, self._largest_defect)
        self.last_row_checked = True

    def _along_last_row(self) -> np.ndarray:
        """Return the products of the rows of Z with the last of them."""
        backend, m = self.backend, self.size

        def part(block: SparseRows) -> np.ndarray:
            return backend.host_product(block.Z[:m, :], block.Z[m - 1, :])

        return self.rows.sum(part)

    def corrected(self, z: np.ndarray) -> np.ndarray:
        """Return coefficients (..., m) on the rows of Z, freed of the rows' defect."""
        return z - z @ self._defect.square if self._largest_defect > 1e-15 else z

    @property
    def drifted(self) -> bool:
        """Whether the factors have lost so much that they should be rebuilt."""
        return self._largest_defect > (1e-7 if self.backend.epsilon < 1e-12 else 1e-2)

    # --- exact ---------------------------------------------------------------------------------

    def truncate(self, size: int, approximation: str | None = None) -> None:
        """Go back to the first `size` basis vectors, in place, and rebuild (as another model)."""
        self.approximation = approximation or self.approximation
        self.indices = self.indices[:size]
        self.basis = self.basis[:size, :]
        self.rebuild()

    def set_basis(self, inputs: Array, indices: list[int]) -> None:
        """Replace the basis, in place, and rebuild."""
        self.basis = inputs
        self.indices = list(indices)
        self.rebuild()

    def set_model(
        self, approximation: str, kernel: Any, noise_variance: float, basis: Array
    ) -> None:
        """Replace the whole model, in place, and rebuild; basis inputs need not be rows.

        Costs O(n m^2), without new arrays of the rows' size where V is kept.
        """
        self.approximation = approximation
        self.kernel = kernel
        self.noise_variance = float(noise_variance)
        self.basis, self.indices = basis, [NO_ROW] * basis.shape[0]
        self.rebuild(of_kernel=True)

    def set_weights(self, weights: Array | None) -> None:
        """Replace the weights of the rows (n,), in place, and rebuild. O(n m^2)."""
        self.rows.map(lambda block: block.set_weight(weights))
        self.rebuild()

    def trial(self, inputs: Array, index: int) -> SparseState:
        """Return another state with one more basis vector, computed exactly. O(n m^2)."""
        other = copy.copy(self)
        other.G, other.L_B = GrowingFactor(), GrowingFactor()
        other.Y, other._defect = GrowingTriangle(), GrowingMatrix()
        other.rows = self.rows.with_state(lambda block: block.with_room(self.size + 1))
        basis = self.backend.xp.concat([self.basis, inputs[None, :]], axis=0)
        other.set_basis(basis, [*self.indices, index])
        return other

    def rebuild(self, of_kernel: bool = False) -> None:
        """Recompute every quantity from its definition, in place. O(n m^2).

        `of_kernel` says whether what depends on kernel and noise alone is not there yet.
        """
        if self.size == 0:
            if of_kernel:
                self.rows.map(self.set_kernel)
            self.rows.map(self._clear)
            for factor in (self.G, self.L_B, self.Y):
                factor.replace(np.zeros((0, 0)))
            self._forget_defect()
            self.w = np.zeros((0, self.n_targets))
            self._sums_over_rows()
            return
        self.factorise_prior()
        self.factorise_posterior(self.rows.sum(self._anew if of_kernel else self.v_products))
        self._forget_defect()
        self.w = np.asarray(self.rows.sum(self.set_z), dtype=np.float64)
        self.take_sums(self.rows.sum(self._fitted))

    def _anew(self, block: SparseRows) -> np.ndarray:
        """Do the first step with another kernel; return `V V'`."""
        self.set_kernel(block)
        return self.v_products(block)

    def _fitted(self, block: SparseRows) -> np.ndarray:
        """Do the last step; return the block's part of the sums over all rows."""
        self.set_fit(block)
        return self.sums_of(block)

    def _forget_defect(self) -> None:
        self._defect.replace(np.zeros((self.size, self.size)))
        self._largest_defect = 0.0
        self.last_row_checked = True

    def store_v(self) -> None:
        """Start to keep V (and rebuild), in place."""
        self.keep_v = True
        self.rows.map(self._make_room_for_v)
        self.rebuild()

    def _make_room_for_v(self, block: SparseRows) -> None:
        block.V = self.backend.empty((self.capacity, block.width))


@dataclass
class AppendedRow:
    """What the others need to know of a basis vector that has just been appended."""

    column: Column
    zeta: list[Array]  # its row of Z
    v: list[Array]  # its row of V, where that is known
    l_row: np.ndarray  # its row of L_B, without the diagonal
    d_B: float  # the diagonal
    w: np.ndarray  # (p,)
