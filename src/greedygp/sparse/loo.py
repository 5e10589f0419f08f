"""Leave-one-out in closed form: for the present basis, and for every candidate at once.

Row i (weight w_i, noise lam_i a copy) has the leverage `eta_i` a copy. Leaving out
`c = min(w, 1)` copies of it gives

    r_i = (y_i - f_i) / (1 - c eta_i),
    t_i = b_i + lam_i (1 + (1 - c) eta_i) / (1 - c eta_i),   b_i = k_i - q_i (DTC), 0 (FITC, SoR),

the residual and the variance of the noisy left-out target. A candidate with the new rows
`zeta = residual / d` and `v = base / e` turns the whitened leverage into `leverage + zeta^2`, the
fit into `fit + w_j zeta`, and `q` into `q + v^2`. Scoring is elementwise over c x n entries: it
goes through a few candidates at a time, in place, so that it stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.rows import RowBlock
from greedygp.sparse.candidates import Candidates
from greedygp.sparse.state import SparseState

__all__ = ["candidate_sums", "loo_measure", "loo_rows"]

SMALLEST = 1e-12  # of 1 - c eta, which is positive but for rounding
TILE = 40_000  # entries of a tile of scores


def loo_rows(state: SparseState, block: RowBlock) -> tuple[Array, Array]:
    """Return the leave-one-out residuals (p, T) and variances (T,) of a block's rows."""
    xp = state.backend.xp
    if block.weight is None:
        left = xp.clip(1.0 - block.leverage, min=SMALLEST)
        t = block.lam / left
    else:
        eta = block.leverage / block.weight
        copies = xp.clip(block.weight, max=1.0)
        left = xp.clip(1.0 - copies * eta, min=SMALLEST)
        t = block.lam * (1.0 + (1.0 - copies) * eta) / left
    if state.uses_prior_variance:
        t = t + _prior_left(state, block)
    residual = (block.yt - block.fit) / (block.scale * left)[None, :]
    return residual, t


def _prior_left(state: SparseState, block: RowBlock) -> Array:
    """Return `k_i - q_i`, which is never negative but for rounding."""
    q = block.explained / (block.scale * block.scale)
    return state.backend.xp.clip(block.prior - q, min=0.0)


def loo_measure(state: SparseState, name: str) -> float:
    """Return LOO-CVE (2), NLGPP (3) or GPE (4) of the present basis."""
    backend, xp = state.backend, state.backend.xp

    def part(block: RowBlock) -> np.ndarray:
        r, t = loo_rows(state, block)
        square = xp.mean(r * r, axis=0)
        if name == "nlgpp":
            each = square / t + xp.log(t)
        else:
            each = square + t if name == "gpe" else square
        return backend.sums(each if block.weight is None else block.weight * each)

    return float(state.rows.sum(part, light=True)) / state.total_weight


def candidate_sums(state: SparseState, candidates: Candidates, name: str) -> np.ndarray:
    """Return the sums over the rows that the measure would have with each candidate."""
    score = _TileScore(state, candidates, name)
    total = state.rows.sum(score.block, light=True)
    if name == "nlgpp":
        total = total + state.weighted_log_noise
    if name == "gpe" and state.uses_prior_variance:
        total = total + _prior_left_with(state, candidates)
    return total


def _prior_left_with(state: SparseState, candidates: Candidates) -> np.ndarray:
    """Return `sum w_i (k_i - q_i)` with each candidate, by the trace of `E = L_B` (O(m^2))."""

    def part(block: RowBlock) -> np.ndarray:
        left = _prior_left(state, block)
        return state.backend.sums(left if block.weight is None else block.weight * left)

    if candidates.stable:
        new_row = candidates.base2 / candidates.e2
    else:
        p = candidates.z - candidates.nu @ state.L_B.lower
        new_row = (np.sum(p * p, axis=1) + candidates.d2) / candidates.e2 - 1.0
    return float(state.rows.sum(part, light=True)) - state.noise_variance * new_row


