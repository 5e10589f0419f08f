"""Sparse linear regressors: what all five share, and fast GCV. No algebra here."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.exceptions import FitInterrupted
from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.linear.algorithms import Algorithm, FastGCV
from greedygp.linear.fitting import RegressionFit, warn_of
from greedygp.linear.parameters import FastParameters, check_parameters
from greedygp.linear.posterior import LinearModel
from greedygp.linear.selection import FastSelection
from greedygp.progress import Deadline, FitProgress
from greedygp.signatures import DeviatingMixin
from greedygp.summary import SummaryMixin
from greedygp.validation import check_predict_inputs, check_training_data, check_weights
from greedygp.versions import CallbackSupportMixin, with_callbacks

__all__ = ["FastGCVRegressor", "FastRegressor", "LinearRegressor", "StdMixin"]


class LinearRegressor(SummaryMixin, CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Fit and prediction of a sparse linear model; a subclass has the algorithm."""

    kernel: Any
    fit_intercept: bool
    cv: Any
    time_limit: float | None = None  # of models that were saved before there was one
    random_state: Any
    tol: float
    n_features_in_: int

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose basis functions and fit their weights.

        Parameters
        ----------
        X : (n, D) array-like
            Inputs; with `kernel="precomputed"` the design matrix, one column for each basis
            function.
        y : (n,) array-like
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        deadline = Deadline.after(self.time_limit)
        X, y = check_training_data(self, X, y)
        weights = check_weights(sample_weight, X)
        X, y = to_numpy(X), _one_column(to_numpy(y), type(self).__name__)
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        fit = RegressionFit(
            self._algorithm(),
            X,
            y.astype(np.float64),
            weights,
            intercept=bool(self.fit_intercept),
            rng=np.random.default_rng(check_random_state(self.random_state).randint(2**31)),
            progress=FitProgress(self, given),
            deadline=deadline,
        )
        fit.choose_kernel(self.kernel, self.cv, getattr(self, "feature_names_in_", None))
        fit.select()
        self._store(fit)
        fit.progress.end()
        if fit.interrupted:
            raise FitInterrupted(type(self).__name__)
        warn_of(fit.path.reason, fit.kernel, getattr(self, "max_iter", None), X.shape[1])
        return self

    def _algorithm(self) -> Algorithm:
        """Return the algorithm with the parameters of the estimator."""
        raise NotImplementedError

    def _store_selection(self, selection: Any, path: Path) -> None:
        """Store what only this algorithm has."""
        raise NotImplementedError

    def _store(self, fit: RegressionFit) -> None:
        model = fit.model
        self._model = model
        self.kernel_ = "precomputed" if fit.kernel is None else fit.kernel
        self.relevance_ = fit.original_places(model.columns)
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.noise_variance_ = model.noise_variance
        self.n_basis_ = len(model.coef)
        self.path_ = fit.path_array(fit.path)
        self.n_iter_ = max(len(fit.path), 1)
        self.stop_reason_ = fit.path.reason
        self.__dict__.pop("basis_", None)
        if model.basis is not None:
            self.basis_ = model.basis
        self._store_selection(fit.selection, fit.path)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like

        Returns
        -------
        (N,) array
        """
        check_is_fitted(self, "_model")
        X = to_numpy(check_predict_inputs(self, X))
        return self._model.mean(X).astype(X.dtype, copy=False)


class StdMixin(DeviatingMixin):
    """Predictions with error bars."""

    _model: LinearModel

    def _predict(self, X: Any, return_std: bool, noise: bool) -> Any:
        mean = LinearRegressor.predict(self, X)  # type: ignore[arg-type]
        if not return_std:
            return mean
        X = to_numpy(check_predict_inputs(self, X))
        variance = self._model.variance(X)
        if noise:
            variance += self._model.noise_variance
        return mean, np.sqrt(variance).astype(mean.dtype, copy=False)


class FastRegressor(StdMixin, LinearRegressor):
    """A model that additions, re-estimations and deletions made."""

    def _store_selection(self, selection: FastSelection, path: Path) -> None:
        with np.errstate(divide="ignore"):
            self.alpha_ = selection.state.zeta / max(self.noise_variance_, 1e-300)


class FastGCVRegressor(FastParameters, FastRegressor):
    """Sparse linear regression by fast generalised cross-validation.

    Basis functions, each with a precision of its own for its weight, are added, re-estimated and
    deleted, always the action that lowers generalised cross-validation (GCV) most, until none does.
    The first model is that of regularised forward selection (:class:`RFSRegressor`): from nothing
    the loop often ends in a poor minimum. So a fit takes the time of that selection and of the
    loop.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        The kernel at every training row is a candidate; "precomputed": every column of X is. None:
        a Gaussian over features scaled to unit variance, its one width chosen by
        cross-validation (on at most 1000 rows).
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    start : {"rfs", "empty", "paper"}
        What the loop begins with: the model of :class:`RFSRegressor` with its defaults, whose GCV
        the fit then never exceeds; or nothing. "paper" is the published algorithm to the
        letter: from nothing, with a noise variance that begins with a tenth of the variance and
        is estimated every five actions at fixed precisions.
    first : {"gcv", "projection"}
        Where the loop begins with nothing, what chooses the first function: GCV, or the largest
        projection of the target on the normalised function.
    max_basis : int or None
        The most basis functions; None: as many as lower GCV.
    tol : float
        Relative decrease of GCV that is worth an action.
    max_iter : int
        The most actions.
    working_set : int or None
        Random candidates looked at for an addition; None: all. For many rows: with all candidates
        additions take products with the whole N x N kernel matrix, one for a few of them.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
    time_limit : float or None
        Seconds after which the fit ends with what it has; a width is searched for half of them.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width, and the working sets.

    Attributes
    ----------
    relevance_ : (m,) int array
        The training rows (or columns of X) whose basis functions are in the model.
    basis_ : (m, D) array
        Their inputs; absent for "precomputed".
    coef_ : (m,) array
        Their weights.
    intercept_ : float
    alpha_ : (m,) array
        Precisions of the weights.
    noise_variance_ : float
    gcv_ : float
    path_ : structured array with the fields action, index, value, seconds
        One line for each action ("add", "reestimate" or "delete"), those of the start included;
        `value` is GCV after it.
    n_basis_, n_iter_ : int
        Basis functions of the model, and actions taken.
    stop_reason_ : str
        "converged", "max_iter", "time_limit", "exact", "callback", "interrupted" or
        "ill_conditioned".
    kernel_ : Kernel or "precomputed"
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had them.

    References
    ----------
    S. Sundararajan, S. Shevade and S. S. Keerthi, Fast generalized cross validation algorithm for
    sparse model learning, Neural Computation 19 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import FastGCVRegressor
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.05 * np.random.default_rng(0).normal(size=100)
    >>> model = FastGCVRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> model.n_basis_ < 30
    True
    """

    start: str = "empty"  # of models that were saved before there was a choice
    first: str = "gcv"

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        start: str = "rfs",
        first: str = "gcv",
        max_basis: int | None = None,
        tol: float = 1e-5,
        max_iter: int = 10_000,
        working_set: int | None = None,
        cv: Any = 5,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        super().__init__(
            kernel=kernel,
            fit_intercept=fit_intercept,
            max_basis=max_basis,
            tol=tol,
            max_iter=max_iter,
            working_set=working_set,
            cv=cv,
            time_limit=time_limit,
            random_state=random_state,
        )
        self.start, self.first = start, first

    def _algorithm(self) -> FastGCV:
        return FastGCV(
            float(self.tol),
            self.max_basis,
            self.max_iter,
            self.working_set,
            start_from=self.start,
            first=self.first,
        )

    def _store_selection(self, selection: FastSelection, path: Path) -> None:
        super()._store_selection(selection, path)
        self.gcv_ = selection.reported_value


def _one_column(y: np.ndarray, name: str) -> np.ndarray:
    """Return y as a vector; several columns are an error."""
    if y.ndim == 1:
        return y
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        return y[:, 0]
    raise ValueError(
        f"y has shape {tuple(y.shape)}, but {name} takes one target; fit one model for each "
        "column, or use sklearn.multioutput.MultiOutputRegressor."
    )
