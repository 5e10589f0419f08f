"""Fast GCV and the fast relevance vector machine: add, re-estimate, delete, on the greedy loop.

Each action is the one that lowers the criterion's cost most (section 3.1 of Sundararajan et al.,
steps 4-9; Tipping and Faul's algorithm with their evidence). What the functions inside the model
are worth is known exactly after every action, in O(m^2). What the candidates outside are worth is
brought up to date, in O(M m), only when the best of them was, when last looked at, worth more than
the best action inside. So runs of re-estimations cost next to nothing, and every addition and the
end of the run are decided on exact numbers.

The end comes when no action is worth more than `tol`, everything having been computed afresh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.greedy import Action, GreedyModel
from greedygp.linear.candidates import Candidates
from greedygp.linear.criteria import Criterion, Evidence
from greedygp.linear.posterior import Solution
from greedygp.linear.state import IllConditionedError, LinearState

__all__ = ["FastSelection", "LinearSelection", "RelevanceSelection"]

ACTIONS_BETWEEN_CHECKS = 100  # after so many, the state is computed from scratch
LARGEST_DRIFT = 1e-4  # error of a solution with S^-1 (before it is improved) that asks for it, too
UNEXPLAINED = 1e-8  # share of the variance that is not worth explaining
LEAST_SHARE = 1e-12  # of a function that the others leave over: nothing can be said of less
START_NOISE = 0.01  # of the variance
START_TOL = 10.0  # tolerance while the noise is held, in units of that after it
START_PATIENCE = 30  # actions without a rise of the evidence after which the noise is let go


class LinearSelection(GreedyModel):
    """A sparse linear model that changes by one basis function at a time."""

    fields = np.dtype(
        [("action", "U10"), ("index", np.int64), ("value", np.float64), ("seconds", np.float64)]
    )

    def solution(self) -> Solution:
        """Return the model as it is."""
        raise NotImplementedError

    def line(self, action: Action, seconds: float) -> tuple:
        return action.name, action.index, self.value, seconds


@dataclass
class BestChanges:
    """The best change of each of many basis functions, and what it gains."""

    zeta: np.ndarray
    gain: np.ndarray

    @property
    def best(self) -> int:
        """The place of the best one."""
        return int(self.gain.argmax())

    @property
    def best_gain(self) -> float:
        """Its gain; minus infinity where there is none."""
        return float(self.gain[self.gain.argmax()]) if len(self.gain) else -np.inf


class FastSelection(LinearSelection):
    """A model that grows and shrinks by one criterion.

    Parameters
    ----------
    state : LinearState
    candidates : Candidates
        Made of that state.
    criterion : Criterion
    tol : float
        The least decrease of the cost that is worth an action.
    max_basis : int or None
        The most basis functions.
    """

    nothing_left = "converged"

    def __init__(
        self,
        state: LinearState,
        candidates: Candidates,
        criterion: Criterion,
        tol: float,
        max_basis: int | None = None,
    ):
        self.state, self.candidates, self.max_basis = state, candidates, max_basis
        self.reported = criterion  # whose values go into the path
        self._trusted = list(state.chosen), state.zeta.copy(), np.inf
        self._judge_by(criterion, tol)

    def _judge_by(self, criterion: Criterion, tol: float) -> None:
        """Begin, or go on, with a criterion; everything is computed afresh before an action."""
        self.criterion, self.tol = criterion, tol
        self._outside: BestChanges | None = None
        self._misses = 0

    @property
    def size(self) -> int:
        return self.state.size

    @property
    def value(self) -> float:
        return self.criterion.cost(self.state)

    @property
    def reported_value(self) -> float:
        """The reported criterion of the model."""
        return self.reported.value(self.state)

    def solution(self) -> Solution:
        state = self.state
        noise = self.reported.noise(state)
        return Solution(list(state.chosen), state.w.copy(), state.inverse.copy(), noise)

    def line(self, action: Action, seconds: float) -> tuple:
        return action.name, action.index, self._last_value, seconds

    # --- what could be done --------------------------------------------------------------------

    def inside(self) -> BestChanges:
        """Return the best change of each basis function in the model (infinity: delete it)."""
        zeta = self.state.zeta
        if not len(zeta):
            return BestChanges(np.empty(0), np.empty(0))
        without = self.state.without_each()
        least = np.minimum(self.criterion.least(without, self.state), zeta)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            best = self.criterion.optimum(without, least)
            gain = self.criterion.change(without, zeta) - self.criterion.change(without, best)
        known = without.gamma > LEAST_SHARE * (without.gamma + zeta)
        return BestChanges(best, np.where(known & np.isfinite(gain), gain, -np.inf))

    def _look_outside(self) -> BestChanges:
        """Return the best addition of each candidate, as far as is known."""
        self._stale = False
        without = self.candidates.without()
        least = self.criterion.least(without, self.state)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            zeta = self.criterion.optimum(without, least)
            gain = -self.criterion.change(without, zeta)
        possible = self.candidates.open() & np.isfinite(gain) & np.isfinite(zeta)
        return BestChanges(zeta, np.where(possible, gain, -np.inf))

    def done(self) -> str | None:
        """Return "exact" where next to nothing of the target is left unexplained."""
        if self._outside is None:
            self._compute_afresh()
        variance = self.state.square / max(self.state.dof, 1.0)
        return None if self.reported.noise(self.state) > UNEXPLAINED * variance else "exact"

    def propose(self) -> Action | None:
        """Return the best action; None where there is none, all numbers being fresh."""
        if self.state.actions >= ACTIONS_BETWEEN_CHECKS or self.state.drift > LARGEST_DRIFT:
            self._check()
        action = self._best_action()
        while action is None and self._look_again() and self.done() is None:
            action = self._best_action()
        return action

    def _best_action(self) -> Action | None:
        assert self._outside is not None
        inside, outside = self.inside(), self._outside
        full = self.max_basis is not None and self.state.size >= self.max_basis
        in_gain, out_gain = inside.best_gain, -np.inf if full else outside.best_gain
        if self._stale and max(out_gain, self.tol) >= in_gain:
            if not self.candidates.refresh():
                self._compute_afresh()
                inside = self.inside()
                in_gain = inside.best_gain
            self._outside = outside = self._look_outside()
            out_gain = -np.inf if full else outside.best_gain
        gain = max(in_gain, out_gain)
        if gain <= self.tol:
            return None
        self._misses = 0
        if out_gain > in_gain:
            place = outside.best
            index, zeta = int(self.candidates.indices[place]), float(outside.zeta[place])
            return Action(index, -gain, "add", (place, zeta))
        place = inside.best
        index, zeta = self.state.chosen[place], float(inside.zeta[place])
        return Action(index, -gain, "reestimate" if zeta < np.inf else "delete", (place, zeta))

    def _look_again(self) -> bool:
        """Nothing seems worth it: compute afresh, and say whether that may have changed."""
        self._misses += 1
        patience = self.candidates.patience
        fresh = self.state.actions == 0
        if self._misses > patience or (fresh and self._misses >= patience):
            return False
        self._compute_afresh()
        return True

    # --- doing it ------------------------------------------------------------------------------

    def act(self, action: Action) -> None:
        place, zeta = action.detail
        if action.name == "add":
            self._add(action.index, place, zeta)
        elif action.name == "reestimate":
            self.candidates.changed(self.state.reestimate(place, zeta))
        else:
            self.candidates.deleted(place, self.state.delete(place))
            self.state.drop(place)
        self._stale = True
        self._last_value = self.reported_value

    def _add(self, index: int, place: int, zeta: float) -> None:
        assert self._outside is not None
        gain = self._outside.gain
        likely = self._likely_next(gain)
        change = self.state.add(index, zeta, self.candidates.products(index))
        self.candidates.added(index, change, likely)
        gain[place] = -np.inf
        gain[~self.candidates.open()] = -np.inf  # columns equal to it

    def _likely_next(self, gain: np.ndarray) -> np.ndarray | tuple:
        """Return the candidates that will probably be added next, the best first."""
        count = self.candidates.likely_rows
        if not count:
            return ()
        top = np.argpartition(-gain, min(count, len(gain) - 1))[:count]
        top = top[gain[top] > self.tol]
        return self.candidates.indices[top[np.argsort(-gain[top])]]

    # --- numbers that can be trusted -----------------------------------------------------------

    def _compute_afresh(self) -> None:
        """Compute the state and the candidates' quantities from scratch."""
        L = self.state.recompute()
        if not self.candidates.recompute(L):
            raise IllConditionedError
        self._remember()
        self._outside = self._look_outside()

    def _check(self) -> None:
        """Compute the state from scratch, and the candidates' quantities if they have drifted."""
        L = self.state.recompute()
        if self.value > self._trusted[2]:
            raise IllConditionedError  # the actions since then lowered the cost, each of them
        self._remember()
        if not self.candidates.check():
            if not self.candidates.recompute(L):
                raise IllConditionedError
            self._outside = self._look_outside()

    def _remember(self) -> None:
        self._trusted = list(self.state.chosen), self.state.zeta.copy(), self.value

    def recover(self) -> None:
        """Return to the last model whose numbers could be trusted, in place."""
        self.state.start_with(self._trusted[0], self._trusted[1])


