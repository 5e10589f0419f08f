"""`AutoGPRegressor`: the full GP where it can be afforded, else the sparse one, and why.

A full GP predicts at least as well as a sparse one of the same rows, but its time grows with the
cube of their number, and a prediction's with their number. Up to a few thousand rows that is
seconds. So the number of rows decides, unless the user asks for a small model or for one of the
two. No data are spent on the choice: rows held out to compare two models tell less than they cost
where there are few, and where there are many the full GP cannot be had.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils.validation import _num_samples, check_is_fitted

from greedygp.arrays import Array, to_numpy
from greedygp.dense.estimator import GPRegressor
from greedygp.exceptions import FitInterrupted
from greedygp.inputs import HolesMixin
from greedygp.kernels import Kernel
from greedygp.rows import RowStore
from greedygp.rows.collections import is_dask
from greedygp.rows.memory import is_mapped
from greedygp.signatures import PredictingMixin
from greedygp.sparse.estimator import SparseGPRegressor
from greedygp.summary import Summary
from greedygp.validation import check_choice, check_integer
from greedygp.versions import HAS_CALLBACKS, CallbackSupportMixin

__all__ = ["AutoGPRegressor"]

MODELS = ("auto", "full", "sparse")


class AutoGPRegressor(
    HolesMixin,
    PredictingMixin,
    CallbackSupportMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Gaussian process regression that takes the full or the sparse model, whichever suits.

    It is the one to start with: :class:`~greedygp.GPRegressor` up to `full_rows` rows,
    :class:`~greedygp.SparseGPRegressor` beyond. `model_` is the model that was taken, and `reason_`
    says why. Callbacks hear of that model's fit.

    Parameters
    ----------
    model : {"auto", "full", "sparse"}
        "auto": the full GP where there are at most `full_rows` rows, they are in memory, and
        `max_basis` is not given; else the sparse one.
    full_rows : int
        The most rows (of positive weight) for which "auto" takes the full GP.
    max_basis : int, "auto" or None
        The most basis vectors of the sparse model, as :class:`SparseGPRegressor` has it. Where it
        is given, `model="auto"` takes that model.
    kernel : Kernel, scikit-learn kernel or None
        Where learning starts; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed where given (in the units of the normalised y if `normalize_y`); None: learnt.
    noise_model : {"auto", "constant", "input"}
        Whether the noise depends on the input; "auto": where left-out rows say so.
    normalize_y : bool
        Whether targets are centred and scaled to unit variance for the fit.
    missing : {"error", "indicator"}
        What becomes of missing values and words in X. "indicator": a missing number becomes the
        median of its column, and a feature marks it; words and pandas' categoricals become a
        feature per word.
    time_limit : float or None
        Seconds after which the fit ends with what it has.
    random_state : int, RandomState or None

    Attributes
    ----------
    model_ : GPRegressor or SparseGPRegressor
        The fitted model.
    reason_ : str
        Which model it is, and why, in a sentence.
    kernel_ : Kernel
    noise_variance_ : float
        The constant noise variance that the mean was learnt with, in the units of the normalised
        y. :meth:`noise_variance_at` gives the noise that predictions have.
    noise_model_ : {"constant", "input"}
        Whether the noise of predictions depends on the input.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had them.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from greedygp import AutoGPRegressor
    >>> X, y = make_friedman1(300, noise=0.5, random_state=0)
    >>> model = AutoGPRegressor(random_state=0).fit(X[:200], y[:200])
    >>> mean, std = model.predict(X[200:], return_std=True)
    >>> print(model.reason_)
    A full GP: 200 rows are no more than full_rows=4000.
    """

    model_: GPRegressor | SparseGPRegressor
    kernel_: Kernel
    noise_variance_: float

    def __init__(
        self,
        *,
        model: str = "auto",
        full_rows: int = 4000,
        max_basis: int | Literal["auto"] | None = None,
        kernel: Kernel | ScikitLearnKernel | None = None,
        noise_variance: float | None = None,
        noise_model: str = "auto",
        normalize_y: bool = True,
        missing: str = "error",
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.model = model
        self.full_rows = full_rows
        self.max_basis = max_basis
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.noise_model = noise_model
        self.normalize_y = normalize_y
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state

    # --- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take a model and fit it.

        Parameters
        ----------
        X : (n, D) array-like
            Whatever :meth:`SparseGPRegressor.fit` takes: NumPy, pandas, lists, torch tensors,
            memory maps or a :class:`~greedygp.RowSource`.
        y : (n,) or (n, p) array-like
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_choice("model", self.model, MODELS)
        check_integer("full_rows", self.full_rows, 0)
        check_integer("max_basis", self.max_basis, 1, or_none=True, or_auto=True)
        full, reason = self._choice(X, sample_weight)
        model = self._made(full)
        try:
            with _callbacks_of(self, model):
                model.fit(X, y, sample_weight)
        except FitInterrupted:
            self._store(model, reason)
            raise
        self._store(model, reason)
        return self

    def _choice(self, X: Any, sample_weight: Any) -> tuple[bool, str]:
        """Return whether the model is to be full, and why."""
        if self.model != "auto":
            return self.model == "full", f"A {self.model} GP: model={self.model!r} was given."
        if self.max_basis is not None:
            return False, f"A sparse GP: max_basis={self.max_basis!r} was given."
        if isinstance(X, RowStore) or is_mapped(X) or is_dask(X):
            return False, "A sparse GP: the rows are not in memory."
        n = _rows(X, sample_weight)
        if n <= self.full_rows:
            return True, f"A full GP: {n} rows are no more than full_rows={self.full_rows}."
        return False, f"A sparse GP: {n} rows are more than full_rows={self.full_rows}."

    def _made(self, full: bool) -> GPRegressor | SparseGPRegressor:
        """Return the model, not fitted yet."""
        given = {
            "kernel": self.kernel,
            "noise_variance": self.noise_variance,
            "noise_model": self.noise_model,
            "normalize_y": self.normalize_y,
            "missing": self.missing,
            "time_limit": self.time_limit,
            "random_state": self.random_state,
        }
        if full:
            return GPRegressor(**given)
        return SparseGPRegressor(max_basis=self.max_basis, **given)

    def _store(self, model: GPRegressor | SparseGPRegressor, reason: str) -> None:
        """Keep the model, and what others look for here."""
        self.model_, self.reason_ = model, reason
        self.kernel_, self.noise_variance_ = model.kernel_, model.noise_variance_
        self.noise_model_ = model.noise_model_
        self.n_features_in_ = model.n_features_in_
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit on a table
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    # --- what the model answers ------------------------------------------------------------------

    def _predict(self, X: Any, return_std: bool, return_cov: bool, noise: bool) -> Any:
        check_is_fitted(self)
        return self.model_.predict(X, return_std, return_cov, noise=noise)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, method: str = "gaussian"
    ) -> tuple[Array, Array]:
        """Predict an interval that holds a new target with the given probability.

        See :meth:`GPRegressor.predict_interval`.
        """
        check_is_fitted(self)
        return self.model_.predict_interval(X, coverage, method=method)

    def predict_quantiles(
        self, X: Any, quantiles: Any = (0.05, 0.5, 0.95), *, method: str = "gaussian"
    ) -> Array:
        """Predict quantiles of new targets; see :meth:`GPRegressor.predict_quantiles`."""
        check_is_fitted(self)
        return self.model_.predict_quantiles(X, quantiles, method=method)

    def noise_variance_at(self, X: Any) -> Array:
        """Return the variance of a target's noise at X, in the units of y, squared."""
        check_is_fitted(self)
        return self.model_.noise_variance_at(X)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> Array:
        """Draw samples of the targets at X from the posterior, (N, n_samples)."""
        check_is_fitted(self)
        return self.model_.sample_y(X, n_samples, random_state, noise=noise)

    def loo_predict(self) -> tuple[Array, Array]:
        """Predict every training row from all the others: means and standard deviations."""
        check_is_fitted(self)
        return self.model_.loo_predict()

    def summary(self) -> Summary:
        """Return the essential facts: which model it is and why, and that model's own facts."""
        check_is_fitted(self)
        inner = self.model_.summary()
        why = self.reason_.partition(": ")[2].rstrip(".")
        return Summary(type(self).__name__, [("model", f"{inner.title}: {why}"), *inner.facts])


@contextmanager
def _callbacks_of(outer: Any, inner: Any) -> Iterator[None]:
    """Lend an estimator's callbacks, and its place in an outer fit, to the model inside it."""
    if not HAS_CALLBACKS:
        yield
        return
    inner.set_callbacks(*getattr(outer, "_skl_callbacks", ()))
    if hasattr(outer, "_parent_callback_ctx"):
        inner._parent_callback_ctx = outer._parent_callback_ctx
    try:
        yield
    finally:
        inner.set_callbacks()
        vars(inner).pop("_parent_callback_ctx", None)


def _rows(X: Any, sample_weight: Any) -> int:
    """Return how many rows count; 0 where X has none, which the model will complain of."""
    try:
        n = int(_num_samples(X))
    except TypeError:
        return 0
    weights = np.ones(n) if sample_weight is None else to_numpy(sample_weight)
    return int(np.count_nonzero(weights)) if np.shape(weights) == (n,) else n
