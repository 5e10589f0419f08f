"""Candidates for the next basis vector, with everything that the criteria ask of them.

For a block J of candidates (in matrix products, all at once):

* direct form (training rows only): `z_J = L^-1 b_J` where `b_J = K_uJ + Kt K_fJ`, so that
  `z_j = Z[:, j] / scale_j + Z Kt_j`, one product; `d_j^2 = k_j + |Kt_j|^2 - |z_j|^2`; the row
  `residual_j = Kt_j - z_j'Z` is the second product.
* stable form (needs V): `nu_j = G^-1 K_uj`, `base_j = Kt_j - nu_j'V`, `z_j = Z base_j`,
  `d_j^2 = e_j^2 + |base_j|^2 - |z_j|^2`, `residual_j = base_j - z_j'Z`: three products, far less
  cancellation, and `base_j / e_j` is the new row of V, which NLGPP wants.

In both, `nu_j = G^-1 K_uj`, `e_j^2 = k_j - |nu_j|^2`, the new row of Z is `residual_j / d_j`, the
new coefficient is `w_j = gain_j / d_j`. A candidate with small `e_j^2` or `d_j^2` is numerically in
the span of the basis (`dependent`): it is never divided by.

Kept candidates follow the basis: when a row (zeta, v) has entered, `advance` updates each in O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.rows import add_up
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import AppendedRow, Column, SparseState
from greedygp.threads import Background

__all__ = [
    "Candidates",
    "advance",
    "evaluate",
    "evaluate_one",
    "fill_kernel_rows",
    "make_buffers",
    "nothing",
]


# Of k_j: a winner that passed the test of dependence when it was scored may, computed afresh, come
# out a little below it; never the root of a negative number.
SMALLEST_E2 = 1e-9
# Relative error of d_j^2 from which the direct form is left. The evidence of a candidate has
# gain^2 / d^2 in it, which may be hundreds: with 1e-5 rounding decided who was chosen.
UNRELIABLE = 1e-6
PIECES = 4  # of a block's kernel rows, so that whoever has time can take one


def dependence_tolerance(backend: Backend) -> float:
    """Return the part of its prior variance below which a candidate is in the basis' span."""
    return max(SMALLEST_E2, 100.0 * backend.epsilon)


@dataclass
class Candidates:
    """Some candidates and their state: one line per candidate, of host and of row arrays.

    Attributes
    ----------
    index : (c,) int array
        Places in the data (or among the user's candidates).
    inputs : (c, D) row array
    prior, e2, d2, base2 : (c,) arrays
        `k_j`, `e_j^2`, `d_j^2` and `|base_j|^2`.
    gain : (c, p) array
        `d_j w_j`.
    z, nu : (c, m) arrays
    stable : bool
        Which form the rows are in.
    base, residual : lists of (c, T) row arrays, one for each block
        `residual` is None where no criterion asked for it.
    """

    index: np.ndarray
    inputs: Array
    prior: np.ndarray
    e2: np.ndarray
    d2: np.ndarray
    base2: np.ndarray
    gain: np.ndarray
    z: np.ndarray
    nu: np.ndarray
    stable: bool
    base: list[Array]
    residual: list[Array] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def dependent(self, backend: Backend) -> np.ndarray:
        """Tell which candidates are numerically in the span of the basis."""
        tolerance = dependence_tolerance(backend)
        whole = self.base2 + (self.e2 if self.stable else self.prior)
        # d >= e always; where rounding says otherwise, nothing is left of the candidate.
        return (self.e2 <= tolerance * self.prior) | ~(self.d2 > 1e-14 * whole)

    def unreliable(self, backend: Backend) -> bool:
        """Tell whether the direct form has lost too many digits of some `d_j^2`."""
        if self.stable:
            return False
        alive = self.e2 > dependence_tolerance(backend) * self.prior
        error = backend.epsilon * (self.prior + self.base2)
        return bool(np.any(error[alive] > UNRELIABLE * self.d2[alive]))

    def column(self, i: int) -> Column:
        """Return candidate i ready to be appended (its rows are views)."""
        base = [part[i, :] for part in self.base]
        residual = None if self.residual is None else [part[i, :] for part in self.residual]
        return Column(
            int(self.index[i]),
            self.inputs[i, :],
            self.nu[i],
            float(np.sqrt(max(self.e2[i], SMALLEST_E2 * self.prior[i]))),
            self.z[i],
            base,
            residual,
            self.stable,
        )


