"""Learning objectives of a sparse GP with a given basis: value and gradient in O(n m^2 + n m D).

Every objective is a function of `K_uu`, `K_uf`, the prior variances `k` and the noise `s2`. With
the symbols of `state.py`, `P = V'B^-1 V = Z'Z`, `S = I - P`, `rho = S yt`, and the adjoints of a
row's whitened fit (`phi`), leverage (`eta`) and explained variance `q` (`q_bar`),

    V_bar = (V rho) psi' + (V psi) rho' + L_B^-T (Z g - 2 H Z) + 2 V kappa,
    psi = S phi,   g = 2 eta,   H = Z diag(eta) Z',   kappa = q_bar / scale^2,

since `dP = S (dV'V + V'dV) S`; `V rho = Y c` and `V psi = Y Z phi` with `Y = L_B^-T`, `c = Z yt`.
The evidence has `g = p`, `H = 0` and `-(V rho) rho'` for the first two terms. Then

    dF/dK_uf = G^-T V_bar scale,    dF/dK_uu = -0.5 G^-T (V_bar V') G^-1,

where `V_bar V'` needs no product over the rows but `Z kappa Z'`:

    V_bar V' = (Y c)(Y Z phi)' + (Y Z phi)(Y c)' + 2 Y H Y' + 2 L_B (Z kappa Z') L_B'.

The kernel contracts both with its own derivatives. Under FITC the whitening itself depends on the
basis: a row's `lam` has an adjoint of its own, which returns through `k` and `q`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.hyperparameters import Evaluation
from greedygp.sparse.loo import loo_adjoints, loo_measure
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState
from greedygp.validation import check_choice

__all__ = ["EVIDENCE", "OBJECTIVES", "SparseObjective", "check_objective"]

OBJECTIVES = ("nlml", "vfe", "loo_cve", "nlgpp", "gpe")
EVIDENCE = ("nlml", "vfe")  # sums over rows; the others are means
TILE = 1024  # rows that go through the last pass together: m x TILE entries stay in the cache


class SparseObjective:
    """An objective on given data, to be evaluated at many hyperparameters and bases.

    Parameters
    ----------
    name : {"nlml", "vfe", "loo_cve", "nlgpp", "gpe"}
    X : (n, D) row array
    y : (p, n) row array
    weights : (n,) row array or None
    approximation : {"dtc", "fitc", "sor"}
    capacity : int
        The most basis vectors.
    guard : float
        Weight of the guard against over-fitting, `mean(log(1 + (k - q) / s2))`: large where the
        basis leaves more prior variance unexplained than there is noise. It is added to the
        leave-one-out measures as it stands, to the evidence as a sum over rows and targets, halved.
    """

    def __init__(
        self,
        name: str,
        X: Array,
        y: Array,
        weights: Array | None,
        *,
        approximation: str,
        capacity: int,
        guard: float = 0.0,
    ):
        check_objective(name, approximation)
        self.name = name
        self.guard = guard
        self.backend = Backend(X)
        self._data = X, y, weights
        self._approximation, self.capacity = approximation, capacity
        self.state: SparseState | None = None

    def value(self, kernel: Any, noise_variance: float, basis: Array) -> float:
        """Return the objective's value alone."""
        state = self._state_at(kernel, noise_variance, basis)
        by_prediction = self.name not in EVIDENCE
        value = loo_measure(state, self.name) if by_prediction else state.nlml()
        return value + float(state.rows.sum(lambda block: self.penalty(block)[0], light=True))

    def penalty(self, block: SparseRows) -> tuple[np.ndarray, Array, Array]:
        """Return the block's part of trace term and guard, and their derivatives by k and s2."""
        state = self.state
        assert state is not None
        xp, s2 = state.backend.xp, state.noise_variance
        weight = xp.ones_like(block.lam) if block.weight is None else block.weight
        left = block.prior - block.explained / (block.scale * block.scale)
        if self.name in EVIDENCE:
            unit = 0.5 * state.n_targets
        else:
            unit = 1.0 / state.total_weight
        value, by_k = xp.zeros_like(left), xp.zeros_like(left)
        by_s2 = xp.zeros_like(left)
        if self.name == "vfe":
            value, by_k, by_s2 = left / s2, by_k + 1.0 / s2, -left / s2**2
        if self.guard:
            total = s2 + xp.clip(left, min=0.0)
            value = value + self.guard * xp.log(total / s2)
            by_k = by_k + self.guard / total
            by_s2 = by_s2 + self.guard * (1.0 / total - 1.0 / s2)
        share = unit * weight
        return state.backend.sums(share * value), share * by_k, share * by_s2

    def __call__(
        self, kernel: Any, noise_variance: float, basis: Array, with_basis: bool = True
    ) -> Evaluation:
        """Return value and gradient; `with_basis` says whether basis inputs have a part in it."""
        value = self.value(kernel, noise_variance, basis)
        assert self.state is not None
        return _Gradient(self.state, self).evaluation(value, with_basis)

    @property
    def approximation(self) -> str:
        """Which model the objective judges; setting it costs nothing until the next call."""
        return self._approximation

    @approximation.setter
    def approximation(self, name: str) -> None:
        check_objective(self.name, name)
        self._approximation = name
        if self.state is not None:
            self.state.approximation = name

    def _state_at(self, kernel: Any, noise_variance: float, basis: Array) -> SparseState:
        if self.state is None:
            self.state = SparseState(
                kernel,
                noise_variance,
                *self._data,
                approximation=self._approximation,
                capacity=self.capacity,
                backend=self.backend,
                keep_v=True,
            )
        self.state.set_model(kernel, noise_variance, basis)
        return self.state


