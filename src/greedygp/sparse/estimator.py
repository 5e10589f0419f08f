"""`SparseGPRegressor`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.greedy import SelectionPath, Stopping, forward_selection
from greedygp.kernels import Kernel, from_sklearn
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.learning import subset_evidence
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.posterior import Posterior, sample
from greedygp.sparse.selection import make_selector
from greedygp.sparse.state import SparseState
from greedygp.sparse.targets import TargetScale
from greedygp.validation import (
    check_choice,
    check_integer,
    check_number,
    check_predict_inputs,
    check_training_data,
    check_weights,
)

__all__ = ["SparseGPRegressor"]

DEFAULT_MAX_BASIS = 500


class SparseGPRegressor(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Sparse Gaussian process regression that chooses its own basis.

    Basis vectors are taken from the training rows one at a time, each time the one that serves
    the criterion best; the leave-one-out criteria also tell when to stop. See the user guide for
    the mathematics and the papers.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
        None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed where given (in the units of the normalised y if `normalize_y`); None: learnt
        from the data.
    criterion : {"nlgpp", "loo_cve", "gpe", "nlml", "nlpp", "matching_pursuit", "info_gain", \
"random"}
        What a candidate is judged by: leave-one-out predictive density, leave-one-out squared
        error, leave-one-out expected squared error, evidence, posterior, matching pursuit,
        information gain, nothing.
    approximation : {"dtc", "fitc", "sor"}
        What is neglected; see the user guide. Under "fitc" the criteria `nlml`, `loo_cve`,
        `nlgpp` and `gpe` are FITC's own; the others choose by DTC's formulas.
    max_basis : int or None
        The most basis vectors; None: 500, or the number of rows if that is less.
    working_set : int or None
        Random candidates a step; None: all that are left (slow).
    cache_size : int
        Candidates carried from step to step (DTC and SoR); for `matching_pursuit` the number of
        kernel rows held.
    patience : int or None
        Steps without a new minimum of the measure before stopping and going back to the minimum;
        None: run to `max_basis`. Without effect for `nlpp`, `matching_pursuit`, `info_gain` and
        `random`, whose values only fall or mean nothing.
    tol : float
        Relative improvement of the measure that counts as a new minimum.
    objective : {"nlml", None}
        How hyperparameters are learnt: the evidence of a full GP on at most 500 random rows, or
        (None) held fixed.
    max_iter : int
        The most iterations of the optimiser of the hyperparameters.
    normalize_y : bool
        Whether targets are centred and scaled to unit variance for the fit.
    time_limit : float or None
        Seconds after which the selection ends with what it has.
    random_state : int, RandomState or None

    Attributes
    ----------
    basis_ : (m, D) array
        Inputs of the basis vectors.
    basis_indices_ : (m,) int array
        Their places among the training rows, or in `candidates` where that was given.
    n_basis_ : int
    kernel_ : Kernel
    noise_variance_ : float
    path_ : structured array with the fields index, value, score, seconds
        One line a step; `value` is the measure after it in the units of the normalised y.
    objective_value_ : float
        The evidence reached on the subset of rows (NaN where nothing was learnt).
    n_iter_ : int
        Steps that the selection made (more than `n_basis_` where it went back to a minimum).
    stop_reason_ : str
        "max_basis", "patience", "exhausted", "time_limit", "callback" or "interrupted".
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
        criterion: str = "nlgpp",
        approximation: str = "dtc",
        max_basis: int | None = None,
        working_set: int | None = 59,
        cache_size: int = 0,
        patience: int | None = 20,
        tol: float = 1e-6,
        objective: str | None = "nlml",
        max_iter: int = 100,
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
        self.max_iter = max_iter
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
        start = time.perf_counter()
        self._check_parameters()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        X, y = check_training_data(self, X, y)
        weights = check_weights(sample_weight, X)
        pool = None if candidates is None else self._check_candidates(X, candidates)
        data = _TrainingData(X, y, weights, self.normalize_y)
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        self._target_shape = tuple(y.shape[1:])
        self._scale = data.scale
        self._learn(data, rng)
        with data.backend.threads_over_blocks():
            state, path, keep = self._select(data, pool, rng, start, given)
            self._store(data, state, path, keep)
        return self

    def _check_parameters(self) -> None:
        if self.kernel is not None and not isinstance(self.kernel, Kernel | ScikitLearnKernel):
            raise TypeError(
                "kernel must be a greedygp kernel, a scikit-learn kernel or None; got "
                f"{self.kernel!r}."
            )
        check_number("noise_variance", self.noise_variance, above=0, or_none=True)
        check_choice("criterion", self.criterion, tuple(CRITERIA))
        check_choice("approximation", self.approximation, ("sor", "dtc", "fitc"))
        check_integer("max_basis", self.max_basis, 1, or_none=True)
        check_integer("working_set", self.working_set, 1, or_none=True)
        check_integer("cache_size", self.cache_size, 0)
        check_integer("patience", self.patience, 1, or_none=True)
        check_number("tol", self.tol, least=0)
        check_choice("objective", self.objective, ("nlml", None))
        check_integer("max_iter", self.max_iter, 0)
        if not isinstance(self.normalize_y, bool | np.bool_):
            raise TypeError(f"normalize_y must be True or False; got {self.normalize_y!r}.")
        check_number("time_limit", self.time_limit, above=0, or_none=True)
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(
                f"random_state must be an integer from 0 to 2**32 - 1, a numpy RandomState or None; "
                f"got {self.random_state!r}."
            ) from error

    def _check_candidates(self, X: Array, candidates: Any) -> Array:
        if self.criterion == "info_gain":
            raise ValueError(
                "criterion='info_gain' scores training rows by their targets, so it cannot choose "
                "from `candidates`; use another criterion, or leave candidates out."
            )
        try:
            pool = check_predict_inputs(self, candidates)
        except ValueError as error:
            raise ValueError(f"candidates: {error}") from error
        return Backend(X).asarray(pool)

    def _learn(self, data: _TrainingData, rng: np.random.Generator) -> None:
        """Set the kernel and the noise variance."""
        kernel = self.kernel
        if isinstance(kernel, ScikitLearnKernel):
            kernel = from_sklearn(kernel)
        if kernel is not None:
            kernel.check_features(data.X.shape[1])
        self.objective_value_ = np.nan
        if self.objective is None and kernel is not None and self.noise_variance is not None:
            self.kernel_, self.noise_variance_ = kernel, float(self.noise_variance)
            return
        learnt = subset_evidence(
            kernel,
            None if self.noise_variance is None else float(self.noise_variance),
            to_numpy(data.X).astype(np.float64),
            to_numpy(data.y).astype(np.float64).T,
            None if data.weights is None else to_numpy(data.weights).astype(np.float64),
            max_iter=self.max_iter,
            learn_kernel=self.objective is not None,
            random_state=rng,
        )
        self.kernel_, self.noise_variance_ = learnt.kernel, learnt.noise_variance
        self.objective_value_ = learnt.value

    def _select(
        self, data, pool, rng, start, given
    ) -> tuple[SparseState, SelectionPath, int]:
        criterion = CRITERIA[self.criterion]()
        approximation = self.approximation
        if approximation == "fitc" and not criterion.exact_fitc:
            approximation = "dtc"
        inputs = data.X if pool is None else pool
        limit = DEFAULT_MAX_BASIS if self.max_basis is None else self.max_basis
        limit = min(limit, inputs.shape[0])
        state = SparseState(
            self.kernel_,
            self.noise_variance_,
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
        )
        stopping = Stopping(
            patience=self.patience if criterion.chooses_size else None,
            tol=self.tol,
            deadline=None if self.time_limit is None else start + self.time_limit,
        )
        path = self._run(selector, limit, stopping, given)
        return state, path, stopping.size_to_keep(len(path))

    def _run(self, selector, limit: int, stopping: Stopping, given: dict) -> SelectionPath:
        """Run the loop with scikit-learn's callbacks around it and around every step."""
        fit = self._init_callback_context(max_subtasks=1)
        fit.call_on_fit_task_begin(estimator=self, **given)
        stage = fit.subcontext(task_name="select", max_subtasks=limit)
        stage.call_on_fit_task_begin(estimator=self, **given)

        def so_far() -> dict[str, Any]:
            names = ("n_features_in_", "feature_names_in_", "kernel_", "noise_variance_")
            names += ("_scale", "_target_shape")
            now = {name: getattr(self, name) for name in names if hasattr(self, name)}
            return now | {"_posterior": Posterior(selector.state)}

        def after_step(path: SelectionPath) -> bool:
            step = stage.subcontext(task_name="basis vector")
            step.call_on_fit_task_begin(estimator=self, **given)
            return step.call_on_fit_task_end(
                estimator=self, reconstruction_attributes=so_far, **given
            )

        path = forward_selection(selector, limit, stopping, after_step)
        for task in (stage, fit):
            task.call_on_fit_task_end(estimator=self, reconstruction_attributes=so_far, **given)
        return path

    def _store(self, data, state: SparseState, path: SelectionPath, keep: int) -> None:
        """Rebuild the chosen model exactly, and keep what predictions need."""
        if path.reason == "interrupted":
            warnings.warn(
                f"The fit was interrupted; the model holds the best of {len(path)} basis vectors.",
                ConvergenceWarning,
                stacklevel=3,
            )
        state.approximation = self.approximation
        state.truncate(keep)
        self._posterior = Posterior(state)
        self.basis_ = state.basis
        self.basis_indices_ = data.original_places(np.array(state.indices, dtype=np.intp))
        self.n_basis_ = state.size
        self.path_ = path.as_array()
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

    # --- predicting ----------------------------------------------------------------------------

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, noise: bool = True
    ) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like
        return_std : bool
            Whether the standard deviation is returned too.
        return_cov : bool
            Whether the full covariance is returned too.
        noise : bool
            Whether they include the noise of a target (as opposed to the latent function).

        Returns
        -------
        mean : (N,) or (N, p) array
        std : (N,) or (N, p) array, if `return_std`
        cov : (N, N) or (N, N, p) array, if `return_cov`
        """
        if return_std and return_cov:
            raise ValueError("Ask for one of return_std and return_cov, not for both.")
        check_is_fitted(self, "_posterior")
        X = check_predict_inputs(self, X)
        if return_std:
            mean, variance = self._posterior.mean_and_variance(X)
            extra = self._posterior.noise_variance if noise else 0.0
            std = Backend(X).xp.sqrt(variance + extra)
            return self._scale.mean(mean, self._target_shape), self._scale.std(
                std, self._target_shape
            )
        mean = self._scale.mean(self._posterior.mean(X), self._target_shape)
        if return_cov:
            return mean, self._scale.covariance(self._covariance(X, noise), self._target_shape)
        return mean

    def _covariance(self, X: Array, noise: bool) -> Array:
        covariance = self._posterior.covariance(X)
        if noise:
            eye = Backend(X).xp.eye(X.shape[0], dtype=X.dtype, device=Backend(X).device)
            covariance = covariance + self._posterior.noise_variance * eye
        return covariance

    def predict_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Predict the central interval in which a new target lies with the given probability.

        Parameters
        ----------
        X : (N, D) array-like
        coverage : float between 0 and 1

        Returns
        -------
        lower, upper : (N,) or (N, p) arrays
        """
        from scipy.stats import norm

        check_number("coverage", coverage, above=0)
        if coverage >= 1:
            raise ValueError(f"coverage must lie between 0 and 1; got {coverage!r}.")
        mean, std = self.predict(X, return_std=True)
        width = float(norm.ppf(0.5 + 0.5 * coverage)) * std
        return mean - width, mean + width

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> Array:
        """Draw samples of the targets at X from the posterior.

        Parameters
        ----------
        X : (N, D) array-like
        n_samples : int
        random_state : int, RandomState or None
        noise : bool
            Whether the samples include the noise of a target.

        Returns
        -------
        (N, n_samples) or (N, p, n_samples) array
        """
        check_is_fitted(self, "_posterior")
        check_integer("n_samples", n_samples, 1)
        X = check_predict_inputs(self, X)
        rng = check_random_state(random_state)
        mean = to_numpy(self._posterior.mean(X)).astype(np.float64)
        covariance = to_numpy(self._covariance(X, noise)).astype(np.float64)
        columns = [sample(column, covariance, n_samples, rng) for column in mean.T]
        samples = self._scale.samples(np.stack(columns, axis=1), self._target_shape)
        return Backend(X).asarray(samples)

    def loo_predict(self) -> tuple[Array, Array]:
        """Predict every training row from all the others, in closed form.

        Returns
        -------
        mean, std : (n,) or (n, p) arrays
            The leave-one-out mean and standard deviation (with noise) of each target; a row of
            weight 0 was left out of the fit anyway.
        """
        check_is_fitted(self, "_posterior")
        mean, variance = self._loo
        xp = Backend(mean).xp
        std = xp.sqrt(variance)
        if self._loo_dropped is not None:
            mean, std = self._with_dropped(mean, std)
        return self._scale.mean(mean, self._target_shape), self._scale.std(std, self._target_shape)

    def _with_dropped(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Put the rows of weight 0 back in their places, with their ordinary predictions."""
        used, X = self._loo_dropped
        backend = Backend(mean)
        other_mean, other_variance = self._posterior.mean_and_variance(X)
        other_std = backend.xp.sqrt(other_variance + self._posterior.noise_variance)
        places = np.argsort(np.concatenate([np.flatnonzero(used), np.flatnonzero(~used)]))
        order = backend.integers(places)
        both_means = backend.xp.concat([mean, backend.asarray(other_mean)], axis=0)
        both_stds = backend.xp.concat([std, backend.asarray(other_std)], axis=0)
        return (
            backend.xp.take(both_means, order, axis=0),
            backend.xp.take(both_stds, order, axis=0),
        )


class _TrainingData:
    """The rows with a positive weight, with targets as the model works on them, (p, n)."""

    def __init__(self, X: Array, y: Array, weights: np.ndarray | None, normalize: bool):
        self.backend = Backend(X)
        xp = self.backend.xp
        y = y[:, None] if y.ndim == 1 else y
        self.used: np.ndarray | None = None
        self.dropped: tuple[np.ndarray, Array] | None = None
        if weights is not None and np.any(weights == 0):
            self.used = weights > 0
            kept = self.backend.integers(np.flatnonzero(self.used))
            gone = self.backend.integers(np.flatnonzero(~self.used))
            self.dropped = self.used, xp.take(X, gone, axis=0)
            X, y = xp.take(X, kept, axis=0), xp.take(y, kept, axis=0)
            weights = weights[self.used]
        self.X = X
        self.scale = TargetScale.from_data(to_numpy(y), weights, normalize)
        self.y = self.backend.asarray(self.scale.normalised(to_numpy(y)).T.copy())
        self.weights = None if weights is None else self.backend.asarray(weights)

    def original_places(self, indices: np.ndarray) -> np.ndarray:
        """Return the places of used rows among all rows."""
        return indices if self.used is None else np.flatnonzero(self.used)[indices]
