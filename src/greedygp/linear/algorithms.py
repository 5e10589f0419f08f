"""The algorithms of the sparse linear regressors, each with its parameters.

=============================  ===========================================  ======================
algorithm                      an action of the greedy loop                 where
=============================  ===========================================  ======================
`FastGCV`, `FastRVM`           add, re-estimate or delete a function        `selection`
`OrthogonalLeastSquares`       add a function, weights by least squares     `orthogonal_selection`
`RegularisedForwardSelection`  add a function, one ridge for all by GCV     `ridge_selection`
`LocalRidge`                   set the next ridge to its optimum by GCV     `local_ridge`
=============================  ===========================================  ======================

An algorithm makes a model to begin with, and runs the loop on it; :class:`LinearSelection` is what
their models have in common. The classifier's algorithm is in `laplace`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from greedygp.greedy import Path, Stopping, run
from greedygp.linear.candidates import candidates_of
from greedygp.linear.criteria import GCV, Evidence
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.local_ridge import LocalRidgeSelection
from greedygp.linear.orthogonal_selection import OrthogonalSelection
from greedygp.linear.ridge_selection import RidgeSelection
from greedygp.linear.selection import FastSelection, RelevanceSelection
from greedygp.linear.state import LinearState

__all__ = [
    "Algorithm",
    "FastAlgorithm",
    "FastGCV",
    "FastRVM",
    "LocalRidge",
    "OrthogonalLeastSquares",
    "RegularisedForwardSelection",
    "Watch",
]

COARSE_TOL = 10.0  # tolerance that is good enough to compare widths, in units of `tol`
COARSE_LOCAL_TOL, COARSE_CYCLES = 100.0, 10  # the same for local ridges, and the most cycles then

Watch = Callable[[Path], bool]
Random = np.random.Generator


class Algorithm:
    """A way to choose basis functions, and its parameters."""

    def start(self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None) -> Any:
        """Return the model to begin with, a LinearSelection.

        Parameters
        ----------
        dictionary : Dictionary
        t : (N,) array
            The target, weighted and centred.
        rng : numpy.random.Generator
            Draws working sets.
        """
        raise NotImplementedError

    def run(self, selection: Any, watch: Watch | None = None) -> Path:
        """Choose basis functions, in place; a true result of `watch` after an action ends it."""
        raise NotImplementedError

    def coarser(self) -> Algorithm:
        """Return the algorithm with parameters that are good enough to compare widths."""
        return self


@dataclass(frozen=True)
class FastAlgorithm:
    """The parameters of the algorithms that add, re-estimate and delete.

    Parameters
    ----------
    tol : float
        What is worth an action: a relative decrease of GCV, or an increase of the log evidence per
        row.
    max_basis : int or None
    max_iter : int
        The most actions.
    working_set : int or None
        Random candidates looked at for an addition; None: all.
    """

    tol: float
    max_basis: int | None = None
    max_iter: int = 10_000
    working_set: int | None = None

    def coarser(self) -> Any:
        """Return the algorithm with a tolerance that is good enough to compare widths."""
        return replace(self, tol=COARSE_TOL * self.tol)


@dataclass(frozen=True)
class FastGCV(FastAlgorithm, Algorithm):
    """Minimise GCV (Sundararajan, Shevade and Keerthi)."""

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> FastSelection:
        state = LinearState(dictionary, t)
        candidates = candidates_of(state, self.working_set, rng)
        gcv = GCV(state.rows, state.dof)
        return FastSelection(state, candidates, gcv, self.tol, self.max_basis)

    def run(self, selection: FastSelection, watch: Watch | None = None) -> Path:
        path = run(selection, Stopping(max_steps=self.max_iter), watch)
        selection.state.recompute()
        return path


@dataclass(frozen=True)
class FastRVM(FastAlgorithm, Algorithm):
    """Maximise the evidence (Tipping and Faul); `noise_variance` None: learnt."""

    noise_variance: float | None = None

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> RelevanceSelection:
        state = LinearState(dictionary, t, squares=False)
        candidates = candidates_of(state, self.working_set, rng)
        evidence = Evidence(state.dof, self.noise_variance)
        tol = self.tol * max(state.dof, 1.0)
        return RelevanceSelection(state, candidates, evidence, tol, self.max_basis)

    def run(self, selection: RelevanceSelection, watch: Watch | None = None) -> Path:
        stopping = Stopping(max_steps=self.max_iter)
        path = run(selection, stopping, watch)
        if selection.noise_is_held and path.reason in ("converged", "exact", "patience"):
            selection.let_noise_go()
            path = run(selection, stopping, watch, path)
        selection.state.recompute()
        return path


@dataclass(frozen=True)
class ForwardAlgorithm(Algorithm):
    """The parameters of the algorithms that only add.

    Parameters
    ----------
    tol : float
        Relative decrease of GCV, or of another criterion, that counts as one.
    max_basis : int or None
        None: up to the number of rows.
    patience : int or None
        Steps without a decrease before stopping; None: run to `max_basis`.
    """

    tol: float
    max_basis: int | None = None
    patience: int | None = 10

    def run(self, selection: Any, watch: Watch | None = None) -> Path:
        return run(selection, self._stopping(selection), watch)

    def _stopping(self, selection: Any) -> Stopping:
        dictionary = selection.dictionary
        most = min(dictionary.n_rows, dictionary.n_columns)
        return Stopping(
            max_size=most if self.max_basis is None else min(self.max_basis, most),
            patience=self.patience or dictionary.n_columns + 1,
            tol=self.tol,
            empty_value=selection.value,
        )


@dataclass(frozen=True)
class OrthogonalLeastSquares(ForwardAlgorithm):
    """Chen, Cowan and Grant's forward selection; `criterion` decides the size.

    With "err", `tol` is the share of the variance that may stay unexplained.
    """

    criterion: str = "gcv"

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> OrthogonalSelection:
        enough = self.tol if self.criterion == "err" else None
        return OrthogonalSelection(dictionary, t, self.criterion, enough)

    def _stopping(self, selection: OrthogonalSelection) -> Stopping:
        stopping = super()._stopping(selection)
        return replace(stopping, patience=None) if self.criterion == "err" else stopping


@dataclass(frozen=True)
class RegularisedForwardSelection(ForwardAlgorithm):
    """Orr's forward selection; `working_set` random candidates are looked at, None: all."""

    working_set: int | None = None

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> RidgeSelection:
        state = LinearState(dictionary, t, squares=False)
        return RidgeSelection(state, candidates_of(state, self.working_set, rng))


@dataclass(frozen=True)
class LocalRidge(Algorithm):
    """Orr's full model.

    Parameters
    ----------
    tol : float
        Relative decrease of GCV in a cycle that asks for another one.
    max_iter : int
        The most cycles.
    """

    tol: float
    max_iter: int = 100

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> LocalRidgeSelection:
        return LocalRidgeSelection(dictionary, t, self.tol, self.max_iter)

    def run(self, selection: LocalRidgeSelection, watch: Watch | None = None) -> Path:
        path = run(selection, Stopping(), watch)
        selection.recompute()
        return path

    def coarser(self) -> LocalRidge:
        return LocalRidge(COARSE_LOCAL_TOL * self.tol, min(self.max_iter, COARSE_CYCLES))
