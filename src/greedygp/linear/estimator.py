"""Fast GCV and the relevance vector machine: parameters, and what is stored. No algebra here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.kernels import Kernel
from greedygp.linear.base import LinearRegressor, StdMixin, Step, warn_of
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.fitting import fast_gcv, fast_rvm
from greedygp.linear.loop import Limits, Loop
from greedygp.linear.model import Solution
from greedygp.linear.parameters import LoopParameters

__all__ = ["FastGCVRegressor", "FastRVMRegressor"]

QUICK = 10.0  # tolerance while a width is looked for, in units of `tol`


class _LoopRegressor(StdMixin, LinearRegressor):
    """A model that the loop of additions, re-estimations and deletions made."""

    max_basis: int | None
    max_iter: int
    working_set: int | None

    def _run(self, dictionary, t, limits, rng, watch) -> Loop:
        raise NotImplementedError

    def _limits(self, factor: float = 1.0) -> Limits:
        return Limits(factor * float(self.tol), self.max_basis, self.max_iter)

    def _quick_fit(self, dictionary, t, rng) -> Solution:
        limits = self._limits(QUICK)
        return _solution(self._run(dictionary, t, limits, rng, None))

    def _fit(self, dictionary: Dictionary, t, rng, step: Step) -> Solution:
        def watch(loop: Loop) -> bool:
            return step(loop.path.steps[-1][0], lambda: _solution(loop))

        loop = self._run(dictionary, t, self._limits(), rng, watch)
        solution = _solution(loop)
        self.noise_variance_ = solution.noise_variance
        with np.errstate(divide="ignore"):
            self.alpha_ = loop.state.zeta / max(solution.noise_variance, 1e-300)
        self.path_ = loop.path.as_array()
        self.n_iter_ = max(len(loop.path), 1)
        self.stop_reason_ = loop.path.reason
        self._value = loop.measure.value(loop.state)
        kernel = self.kernel_ if isinstance(self.kernel_, Kernel) else None
        warn_of(loop.path.reason, kernel, self.max_iter)
        return solution


def _solution(loop: Loop) -> Solution:
    state = loop.state
    return Solution(
        list(state.chosen), state.w.copy(), state.inverse.copy(), loop.measure.noise(state)
    )


class FastGCVRegressor(LoopParameters, _LoopRegressor):
    """Sparse linear regression by fast generalised cross-validation.

    Basis functions, each with a precision of its own for its weight, are added, re-estimated and
    deleted, always the action that lowers generalised cross-validation (GCV) most, until none does.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        The kernel at every training row is a candidate; "precomputed": every column of X is. None:
        a Gaussian over features scaled to unit variance, its one width chosen by
        cross-validation (on at most 1000 rows).
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    max_basis : int or None
        The most basis functions; None: as many as lower GCV.
    tol : float
        Relative decrease of GCV that is worth an action.
    max_iter : int
        The most actions.
    working_set : int or None
        Random candidates looked at for an addition; None: all. For many rows: with all candidates
        every addition costs a product with the whole N x N kernel matrix.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
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
        One line an action ("add", "reestimate" or "delete"); `value` is GCV after it.
    n_basis_, n_iter_ : int
        Basis functions of the model, and actions taken.
    stop_reason_ : str
        "converged", "max_iter", "exact", "callback", "interrupted" or "ill_conditioned".
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

    def _run(self, dictionary, t, limits, rng, watch) -> Loop:
        return fast_gcv(dictionary, t, limits, self.working_set, rng, watch)

    def _fit(self, dictionary, t, rng, step) -> Solution:
        solution = super()._fit(dictionary, t, rng, step)
        self.gcv_ = self._value
        return solution


class FastRVMRegressor(LoopParameters, _LoopRegressor):
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
        every addition costs a product with the whole N x N kernel matrix.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
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
        One line an action ("add", "reestimate" or "delete"); `value` is the log evidence after it.
    n_basis_, n_iter_ : int
        Basis functions of the model, and actions taken.
    stop_reason_ : str
        "converged", "max_iter", "exact", "callback", "interrupted" or "ill_conditioned".
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
            random_state=random_state,
        )
        self.noise_variance = noise_variance

    def _run(self, dictionary, t, limits, rng, watch) -> Loop:
        noise = None if self.noise_variance is None else float(self.noise_variance)
        return fast_rvm(dictionary, t, limits, noise, self.working_set, rng, watch)

    def _fit(self, dictionary, t, rng, step) -> Solution:
        solution = super()._fit(dictionary, t, rng, step)
        self.log_evidence_ = self._value
        return solution
