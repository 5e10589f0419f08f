"""`SparseGPRegressor`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp import advice
from greedygp.arrays import Array, Backend
from greedygp.data import TrainingData
from greedygp.exceptions import FitInterrupted
from greedygp.inputs import HolesMixin
from greedygp.jackknife import Influence
from greedygp.kernels import Kernel
from greedygp.prediction import PredictionMixin
from greedygp.progress import Deadline
from greedygp.rows.cluster import DaskRows
from greedygp.sparse.checkpoint import checkpoint_of, kept_in
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.fitting import FittedModel, SparseFit
from greedygp.sparse.given import checked_store, training_data
from greedygp.sparse.influence import SparseInfluence
from greedygp.sparse.learning import SparseLearnt
from greedygp.sparse.left_out import LeftOut, left_out_lazily, left_out_of_store
from greedygp.sparse.parameters import check_parameters
from greedygp.sparse.passes import model_of
from greedygp.sparse.posterior import Posterior
from greedygp.validation import check_predict_inputs, check_predict_store
from greedygp.versions import CallbackSupportMixin, with_callbacks

__all__ = ["SparseGPRegressor"]


class SparseGPRegressor(
    HolesMixin,
    PredictionMixin,
    CallbackSupportMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
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
        Held fixed where given (in the units of the normalised y if `normalize_y`); None: learnt.
    noise_model : {"auto", "constant", "input"}
        Whether the noise depends on the input: "input" learns its logarithm as a function of the
        inputs and of the predicted mean, from the errors of left-out rows; "auto" does so unless
        `noise_variance` is given, and keeps the function where it predicts left-out rows better
        than one constant does. Then noisier rows also count less for the mean, where that predicts
        left-out rows better.
    criterion : {"matching_pursuit", "nlgpp", "loo_cve", "gpe", "nlml", "nlpp", "info_gain", \
"random"}
        What a candidate is judged by: matching pursuit, leave-one-out predictive density,
        leave-one-out squared error, leave-one-out expected squared error, evidence, posterior,
        information gain, nothing.
    approximation : {"auto", "fitc", "dtc", "sor"}
        What is neglected; see the user guide. "auto": where the basis is refined by `nlgpp`, FITC
        goes 15 iterations, then FITC and DTC go on from there for 3 each, and the one that
        predicts left-out rows better stays; DTC with the objective `vfe`; else FITC. The basis is
        chosen by DTC's formulas, and `path_` holds their values, except that under "fitc" the
        criteria `nlml`, `loo_cve`, `nlgpp` and `gpe` are FITC's own (slow) unless the basis is
        refined afterwards.
    max_basis : int, "auto" or None
        The most basis vectors; None: 500 or, where the basis is refined, four times the root of the
        number of rows if that is less. "auto": as None, but from 2000 rows on left-out rows choose
        the size of a refined basis, up to 1000, in several times the time.
    working_set : int or None
        Random candidates in each step; None: all that are left (slow).
    cache_size : int
        Candidates carried from step to step (DTC and SoR, not with `working_set=None`); a round
        begins with the last round's basis, if selected, as far as there is room. For
        `matching_pursuit` the number of kernel rows held, in all; at least `working_set`, and with
        no more than that all are new in each step.
    patience : int, "auto" or None
        Steps without a new minimum of the measure (for `nlgpp`, or of the leave-one-out error)
        before stopping and going back to the minimum; None: run to `max_basis`; "auto": 20, or
        None where the basis is refined (the measure before that tells little about the size that
        is best after it). Without effect for `nlpp`, `matching_pursuit`, `info_gain` and
        `random`, whose values only fall or mean nothing.
    tol : float
        Relative improvement of the measure that counts as a new minimum.
    objective : {"nlgpp", "loo_cve", "gpe", "nlml", "vfe", "auto", None}
        What is learnt by: leave-one-out predictive density, leave-one-out squared error (for those
        who want the mean), leave-one-out expected squared error, evidence, variational bound (with
        `approximation="dtc"` or "auto"). "auto": where the basis is refined, `vfe` and `nlgpp` are
        tried for 15 iterations each, and `nlgpp` goes on if it predicts left-out rows clearly
        better, `vfe` otherwise; else `nlgpp`. None: hyperparameters are held fixed.
    rounds : int
        Rounds of selecting a basis and optimising for it. 0: the hyperparameters are those of the
        start, a full GP's evidence on at most 500 random rows (from 1500 rows on, the better
        of two such subsets).
    max_iter : int
        The most iterations of the optimiser in a round. Where the basis is refined it ends before,
        if some iterations together gain less than 0.01 nats a row, or less than what chance does
        to a mean over that many rows. With many rows and a `max_iter` of 32 or more, the first
        iterations and the selection see a part of them; see the user guide.
    refine_basis : bool
        Whether the last round moves the basis inputs, together with the hyperparameters. The
        rounds before it then only prepare it, with a random basis and 20 iterations.
    guard : float
        Weight of the term that keeps the leave-one-out objectives from over-fitting while basis
        inputs move; 0: none.
    normalize_y : bool
        Whether targets are centred and scaled to unit variance for the fit.
    learning_rows : int or None
        Random rows that select the basis and learn the hyperparameters, where there are more; the
        posterior has all rows. None: all rows learn.
    memory_limit : float
        Bytes that the state of rows may take, about; for rows on the host. Where more rows are to
        learn, the basis is selected from no more of them than that allows, and the objective goes
        over all of them in passes that keep nothing.
    checkpoint : path or None
        A file in which it is kept what the fit finds: selected bases, values and gradients. The
        next fit to the same data goes on from there, after an interruption, a time limit or a
        crash, and ends at the same model. It is removed when the fit is complete.
    missing : {"error", "indicator"}
        What becomes of missing values and words in X. "indicator": a missing number becomes the
        median of its column, and a feature marks it; words and pandas' categoricals become a
        feature per word.
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
        The constant noise variance that the mean was learnt with, in the units of the normalised
        y. :meth:`noise_variance_at` gives the noise that predictions have.
    noise_model_ : {"constant", "input"}
        Whether the noise of predictions depends on the input.
    widening_ : float
        What kernel and noise were multiplied by after learning, for error bars of new rows.
    approximation_ : str
        The one that the model has, where `approximation` left the choice to the fit.
    path_ : structured array with the fields index, value, score, seconds
        One line for each step of the selection that was kept; `value` is the measure after it in
        the units of the normalised y.
    objective_ : str or None
        What the model was learnt by, where `objective` left the choice to the fit; None: nothing
        was learnt.
    objective_value_ : float
        The objective that learning ended at, with the guard, before widening; with `rounds=0` the
        evidence on the subset of rows; NaN where nothing was learnt.
    rounds_ : structured array with the fields n_basis, value_before, value, n_iter, seconds
        One line for each round of learning: size, objective before and after, iterations, time.
    trace_ : structured array with the fields round, iteration, value
        The objective, of the rows seen, at the start of each round and after each iteration.
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

    _posterior: Posterior
    learning_rows: int | None = 100_000  # of models from before these were parameters
    memory_limit: float = 2.0**31
    checkpoint: str | os.PathLike | None = None
    _rows: SparseInfluence | None = None  # files of 0.1.0 lack it
    kernel_: Kernel
    noise_variance_: float

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | None = None,
        noise_variance: float | None = None,
        noise_model: str = "auto",
        criterion: str = "matching_pursuit",
        approximation: str = "auto",
        max_basis: int | Literal["auto"] | None = None,
        working_set: int | None = 59,
        cache_size: int = 0,
        patience: int | str | None = "auto",
        tol: float = 1e-6,
        objective: str | None = "nlgpp",
        rounds: int = 1,
        max_iter: int = 100,
        refine_basis: bool = True,
        guard: float = 0.1,
        normalize_y: bool = True,
        learning_rows: int | None = 100_000,
        memory_limit: float = 2.0**31,
        checkpoint: str | os.PathLike | None = None,
        missing: str = "error",
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.noise_model = noise_model
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
        self.learning_rows = learning_rows
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state

    # --- fitting -------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, candidates: Any = None) -> Self:
        """Choose a basis and fit.

        Parameters
        ----------
        X : (n, D) array-like
            NumPy, pandas, lists; torch tensors, which are worked on where they are; memory maps
            (`np.memmap`), which are never read all at once; a :class:`~greedygp.RowSource`, which
            has targets and weights, too; a Dask array or dataframe, which stays on the workers of
            the current client, or :class:`~greedygp.DaskRows`.
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
        file = checkpoint_of(self.checkpoint)
        seed = file.seed(check_random_state(self.random_state).randint(2**31))
        rng = np.random.default_rng(seed)
        with kept_in(file):
            data = training_data(self, X, y, sample_weight, rng)
            inputs = None if candidates is None else self._check_candidates(data.X, candidates)
            self._scale = data.scale
            file.open(self, data, inputs)
            given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            fit = SparseFit(self, data, inputs, rng, deadline, given, file)
            model = fit.run()
            self._store(data, model)
            if model.learnt.interrupted:
                raise FitInterrupted(type(self).__name__)
            if not deadline.passed:
                file.remove()
        self._warn(model.learnt)
        advice.warn(
            advice.of_sparse(
                self,
                data,
                model.end.loo,
                start_noise=model.start.noise_variance,
                n_inputs=fit.inputs.shape[0],
                chooses_size=CRITERIA[self.criterion].chooses_size,
            )
        )
        return self

    def loo_predict(
        self, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> tuple[Array, Array]:
        """Predict every training row from all the others, in closed form.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
            The rows that the model was fitted to. They are needed only where it does not keep what
            it predicts of them, because it was fitted to rows outside the memory.

        Returns
        -------
        mean, std : (n,) or (n, p) arrays
            The leave-one-out mean and standard deviation (with noise) of each target; a row of
            weight 0 was left out of the fit anyway. Of Dask collections they are Dask arrays.
        """
        check_is_fitted(self, "_posterior")
        if X is None:
            return super().loo_predict()
        store = checked_store(clone(self), X, y, sample_weight)
        check_predict_store(self, store)
        model = model_of(self._posterior, store.backend)
        if isinstance(store, DaskRows):
            left_out = LeftOut(model, self._scale, self._noise)
            return left_out_lazily(store, left_out, self._target_shape)
        with store.backend.threads_over_blocks():
            mean, variance = left_out_of_store(
                store, model, self._scale, self._noise, self.memory_limit
            )
        std = store.backend.xp.sqrt(variance)
        return self._scale.mean(mean, self._target_shape), self._scale.std(std, self._target_shape)

    def _influence(self) -> Influence:
        if self._rows is None:
            raise ValueError(
                'This model was saved by a version without method="jackknife+"; fit it again, or '
                'use method="gaussian".'
            )
        assert isinstance(self._posterior, Posterior)
        return self._rows.of(self._posterior)

    def _check_candidates(self, X: Array, candidates: Any) -> Array:
        if CRITERIA[self.criterion].needs_targets:
            raise ValueError(
                f"criterion={self.criterion!r} scores training rows by their targets, so it cannot "
                "choose from `candidates`; use another criterion, or leave candidates out."
            )
        try:
            inputs = check_predict_inputs(self, candidates)
        except ValueError as error:
            raise ValueError(f"candidates: {error}") from error
        return Backend(X).asarray(inputs)

    def _warn(self, learnt: SparseLearnt) -> None:
        """Warn of hyperparameters that did not settle."""
        if not learnt.converged and not self.refine_basis and self.time_limit is None:
            warnings.warn(
                f"The hyperparameters had not settled after max_iter={self.max_iter} iterations; "
                "raise max_iter or rounds, or give the kernel a better start.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _store(self, data: TrainingData, model: FittedModel) -> None:
        """Keep what predictions need, and what happened."""
        state, learnt = model.state, model.learnt
        selected, path = learnt.selected, learnt.selected.path
        self._posterior = model.posterior
        self._loo, self._loo_dropped = model.end.loo_of_all, data.dropped
        self._n_rows = data.n_given if data.whole is None else data.whole.survey.n_rows
        self._noise, self._rows = model.end.noise, model.end.influence
        self.noise_model_ = "constant" if self._noise is None else "input"
        self.kernel_, self.noise_variance_ = state.kernel, state.noise_variance
        self.widening_ = learnt.widening
        self.approximation_ = state.approximation
        self.basis_ = 1.0 * state.basis
        self.n_basis_ = state.size
        self.path_ = path.as_array()
        places = np.array(selected.indices, dtype=np.intp)
        if selected.from_rows:
            places = data.original_places(places)
            self.path_["index"] = data.original_places(self.path_["index"])
        if not learnt.refined:
            self.basis_indices_ = places
        elif hasattr(self, "basis_indices_"):  # of an earlier fit
            del self.basis_indices_
        self.n_iter_ = len(path)
        self.stop_reason_ = path.reason
        self.objective_, self.objective_value_ = learnt.objective, learnt.value
        self.rounds_ = learnt.rounds_array()
        self.trace_ = learnt.trace_array()
        self.jitter_, self.drift_ = state.jitter, state.drift
