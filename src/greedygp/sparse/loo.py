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
from greedygp.sparse.candidates import Candidates
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState

__all__ = ["candidate_sums", "loo_adjoints", "loo_measure", "loo_rows", "loo_scale"]

SMALLEST = 1e-12  # of 1 - c eta, which is positive but for rounding
TILE = 60_000  # entries of a tile of scores
# With many (cached) candidates threads pay, if their operations are long enough.
MANY, LARGE_TILE = 120, 300_000


def loo_rows(state: SparseState, block: SparseRows) -> tuple[Array, Array]:
    """Return the leave-one-out residuals (p, T) and variances (T,) of a block's rows."""
    return _residuals_and_variances(state, block, state.uses_prior_variance)


def _residuals_and_variances(state: SparseState, block: SparseRows, with_prior: bool):
    xp = state.backend.xp
    if block.weight is None:
        left = xp.clip(1.0 - block.leverage, min=SMALLEST)
        t = block.lam / left
    else:
        eta = block.leverage / block.weight
        copies = xp.clip(block.weight, max=1.0)
        left = xp.clip(1.0 - copies * eta, min=SMALLEST)
        t = block.lam * (1.0 + (1.0 - copies) * eta) / left
    if with_prior:
        t = t + _prior_left(state, block)
    residual = (block.yt - block.fit) / (block.scale * left)[None, :]
    return residual, t


def _prior_left(state: SparseState, block: SparseRows) -> Array:
    """Return `k_i - q_i`, which is never negative but for rounding."""
    q = block.explained / (block.scale * block.scale)
    return state.backend.xp.clip(block.prior - q, min=0.0)


def loo_measure(state: SparseState, name: str) -> float:
    """Return LOO-CVE (2), NLGPP (3) or GPE (4) of the present basis."""
    backend, xp = state.backend, state.backend.xp
    with_prior = name == "nlgpp" and state.uses_prior_variance

    def part(block: SparseRows) -> np.ndarray:
        r, t = _residuals_and_variances(state, block, with_prior)
        square = xp.mean(r * r, axis=0)
        if name == "nlgpp":
            each = square / t + xp.log(t)
        else:
            each = square + t if name == "gpe" else square
        return backend.sums(each if block.weight is None else block.weight * each)

    total = float(state.rows.sum(part, light=True))
    if name == "gpe" and state.uses_prior_variance:
        total += _sum_of_prior_left(state)
    return total / state.total_weight


def loo_scale(state: SparseState) -> float:
    """Return `mean(r^2 / t)`: the factor of all variances that the left-out targets ask for."""
    xp = state.backend.xp

    def part(block: SparseRows) -> np.ndarray:
        r, t = loo_rows(state, block)
        each = xp.mean(r * r, axis=0) / t
        return state.backend.sums(each if block.weight is None else block.weight * each)

    return float(state.rows.sum(part, light=True)) / state.total_weight


def loo_adjoints(state: SparseState, block: SparseRows, name: str) -> dict[str, Array]:
    """Return the derivatives of a measure by what it takes from each row of a block.

    The keys: `phi` (p, T) by the whitened fit; `eta` by the whitened leverage; `lam`, `k` and `q`
    by the noise, the prior variance and what is explained of it; `scale` by the logarithm of the
    scale, each as it stands in the formulas of this module.
    """
    xp, p = state.backend.xp, state.n_targets
    with_prior = name != "loo_cve" and state.uses_prior_variance
    r, t = _residuals_and_variances(state, block, with_prior)
    weight = xp.ones_like(block.lam) if block.weight is None else block.weight
    copies = xp.clip(weight, max=1.0)
    eta = block.leverage / weight
    left = xp.clip(1.0 - copies * eta, min=SMALLEST)
    share = weight / state.total_weight
    if name == "nlgpp":
        r_bar = 2.0 * r * (share / (p * t))[None, :]
        t_bar = share * (1.0 - xp.mean(r * r, axis=0) / t) / t
    else:
        r_bar = 2.0 * r * (share / p)[None, :]
        t_bar = share if name == "gpe" else xp.zeros_like(share)
    through_r = xp.sum(r_bar * r, axis=0)
    spread = (1.0 + (1.0 - copies) * eta) / left  # t = b + lam spread
    left_bar = -through_r / left - t_bar * block.lam * spread / left
    by_prior = t_bar if with_prior else xp.zeros_like(t_bar)
    return {
        "phi": -r_bar / (block.scale * left)[None, :],
        "eta": (t_bar * block.lam * (1.0 - copies) / left - copies * left_bar) / weight,
        "lam": t_bar * spread,
        "k": by_prior,
        "q": -by_prior,
        "scale": -through_r,
    }


