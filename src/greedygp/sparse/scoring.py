"""Leave-one-out measures of candidates: what a measure would be with each of them in the basis.

In the symbols of `loo.py`: a candidate with the new rows `zeta = residual / d` and `v = base / e`
turns the whitened leverage into `leverage + zeta^2`, the fit into `fit + w_j zeta`, and `q` into
`q + v^2`. Scoring is elementwise over c x n entries. It goes through a few candidates at a time, in
place, so that it stays in the processor's cache, in whitened units (variances divided by lam).

The measures of the papers have small classes of their own, listed in `SCORES`, which save passes
over the entries. Any other measure goes by :class:`MeasureScore`, which needs only its formula.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.measures import ExpectedError, LooMeasure, PredictiveDensity, SquaredError
from greedygp.rows import add_up
from greedygp.sparse.candidates import Candidates
from greedygp.sparse.loo import SMALLEST, prior_left, sum_of_prior_left
from greedygp.sparse.row_state import SparseRows
from greedygp.sparse.state import SparseState

__all__ = ["SCORES", "MeasureScore", "TileScore", "candidate_sums"]

TILE = 60_000  # entries of a tile of scores
# With many (cached) candidates threads pay, if their operations are long enough.
MANY, LARGE_TILE = 120, 300_000


def candidate_sums(state: SparseState, candidates: Candidates, measure: LooMeasure) -> np.ndarray:
    """Return the sums over the rows that the measure would have with each candidate."""
    kind = SCORES.get(type(measure))
    score = MeasureScore(state, candidates, measure) if kind is None else kind(state, candidates)
    total = add_up(state.rows.map(score.block, light=len(candidates) < MANY))
    return score.whole(state.backend.to_host(total)[0])


class RowConstants:
    """Vectors of one block that are the same for all candidates, in the rows' dtype."""

    def __init__(self, state: SparseState, block: SparseRows):
        make, xp = state.backend.asarray, state.backend.xp
        weight = block.weight
        self.weight = None if weight is None else make(weight)
        residual = make(block.yt - block.fit)
        self.residual = [residual[k, :] for k in range(state.n_targets)]
        self.common_noise = None if state.approximation == "fitc" else state.noise_variance
        self.root_noise = None if self.common_noise else make(xp.sqrt(block.lam))
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