def _at_rows(state: SparseState, rows: list[Array], index: np.ndarray) -> Array:
    """Return some columns of whitened rows, with the whitening undone."""
    columns = state.rows.lines(lambda block: rows[block.number], index)
    scale = state.rows.lines(lambda block: block.scale, index)
    return (columns if columns.ndim == 1 else columns.T) / scale


def kernel_with_basis(state: SparseState, inputs: Array) -> np.ndarray:
    """Return `K_Ju` on the host in float64."""
    return to_numpy(_kernel_with_basis(state, inputs))


def _kernel_with_basis(state: SparseState, inputs: Array) -> Array:
    """Return `K_Ju` in float64, where the rows live."""
    wide = state.backend.as_float64(inputs)
    if state.size == 0:
        return state.backend.zeros((inputs.shape[0], 0), state.backend.float64)
    return state.kernel(wide, state.basis_float64)


def make_buffers(state: SparseState, count: int) -> list[Array]:
    """Return row arrays for `count` candidates, one for each block."""
    return state.rows.map(lambda block: state.backend.empty((count, block.width)), light=True)


def nothing() -> None:
    """Do nothing while others are waited for."""


def evaluate(
    state: SparseState,
    index: np.ndarray,
    inputs: Array,
    *,
    from_rows: bool,
    with_residual: bool,
    buffers: tuple[list[Array], list[Array]],
    kernel_rows_ready: bool = False,
    meanwhile: Callable[[], None] = nothing,
) -> Candidates:
    """Compute the state of fresh candidates.

    Parameters
    ----------
    state : SparseState
    index : (c,) int array
    inputs : (c, D) row array
    from_rows : bool
        Whether the candidates are training rows (and `index` their places).
    with_residual : bool
        Whether a criterion wants the residual rows.
    buffers : two lists of row arrays
        Where base rows (and one row more) and residual rows are written.
    kernel_rows_ready : bool
        Whether the first of them hold the kernel's values already.
    meanwhile : callable
        Called, for the stable form, before the host waits for what a device computes.
    """
    stable = state.keep_v or not from_rows
    if stable and not state.keep_v:
        state.store_v()
    base = [buffer[: len(index), :] for buffer in buffers[0]]
    if not kernel_rows_ready:
        fill_kernel_rows(state, inputs, buffers[0]).results()
    wide = state.backend.as_float64(inputs)
    prior = state.kernel.diag(wide)
    if stable:
        nu = _nu(state, index, inputs, from_rows)
        found = _stable(state, index, inputs, prior, nu, buffers[0], base, meanwhile)
    else:
        found = _direct(state, index, inputs, prior, buffers[0], base)
    if with_residual:
        residual = [buffer[: len(index), :] for buffer in buffers[1]]
        found.z = state.corrected(found.z)
        coefficients = state.backend.asarray(found.z)
        state.rows.map(lambda block: _subtract_product(state, block, found, residual, coefficients))
        found.residual = residual
    return found


