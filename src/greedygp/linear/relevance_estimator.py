"""The relevance vector machine for regression as an estimator. No algebra here."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.linear.algorithms import FastRVM
from greedygp.linear.estimator import FastRegressor
from greedygp.linear.parameters import FastParameters
from greedygp.linear.selection import FastSelection

__all__ = ["FastRVMRegressor"]


class FastRVMRegressor(FastParameters, FastRegressor):
    """The relevance vector machine for regression, by fast maximisation of the evidence.

    Basis functions, each with a precision of its own for its weight, are added, re-estimated and
    deleted, always the action that raises the evidence most, until none does.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        The kernel at every training row is a candidate; "precomputed": every column of X is. None:
        a Gaussian over features scaled to unit variance, its one width chosen by
        cross-validation (on at most 1000 rows).
    fit_intercept : bool
        Whether there is an intercept; it has a flat prior.
    noise_variance : float or None
        Held fixed where given; None: learnt.
    max_basis : int or None
        The most basis functions; None: as many as raise the evidence.
    tol : float
        Increase of the log evidence, per row, that is worth an action.
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
    log_evidence_ : float
    path_ : structured array with the fields action, index, value, seconds
        One line for each action ("add", "reestimate" or "delete"); `value` is the log evidence
        after it.
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
    M. E. Tipping and A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
    AISTATS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import FastRVMRegressor
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.05 * np.random.default_rng(0).normal(size=100)
    >>> model = FastRVMRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> model.n_basis_ < 20
    True
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        noise_variance: float | None = None,
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
        self.noise_variance = noise_variance

    def _algorithm(self) -> FastRVM:
        noise = None if self.noise_variance is None else float(self.noise_variance)
        return FastRVM(float(self.tol), self.max_basis, self.max_iter, self.working_set, noise)

    def _store_selection(self, selection: FastSelection, path: Path) -> None:
        super()._store_selection(selection, path)
        self.log_evidence_ = selection.reported_value