def _sum_of_prior_left(state: SparseState) -> float:
    """Return `sum w_i (k_i - q_i)` by `sum q = s2 tr(V V') = s2 (|L_B|^2 - m)` (DTC)."""
    trace = float(np.sum(state.L_B.lower**2)) - state.size
    return state.weighted_prior - state.noise_variance * trace


def candidate_sums(state: SparseState, candidates: Candidates, name: str) -> np.ndarray:
    """Return the sums over the rows that the measure would have with each candidate."""
    score = _TileScore(state, candidates, name)
    total = state.rows.sum(score.block, light=len(candidates) < MANY)
    if name == "nlgpp":
        total = total + state.weighted_log_noise
    if name == "gpe" and state.uses_prior_variance:
        total = total + _sum_of_prior_left(state)
        total = total - state.noise_variance * _new_trace(state, candidates)
    return total


def _new_trace(state: SparseState, candidates: Candidates) -> np.ndarray:
    """Return what each candidate adds to `tr(V V')`, in O(m^2) (the paper's `E` is `L_B`)."""
    if candidates.stable:
        return candidates.base2 / candidates.e2
    p = candidates.z - candidates.nu @ state.L_B.lower
    return (np.sum(p * p, axis=1) + candidates.d2) / candidates.e2 - 1.0


