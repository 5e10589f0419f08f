"""The algorithms of the sparse linear regressors, each with its parameters.

=============================  ===========================================  ======================
algorithm                      an action of the greedy loop                 where
=============================  ===========================================  ======================
`FastGCV`, `FastRVM`           add, re-estimate or delete a function        `selection`,
                                                                            `gcv_selection`
`OrthogonalLeastSquares`       add a function, weights by least squares     `orthogonal_selection`
`RegularisedForwardSelection`  add a function, one ridge for all by GCV     `ridge_selection`
`LocalRidge`                   set the next ridge to its optimum by GCV     `local_ridge`
=============================  ===========================================  ======================

An algorithm makes a model to begin with, and runs the loop on it; :class:`LinearSelection` is what
their models have in common. The classifiers' algorithms are in `laplace` and `labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from greedygp.greedy import Path, Stopping, run
from greedygp.linear.candidates import candidates_of
from greedygp.linear.criteria import GCV, Evidence
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.gcv_selection import GCVSelection, PaperSelection, StartedSelection
from greedygp.linear.local_ridge import LocalRidgeSelection
from greedygp.linear.orthogonal_selection import OrthogonalSelection
from greedygp.linear.ridge_selection import RidgeSelection
from greedygp.linear.selection import RelevanceSelection
from greedygp.linear.state import LinearState
from greedygp.progress import NEVER, Deadline

__all__ = [
    "Algorithm",
    "ClassificationAlgorithm",
    "FastAlgorithm",
    "FastGCV",
    "FastRVM",
    "LocalRidge",
    "OrthogonalLeastSquares",
    "RegularisedForwardSelection",
    "Watch",
]

FORWARD_TOL, FORWARD_PATIENCE = 1e-4, 20  # of the start of fast GCV, the defaults of RFSRegressor
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

    def run(self, selection: Any, watch: Watch | None = None, deadline: Deadline = NEVER) -> Path:
        """Choose basis functions, in place.

        A true result of `watch` after an action ends it, and so does the deadline.
        """
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


class ClassificationAlgorithm(FastAlgorithm):
    """What chooses the functions of a machine for two classes."""

    step_name: ClassVar[str | None]  # what callbacks hear of a step; None: the name of the action
    problem: ClassVar[Any]  # made of columns, labels of 0 and 1, weights, and whether an intercept

    def start(self, problem: Any, rng: Random) -> Any:
        """Return the empty model; its `mode` is that of now, `best` the one to keep."""
        raise NotImplementedError

    def run(self, selection: Any, watch: Watch | None = None, deadline: Deadline = NEVER) -> Path:
        """Choose basis functions, in place; `watch` is called after every step."""
        raise NotImplementedError


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

    def run(
        self, selection: RelevanceSelection, watch: Watch | None = None, deadline: Deadline = NEVER
    ) -> Path:
        stopping = Stopping(max_steps=self.max_iter, deadline=deadline)
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
    max_iter : int or None
        The most steps.
    """

    tol: float
    max_basis: int | None = None
    patience: int | None = 10
    max_iter: int | None = None

    def run(self, selection: Any, watch: Watch | None = None, deadline: Deadline = NEVER) -> Path:
        return run(selection, replace(self._stopping(selection), deadline=deadline), watch)

    def _stopping(self, selection: Any) -> Stopping:
        dictionary = selection.dictionary
        most = min(dictionary.n_rows, dictionary.n_columns)
        return Stopping(
            max_size=most if self.max_basis is None else min(self.max_basis, most),
            max_steps=self.max_iter,
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
        state = LinearState(dictionary, t)
        pool = candidates_of(state, self.working_set, rng, squares=False)
        return RidgeSelection(state, pool, self.tol)


@dataclass(frozen=True)
class FastGCV(FastAlgorithm, Algorithm):
    """Minimise GCV (Sundararajan, Shevade and Keerthi).

    Parameters
    ----------
    start_from : {"rfs", "empty", "paper"}
        The model of regularised forward selection; none; none, and the paper's loop to the letter.
    first : {"gcv", "projection"}
        What chooses the first function of an empty model.

    Others as :class:`FastAlgorithm`.
    """

    start_from: str = "rfs"
    first: str = "gcv"

    def start(
        self, dictionary: Dictionary, t: np.ndarray, rng: Random | None = None
    ) -> GCVSelection:
        if self.start_from == "rfs":
            forward = self._forward.start(dictionary, t, rng)
            gcv = GCV(forward.state.rows, forward.state.dof)
            return StartedSelection(forward, gcv, self.tol, self.max_basis)
        state = LinearState(dictionary, t)
        gcv = GCV(state.rows, state.dof)
        pool = candidates_of(state, self.working_set, rng)
        kind = PaperSelection if self.start_from == "paper" else GCVSelection
        return kind(state, pool, gcv, self.tol, self.max_basis, self.first)

    @property
    def _forward(self) -> RegularisedForwardSelection:
        return RegularisedForwardSelection(
            FORWARD_TOL,
            self.max_basis,
            FORWARD_PATIENCE,
            max_iter=self.max_iter,
            working_set=self.working_set,
        )

    def run(
        self, selection: GCVSelection, watch: Watch | None = None, deadline: Deadline = NEVER
    ) -> Path:
        path = None
        if isinstance(selection, StartedSelection):
            path = self._run_start(selection, watch, deadline)
            if path.cut_short or path.reason == "max_iter":
                return path
        stopping = Stopping(max_steps=self.max_iter, deadline=deadline)
        path = run(selection, stopping, watch, path)
        selection.state.recompute()
        return path

    def _run_start(
        self, selection: StartedSelection, watch: Watch | None, deadline: Deadline
    ) -> Path:
        """Run forward selection; what it adds after the best size is deleted in the path, too."""
        path = self._forward.run(selection.forward, watch, deadline)
        if path.cut_short:
            return path
        selection.begin()
        seconds = path.seconds
        for place in range(len(path) - 1, path.size - 1, -1):
            value = path.steps[place - 1][2] if place else selection.empty_value
            path.steps.append(("delete", path.steps[place][1], value, seconds))
            if watch is not None and watch(path):
                path.reason = "callback"
                break
        return path


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

    def run(
        self, selection: LocalRidgeSelection, watch: Watch | None = None, deadline: Deadline = NEVER
    ) -> Path:
        path = run(selection, Stopping(deadline=deadline), watch)
        selection.recompute()
        return path

    def coarser(self) -> LocalRidge:
        return LocalRidge(COARSE_LOCAL_TOL * self.tol, min(self.max_iter, COARSE_CYCLES))