class TileScore:
    """The elementwise part of a measure's scores.

    A subclass says in :meth:`tile` what the measure makes of a few candidates.
    """

    constants: type[RowConstants] = RowConstants

    formula = ""  # the whole of it for unweighted rows and one target, as a kernel of a GPU

    def __init__(self, state: SparseState, candidates: Candidates):
        self.state = state
        self.backend: Backend = state.backend
        self.candidates = candidates
        self.residual = candidates.residual or []
        d, e = np.sqrt(candidates.d2)[:, None], np.sqrt(candidates.e2)[:, None]
        # They travel to a device together.
        columns = self.backend.asarray(np.hstack([1.0 / d, 1.0 / e, candidates.gain / d]))
        self.inverse_d, self.inverse_e, *self.w = (
            columns[:, k : k + 1] for k in range(columns.shape[1])
        )

    def tile(self, block, rows, part, zeta, left, variance, work) -> Array:
        """Return the sums over the block's rows for the candidates of the slice `part`.

        `zeta`, `left` (`1 - c eta`, not yet safe to divide by) and, for weighted rows, `variance`
        (`1 + (1 - c) eta`) are given; all four arrays may be overwritten.
        """
        raise NotImplementedError

    def whole(self, total: np.ndarray) -> np.ndarray:
        """Add to the sums over rows what is the same for all rows."""
        return total

    def whole_formula(self, block: SparseRows, rows: RowConstants) -> tuple[Array, ...] | None:
        """Return what the formula is a function of; None where it does not hold."""
        return None

    def block(self, block: SparseRows) -> Array:
        """Return the block's part of each candidate's sum."""
        count, width = len(self.candidates), block.width
        rows = self.constants(self.state, block)
        kernel = self.backend.one_kernel(self.formula) if self.formula else None
        if kernel is not None and rows.weight is None and len(self.w) == 1:
            terms = self.whole_formula(block, rows)
            if terms is not None:
                return self._row_sums(kernel(*terms))
        entries = TILE if count < MANY else LARGE_TILE
        chunk = self.backend.tile_size(max(1, entries // width), count)
        scratch = [self.backend.empty((chunk, width)) for _ in range(4)]
        sums = []
        for start in range(0, count, chunk):
            part = slice(start, min(start + chunk, count))
            views = [array[: part.stop - part.start, :] for array in scratch]
            self._leverages(block, rows, part, *views)
            sums.append(self.tile(block, rows, part, *views))
        return sums[0] if len(sums) == 1 else self.backend.xp.concat(sums)

    def _leverages(self, block, rows, part, zeta, left, variance, work) -> None:
        """Write `zeta` and `1 - c eta`, and for weighted rows `1 + (1 - c) eta`."""
        backend = self.backend
        residual = self.residual[block.number][part, :]
        backend.multiply(residual, self.inverse_d[part, :], out=zeta)
        if rows.weight is None:
            backend.minus_multiple(rows.left, zeta, zeta, out=left)
            return
        backend.multiply(zeta, zeta, out=left)
        backend.multiply(left, rows.mix, out=variance)
        variance += rows.mixed
        left *= rows.copies
        backend.subtract(rows.left, left, out=left)

    def _variances(self, rows, left, variance) -> None:
        """Make `left` safe to divide by, and write `t / lam` without the prior's part."""
        self.backend.at_least(left, SMALLEST, out=left)
        if rows.weight is None:
            self.backend.inverse(left, out=variance)
        else:
            variance /= left

    def _errors(self, rows, zeta, left, part, k: int, work) -> None:
        """Write the left-out residuals of target k into `work`."""
        self.backend.minus_multiple(rows.residual[k], zeta, self.w[k][part, :], out=work)
        work /= left

    def _row_sums(self, values: Array) -> Array:
        """Return the sum of each row, taken in float64."""
        return self.backend.xp.sum(values, axis=1, dtype=self.backend.float64)

    def _squared_errors(self, rows, zeta, left, part, work) -> Array:
        """Return the mean over the targets of `sum w r^2`."""
        total = 0.0
        for k in range(len(self.w)):
            self._errors(rows, zeta, left, part, k, work)
            if rows.common_noise is None:
                work *= rows.root_noise
            dots = self.backend.dots(work, work)
            total = total + (dots if rows.common_noise is None else rows.common_noise * dots)
        return total / len(self.w)

    def _with_prior_variances(self, total: np.ndarray) -> np.ndarray:
        """Add the prior's part of the variances, `sum w (k - q)` with each candidate in q."""
        if not self.state.uses_prior_variance:
            return total
        total = total + sum_of_prior_left(self.state)
        return total - self.state.noise_variance * self._new_trace()

    def _new_trace(self) -> np.ndarray:
        """Return what each candidate adds to `tr(V V')`, in O(m^2) (the paper's `E` is `L_B`)."""
        candidates = self.candidates
        if candidates.stable:
            return candidates.base2 / candidates.e2
        p = candidates.z - candidates.nu @ self.state.L_B.lower
        return (np.sum(p * p, axis=1) + candidates.d2) / candidates.e2 - 1.0


class SquaredErrorScore(TileScore):
    """LOO-CVE."""

    formula = """template <typename T>
    T squared_error(T residual, T inverse_d, T w, T left, T error, T noise) {
        T zeta = residual * inverse_d;
        T left_out = (error - zeta * w) / (left - zeta * zeta);
        return noise * left_out * left_out;
    }"""

    def whole_formula(self, block: SparseRows, rows: RowConstants) -> tuple[Array, ...]:
        residual = self.residual[block.number]
        terms = residual, self.inverse_d, self.w[0], rows.left, rows.residual[0]
        return *terms, rows.noise_of_all

    def tile(self, block, rows, part, zeta, left, variance, work) -> Array:
        # A sign of `left` that rounding has turned does no harm to a square.
        return self._squared_errors(rows, zeta, left, part, work)


class ExpectedErrorScore(TileScore):
    """GPE. The prior's part of the variances is added as one sum: V need not be known."""

    def tile(self, block, rows, part, zeta, left, variance, work) -> Array:
        self._variances(rows, left, variance)
        errors = self._squared_errors(rows, zeta, left, part, work)
        variance *= rows.noise_of_all
        return errors + self._row_sums(variance)

    def whole(self, total: np.ndarray) -> np.ndarray:
        return self._with_prior_variances(total)


class VarianceConstants(RowConstants):
    """What a measure of each row's variance needs besides."""

    def __init__(self, state: SparseState, block: SparseRows):
        super().__init__(state, block)
        make = state.backend.asarray
        self.lam = make(block.lam)
        self.prior_left = make(prior_left(block) / block.lam) if state.keep_v else None


class VarianceScore(TileScore):
    """A measure that needs each row's variance, with the prior's part of it."""

    constants = VarianceConstants

    def _add_prior(self, block, rows, part, variance, work) -> None:
        """Add `(k - q - v^2) / lam` to the variance, in place."""
        base = self.candidates.base[block.number][part, :]
        self.backend.multiply(base, self.inverse_e[part, :], out=work)
        if rows.weight is None:
            self.backend.minus_multiple(rows.prior_left, work, work, out=work)
        else:
            work *= work
            work /= rows.weight
            self.backend.subtract(rows.prior_left, work, out=work)
        self.backend.at_least(work, 0.0, out=work)
        variance += work


class MeasureScore(VarianceScore):
    """Any measure, by its formula."""

    def __init__(self, state: SparseState, candidates: Candidates, measure: LooMeasure):
        super().__init__(state, candidates)
        self.measure = measure

    def tile(self, block, rows, part, zeta, left, variance, work) -> Array:
        self._variances(rows, left, variance)
        if self.measure.needs_each_variance and self.state.uses_prior_variance:
            self._add_prior(block, rows, part, variance, work)
        square = self.backend.xp.zeros_like(variance)
        for k in range(len(self.w)):
            self._errors(rows, zeta, left, part, k, work)
            work *= work
            square += work
        square *= rows.lam if rows.weight is None else rows.lam / rows.weight
        square /= len(self.w)
        variance *= rows.lam
        each = self.measure.each(self.backend.xp, square, variance)
        return self._row_sums(each if rows.weight is None else each * rows.weight)

    def whole(self, total: np.ndarray) -> np.ndarray:
        return self._with_prior_variances(total) if self.measure.adds_variance else total


class DensityConstants(VarianceConstants):
    """What the predictive density needs besides."""

    def __init__(self, state: SparseState, block: SparseRows):
        super().__init__(state, block)
        # Eight factors of t / lam <= k / s2 + 1 / SMALLEST must not overflow.
        self.logs_can_be_shared = block.largest_prior < 1e30


class PredictiveDensityScore(VarianceScore):
    """NLGPP."""

    constants = DensityConstants
    formula = f"""template <typename T>
    T density(T residual, T base, T inverse_d, T inverse_e, T w, T left, T prior_left, T error) {{
        T zeta = residual * inverse_d;
        T v = base * inverse_e;
        T share = fmax(left - zeta * zeta, T({SMALLEST}));
        T variance = T(1.0) / share + fmax(prior_left - v * v, T(0.0));
        T left_out = (error - zeta * w) / share;
        return log(variance) + left_out * left_out / variance;
    }}"""

    def whole_formula(self, block: SparseRows, rows: RowConstants) -> tuple[Array, ...] | None:
        assert isinstance(rows, DensityConstants)
        if not self.state.uses_prior_variance:
            return None
        base, residual = self.candidates.base[block.number], self.residual[block.number]
        columns = self.inverse_d, self.inverse_e, self.w[0]
        return residual, base, *columns, rows.left, rows.prior_left, rows.residual[0]

    def tile(self, block, rows, part, zeta, left, variance, work) -> Array:
        self._variances(rows, left, variance)
        if self.state.uses_prior_variance:
            self._add_prior(block, rows, part, variance, work)
        logs = self._sum_of_logs(variance, rows)
        return logs + self._standardised_errors(rows, zeta, left, part, variance, work)

    def whole(self, total: np.ndarray) -> np.ndarray:
        return total + self.state.weighted_log_noise

    def _standardised_errors(self, rows, zeta, left, part, variance, work) -> Array:
        """Return the mean over the targets of `sum w r^2 / t`. Overwrites `zeta` at the last."""
        total = 0.0
        for k in range(len(self.w)):
            self._errors(rows, zeta, left, part, k, work)
            spare = zeta if k + 1 == len(self.w) else None
            spare = self.backend.divide(work, variance, out=spare)
            total = total + self.backend.dots(work, spare)
        return total / len(self.w)

    def _sum_of_logs(self, variance: Array, rows: DensityConstants) -> Array:
        """Return `sum w log(t / lam)`; eight factors share a logarithm where that is safe."""
        backend, xp = self.backend, self.backend.xp
        if rows.weight is not None or backend.epsilon > 1e-12 or not rows.logs_can_be_shared:
            logs = xp.log(variance)
            return self._row_sums(logs if rows.weight is None else logs * rows.weight)
        eighth = variance.shape[1] // 8
        sums = self._row_sums(xp.log(variance[:, 8 * eighth :]))
        half = 4 * eighth
        product = variance[:, :half] * variance[:, half : 2 * half]
        product = product[:, : half // 2] * product[:, half // 2 :]
        product = product[:, :eighth] * product[:, eighth:]
        return sums + self._row_sums(xp.log(product))


SCORES: dict[type[LooMeasure], type[TileScore]] = {
    SquaredError: SquaredErrorScore,
    PredictiveDensity: PredictiveDensityScore,
    ExpectedError: ExpectedErrorScore,
}