def check_objective(name: str, approximation: str) -> None:
    """Raise a ValueError for an unknown objective, or one that the approximation does not have."""
    check_choice("objective", name, OBJECTIVES)
    check_choice("approximation", approximation, ("dtc", "fitc", "sor"))
    if name == "vfe" and approximation != "dtc":
        raise ValueError(
            f"objective='vfe' is the variational bound, which goes with approximation='dtc'; got "
            f"approximation={approximation!r}. Use that, or objective='nlml'."
        )


@dataclass
class RowAdjoints:
    """Derivatives of the objective by what it takes from each row of a block."""

    phi: Array  # (p, T) by the whitened fit; None: the evidence, whose terms are special
    eta: Array  # (T,) by the whitened leverage
    lam: Array  # (T,) by the noise of a copy, as it stands in the formula
    s2: Array  # (T,) by the noise variance outside lam
    k: Array  # (T,) by the prior variance
    q: Array  # (T,) by the explained prior variance
    scale: Array  # (T,) by the logarithm of the scale, as it stands in the formula


def _evidence_adjoints(state: SparseState, block: SparseRows) -> dict[str, Array | None]:
    """Return the adjoints of the NLML, but for the terms that :class:`_Gradient` knows."""
    zero = state.backend.xp.zeros_like(block.lam)
    weight = zero + 1.0 if block.weight is None else block.weight
    lam = 0.5 * state.n_targets * weight / block.lam
    return {"phi": None, "eta": None, "lam": lam, "k": zero, "q": zero, "scale": zero}


