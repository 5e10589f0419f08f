"""THE loop of fast GCV and the fast relevance vector machine: add, re-estimate, delete.

Each iteration takes the one action that lowers the measure's cost most (section 3.1 of Sundararajan
et al., steps 4-9; Tipping and Faul's algorithm with their evidence). What the functions inside the
model are worth is known exactly after every action, in O(m^2). What the candidates outside are
worth is brought up to date, in O(M m), only when the best of them was, when last looked at, worth
more than the best action inside. So runs of re-estimations cost next to nothing, and every addition
and the end of the run are decided on exact numbers.

The loop ends when no action is worth more than `tol`, everything having been computed afresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedygp.linear.measures import Measure
from greedygp.linear.pool import AllCandidates, SampledCandidates
from greedygp.linear.state import IllConditionedError, LinearState, Without

__all__ = ["Limits", "Loop", "Path"]

PATH_FIELDS = np.dtype(
    [("action", "U10"), ("index", np.int64), ("value", np.float64), ("seconds", np.float64)]
)
AFRESH = 100  # actions between computations from scratch
DRIFT = 1e-4  # residual of a column of S^-1 (before it is improved) that asks for one
EXACT = 1e-8  # share of the variance that is not worth explaining
UNKNOWN = 1e-12
LIKELY = 24  # candidates whose Gram rows are computed with that of the one that is added
LIKELY_UNHELD = 64  # the same where every product makes the dictionary again


@dataclass
class Path:
    """What happened, an action a line."""

    steps: list[tuple[str, int, float, float]] = field(default_factory=list)
    reason: str = "converged"

    def __len__(self) -> int:
        return len(self.steps)

    def as_array(self) -> np.ndarray:
        """Return the steps as a structured array: action, index, value, seconds."""
        return np.array(self.steps, dtype=PATH_FIELDS)


@dataclass
class Limits:
    """When to stop.

    Parameters
    ----------
    tol : float
        The least decrease of the cost that is worth an action.
    max_basis : int or None
    max_iter : int
    """

    tol: float
    max_basis: int | None = None
    max_iter: int = 10_000


@dataclass
class Options:
    """The best action on each of many basis functions."""

    zeta: np.ndarray
    gain: np.ndarray

    @property
    def best(self) -> int:
        """The place of the best one."""
        return int(np.argmax(self.gain))

    @property
    def best_gain(self) -> float:
        """Its gain; minus infinity where there is none."""
        return float(np.max(self.gain, initial=-np.inf))


class Loop:
    """A model that grows and shrinks by one measure.

    Parameters
    ----------
    state : LinearState
    pool : AllCandidates or SampledCandidates
        Made of that state.
    measure : Measure
    limits : Limits
    reported : Measure or None
        Whose values go into the path; None: the measure's own.
    path : Path or None
        An earlier one to go on with.
    """

    def __init__(
        self,
        state: LinearState,
        pool: AllCandidates | SampledCandidates,
        measure: Measure,
        limits: Limits,
        reported: Measure | None = None,
        path: Path | None = None,
    ):
        self.state, self.pool, self.measure, self.limits = state, pool, measure, limits
        self.reported = reported or measure
        self.path = Path() if path is None else path
        self.drifts = 0  # times that the candidates' quantities had drifted
        self._start = time.perf_counter() - (self.path.steps[-1][3] if self.path.steps else 0.0)
        self._misses = 0
        self.afresh()

    # --- what could be done --------------------------------------------------------------------

    def inside(self) -> Options:
        """Return the best change of each basis function in the model (infinity: delete it)."""
        zeta = self.state.zeta
        if not len(zeta):
            return Options(np.empty(0), np.empty(0))
        without = self.state.without_each()
        least = np.minimum(self.measure.least(without, self.state), zeta)
        best = self._optimum(without, least)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = self.measure.change(without, zeta) - self.measure.change(without, best)
        # less than rounding is left of a function that the others explain: nothing can be said
        said = without.gamma > UNKNOWN * (without.gamma + zeta)
        return Options(best, np.where(said & np.isfinite(gain), gain, -np.inf))

    def _outside(self) -> Options:
        """Return the best addition of each candidate, as far as the pool knows."""
        self._stale = False
        without = self.pool.without()
        zeta = self._optimum(without, self.measure.least(without, self.state))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = -self.measure.change(without, zeta)
        possible = self.pool.open() & np.isfinite(gain) & np.isfinite(zeta)
        return Options(zeta, np.where(possible, gain, -np.inf))

    def _optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.measure.optimum(without, least)

    # --- doing it ------------------------------------------------------------------------------

    def add(self, place: int) -> None:
        """Add the candidate at a place of the pool."""
        index, zeta = int(self.pool.indices[place]), float(self.outside.zeta[place])
        likely: Any = ()
        if isinstance(self.pool, AllCandidates):
            held = self.state.dictionary.held is not None
            likely = self._likely(LIKELY if held else LIKELY_UNHELD)
        self.pool.added(index, self.state.add(index, zeta), likely)
        self.outside.gain[place] = -np.inf
        self.outside.gain[~self.pool.open()] = -np.inf  # columns equal to it
        self._record("add", index)

    def _likely(self, count: int) -> np.ndarray:
        """Return the candidates that will probably be added next, the best first."""
        gain = self.outside.gain
        top = np.argpartition(-gain, min(count, len(gain) - 1))[:count]
        top = top[gain[top] > self.limits.tol]
        return self.pool.indices[top[np.argsort(-gain[top])]]

    def change(self, place: int, zeta: float) -> None:
        """Re-estimate, or delete where zeta is infinite, the basis function at a place."""
        index = self.state.chosen[place]
        if np.isfinite(zeta):
            self.pool.changed(self.state.reestimate(place, zeta))
            self._record("reestimate", index)
        else:
            self.pool.deleted(place, self.state.delete(place))
            self.state.drop(place)
            self._record("delete", index)

    def _record(self, action: str, index: int) -> None:
        self._stale = True
        value = self.reported.value(self.state)
        self.path.steps.append((action, index, value, time.perf_counter() - self._start))

    def afresh(self) -> None:
        """Compute the state and the candidates' quantities from scratch."""
        L = self.state.recompute()
        if not self.pool.recompute(L):
            raise IllConditionedError
        self._remember()
        self.outside = self._outside()

    def _check(self) -> None:
        """Compute the state from scratch, and the candidates' quantities if they have drifted."""
        cost = self._good[2]
        L = self.state.recompute()
        if self.measure.cost(self.state) > cost:
            raise IllConditionedError  # so many actions that each lowered it have not
        self._remember()
        if not self.pool.check():
            self.drifts += 1
            if not self.pool.recompute(L):
                raise IllConditionedError
            self.outside = self._outside()

    def _remember(self) -> None:
        state = self.state
        self._good = list(state.chosen), state.zeta.copy(), self.measure.cost(state)

    # --- the loop ------------------------------------------------------------------------------

    def run(self, after_step: Callable[[Path], bool] | None = None) -> Path:
        """Act until nothing is worth it; `after_step` may stop it by a true result.

        The path's `reason` says what ended it: "converged", "max_iter", "exact" (the target is
        explained but for 1e-8 of its variance), "callback", "interrupted" (Ctrl-C) or
        "ill_conditioned": the model is then the last one whose numbers could be trusted.
        """
        path = self.path
        path.reason = "max_iter"
        try:
            while len(path) < self.limits.max_iter:
                before = len(path)
                if self._exact() or not self._act():
                    path.reason = "exact" if self._exact() else "converged"
                    break
                if after_step is not None and len(path) > before and after_step(path):
                    path.reason = "callback"
                    break
        except KeyboardInterrupt:
            path.reason = "interrupted"
        except IllConditionedError:
            path.reason = "ill_conditioned"
            self.state.start_with(self._good[0], self._good[1])
        return path

    def _exact(self) -> bool:
        """Whether next to nothing of the target is left unexplained."""
        variance = self.state.square / max(self.state.dof, 1.0)
        return not self.reported.noise(self.state) > EXACT * variance

    def _act(self) -> bool:
        """Take the best action; False where there is none, all numbers being fresh."""
        if self.state.actions >= AFRESH or self.state.drift > DRIFT:
            self._check()
        inside = self.inside()
        full = self.limits.max_basis is not None and self.state.size >= self.limits.max_basis
        out_gain = -np.inf if full else self.outside.best_gain
        if self._stale and max(out_gain, self.limits.tol) >= inside.best_gain:
            if not self.pool.refresh():
                self.afresh()
                inside = self.inside()
            self.outside = self._outside()
            out_gain = -np.inf if full else self.outside.best_gain
        if max(inside.best_gain, out_gain) <= self.limits.tol:
            return self._look_again()
        self._misses = 0
        if out_gain > inside.best_gain:
            self.add(self.outside.best)
        else:
            self.change(inside.best, float(inside.zeta[inside.best]))
        return True

    def _look_again(self) -> bool:
        """Nothing seems worth it: compute afresh and say whether to go on."""
        self._misses += 1
        fresh = self.state.actions == 0
        if self._misses > self.pool.patience or (fresh and self._misses >= self.pool.patience):
            return False
        self.afresh()
        return True