class _TileScore:
    """The elementwise part of the LOO scores, in whitened units (variances divided by lam)."""

    def __init__(self, state: SparseState, candidates: Candidates, name: str):
        self.state = state
        self.backend: Backend = state.backend
        self.name = name
        self.candidates = candidates
        self.residual = candidates.residual or []
        self.with_prior = name == "nlgpp" and state.uses_prior_variance
        d = np.sqrt(candidates.d2)
        self.inverse_d = self.backend.asarray(1.0 / d)[:, None]
        self.inverse_e = self.backend.asarray(1.0 / np.sqrt(candidates.e2))[:, None]
        w = candidates.gain / d[:, None]
        self.w = [self.backend.asarray(w[:, k])[:, None] for k in range(state.n_targets)]
        self.smallest = self.backend.asarray(SMALLEST)
        self.zero = self.backend.asarray(0.0)

    def block(self, block: SparseRows) -> np.ndarray:
        """Return the block's part of each candidate's sum."""
        count, width = len(self.candidates), block.width
        rows = _RowConstants(self.state, block)
        tile = TILE if count < MANY else LARGE_TILE
        chunk = self.backend.tile_size(max(1, tile // width), count)
        scratch = [self.backend.empty((chunk, width)) for _ in range(4)]
        sums = np.empty(count)
        for start in range(0, count, chunk):
            part = slice(start, min(start + chunk, count))
            views = [array[: part.stop - part.start, :] for array in scratch]
            sums[part] = self._tile(block, rows, part, *views)
        return sums

    def _tile(self, block, rows, part, zeta, left, variance, work) -> np.ndarray:
        """Score a few candidates; the last four arrays are scratch."""
        backend = self.backend
        residual = self.residual[block.number][part, :]
        backend.multiply(residual, self.inverse_d[part, :], out=zeta)
        backend.multiply(zeta, zeta, out=left)
        if rows.weight is not None:  # 1 + (1 - c) eta
            backend.multiply(left, rows.mix, out=variance)
            variance += rows.mixed
            left *= rows.copies
        backend.subtract(rows.left, left, out=left)  # 1 - c eta
        if self.name == "loo_cve":  # a sign that rounding has turned does no harm to a square
            return self._squared_errors(rows, zeta, left, part, work)
        backend.maximum(left, self.smallest, out=left)
        if rows.weight is None:
            backend.divide(rows.one, left, out=variance)
        else:
            variance /= left
        if self.name == "gpe":
            errors = self._squared_errors(rows, zeta, left, part, work)
            variance *= rows.noise_of_all
            return errors + backend.sums(variance, axis=1)
        if self.with_prior:
            self._add_prior(block, rows, part, variance, work)
        logs = self._sum_of_logs(variance, rows)
        return logs + self._standardised_errors(rows, zeta, left, part, variance, work)

    def _add_prior(self, block, rows, part, variance, work) -> None:
        """Add `(k - q - v^2) / lam` to the variance, in place."""
        base = self.candidates.base[block.number][part, :]
        self.backend.multiply(base, self.inverse_e[part, :], out=work)
        work *= work
        if rows.weight is not None:
            work /= rows.weight
        self.backend.subtract(rows.prior_left, work, out=work)
        self.backend.maximum(work, self.zero, out=work)
        variance += work

    def _errors(self, rows, zeta, left, part, k: int, work) -> None:
        """Write the left-out residuals of target k into `work`."""
        self.backend.multiply(zeta, self.w[k][part, :], out=work)
        self.backend.subtract(rows.residual[k], work, out=work)
        work /= left

    def _squared_errors(self, rows, zeta, left, part, work) -> np.ndarray:
        """Return the mean over the targets of `sum w r^2`."""
        total = np.zeros(part.stop - part.start)
        for k in range(len(self.w)):
            self._errors(rows, zeta, left, part, k, work)
            if rows.common_noise is None:
                work *= rows.root_noise
                total += self.backend.row_dots(work, work)
            else:
                total += rows.common_noise * self.backend.row_dots(work, work)
        return total / len(self.w)

    def _standardised_errors(self, rows, zeta, left, part, variance, work) -> np.ndarray:
        """Return the mean over the targets of `sum w r^2 / t`. Overwrites `zeta` at the last."""
        total = np.zeros(part.stop - part.start)
        for k in range(len(self.w)):
            self._errors(rows, zeta, left, part, k, work)
            spare = zeta if k + 1 == len(self.w) else None
            spare = self.backend.divide(work, variance, out=spare)
            total += self.backend.row_dots(work, spare)
        return total / len(self.w)

    def _sum_of_logs(self, variance: Array, rows: _RowConstants) -> np.ndarray:
        """Return `sum w log(t / lam)`; eight factors share a logarithm where that is safe."""
        backend, xp = self.backend, self.backend.xp
        if rows.weight is not None or backend.epsilon > 1e-12 or not rows.logs_can_be_shared:
            logs = xp.log(variance)
            return backend.sums(logs if rows.weight is None else logs * rows.weight, axis=1)
        eighth = variance.shape[1] // 8
        sums = backend.sums(xp.log(variance[:, 8 * eighth :]), axis=1)
        half = 4 * eighth
        product = variance[:, :half] * variance[:, half : 2 * half]
        product = product[:, : half // 2] * product[:, half // 2 :]
        product = product[:, :eighth] * product[:, eighth:]
        return sums + backend.sums(xp.log(product), axis=1)


class _RowConstants:
    """Vectors of one block that are the same for all candidates, in the rows' dtype."""

    def __init__(self, state: SparseState, block: SparseRows):
        make, xp = state.backend.asarray, state.backend.xp
        weight = block.weight
        self.weight = None if weight is None else make(weight)
        self.one = make(1.0)
        residual = make(block.yt - block.fit)
        self.residual = [residual[k, :] for k in range(state.n_targets)]
        self.common_noise = None if state.approximation == "fitc" else state.noise_variance
        self.root_noise = None if self.common_noise else make(xp.sqrt(block.lam))
        self.prior_left = make(_prior_left(state, block) / block.lam) if state.keep_v else None
        # eight factors of t / lam <= k / s2 + 1 / SMALLEST must not overflow
        self.logs_can_be_shared = float(xp.max(block.prior / block.lam)) < 1e30
        if weight is None:
            self.left = make(1.0 - block.leverage)
            self.noise_of_all = make(block.lam)
            return
        copies = xp.clip(weight, max=1.0) / weight
        mix = 1.0 / weight - copies
        self.copies, self.mix = make(copies), make(mix)
        self.left = make(1.0 - copies * block.leverage)
        self.mixed = make(1.0 + mix * block.leverage)
        self.noise_of_all = make(block.lam * weight)
