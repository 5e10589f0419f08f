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
from greedygp.kernels import Kernel
from greedygp.prediction import PredictionMixin
from greedygp.progress import Deadline
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.fitting import FittedModel, SparseFit
from greedygp.sparse.learning import SparseLearnt
from greedygp.sparse.parameters import check_parameters
from greedygp.validation import check_predict_inputs, check_training_data, check_weights

__all__ = ["SparseGPRegressor"]


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
    noise_model : {"auto", "constant", "input"}
        Whether the noise depends on the input: "input" learns its logarithm as a function of the
        inputs and of the predicted mean, from the errors of left-out rows; "auto" does so unless
        `noise_variance` is given, and keeps the function where it predicts left-out rows better
        than one constant does. The mean does not depend on it.
    criterion : {"matching_pursuit", "nlgpp", "loo_cve", "gpe", "nlml", "nlpp", "info_gain", \
"random"}
        What a candidate is judged by: matching pursuit, leave-one-out predictive density,
        leave-one-out squared error, leave-one-out expected squared error, evidence, posterior,
        information gain, nothing.
    approximation : {"auto", "fitc", "dtc", "sor"}
        What is neglected; see the user guide. "auto": where the basis is refined by `nlgpp`, FITC
        and DTC are both tried for 15 iterations, and the one that predicts left-out rows better
        goes on; DTC with `objective="vfe"`; else FITC. The basis is chosen by DTC's formulas, and
        `path_` holds their values, except that under "fitc" the criteria `nlml`, `loo_cve`,
        `nlgpp` and `gpe` are FITC's own (slow) unless the basis is refined afterwards.
    max_basis : int or None
        The most basis vectors; None: 500 or, where the basis is refined, four times the square
        root of the number of rows if that is less.
    working_set : int or None
        Random candidates in each step; None: all that are left (slow).
    cache_size : int
        Candidates carried from step to step (DTC and SoR); a round's first candidates then include
        the last round's basis. For `matching_pursuit` the number of kernel rows held; its rounds
        begin with random ones.
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
        The constant noise variance that the mean was learnt with, in the units of the normalised
        y. :meth:`noise_variance_at` gives the noise that predictions have.
    noise_model_ : {"constant", "input"}
        Whether the noise of predictions depends on the input.
    approximation_ : str
        The one that the model has, where `approximation` left the choice to the fit.
    path_ : structured array with the fields index, value, score, seconds
        One line for each step of the selection that was kept; `value` is the measure after it in
        the units of the normalised y.
    objective_value_ : float
        The objective of the model, the guard included; with `rounds=0` the evidence on the subset
        of rows; NaN where nothing was learnt.
    rounds_ : structured array with the fields n_basis, value_before, value, n_iter, seconds
        One line for each round of learning: size, objective before and after, iterations, time.
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
        noise_model: str = "auto",
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
        inputs = None if candidates is None else self._check_candidates(X, candidates)
        data = TrainingData(X, y, weights, self.normalize_y)
        self._target_shape, self._scale = tuple(y.shape[1:]), data.scale
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        fit = SparseFit(self, data, inputs, rng, deadline, given)
        model = fit.run()
        self._warn(model.learnt)
        self._store(data, model)
        advice.warn(
            advice.of_sparse(
                self,
                data,
                start_noise=model.start.noise_variance,
                n_inputs=fit.inputs.shape[0],
                chooses_size=CRITERIA[self.criterion].chooses_size,
            )
        )
        return self

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
        """Warn of what did not come to its end."""
        path, sentences = learnt.selected.path, []
        if learnt.interrupted:
            sentences.append("Learning was interrupted; the model is the best one seen until then.")
        elif not learnt.converged and not self.refine_basis and self.time_limit is None:
            sentences.append(
                f"The hyperparameters had not settled after max_iter={self.max_iter} iterations; "
                "raise max_iter or rounds, or give the kernel a better start."
            )
        if path.reason == "interrupted":
            sentences.append(
                f"The fit was interrupted; the model holds the best of {len(path)} basis vectors."
            )
        for sentence in sentences:
            warnings.warn(sentence, ConvergenceWarning, stacklevel=4)

    def _store(self, data: TrainingData, model: FittedModel) -> None:
        """Keep what predictions need, and what happened."""
        state, learnt = model.state, model.learnt
        selected, path = learnt.selected, learnt.selected.path
        self._posterior = model.posterior
        self._loo, self._loo_dropped = model.loo, data.dropped
        self._noise = model.noise
        self.noise_model_ = "constant" if model.noise is None else "input"
        self.kernel_, self.noise_variance_ = state.kernel, state.noise_variance
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
        self.objective_value_ = learnt.value
        self.rounds_ = learnt.rounds_array()
        self.jitter_, self.drift_ = state.jitter, state.drift
