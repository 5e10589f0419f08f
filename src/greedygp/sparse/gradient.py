"""The gradient of an objective of a sparse GP, from what the objective takes of each row.

An objective is a function of `K_uu`, `K_uf`, the prior variances `k` and the noise `s2`. With the
symbols of `state.py`, `P = V'B^-1 V = Z'Z`, `S = I - P`, `rho = S yt`, and the adjoints of a row's
whitened fit (`phi`), leverage (`eta`) and explained variance `q` (`q_bar`),

    V_bar = (V rho) psi' + (V psi) rho' + L_B^-T (Z g - 2 H Z) + 2 V kappa,
    psi = S phi,   g = 2 eta,   H = Z diag(eta) Z',   kappa = q_bar / scale^2,

since `dP = S (dV'V + V'dV) S`; `V rho = Y c` and `V psi = Y Z phi` with `Y = L_B^-T`, `c = Z yt`.
The evidence has `g = p`, `H = 0` and `-(V rho) rho'` for the first two terms. Then

    dF/dK_uf = G^-T V_bar scale,    dF/dK_uu = -0.5 G^-T (V_bar V') G^-1,

where `V_bar V'` needs no product over the rows but `Z kappa Z'`:

    V_bar V' = (Y c)(Y Z phi)' + (Y Z phi)(Y c)' + 2 Y H Y' + 2 L_B (Z kappa Z') L_B'.

The kernel contracts both with its own derivatives. Under FITC the whitening itself depends on the
basis: a row's `lam` has an adjoint of its own, which returns through `k` and `q`. The cost is
O(n m^2 + n m D).

A gradient knows no rows but those of the block that it is shown, with their adjoints. Its caller
goes over the blocks and adds up: `products` first, then `last_pass`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.hyperparameters import Evaluation
from greedygp.sparse.model import SparseModel
from greedygp.sparse.row_state import SparseRows

__all__ = ["EvidenceGradient", "Gradient", "PredictionGradient", "RowAdjoints"]

# Rows that go through the last pass together: more with a small basis, about so many entries, which
# stay in the cache. With few rows the calls take more time than the work.
TILE, ENTRIES = 1024, 200_000


@dataclass(kw_only=True)
class RowAdjoints:
    """Derivatives of an objective by what it takes from each row of a block, and its value there.

    The evidence leaves out `phi` and `eta`: its terms are special.
    """

    total: Any = 0.0  # the rows' sum that the objective is made of, where it has one
    penalty: Any = 0.0  # the rows' part of trace term and guard
    phi: Array = None  # (p, T) by the whitened fit
    eta: Array = None  # (T,) by the whitened leverage
    lam: Array  # (T,) by the noise of a copy, as it stands in the formula
    s2: Array = None  # (T,) by the noise variance outside lam
    k: Array  # (T,) by the prior variance
    q: Array  # (T,) by the explained prior variance
    scale: Array  # (T,) by the logarithm of the scale, as it stands in the formula


class Gradient:
    """The gradient at one model: a pass over the rows, and the basis' part.

    Parameters
    ----------
    state : SparseModel
    through_q : bool
        Whether the objective depends on the rows' explained prior variance.
    """

    tile_rows: type[TileRows]
    left: Array  # (m, columns) what the tiles' `right` is multiplied by

    def __init__(self, state: SparseModel, through_q: bool):
        self.state, self.backend = state, state.backend
        self.fitc = state.approximation == "fitc"
        self.has_kappa = self.fitc or through_q
        self.V_rho = state.Y.square @ state.w
        self.G_inverse = state.G.inverse()

    def products(self, block: SparseRows, adjoints: RowAdjoints) -> tuple:
        """Return the block's part of the sums that go before the last pass, where there are any."""
        return ()

    def take_products(self, *products: np.ndarray) -> None:
        """Take those sums of all blocks."""

    def outer(self) -> np.ndarray:
        """Return `V_bar V'` without the part of kappa."""
        raise NotImplementedError

    def evaluation(self, value: float, sums: tuple, with_basis: bool) -> Evaluation:
        """Return value and gradient, given what `last_pass` gave for all blocks, added up."""
        state = self.state
        theta, inputs, Z_kappa_Z, s2_bar = sums
        s2_bar = float(s2_bar)
        outer = self.outer()
        if not self.fitc:  # `<V_bar, V>` without the part of kappa, which the scale does not move
            s2_bar -= 0.5 * float(np.trace(outer)) / state.noise_variance
        dK_uu = self._basis_adjoint(outer, Z_kappa_Z)
        dK_uu = state.backend.asarray(dK_uu, state.backend.float64)
        theta_uu, inputs_uu = state.kernel.gradients(dK_uu, state.basis_float64)
        inputs = inputs + to_numpy(inputs_uu)
        return Evaluation(
            value=value,
            theta=theta + theta_uu,
            log_noise=s2_bar * state.noise_variance,
            basis=inputs if with_basis else None,
        )

    def _tile_size(self, block: SparseRows) -> int:
        return self.backend.tile_size(max(TILE, ENTRIES // max(self.state.size, 1)), block.width)

    def _tiles(self, block: SparseRows) -> Iterator[tuple[slice, Array]]:
        """Yield some rows at a time: their places in the block, and their part of Z."""
        m, tile = self.state.size, self._tile_size(block)
        for start in range(0, block.width, tile):
            part = slice(start, min(start + tile, block.width))
            yield part, block.Z[:m, part]

    def last_pass(
        self, block: SparseRows, adjoints: RowAdjoints
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the block's part of dF/dtheta, dF/dU, `Z kappa Z'` and dF/ds2."""
        state, backend = self.state, self.backend
        m = state.size
        theta, inputs = np.zeros(len(state.kernel.theta)), np.zeros(tuple(state.basis.shape))
        Z_kappa_Z, s2_bar = np.zeros((m, m)), 0.0
        k_bar, tile = [], self._tile_size(block)
        works, others = (backend.room(name, (m, tile)) for name in ("work", "other"))
        for part, Z in self._tiles(block):
            work, other = works[:, : Z.shape[1]], others[:, : Z.shape[1]]
            rows = self.tile_rows(self, adjoints, block, part, Z)
            rows.through_factor(work)
            rows.finish()
            s2_bar += rows.s2_bar
            k_bar.append(rows.k_bar)
            applied = {"transposed": True, "out": work, "room": other}
            backend.apply_inverse(state.L_B.lower, state.Y.square.T, work, **applied)
            backend.plus_product(work, self.left, rows.right, out=work)
            if rows.kappa is not None:
                Z_kappa_Z += backend.weighted_product(Z, rows.kappa, other)
                twice = (2.0 * rows.kappa)[None, :]
                work += backend.multiply(block.V[:m, part], twice, out=other)
            backend.apply_inverse(state.G.lower, self.G_inverse, work, **applied)
            work *= block.row_scale[None, part]
            theta_part, inputs_part = state.kernel.gradients(
                work, state.basis, block.X[part, :], prepared=block.cross.part(part)
            )
            theta += theta_part
            inputs += to_numpy(inputs_part)
        k_bar = backend.xp.concat(k_bar)
        theta += state.kernel.diag_gradient(backend.asarray(k_bar), block.X)
        return theta, inputs, Z_kappa_Z, s2_bar

    def _basis_adjoint(self, outer: np.ndarray, Z_kappa_Z: np.ndarray) -> np.ndarray:
        """Return `dF/dK_uu`."""
        state = self.state
        L_B = state.L_B.lower
        outer = outer + 2.0 * L_B @ Z_kappa_Z @ L_B.T
        half = state.G.solve_transposed(outer)
        return -0.5 * state.G.solve_transposed(half.T)


class TileRows:
    """Vectors of some rows of a block that the last pass needs.

    Parameters
    ----------
    gradient : Gradient
    adjoints : RowAdjoints
        Of the whole block.
    block : SparseRows
    part : slice
        The rows' places in the block.
    Z : (m, rows) row array
        Their part of it.
    """

    right: Array  # (columns, rows) what the gradient's `left` is multiplied by

    def __init__(
        self, gradient: Gradient, adjoints: RowAdjoints, block: SparseRows, part: slice, Z: Array
    ):
        self.gradient, self.adjoints = gradient, adjoints
        self.block, self.part, self.Z = block, part, Z
        self.yt, self.fit = block.yt[:, part], block.fit[:, part]
        self.rho = self.yt - self.fit
        self.kappa: Array | None = None
        self.s2_bar = 0.0
        self.k_bar: Array = None

    def through_factor(self, work: Array) -> None:
        """Set `work` to `Z g - 2 H Z`."""
        raise NotImplementedError

    def through_y(self) -> Array:
        """Return what comes to each row's scale through its whitened target."""
        raise NotImplementedError

    def through_v(self) -> Array:
        """Return each row's `<V_bar, V>` without the part of kappa."""
        raise NotImplementedError

    def finish(self) -> None:
        """Set kappa, the adjoint of the prior variance and the rows' part of dF/ds2."""
        gradient, block, part = self.gradient, self.block, self.part
        lam = block.lam[part]
        moved = self.through_y() + self.adjoints.scale[part]
        if gradient.fitc:
            moved = moved + self.through_v()
        lam_bar = self.adjoints.lam[part] - 0.5 * moved / lam
        self.s2_bar = float(gradient.backend.sums(lam_bar + self.adjoints.s2[part]))
        self.k_bar, q_bar = self.adjoints.k[part], self.adjoints.q[part]
        if gradient.fitc:
            self.k_bar, q_bar = self.k_bar + lam_bar, q_bar - lam_bar
        scale = block.scale[part]
        if gradient.has_kappa:
            self.kappa = gradient.backend.asarray(q_bar / (scale * scale))


# --- the evidence ------------------------------------------------------------------------------


class _EvidenceRows(TileRows):
    def __init__(self, *of_tile: Any):
        super().__init__(*of_tile)
        self.right = self.gradient.backend.asarray(self.rho)

    def through_factor(self, work: Array) -> None:
        work[...] = self.gradient.state.n_targets * self.Z

    def through_y(self) -> Array:
        return self.gradient.backend.xp.sum(self.rho * self.yt, axis=0)

    def through_v(self) -> Array:
        explained = self.gradient.backend.xp.sum(self.fit * self.rho, axis=0)
        return self.gradient.state.n_targets * self.block.leverage[self.part] - explained


class EvidenceGradient(Gradient):
    """The gradient of the negative log marginal likelihood, and of what is added to it."""

    tile_rows = _EvidenceRows

    def __init__(self, state: SparseModel, through_q: bool):
        super().__init__(state, through_q)
        self.left = self.backend.asarray(-1.0 * self.V_rho)

    def outer(self) -> np.ndarray:
        Y, identity = self.state.Y.square, np.eye(self.state.size)
        return self.state.n_targets * (identity - Y @ Y.T) - self.V_rho @ self.V_rho.T


# --- leave-one-out -----------------------------------------------------------------------------


class _PredictionRows(TileRows):
    gradient: PredictionGradient

    def __init__(self, *of_tile: Any):
        super().__init__(*of_tile)
        backend = self.gradient.backend
        self.phi, self.eta = self.adjoints.phi[:, self.part], self.adjoints.eta[self.part]
        projected = backend.matmul(self.gradient.Z_phi_on.T, self.Z)
        self.psi = self.phi - backend.as_float64(projected)
        self.right = backend.asarray(backend.xp.concat([self.psi, self.rho], axis=0))
        self.along: Array = None  # each row's z_i'(g_i z_i - 2 H z_i), under FITC

    def through_factor(self, work: Array) -> None:
        backend = self.gradient.backend
        backend.multiply(self.Z, backend.asarray(2.0 * self.eta)[None, :], out=work)
        backend.minus_product(work, self.gradient.twice_H, self.Z, out=work)
        if self.gradient.fitc:
            self.along = backend.column_dots(self.Z, work)

    def through_y(self) -> Array:
        return self.gradient.backend.xp.sum(-self.psi * self.yt, axis=0)

    def through_v(self) -> Array:
        xp = self.gradient.backend.xp
        cross = xp.sum(self.fit * self.psi + (self.phi - self.psi) * self.rho, axis=0)
        return cross + self.along


class PredictionGradient(Gradient):
    """The gradient of a measure of left-out rows; costs another pass over the rows."""

    tile_rows = _PredictionRows

    def products(self, block: SparseRows, adjoints: RowAdjoints) -> tuple[np.ndarray, np.ndarray]:
        """Return the block's part of `Z diag(eta) Z'` and `Z phi'`."""
        backend = self.backend
        eta, phi = backend.asarray(adjoints.eta), backend.asarray(adjoints.phi)
        m, tile = self.state.size, self._tile_size(block)
        H, Z_phi = np.zeros((m, m)), np.zeros((m, self.state.n_targets))
        weighted = backend.room("work", (m, tile))
        for part, Z in self._tiles(block):
            H += backend.weighted_product(Z, eta[part], weighted[:, : Z.shape[1]])
            Z_phi += backend.host_product(Z, phi[:, part].T)
        return H, Z_phi

    def take_products(self, *products: np.ndarray) -> None:
        """Take the products of all blocks, added up; the last pass needs them."""
        H, Z_phi = products
        self.H, self.V_psi = H, self.state.Y.square @ Z_phi
        self.left = self.backend.asarray(np.hstack([self.V_rho, self.V_psi]))
        self.twice_H = self.backend.asarray(2.0 * H)
        self.Z_phi_on = self.backend.asarray(Z_phi)

    def outer(self) -> np.ndarray:
        Y = self.state.Y.square
        outer = self.V_rho @ self.V_psi.T
        return outer + outer.T + 2.0 * Y @ self.H @ Y.T
