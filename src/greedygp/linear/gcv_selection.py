"""Fast GCV from a start: regularised forward selection, nothing, or as the paper has it.

A loop that begins with nothing, and stops where no single action lowers GCV, ends in poor minima:
with wide kernels three functions are left, each of which only makes sense beside others that would
have to come at once. Regularised forward selection (see `ridge_selection`) goes through steps that
do not lower GCV, and moves all ridges together. So its model is what the loop begins with. Every
action lowers GCV from there on: it ends at most where RFS ended, and mostly with fewer functions.

The least ridge (see `criteria.GCV`) is not above that of the start, whose wide kernels want ridges
far below `alpha = 1/N`.

:class:`PaperSelection` is the algorithm to the letter (section 3.1 of Sundararajan et al.): the
noise begins with a tenth of the target's variance (step 1), and every five actions, and where no
action is left, it is estimated by (8) with the precisions alpha held fixed (step 10), so that all
`zeta = alpha s2` change at once and GCV may rise.
"""

from __future__ import annotations

import numpy as np

from greedygp.greedy import Action
from greedygp.linear.candidates import Candidates
from greedygp.linear.criteria import GCV
from greedygp.linear.ridge_selection import RidgeSelection
from greedygp.linear.selection import BestChanges, FastSelection
from greedygp.linear.state import LinearState

__all__ = ["FIRST", "STARTS", "GCVSelection", "PaperSelection", "StartedSelection"]

STARTS = ("rfs", "empty", "paper")
FIRST = ("gcv", "projection")  # the first function, by
FIRST_NOISE = 0.1  # of the target's variance (step 1)
ACTIONS_BETWEEN = 5  # estimates of the noise (step 10)
SAME_NOISE = 1e-3  # relative change of the noise that is none
RENEWALS = 20  # of the noise without a new minimum of GCV, after which the paper's loop ends


class GCVSelection(FastSelection):
    """A model that grows and shrinks by GCV.

    Parameters
    ----------
    state : LinearState
    candidates : Candidates
    criterion : GCV
    tol : float
    max_basis : int or None
        As for :class:`FastSelection`.
    first : {"gcv", "projection"}
        What chooses the first function of an empty model: the smallest GCV, or the largest
        projection of the target on the normalised function.
    """

    def __init__(
        self,
        state: LinearState,
        candidates: Candidates,
        criterion: GCV,
        tol: float,
        max_basis: int | None = None,
        first: str = "gcv",
    ):
        self.first = first
        super().__init__(state, candidates, criterion, tol, max_basis)

    def _look_outside(self) -> BestChanges:
        changes = super()._look_outside()
        if self.state.size == 0 and self.first == "projection":
            pool = self.candidates
            share = np.where(np.isfinite(changes.gain), pool.r**2 / (pool.norms + 1e-300), -np.inf)
            if len(share):
                changes.gain[np.arange(len(share)) != np.argmax(share)] = -np.inf
        return changes


class StartedSelection(GCVSelection):
    """The same, from the model that regularised forward selection ends with.

    Parameters
    ----------
    forward : RidgeSelection
        That selection. It has to be run before the loop runs on this one, and then :meth:`begin`.
    criterion : GCV
    tol : float
    max_basis : int or None
    """

    criterion: GCV

    def __init__(
        self, forward: RidgeSelection, criterion: GCV, tol: float, max_basis: int | None = None
    ):
        super().__init__(forward.state, forward.pool, criterion, tol, max_basis)
        self.forward = forward
        self.empty_value = self.reported_value

    def begin(self) -> None:
        """Go on from the model as it is, whose ridge bounds the least one from above."""
        self._remember()
        if self.state.size:
            self.criterion.ridge = self.forward.ridge
        self.candidates.squares = True  # kept from now on: everything is computed afresh first


class PaperSelection(GCVSelection):
    """The algorithm as printed. Parameters as :class:`GCVSelection`."""

    criterion: GCV

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        variance = self.state.square / max(self.state.dof, 1.0)
        self.criterion.held = FIRST_NOISE * variance
        self._actions, self._renewals, self._lowest = 0, 0, np.inf

    def act(self, action: Action) -> None:
        super().act(action)
        self._actions += 1

    def propose(self) -> Action | None:
        if self._actions >= ACTIONS_BETWEEN:
            self._renew_noise()
        action = super().propose()
        while action is None and self._renew_noise():
            action = super().propose()
        return action

    def _renew_noise(self) -> bool:
        """Estimate the noise at fixed alpha, in place; return whether there is reason to go on."""
        self._actions, held = 0, self.criterion.held
        assert held is not None
        ratio = self.criterion.noise(self.state) / held
        if not self.state.size or not ratio > 0.0 or abs(np.log(ratio)) < SAME_NOISE:
            return False
        self._renewals = 0 if self.value < self._lowest - self.tol else self._renewals + 1
        self._lowest = min(self._lowest, self.value)
        if self._renewals >= RENEWALS:
            return False
        self.criterion.held = held * ratio
        self.state.zeta[...] *= ratio
        self._compute_afresh()
        self._misses = 0
        return True