class _Gradient:
    """The gradient at one state: two passes over the rows, and the basis' part."""

    def __init__(self, state: SparseState, objective: SparseObjective):
        self.state, self.backend = state, state.backend
        self.objective, name = objective, objective.name
        self.by_prediction = name not in EVIDENCE
        self.fitc = state.approximation == "fitc"
        prior_counts = state.uses_prior_variance and name in ("nlgpp", "gpe")
        self.has_kappa = self.fitc or prior_counts or name == "vfe" or objective.guard > 0.0
        self.adjoints: list[RowAdjoints] = state.rows.map(self._adjoints)
        m, p = state.size, state.n_targets
        self.H, self.Z_phi = np.zeros((m, m)), np.zeros((m, p))
        Y = state.Y.square
        if self.by_prediction:
            self.H, self.Z_phi = state.rows.sum(self._products)
        self.V_rho, self.V_psi = Y @ state.w, Y @ self.Z_phi
        self.left = np.hstack([self.V_rho, self.V_psi]) if self.by_prediction else -1.0 * self.V_rho
        self.left_on = self.backend.asarray(self.left)
        self.H_on = self.backend.asarray(self.H)
        self.Z_phi_on = self.backend.asarray(self.Z_phi)

    def evaluation(self, value: float, with_basis: bool) -> Evaluation:
        """Contract with the kernel's derivatives and add up."""
        state = self.state
        theta, inputs, Z_kappa_Z, s2_bar = state.rows.sum(self._last_pass)
        s2_bar = float(s2_bar)
        outer = self._outer()
        if not self.fitc:  # `<V_bar, V>` without the part of kappa, which the scale does not move
            s2_bar -= 0.5 * float(np.trace(outer)) / state.noise_variance
        dK_uu = self._basis_adjoint(outer, Z_kappa_Z)
        dK_uu = state.backend.asarray(dK_uu, state.backend.float64)
        theta_uu, inputs_uu = state.kernel.gradients(dK_uu, state.wide_basis)
        inputs = inputs + to_numpy(inputs_uu)
        return Evaluation(
            value=value,
            theta=theta + theta_uu,
            log_noise=s2_bar * state.noise_variance,
            basis=inputs if with_basis else None,
        )

    def _adjoints(self, block: SparseRows) -> RowAdjoints:
        """Return the adjoints of a block's rows, those of trace term and guard included."""
        if self.by_prediction:
            adjoints = loo_adjoints(self.state, block, self.objective.name)
        else:
            adjoints = _evidence_adjoints(self.state, block)
        _, by_k, by_s2 = self.objective.penalty(block)
        adjoints["k"] = adjoints["k"] + by_k
        adjoints["q"] = adjoints["q"] - by_k
        return RowAdjoints(**adjoints, s2=by_s2)

    def _products(self, block: SparseRows) -> tuple[np.ndarray, np.ndarray]:
        """Return `Z diag(eta) Z'` and `Z phi'`."""
        backend, adjoints = self.backend, self.adjoints[block.number]
        eta, phi = backend.asarray(adjoints.eta), backend.asarray(adjoints.phi)
        H = np.zeros((self.state.size, self.state.size))
        Z_phi = np.zeros((self.state.size, self.state.n_targets))
        for part, Z in self._tiles(block):
            H += backend.weighted_product(Z, eta[part])
            Z_phi += backend.host_product(Z, phi[:, part].T)
        return H, Z_phi

    def _tiles(self, block: SparseRows) -> Iterator[tuple[slice, Array]]:
        """Yield some rows at a time: their places in the block, and their part of Z."""
        m, width = self.state.size, block.width
        tile = self.backend.tile_size(TILE, width)
        for start in range(0, width, tile):
            part = slice(start, min(start + tile, width))
            yield part, block.Z[:m, part]

    # --- the last pass over the rows -------------------------------------------------------------

    def _last_pass(self, block: SparseRows) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the block's part of dF/dtheta, dF/dU, `Z kappa Z'` and dF/ds2."""
        state, backend = self.state, self.backend
        m = state.size
        theta, inputs = np.zeros(len(state.kernel.theta)), np.zeros(tuple(state.basis.shape))
        Z_kappa_Z, s2_bar = np.zeros((m, m)), 0.0
        k_bar = []
        for part, Z in self._tiles(block):
            rows = _TileRows(self, block, part, Z)
            work = Z * rows.g[None, :]
            if self.by_prediction:
                H_Z = backend.matmul(self.H_on, Z)
                rows.add_leverage_part(H_Z)
                H_Z *= 2.0
                work -= H_Z
            rows.finish()
            s2_bar += rows.s2_bar
            k_bar.append(rows.k_bar)
            backend.solve_lower(state.L_B.lower, work, transposed=True, out=work)
            work += backend.matmul(self.left_on, rows.right)
            if rows.kappa is not None:
                Z_kappa_Z += backend.weighted_product(Z, rows.kappa)
                work += block.V[:m, part] * (2.0 * rows.kappa)[None, :]
            backend.solve_lower(state.G.lower, work, transposed=True, out=work)
            work *= block.row_scale[None, part]
            theta_part, inputs_part = state.kernel.gradients(work, state.basis, block.X[part, :])
            theta += theta_part
            inputs += to_numpy(inputs_part)
        k_bar = backend.xp.concat(k_bar)
        theta += state.kernel.diag_gradient(backend.asarray(k_bar), block.X)
        return theta, inputs, Z_kappa_Z, s2_bar

    # --- the basis' part -------------------------------------------------------------------------

    def _outer(self) -> np.ndarray:
        """Return `V_bar V'` without the part of kappa."""
        state, Y = self.state, self.state.Y.square
        if self.by_prediction:
            outer = self.V_rho @ self.V_psi.T
            return outer + outer.T + 2.0 * Y @ self.H @ Y.T
        identity = np.eye(state.size)
        return state.n_targets * (identity - Y @ Y.T) - self.V_rho @ self.V_rho.T

    def _basis_adjoint(self, outer: np.ndarray, Z_kappa_Z: np.ndarray) -> np.ndarray:
        """Return `dF/dK_uu`."""
        state = self.state
        L_B = state.L_B.lower
        outer = outer + 2.0 * L_B @ Z_kappa_Z @ L_B.T
        half = state.G.solve_transposed(outer)
        return -0.5 * state.G.solve_transposed(half.T)