class _TileScore:
    """The elementwise part of the LOO scores, in whitened units (variances divided by lam)."""

    def __init__(self, state: SparseState, candidates: Candidates, name: str):
        self.state = state
        self.backend: Backend = state.backend
        self.name = name
        self.candidates = candidates
        self.with_prior = name == "nlgpp" and state.uses_prior_variance
        self.inverse_d2 = self.backend.asarray(1.0 / candidates.d2)[:, None]
        self.inverse_e2 = self.backend.asarray(1.0 / candidates.e2)[:, None]
        steps = candidates.gain / candidates.d2[:, None]
        self.steps = [self.backend.asarray(column)[:, None] for column in steps.T]
        self.smallest = self.backend.asarray(SMALLEST)
        self.zero = self.backend.asarray(0.0)

    def block(self, block: RowBlock) -> np.ndarray:
        """Return the block's part of each candidate's sum."""
        count, width = len(self.candidates), block.stop - block.start
        rows = _RowConstants(self.state, block)
        chunk = min(count, max(1, TILE // width)) if self.backend.is_numpy else count
        scratch = [self.backend.empty((chunk, width)) for _ in range(4)]
        sums = np.empty(count)
        for start in range(0, count, chunk):
            part = slice(start, min(start + chunk, count))
            views = [array[: part.stop - part.start, :] for array in scratch]
            sums[part] = self._tile(block, rows, part, *views)
        return sums

    def _tile(self, block, rows, part, inverse, work, variance, spare) -> np.ndarray:
        backend = self.backend
        residual = self.candidates.residual[block.number][part, :]
        backend.multiply(residual, residual, out=inverse)
        inverse *= self.inverse_d2[part, :]
        if rows.weight is not None:  # 1 + (1 - c) eta
            backend.multiply(inverse, rows.mix, out=spare)
            spare += rows.mixed
            inverse *= rows.copies
        backend.subtract(rows.left, inverse, out=inverse)
        backend.maximum(inverse, self.smallest, out=inverse)
        backend.divide(rows.one, inverse, out=inverse)  # 1 / (1 - c eta)
        spread = inverse
        if rows.weight is not None:
            spare *= inverse
            spread = spare
        if self.name == "nlgpp":
            self._variance(block, rows, part, spread, variance)
            logs = self._sum_of_logs(variance, rows)
            return logs + self._residuals(rows, residual, inverse, part, work, spare, variance)
        sums = self._residuals(rows, residual, inverse, part, work, spare, None)
        if self.name == "gpe":
            backend.multiply(spread, rows.noise_of_all, out=work)
            sums = sums + backend.sums(work, axis=1)
        return sums

    def _variance(self, block, rows, part, spread, variance) -> None:
        """Write `t / lam` into `variance`."""
        backend = self.backend
        if not self.with_prior:
            variance[...] = spread
            return
        base = self.candidates.base[block.number][part, :]
        backend.multiply(base, base, out=variance)
        variance *= self.inverse_e2[part, :]
        if rows.weight is not None:
            variance /= rows.weight
        backend.subtract(rows.prior_left, variance, out=variance)
        backend.maximum(variance, self.zero, out=variance)
        variance += spread

    def _residuals(self, rows, residual, inverse, part, work, spare, variance) -> np.ndarray:
        """Return the mean over the targets of `sum w r^2`, or of `sum w r^2 / t`."""
        backend, total = self.backend, 0.0
        for target, steps in zip(rows.residual, self.steps, strict=True):
            backend.multiply(residual, steps[part, :], out=work)
            backend.subtract(target, work, out=work)
            work *= inverse
            if variance is None:
                backend.multiply(work, rows.noise, out=spare)
            else:
                backend.divide(work, variance, out=spare)
            total = total + backend.row_dots(work, spare)
        return total / len(self.steps)

    def _sum_of_logs(self, variance: Array, rows: _RowConstants) -> np.ndarray:
        """Return `sum w log(t / lam)`; eight factors share a logarithm where that is safe."""
        backend, xp = self.backend, self.backend.xp
        if rows.weight is not None or backend.epsilon > 1e-12:
            logs = xp.log(variance)
            return backend.sums(logs if rows.weight is None else logs * rows.weight, axis=1)
        # 1 <= t / lam <= 1 + k / s2 (and the SMALLEST): far from overflow for eight factors
        eighth = variance.shape[1] // 8
        sums = backend.sums(xp.log(variance[:, 8 * eighth :]), axis=1)
        half = 4 * eighth
        product = variance[:, :half] * variance[:, half : 2 * half]
        product = product[:, : half // 2] * product[:, half // 2 :]
        product = product[:, :eighth] * product[:, eighth:]
        return sums + backend.sums(xp.log(product), axis=1)


class _RowConstants:
    """Vectors of one block that are the same for all candidates, in the rows' dtype."""

    def __init__(self, state: SparseState, block: RowBlock):
        make, xp = state.backend.asarray, state.backend.xp
        weight = block.weight
        self.weight = None if weight is None else make(weight)
        self.one = make(1.0)
        residual = make(block.yt - block.fit)
        self.residual = [residual[k, :] for k in range(state.n_targets)]
        self.noise = make(block.lam)
        self.prior_left = make(_prior_left(state, block) / block.lam)
        if weight is None:
            self.left = make(1.0 - block.leverage)
            self.noise_of_all = self.noise
            return
        copies = xp.clip(weight, max=1.0) / weight
        mix = 1.0 / weight - copies
        self.copies, self.mix = make(copies), make(mix)
        self.left = make(1.0 - copies * block.leverage)
        self.mixed = make(1.0 + mix * block.leverage)
        self.noise_of_all = make(block.lam * weight)