def fill_kernel_rows(state: SparseState, inputs: Array, buffers: list[Array]) -> Background:
    """Begin to write the candidates' kernel rows (not yet whitened) into the buffers."""
    count = inputs.shape[0]
    piece = -(-count // PIECES)
    parts = [slice(start, min(start + piece, count)) for start in range(0, count, piece)]

    def fill(block: SparseRows, part: slice) -> None:
        block.cross(inputs[part, :], out=buffers[block.number][part, :])

    return state.rows.start(fill, parts if state.backend.threads > 1 else [slice(0, count)])


def _direct(state, index, inputs, prior, buffers, base) -> Candidates:
    backend = state.backend

    def phase(block: SparseRows) -> tuple[Array, Array, Array]:
        Kt = base[block.number]
        Kt *= block.row_scale[None, :]
        squares = backend.dots(Kt, Kt)
        targets = backend.matmul(Kt, block.row_yt.T)
        # Adding 1/scale_j to the entry of row j itself turns Z Kt_j into Z Kt_j + L^-1 K_uj.
        lines, columns = (backend.integers(part) for part in block.owns(index))
        shift = 1.0 / backend.xp.take(block.row_scale, columns)
        entries = backend.swap_entries(Kt, lines, columns, shift)
        backend.swap_entries(Kt, lines, columns, entries + shift)
        z = _products_with_z(state, block, buffers[block.number], len(index))
        backend.swap_entries(Kt, lines, columns, entries)
        return z, squares, targets

    sums = add_up(state.rows.map(phase))
    K_Ju = _kernel_with_basis(state, inputs)
    prior, K_Ju, z, base2, targets = backend.to_host(prior, K_Ju, *sums)
    z = _checked(state, z, len(index))
    nu = state.G.solve_rows(np.ascontiguousarray(K_Ju))
    e2 = prior - np.sum(nu * nu, axis=1)
    d2 = prior + base2 - np.sum(z * z, axis=1)
    gain = targets - z @ state.w
    return Candidates(index, inputs, prior, e2, d2, base2, gain, z, nu, False, base)


def _nu(state, index, inputs, from_rows) -> Array:
    """Return `G^-1 K_uJ`: the columns of V where they are exact enough."""
    if from_rows and state.backend.epsilon < 1e-12:
        V = state.rows.lines(lambda block: block.V[: state.size, :], index)
        common = state.rows.blocks[0].common_scale
        if common is not None:
            return V / common
        return V / state.rows.lines(lambda block: block.scale, index)[:, None]
    nu = state.G.solve_rows(kernel_with_basis(state, inputs))
    return state.backend.asarray(nu, state.backend.float64)


def _stable(state, index, inputs, prior, nu, buffers, base, meanwhile) -> Candidates:
    backend, m = state.backend, state.size
    coefficients = backend.asarray(nu)

    def phase(block: SparseRows) -> tuple[Array, Array, Array]:
        rows, scale = base[block.number], block.common_scale
        if scale is None:
            rows *= block.row_scale[None, :]
        backend.minus_product(rows, coefficients, block.V[:m, :], out=rows, times=scale or 1.0)
        z = _products_with_z(state, block, buffers[block.number], len(index))
        return z, backend.dots(rows, rows), backend.matmul(rows, block.row_yt.T)

    wait = backend.on_their_way(prior, nu, *add_up(state.rows.map(phase)))
    meanwhile()
    prior, nu, z, base2, targets = wait()
    z = _checked(state, z, len(index))
    e2 = prior - np.sum(nu * nu, axis=1)
    d2 = e2 + base2 - np.sum(z * z, axis=1)
    gain = targets - z @ state.w
    return Candidates(index, inputs, prior, e2, d2, base2, gain, z, nu, True, base)


def _products_with_z(state: SparseState, block: SparseRows, buffer: Array, count: int) -> Array:
    """Return `base_J Z'`; the last row of Z, if it is still unchecked, goes along as one more."""
    backend, m = state.backend, state.size
    Z, checked = block.Z[:m, :], state.last_row_checked
    if count == 1:  # two matrix-vector products: a product with two rows would be slower
        rows = [buffer[0, :]] if checked else [buffer[0, :], Z[m - 1, :]]
        return backend.xp.stack([backend.matmul(Z, row) for row in rows])
    if not checked:
        buffer[count, :] = Z[m - 1, :]
    rows = buffer[: count if checked else count + 1, :]
    # The longer factor goes first: a few percent faster than the other way round.
    return backend.matmul(Z, rows.T).T


def _checked(state: SparseState, z: np.ndarray, count: int) -> np.ndarray:
    """Return the candidates' coefficients; hand on what is known of the last row of Z."""
    if not state.last_row_checked:
        state.check_last_row(z[count])
    return z[:count]


def _subtract_product(state, block, found, residual, coefficients) -> None:
    """Write `base - z'Z` into the block's residual rows."""
    base, rows = found.base[block.number], residual[block.number]
    state.backend.minus_product(base, coefficients, block.Z[: state.size, :], out=rows)


def evaluate_one(state: SparseState, index: int, inputs: Array, *, from_rows: bool) -> Candidates:
    """Compute one candidate, for criteria that choose without its rows."""
    return evaluate(
        state,
        np.array([index]),
        inputs[None, :],
        from_rows=from_rows,
        with_residual=False,
        buffers=(make_buffers(state, 2), []),
    )


def advance(kept: Candidates, state: SparseState, appended: AppendedRow) -> None:
    """Bring kept candidates up to date after a basis vector has entered, in place. O(n) each.

    With `zeta`, `v` the new rows of Z and V, candidate j's residual loses its part along zeta:
    `zeta'base_j + nu_jl d_B` (stable; `base_j` already less `nu_jl v`), or
    `zeta'Kt_j + zeta_j / scale_j` (direct).
    """
    backend, column = state.backend, appended.column
    one = backend.as_float64(column.inputs[None, :])
    wide = backend.as_float64(kept.inputs)
    K_jl = to_numpy(state.kernel(wide, one))[:, 0]
    nu_l = (K_jl - kept.nu @ column.nu) / column.e
    kept.nu = np.hstack([kept.nu, nu_l[:, None]])
    kept.e2 = kept.e2 - nu_l**2
    if kept.stable:
        kept.base2 = state.rows.sum(lambda block: _shift_base(backend, block, kept, nu_l, appended))
        own = nu_l * appended.d_B
    else:
        own = to_numpy(_at_rows(state, appended.zeta, kept.index))

    def dot(block: SparseRows) -> np.ndarray:
        return backend.host_product(kept.base[block.number], appended.zeta[block.number])

    along = state.rows.sum(dot)
    coefficient = own + along
    if kept.stable:  # base_j moved by -nu_jl v, so its coefficients on the old rows move too
        old = kept.z - nu_l[:, None] * appended.l_row[None, :]
        kept.z = np.hstack([old, along[:, None]])
    else:
        kept.z = np.hstack([kept.z, coefficient[:, None]])
    kept.d2 = kept.d2 - coefficient**2
    kept.gain = kept.gain - coefficient[:, None] * appended.w[None, :]
    residual = kept.residual
    if residual is not None:
        state.rows.map(
            lambda block: _subtract_outer(
                backend, residual[block.number], coefficient, appended.zeta[block.number]
            )
        )


def _shift_base(backend, block, kept, nu_l, appended) -> np.ndarray:
    rows = kept.base[block.number]
    _subtract_outer(backend, rows, nu_l, appended.v[block.number])
    return backend.row_dots(rows, rows)


def _subtract_outer(backend: Backend, rows: Array, coefficients: np.ndarray, row: Array) -> None:
    """Subtract `coefficients row'` from the rows, in place, a few rows at a time."""
    column = backend.asarray(coefficients)[:, None]
    count, few = rows.shape[0], 16
    scratch = backend.empty((min(few, count), rows.shape[1]))
    for start in range(0, count, few):
        part = slice(start, min(start + few, count))
        product = scratch[: part.stop - part.start, :]
        backend.multiply(column[part, :], row[None, :], out=product)
        rows[part, :] -= product
