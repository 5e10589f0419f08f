"""`SparseGPRegressor`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state

from greedygp import advice
from greedygp.arrays import Array, Backend
from greedygp.data import TrainingData
from greedygp.greedy import Stopping, run
from greedygp.hyperparameters import Point
from greedygp.kernels import Kernel
from greedygp.kernels.conversion import as_kernel
from greedygp.prediction import PredictionMixin
from greedygp.progress import Deadline
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.learning import (
    TRIAL_ITERATIONS,
    Schedule,
    Selected,
    SparseLearnt,
    learn,
)
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.parameters import check_parameters, resolved
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.progress import FitTasks
from greedygp.sparse.selection import make_selector
from greedygp.sparse.state import SparseState
from greedygp.start import subset_evidence
from greedygp.validation import check_predict_inputs, check_training_data, check_weights

__all__ = ["SparseGPRegressor"]

LARGEST_BASIS = 500  # unless the user wants more
BASIS_PER_ROOT_ROW = 4.0  # basis vectors by default where they will be refined
PATIENCE = 20
START_ITERATIONS = 100  # of the evidence of a full GP on a subset of the rows


class SparseGPRegressor(
    PredictionMixin, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Sparse Gaussian process regression that chooses its own basis and learns by prediction.

    Basis vectors are taken from the training rows one at a time, each time the one that serves
    the criterion best. Hyperparameters, and then the positions of the basis vectors, are learnt by
    an objective: by default the leave-one-out predictive density of the training rows, which is
    known in closed form. See the user guide for the mathematics and the papers.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
        Where learning starts; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed where given (in the units of the normalised y if `normalize_y`); None: learnt
        from the data.
    criterion : {"matching_pursuit", "nlgpp", "loo_cve", "gpe", "nlml", "nlpp", "info_gain", \
"random"}
        What a candidate is judged by: matching pursuit, leave-one-out predictive density,
        leave-one-out squared error, leave-one-out expected squared error, evidence, posterior,
        information gain, nothing.
    approximation : {"auto", "fitc", "dtc", "sor"}
        What is neglected; see the user guide. "auto": where the basis is refined by `nlgpp`, FITC
        and DTC are both tried for 15 iterations, and the one that predicts left-out rows better
        goes on; DTC with `objective="vfe"`; else FITC. Under "fitc" the criteria `nlml`, `loo_cve`,
        `nlgpp` and `gpe` are FITC's own, unless the basis is refined afterwards; the others
        choose by DTC's formulas.
    max_basis : int or None
        The most basis vectors; None: 500 or, where the basis is refined, four times the square
        root of the number of rows if that is less.
    working_set : int or None
        Random candidates a step; None: all that are left (slow).
    cache_size : int
        Candidates carried from step to step (DTC and SoR); for `matching_pursuit` the number of
        kernel rows held. With a cache, a round's first candidates include the last round's basis.
    patience : int, "auto" or None
        Steps without a new minimum of the measure (for `nlgpp`, or of the leave-one-out error)
        before stopping and going back to the minimum; None: run to `max_basis`; "auto": 20, or
        None where the basis is refined (the measure before that tells little about the size that
        is best after it). Without effect for `nlpp`, `matching_pursuit`, `info_gain` and
        `random`, whose values only fall or mean nothing.
    tol : float
        Relative improvement of the measure that counts as a new minimum.
    objective : {"nlgpp", "loo_cve", "gpe", "nlml", "vfe", None}
        What is learnt by: leave-one-out predictive density, leave-one-out squared error (for those
        who want the mean), leave-one-out expected squared error, evidence, variational bound (with
        `approximation="dtc"` or "auto"). None: hyperparameters are held fixed.
    rounds : int
        Rounds of selecting a basis and optimising for it. 0: the hyperparameters are those of the
        start, a full GP's evidence on at most 500 random rows.
    max_iter : int
        The most iterations of the optimiser in a round.
    refine_basis : bool
        Whether the last round moves the basis inputs, together with the hyperparameters. The
        rounds before it then only prepare it, with a random basis and 20 iterations.
    guard : float
        Weight of the term that keeps the leave-one-out objectives from over-fitting while basis
        inputs move; 0: none.
    normalize_y : bool
        Whether targets are centred and scaled to unit variance for the fit.
    time_limit : float or None
        Seconds after which the fit ends with what it has.
    random_state : int, RandomState or None

    Attributes
    ----------
    basis_ : (m, D) array
        Inputs of the basis vectors.
    basis_indices_ : (m,) int array
        Their places among the training rows, or in `candidates` where that was given. Absent
        where they were moved.
    n_basis_ : int
    kernel_ : Kernel
    noise_variance_ : float
    approximation_ : str
        The one that the model has, where `approximation` left the choice to the fit.
    path_ : structured array with the fields index, value, score, seconds
        One line a step of the selection that was kept; `value` is the measure after it in the
        units of the normalised y.
    objective_value_ : float
        The objective of the model, the guard included; with `rounds=0` the evidence on the subset
        of rows; NaN where nothing was learnt.
    rounds_ : structured array with the fields n_basis, value_before, value, n_iter, seconds
        One line a round of learning: size, objective before and after, iterations, time.
    n_iter_ : int
        Steps that the selection made (more than `n_basis_` where it went back to a minimum).
    stop_reason_ : str
        Why the selection stopped: "max_basis", "patience", "exhausted", "time_limit", "callback"
        or "interrupted".
    jitter_ : float
        What had to be added to the diagonal of the basis' kernel matrix (usually zero).
    drift_ : float
        The largest rounding error met (and repaired) while the factors grew.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had them.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from greedygp import SparseGPRegressor
    >>> X, y = make_friedman1(400, noise=0.5, random_state=0)
    >>> model = SparseGPRegressor(random_state=0).fit(X[:300], y[:300])
    >>> mean, std = model.predict(X[300:], return_std=True)
    >>> round(model.score(X[300:], y[300:]), 1)
    1.0
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | None = None,
        noise_variance: float | None = None,
        criterion: str = "matching_pursuit",
        approximation: str = "auto",
        max_basis: int | None = None,
        working_set: int | None = 59,
        cache_size: int = 0,
        patience: int | str | None = "auto",
        tol: float = 1e-6,
        objective: str | None = "nlgpp",
        rounds: int = 1,
        max_iter: int = 70,
        refine_basis: bool = True,
        guard: float = 0.1,
        normalize_y: bool = True,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.criterion = criterion
        self.approximation = approximation
        self.max_basis = max_basis
        self.working_set = working_set
        self.cache_size = cache_size
        self.patience = patience
        self.tol = tol
        self.objective = objective
        self.rounds = rounds
        self.max_iter = max_iter
        self.refine_basis = refine_basis
        self.guard = guard
        self.normalize_y = normalize_y
        self.time_limit = time_limit
        self.random_state = random_state

    # --- fitting -------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, candidates: Any = None):
        """Choose a basis and fit.

        Parameters
        ----------
        X : (n, D) array-like
            NumPy, pandas, lists; or torch tensors, which are worked on where they are.
        y : (n,) or (n, p) array-like
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.
        candidates : (N, D) array-like, optional
            Inputs to choose the basis from (those of the test set, say, in transduction).

        Returns
        -------
        self
        """
        check_parameters(self)
        deadline = Deadline.after(self.time_limit)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        X, y = check_training_data(self, X, y)
        weights = check_weights(sample_weight, X)
        pool = None if candidates is None else self._check_candidates(X, candidates)
        data = TrainingData(X, y, weights, self.normalize_y)
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self._target_shape = tuple(y.shape[1:])
        self._scale = data.scale
        with data.backend.threads_over_blocks():
            start = self._start(data, rng, deadline)
        rounds = 0 if self.objective is None else self.rounds
        context = self._init_callback_context(max_subtasks=max(1, 2 * rounds))
        tasks = FitTasks(self, context, given)

        def select(point: Point, previous: Selected | None, preparing: bool) -> Selected:
            selector, limit, patience = self._selection(data, pool, rng, point, previous, preparing)
            share = 1.0 if not self._refines else 0.25 if preparing else 0.5
            until = deadline.share(share)
            return self._run_selection(selector, limit, patience, tasks, until)

        with data.backend.threads_over_blocks():
            if rounds == 0:
                selected = select(start, None, False)
                tasks.end(selected.state)
                self._keep_selected(data, start, selected)
            else:
                self._learn(data, start, select, tasks, deadline)
        chooses_size = CRITERIA[self.criterion].chooses_size
        n_inputs = (data.X if pool is None else pool).shape[0]
        advice.warn(advice.of_sparse(self, data, start.noise_variance, n_inputs, chooses_size))
        return self

    def _check_candidates(self, X: Array, candidates: Any) -> Array:
        if CRITERIA[self.criterion].needs_targets:
            raise ValueError(
                f"criterion={self.criterion!r} scores training rows by their targets, so it cannot "
                "choose from `candidates`; use another criterion, or leave candidates out."
            )
        try:
            pool = check_predict_inputs(self, candidates)
        except ValueError as error:
            raise ValueError(f"candidates: {error}") from error
        return Backend(X).asarray(pool)

    def _start(self, data: TrainingData, rng: np.random.Generator, deadline: Deadline) -> Point:
        """Return the hyperparameters to begin with (found in at most a quarter of the time)."""
        kernel = as_kernel(self.kernel, data.X.shape[1])
        if self.objective is None and kernel is not None and self.noise_variance is not None:
            self._start_value = np.nan
            return Point(kernel, float(self.noise_variance))
        found = subset_evidence(
            kernel,
            None if self.noise_variance is None else float(self.noise_variance),
            *data.on_host(),
            max_iter=START_ITERATIONS,
            learn_kernel=self.objective is not None,
            deadline=deadline.share(0.25),
            random_state=rng,
        )
        if found.interrupted:  # there is no model yet that could be kept
            raise KeyboardInterrupt
        self._start_value = found.value
        return found.point

    @property
    def _refines(self) -> bool:
        """Whether the basis inputs will be moved."""
        return self.objective is not None and self.rounds > 0 and bool(self.refine_basis)

    def _limit(self, n_rows: int, n_inputs: int) -> int:
        """Return the most basis vectors."""
        if self.max_basis is not None:
            return min(self.max_basis, n_inputs)
        most = LARGEST_BASIS
        if self._refines:  # patience does not tell the size then
            most = min(most, int(BASIS_PER_ROOT_ROW * np.sqrt(n_rows)))
        return min(most, n_inputs)

    def _selection(self, data, pool, rng, point, previous, preparing) -> tuple:
        """Return what selects a basis with the point's hyperparameters, and when it stops."""
        criterion = CRITERIA["random" if preparing else self.criterion]
        approximation = resolved(self.approximation, self.objective)
        if approximation == "fitc" and (self._refines or not criterion.exact_fitc):
            approximation = "dtc"
        inputs = data.X if pool is None else pool
        limit = self._limit(data.X.shape[0], inputs.shape[0])
        state = SparseState(
            point.kernel,
            point.noise_variance,
            data.X,
            data.y,
            data.weights,
            approximation=approximation,
            capacity=limit,
            backend=data.backend,
            keep_v=criterion.needs_v and approximation == "dtc",
            track_explained=criterion.needs_explained,
        )
        selector = make_selector(
            state,
            criterion,
            inputs=inputs,
            from_rows=pool is None,
            working_set=self.working_set,
            cache_size=self.cache_size,
            rng=rng,
            favourites=() if previous is None else previous.indices,
        )
        patience = self.patience
        if patience == "auto":
            patience = None if self._refines else PATIENCE
        return selector, limit, patience if criterion.chooses_size else None

    def _run_selection(self, selector, limit, patience, tasks: FitTasks, deadline) -> Selected:
        """Run the loop, with scikit-learn's callbacks around it and around every step."""
        state = selector.state
        stopping = Stopping(max_size=limit, patience=patience, tol=self.tol, deadline=deadline)
        stage = tasks.stage("select", limit, state)
        path = run(selector, stopping, lambda _: stage.step("basis vector"))
        selector.close()
        keep = selector.kept_size
        return Selected(
            state.basis[:keep, :], state.indices[:keep], path, state, selector.from_rows
        )

    def _learn(self, data, start: Point, select, tasks: FitTasks, deadline) -> None:
        """Learn in rounds, and keep the best model."""
        schedule = Schedule(
            objective=str(self.objective),
            approximation=resolved(self.approximation, self.objective),
            rivals=("dtc",) if self.approximation == "auto" and self.objective == "nlgpp" else (),
            rounds=self.rounds,
            max_iter=self.max_iter,
            refine_basis=bool(self.refine_basis),
            guard=float(self.guard),
            learn_noise=self.noise_variance is None,
            deadline=deadline,
        )
        stages: dict[int, Any] = {}

        def watch(number: int, point: Point, objective: SparseObjective) -> bool:
            assert objective.state is not None
            if number not in stages:
                steps = self.max_iter + len(schedule.rivals) * TRIAL_ITERATIONS
                stages[number] = tasks.stage("optimise", steps, objective.state)
            return stages[number].step("iteration")

        learnt, objective = learn(data, schedule, start, select, watch)
        state = objective.state
        assert state is not None
        tasks.end(state)
        self._warn_of_learning(learnt)
        state.indices = list(learnt.selected.indices)
        self._store(data, state, learnt.selected)
        self.objective_value_ = learnt.value
        self.rounds_ = learnt.rounds_array()
        if learnt.refined:
            del self.basis_indices_

    def _warn_of_learning(self, learnt: SparseLearnt) -> None:
        if learnt.interrupted:
            warnings.warn(
                "Learning was interrupted; the model is the best one seen until then.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not learnt.converged and not self.refine_basis and self.time_limit is None:
            warnings.warn(
                f"The hyperparameters had not settled after max_iter={self.max_iter} iterations; "
                "raise max_iter or rounds, or give the kernel a better start.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _keep_selected(self, data, start: Point, selected: Selected) -> None:
        """Rebuild the model of a selection exactly, with the hyperparameters it was made with."""
        state = selected.state
        state.approximation = resolved(self.approximation, self.objective)
        state.truncate(len(selected.indices))
        self._store(data, state, selected)
        self.objective_value_ = self._start_value
        self.rounds_ = SparseLearnt(point=start, selected=selected, value=np.nan).rounds_array()

    def _store(self, data, state: SparseState, selected: Selected) -> None:
        """Keep what predictions need, and what happened."""
        path = selected.path
        if path.reason == "interrupted":
            warnings.warn(
                f"The fit was interrupted; the model holds the best of {len(path)} basis vectors.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.kernel_, self.noise_variance_ = state.kernel, state.noise_variance
        self.approximation_ = state.approximation
        self._posterior = Posterior(state)
        self.basis_ = 1.0 * state.basis
        places = np.array(state.indices, dtype=np.intp)
        self.basis_indices_ = data.original_places(places) if selected.from_rows else places
        self.n_basis_ = state.size
        self.path_ = path.as_array()
        if selected.from_rows:
            self.path_["index"] = data.original_places(self.path_["index"])
        self.n_iter_ = len(path)
        self.stop_reason_ = path.reason
        self.jitter_ = state.jitter
        self.drift_ = state.drift
        self._store_loo(data, state)

    def _store_loo(self, data, state: SparseState) -> None:
        xp = data.backend.xp
        residual = state.rows.concatenate(lambda block: loo_rows(state, block)[0])
        variance = state.rows.concatenate(lambda block: loo_rows(state, block)[1][None, :])
        mean = (xp.astype(data.y, residual.dtype) - residual).T
        self._loo = tuple(xp.astype(part, data.X.dtype) for part in (mean, variance[0, :]))
        self._loo_dropped = data.dropped
