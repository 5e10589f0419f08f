"""What the candidates outside a sparse linear model are worth: equations (16)-(19) for all of them.

    r = t'P phi,    gamma = phi'P phi,    xi = t'P^2 phi,    u = phi'P^2 phi

(the last two only where the criterion needs them: GCV does, the evidence does not).

`AllCandidates` keeps them for every column of the dictionary, with the Gram rows `G = Phi~_B'Phi~`
(m, M) of the columns in the model. An action of the model is a rank-one change `c p p'` of `P` with
`p = Phi_B x`, `P p = Phi_B y` (see `state`), so with `a = x'G`, `b = y'G`

    r  <- r - c (t'p) a,                          gamma <- gamma - c a^2,
    xi <- xi - c ((t'Pp) a + (t'p) b) + c^2 (p'p)(t'p) a,    u <- u - 2 c a b + c^2 (p'p) a^2.

Changes are noted when they happen and made when somebody asks, several at a time in one matrix
product. Cost: O(M m) a change, and one N x M product for a column that never was in the model.

`SampledCandidates` draws a few columns at a time and computes theirs from scratch: O(k N m), and
nothing of length M is held but a few vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedygp.linear.dictionary import few_lines_times
from greedygp.linear.state import CAPACITY, ColumnProducts, LinearState, RankOne, Without
from greedygp.triangular import solve_in_place

__all__ = ["AllCandidates", "Candidates", "SampledCandidates", "candidates_of"]

DEPENDENT = 1e-10  # a candidate of a smaller share gamma / phi'phi is in the span of the model
SAME = 1e-10  # columns whose squared cosine differs from one by less are one column
TINY = 1e-300
LARGEST_DRIFT = 1e-9  # error of r, relative to |phi| |t|, above which all is computed afresh
NEGATIVE = -1e-9  # gamma or u below this share of phi'phi: rounding has taken over
TILE = 1000  # columns whose quantities are computed together, in the processor's cache
GRAM_ROWS = 24  # Gram rows that are computed together, those of the likely next additions included
GRAM_ROWS_UNHELD = 64  # the same where every product makes the dictionary again


class Candidates:
    """The columns that may be added, and what they are worth; arrays have one entry for each.

    Parameters
    ----------
    state : LinearState
        Where it does not keep what involves `P^2`, xi and u are not kept either.
    squares : bool
        False: they are not kept in any case, until the attribute is set and all is computed afresh.
    """

    patience = 1  # how often nothing must be worth adding before the loop believes it
    likely_rows = 0  # how many of the likely next additions `added` wants to know
    indices: np.ndarray  # columns of the dictionary
    norms: np.ndarray
    peaks: np.ndarray
    r: np.ndarray
    gamma: np.ndarray
    xi: np.ndarray
    u: np.ndarray

    def __init__(self, state: LinearState, squares: bool = True):
        self.state, self.squares = state, squares and state.squares

    def added(self, index: int, change: RankOne, likely: Sequence[int] | np.ndarray = ()) -> None:
        """Take note that the state has just added a column; `likely` ones may be next."""

    def changed(self, change: RankOne) -> None:
        """Take note that the state has changed a zeta."""

    def deleted(self, place: int, change: RankOne) -> None:
        """Take note that the state is about to drop a column."""

    def dropped(self, place: int) -> None:
        """Take note of the same where everything will be computed afresh."""

    def refresh(self) -> bool:
        """Bring everything up to date; return False where rounding has taken over."""
        raise NotImplementedError

    def check(self) -> bool:
        """Compare with a state that was computed afresh; return False where there was drift."""
        return True

    def recompute(self, L: np.ndarray) -> bool:
        """Compute everything afresh, given the lower Cholesky factor of S; as `refresh`."""
        raise NotImplementedError

    def open(self) -> np.ndarray:
        """Return which candidates can be added: not in the model or in its span, not zero."""
        raise NotImplementedError

    def products(self, index: int) -> ColumnProducts | None:
        """Return the products of a column with those of the model, where they are known."""
        return None

    def without(self) -> Without:
        """Return the model as it is, for every candidate that is not in it."""
        state = self.state
        without = Without(
            r=self.r, gamma=self.gamma, energy=state.energy, norm=self.norms, peak=self.peaks
        )
        if self.squares:
            without.xi, without.u = self.xi, self.u
            without.trace, without.error = state.trace, state.error
        return without


def candidates_of(
    state: LinearState,
    working_set: int | None,
    rng: np.random.Generator | None,
    squares: bool = True,
) -> Candidates:
    """Return all columns as candidates, or so many random ones at every step."""
    if working_set is None:
        return AllCandidates(state, squares)
    return SampledCandidates(state, working_set, rng or np.random.default_rng(0), squares)


class AllCandidates(Candidates):
    """The quantities of all columns, brought up to date on demand."""

    def __init__(self, state: LinearState, squares: bool = True):
        super().__init__(state, squares)
        self.dictionary = state.dictionary
        self.norms, self.peaks = self.dictionary.square_norms, self.dictionary.peaks
        self.likely_rows = GRAM_ROWS if self.dictionary.held is not None else GRAM_ROWS_UNHELD
        M = self.dictionary.n_columns
        self.indices = np.arange(M)
        self.useful = self.norms > 0.0  # zero columns stay zero, whatever rounding makes of them
        self.projections = np.where(self.useful, self.dictionary.products(state.t)[0], 0.0)
        self._G = np.empty((CAPACITY, M))
        self._twins = np.zeros((CAPACITY, M), dtype=bool)
        self._shadowed = np.zeros(M, dtype=np.intp)
        self._chosen = np.zeros(M, dtype=bool)
        self._pending: list[RankOne] = []
        for place, index in enumerate(state.chosen):
            self._append(place, index, ())
        self.recompute(state.recompute() if state.chosen else np.empty((0, 0)))

    @property
    def G(self) -> np.ndarray:
        """`Phi~_B'Phi~`, (m, M), a view."""
        return self._G[: self.state.size]

    # --- the model's actions -------------------------------------------------------------------

    def added(self, index: int, change: RankOne, likely: Sequence[int] | np.ndarray = ()) -> None:
        """Take note that the state has just added a column; `likely` ones may be next."""
        self._append(self.state.size - 1, index, likely)
        self._pending.append(change)

    def changed(self, change: RankOne) -> None:
        """Take note that the state has changed a zeta."""
        self._pending.append(change)

    def deleted(self, place: int, change: RankOne) -> None:
        """Take note that the state is about to drop a column."""
        self._pending.append(change)
        self._flush()
        self.dropped(place)

    def dropped(self, place: int) -> None:
        """Take note of the same where everything will be computed afresh."""
        self._pending = []
        last = self.state.size - 1
        self._shadowed -= self._twins[place]
        self._chosen[self.state.chosen[place]] = False
        if place != last:
            self._G[place] = self._G[last]
            self._twins[place] = self._twins[last]

    def _append(self, place: int, index: int, likely) -> None:
        if place == len(self._G):
            self._G = np.concatenate([self._G, np.empty_like(self._G)])
            self._twins = np.concatenate([self._twins, np.zeros_like(self._twins)])
        np.multiply(self.dictionary.gram(index, likely), self.useful, out=self._G[place])
        same = self._G[place] ** 2 >= (1.0 - SAME) * self.norms * self.norms[index]
        same[index] = False
        self._twins[place] = same
        self._shadowed += same
        self._chosen[index] = True

    # --- what they are worth -------------------------------------------------------------------

    def refresh(self) -> bool:
        """Bring everything up to date; return False where rounding has taken over."""
        self._flush()
        floor = NEGATIVE * self.norms
        outside = ~self._chosen
        healthy = not np.any((self.gamma < floor) & outside)
        return healthy and not (self.squares and np.any((self.u < floor) & outside))

    def _flush(self) -> None:
        if not self._pending:
            return
        changes, self._pending = self._pending, []
        m = max(len(change.x) for change in changes)
        X = np.zeros((len(changes), m))
        for line, change in zip(X, changes, strict=True):
            line[: len(change.x)] = change.x
        c = np.array([change.c for change in changes])
        t_p = np.array([change.t_p for change in changes])
        a = few_lines_times(X, self._G[:m])
        self.r -= (c * t_p) @ a
        if self.squares:
            for line, change in zip(X, changes, strict=True):
                line[: len(change.x)] = change.y
            p_p = np.array([change.p_p for change in changes])
            t_P_p = np.array([change.t_P_p for change in changes])
            b = few_lines_times(X, self._G[:m])
            self.xi -= (c * (t_P_p - c * p_p * t_p)) @ a + (c * t_p) @ b
            b *= a
            self.u -= (2.0 * c) @ b
            np.multiply(a, a, out=a)
            self.u += (c**2 * p_p) @ a
        else:
            np.multiply(a, a, out=a)
        self.gamma -= c @ a

    def check(self) -> bool:
        """Compare with a state that was computed afresh: r, in O(M m), stands for all of them."""
        self._flush()
        r = self.projections - self.state.w @ self.G
        error = np.max(np.abs(r - self.r) / np.sqrt(self.norms + TINY), initial=0.0)
        self.r = r
        return error <= LARGEST_DRIFT * np.sqrt(self.state.square)

    def recompute(self, L: np.ndarray) -> bool:
        """Compute everything afresh, given the lower Cholesky factor of S; as `refresh`."""
        self._pending = []
        self.r, self.gamma = self.projections.copy(), self.norms.copy()
        if self.squares:
            self.xi, self.u = self.r.copy(), self.gamma.copy()
        if self.state.size:
            self.r -= self.state.w @ self.G
            room = np.empty((self.state.size, min(TILE, len(self.norms))))
            for start in range(0, len(self.norms), TILE):
                self._recompute_some(slice(start, start + TILE), L, room)
        return self.refresh()

    def _recompute_some(self, part: slice, L: np.ndarray, room: np.ndarray) -> None:
        """Take what the model explains of some columns, in place; `room` is written over."""
        state, G = self.state, self.G[:, part]
        solved = solve_in_place(L, G, False, room[:, : G.shape[1]])
        self.gamma[part] -= np.einsum("ij,ij->j", solved, solved)
        if self.squares:
            solve_in_place(L, solved, True, solved)
            self.xi[part] = self.r[part] - (state.zeta * state.w) @ solved
            np.multiply(solved, solved, out=solved)
            self.u[part] = self.gamma[part] - state.zeta @ solved

    def products(self, index: int) -> ColumnProducts:
        cross = self.G[:, index].copy()
        return ColumnProducts(cross, float(self.norms[index]), float(self.projections[index]))

    def open(self) -> np.ndarray:
        """Return which candidates can be added: not in the model or in its span, not zero."""
        possible = self.gamma > DEPENDENT * self.norms
        return possible & self.useful & ~self._chosen & (self._shadowed == 0)


class SampledCandidates(Candidates):
    """The quantities of a few random columns, drawn anew and computed afresh at every refresh.

    Parameters
    ----------
    state : LinearState
    size : int
        Columns drawn.
    rng : numpy.random.Generator
    """

    patience = 5  # draws

    def __init__(
        self, state: LinearState, size: int, rng: np.random.Generator, squares: bool = True
    ):
        super().__init__(state, squares)
        self.size, self.rng = size, rng
        self.useful = np.flatnonzero(state.dictionary.square_norms > 0.0)
        self.refresh()

    def refresh(self) -> bool:
        """Draw columns and compute their quantities; True: there is nothing that could drift."""
        state = self.state
        left = np.setdiff1d(self.useful, state.chosen)
        self.indices = np.sort(
            self.rng.choice(left, min(self.size, len(left)), replace=False)
        ).astype(np.intp)
        self.norms = state.dictionary.square_norms[self.indices]
        self.peaks = state.dictionary.peaks[self.indices]
        lines = (
            state.dictionary.columns(self.indices)
            if len(self.indices)
            else np.empty((0, state.dictionary.n_rows))
        )
        cross = state.lines @ lines.T
        solved = state.inverse @ cross
        self.r = lines @ state.t - state.w @ cross
        self.gamma = self.norms - np.einsum("ij,ij->j", cross, solved)
        if self.squares:
            self.xi = self.r - (state.zeta * state.w) @ solved
            self.u = self.gamma - state.zeta @ solved**2
        diagonal = np.diagonal(state.gram)[:, None]
        self._same = np.any(cross**2 >= (1.0 - SAME) * self.norms * diagonal, axis=0)
        return True

    def recompute(self, L: np.ndarray) -> bool:
        """Draw again; the state has been computed afresh."""
        return self.refresh()

    def open(self) -> np.ndarray:
        """Return which candidates can be added: not equal to one in the model or in its span."""
        return (self.gamma > DEPENDENT * self.norms) & ~self._same
