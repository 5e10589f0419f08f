"""What the sparse linear regressors share: validation, dictionary, width, storing, predicting."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.kernels import Kernel
from greedygp.kernels.conversion import as_kernel
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.model import LinearModel, Solution
from greedygp.linear.parameters import check_parameters
from greedygp.linear.progress import FitActions
from greedygp.linear.width import WidthSearch
from greedygp.summary import SummaryMixin
from greedygp.validation import check_predict_inputs, check_training_data, check_weights

__all__ = ["Data", "LinearRegressor", "StdMixin", "given_kernel", "one_column", "warn_of"]

Step = Callable[[str, Callable[[], Solution]], bool]


@dataclass
class Data:
    """The rows of positive weight, in float64, and the dictionary made of them."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    used: np.ndarray  # their places among all rows

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Data:
        """Return the data without the rows of weight zero."""
        used = np.arange(len(X)) if weights is None else np.flatnonzero(weights > 0)
        X = np.ascontiguousarray(X[used], dtype=np.float64)
        return cls(X, y[used], None if weights is None else weights[used], used)

    def dictionary(self, kernel: Kernel | None, intercept: bool, weights=None) -> Dictionary:
        """Return the candidates: the kernel at the rows, or the columns of X."""
        weights = self.weights if weights is None else weights
        if kernel is None:
            return Dictionary.of_matrix(self.X, weights, intercept)
        return Dictionary.of_kernel(kernel, self.X, weights, intercept)

    def places(self, indices: Any, kernel: Kernel | None) -> np.ndarray:
        """Return candidates as numbers of training rows, or of columns of X."""
        indices = np.asarray(indices, dtype=np.intp)
        return indices if kernel is None else self.used[indices]


def given_kernel(kernel: Any, n_features: int) -> Kernel | None:
    """Return the kernel of the library that was given, checked; None for "precomputed"."""
    if isinstance(kernel, str):
        return None
    return as_kernel(kernel, n_features)


def one_column(y: np.ndarray, name: str) -> np.ndarray:
    """Return y as a vector; several columns are an error."""
    if y.ndim == 1:
        return y
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        return y[:, 0]
    raise ValueError(
        f"y has shape {tuple(y.shape)}, but {name} takes one target; fit one model a column, or "
        "use sklearn.multioutput.MultiOutputRegressor."
    )


def warn_of(reason: str, kernel: Kernel | None, max_iter: int) -> None:
    """Warn where a loop did not come to rest."""
    if reason == "max_iter":
        message = f"No convergence in max_iter={max_iter} actions; raise max_iter or tol."
    elif reason == "interrupted":
        message = "The fit was interrupted; the model is what had been reached."
    elif reason == "ill_conditioned":
        width = None if kernel is None else kernel.length_scales(kernel.n_features or 1)
        if width is None:
            cause = "the columns of the design matrix are nearly dependent: drop or rescale some"
        else:
            shown = np.array2string(np.squeeze(width), precision=3, threshold=6)
            cause = f"the kernel is wide for these data, length_scale={shown}: make it smaller"
        message = (
            "The fit stopped where rounding errors took over, with the last model that could be "
            f"trusted; {cause}."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=6)


class LinearRegressor(SummaryMixin, CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Fit and prediction of a sparse linear model; a subclass has the algorithm."""

    kernel: Any
    fit_intercept: bool
    cv: Any
    random_state: Any
    tol: float
    n_features_in_: int

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Choose basis functions and fit their weights.

        Parameters
        ----------
        X : (n, D) array-like
            Inputs; with `kernel="precomputed"` the design matrix, one column a basis function.
        y : (n,) array-like
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = check_training_data(self, X, y)
        weights = check_weights(sample_weight, X)
        X, y = to_numpy(X), one_column(to_numpy(y), type(self).__name__)
        actions = FitActions(self, {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}})
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        data = Data.of(X, y.astype(np.float64), weights)
        kernel = self._kernel(X.astype(np.float64, copy=False), y, weights, rng)
        dictionary = data.dictionary(kernel, bool(self.fit_intercept))
        t, mean = dictionary.centred(data.y)

        def model(solution: Solution) -> LinearModel:
            basis = None if kernel is None else data.X[solution.chosen]
            return LinearModel(solution, dictionary, mean, kernel, basis)

        def step(name: str, now: Callable[[], Solution]) -> bool:
            return actions.step(name, lambda: {"_model": model(now())})

        self.kernel_ = "precomputed" if kernel is None else kernel
        solution = self._fit(dictionary, t, rng, step)
        self._store(model(solution), data, kernel)
        actions.end(lambda: {"_model": self._model})
        return self

    def _fit(
        self, dictionary: Dictionary, t: np.ndarray, rng: np.random.Generator, step: Step
    ) -> Solution:
        """Run the algorithm, store what is its own, and return what was found."""
        raise NotImplementedError

    def _quick_fit(self, dictionary: Dictionary, t: np.ndarray, rng) -> Solution:
        """Run the algorithm while a width is looked for."""
        raise NotImplementedError

    def _kernel(self, X, y, weights, rng: np.random.Generator) -> Kernel | None:
        """Return the kernel that was given, or a Gaussian whose width cross-validation chose."""
        if self.kernel is not None:
            return given_kernel(self.kernel, X.shape[1])
        search = WidthSearch(
            X, y.astype(np.float64), weights, self.cv, bool(self.fit_intercept), rng
        )
        inner = np.random.default_rng(int(rng.integers(2**31)))

        def fit(dictionary: Dictionary, y: np.ndarray):
            t, mean = dictionary.centred(y)
            solution = self._quick_fit(dictionary, t, inner)
            return LinearModel(solution, dictionary, mean, None, None).mean

        factor = search.best(fit, lambda y, mean: (y - mean) ** 2)
        return search.kernel(factor)

    def _store(self, model: LinearModel, data: Data, kernel: Kernel | None) -> None:
        self._model = model
        self.relevance_ = data.places(model.columns, kernel)
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.n_basis_ = len(model.coef)
        self.path_["index"] = data.places(self.path_["index"], kernel)
        self.__dict__.pop("basis_", None)
        if model.basis is not None:
            self.basis_ = model.basis

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


class StdMixin:
    """Predictions with error bars."""

    _model: LinearModel

    def predict(self, X: Any, return_std: bool = False, *, noise: bool = True) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like
        return_std : bool
            Whether the standard deviation is returned too: that of the weights' posterior
            (the intercept's included) and of the noise.
        noise : bool
            Whether it includes the noise of a target.

        Returns
        -------
        mean : (N,) array
        std : (N,) array, if `return_std`
        """
        mean = super().predict(X)  # type: ignore[misc]
        if not return_std:
            return mean
        X = to_numpy(check_predict_inputs(self, X))
        variance = self._model.variance(X)
        if noise:
            variance += self._model.noise_variance
        return mean, np.sqrt(variance).astype(mean.dtype, copy=False)