class RelevanceSelection(FastSelection):
    """The relevance vector machine, whose noise is held low to begin with.

    The noise is always the best one for the model (see `criteria.Evidence`). A model that begins
    with all of the variance as noise stays too small: the first functions are judged against noise
    that the later ones would have explained. So, as Tipping and Faul recommend, the noise is held
    at a hundredth of the variance until the evidence (with the best noise) has not risen for a
    while, or nothing is left to be done; then it is let go. On data that are mostly noise this
    comes soon.

    Where the noise is given it is neither held low nor let go. Parameters as `FastSelection`.
    """

    def __init__(
        self,
        state: LinearState,
        candidates: Candidates,
        criterion: Evidence,
        tol: float,
        max_basis: int | None = None,
    ):
        super().__init__(state, candidates, criterion, tol, max_basis)
        self.noise_is_held = criterion.noise_variance is None and state.square > 0.0
        self._highest, self._idle, self._final_tol = -np.inf, 0, tol
        if self.noise_is_held:
            held = Evidence(state.dof, START_NOISE * state.square / max(state.dof, 1.0))
            self._judge_by(held, START_TOL * tol)

    def act(self, action: Action) -> None:
        super().act(action)
        self._idle += 1
        if self._last_value > self._highest:
            self._highest, self._idle = self._last_value, 0

    def done(self) -> str | None:
        reason = super().done()
        if reason is None and self.noise_is_held and self._idle >= START_PATIENCE:
            return "patience"
        return reason

    def let_noise_go(self) -> None:
        """Judge by the evidence with the best noise from now on."""
        self.noise_is_held = False
        self._judge_by(self.reported, self._final_tol)