class _TileRows:
    """Vectors of some rows of a block that the last pass needs."""

    def __init__(self, gradient: _Gradient, block: SparseRows, part: slice, Z: Array):
        self.gradient, self.block, self.part = gradient, block, part
        state, backend, xp = gradient.state, gradient.backend, gradient.backend.xp
        self.adjoints = gradient.adjoints[block.number]
        self.yt, self.fit = block.yt[:, part], block.fit[:, part]
        self.rho = self.yt - self.fit
        if gradient.by_prediction:
            self.phi = self.adjoints.phi[:, part]
            projected = backend.matmul(gradient.Z_phi_on.T, Z)
            self.psi = self.phi - backend.as_float64(projected)
            self.right = backend.asarray(xp.concat([self.psi, self.rho], axis=0))
            self.g = backend.asarray(2.0 * self.adjoints.eta[part])
        else:
            self.right = backend.asarray(self.rho)
            self.g = backend.asarray(xp.zeros_like(block.lam[part]) + state.n_targets)
        self.Z = Z
        self.z_H_z: Array = None
        self.kappa: Array | None = None
        self.s2_bar = 0.0
        self.k_bar: Array = None

    def add_leverage_part(self, H_Z: Array) -> None:
        """Under FITC, note `z_i'H z_i` while `H Z` is at hand."""
        if self.gradient.fitc:
            self.z_H_z = self.gradient.backend.xp.sum(
                self.Z * H_Z, axis=0, dtype=self.gradient.backend.float64
            )

    def finish(self) -> None:
        """Set kappa, the adjoint of the prior variance and the rows' part of dF/ds2."""
        gradient, block, part = self.gradient, self.block, self.part
        backend, xp = gradient.backend, gradient.backend.xp
        lam = block.lam[part]
        through_y = xp.sum((-self.psi if gradient.by_prediction else self.rho) * self.yt, axis=0)
        moved = through_y + self.adjoints.scale[part]
        if gradient.fitc:
            moved = moved + self._through_v()
        lam_bar = self.adjoints.lam[part] - 0.5 * moved / lam
        self.s2_bar = float(backend.sums(lam_bar + self.adjoints.s2[part]))
        self.k_bar, q_bar = self.adjoints.k[part], self.adjoints.q[part]
        if gradient.fitc:
            self.k_bar, q_bar = self.k_bar + lam_bar, q_bar - lam_bar
        scale = block.scale[part]
        if gradient.has_kappa:
            self.kappa = backend.asarray(q_bar / (scale * scale))

    def _through_v(self) -> Array:
        """Return each row's `<V_bar, V>` without the part of kappa."""
        xp = self.gradient.backend.xp
        leverage = self.block.leverage[self.part]
        if not self.gradient.by_prediction:
            return self.gradient.state.n_targets * leverage - xp.sum(self.fit * self.rho, axis=0)
        cross = xp.sum(self.fit * self.psi + (self.phi - self.psi) * self.rho, axis=0)
        return cross + 2.0 * self.adjoints.eta[self.part] * leverage - 2.0 * self.z_H_z
