"""The rivals of fast GCV: parameters, and what each algorithm stores. No algebra here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.greedy import Stopping, run
from greedygp.kernels import Kernel
from greedygp.linear.base import LinearRegressor, StdMixin, Step, warn_of
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.forward import RidgeSelector
from greedygp.linear.local_ridge import FullModel
from greedygp.linear.loop import PATH_FIELDS
from greedygp.linear.model import Solution
from greedygp.linear.orthogonal import OrthogonalSelector

__all__ = ["LocalRidgeRegressor", "OLSRegressor", "RFSRegressor"]

QUICK = 100.0  # tolerance while a width is looked for, in units of `tol`


class OLSRegressor(LinearRegressor):
    """Orthogonal least squares: forward selection by the error reduction ratio.

    Basis functions are added one at a time, each time the one that lowers the squared error most;
    the weights are those of least squares. A criterion decides how many are kept.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        As in :class:`FastGCVRegressor`.
    fit_intercept : bool
    criterion : {"gcv", "bic", "err"}
        What decides the size: the minimum of generalised cross-validation or of the Bayesian
        information criterion; or "err": the first size at which the unexplained share of the
        variance is below `tol` (Chen's rule).
    max_basis : int or None
        The most basis functions; None: up to the number of rows.
    patience : int or None
        Steps without a new minimum of the criterion before stopping; None: run to `max_basis`.
    tol : float
        For "gcv" and "bic" the relative improvement that counts as one; for "err" the share of the
        variance that may stay unexplained.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, n_basis_, n_iter_, stop_reason_, kernel_
        As in :class:`FastGCVRegressor`.
    criterion_value_ : float
        The criterion of the model.
    noise_variance_ : float
        Residual sum of squares over what is left of the degrees of freedom.
    path_ : structured array with the fields action, index, value, seconds
        One line an addition, those after the best size included; `value` is the criterion.

    References
    ----------
    S. Chen, C. F. N. Cowan and P. M. Grant, Orthogonal least squares learning algorithm for radial
    basis function networks, IEEE Transactions on Neural Networks 2 (1991).

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import OLSRegressor
    >>> Phi = np.random.default_rng(0).normal(size=(50, 30))
    >>> y = 3.0 * Phi[:, 4] - 2.0 * Phi[:, 7] + 1.0
    >>> OLSRegressor(kernel="precomputed").fit(Phi, y).relevance_
    array([4, 7])
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        criterion: str = "gcv",
        max_basis: int | None = None,
        patience: int | None = 10,
        tol: float = 1e-4,
        cv: Any = 5,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.max_basis = max_basis
        self.patience = patience
        self.tol = tol
        self.cv = cv
        self.random_state = random_state

    def _quick_fit(self, dictionary, t, rng) -> Solution:
        return self._select(dictionary, t, None)[0]

    def _select(self, dictionary, t, step: Step | None):
        selector = OrthogonalSelector(dictionary, t, self.criterion)
        by_share = self.criterion == "err"
        stopping = Stopping(
            patience=None if by_share else self.patience or dictionary.n_columns + 1,
            tol=float(self.tol),
            max_size=_limit(self.max_basis, dictionary),
            empty_value=selector.value,
        )

        def after_step(path) -> bool:
            if step is not None and step("add", lambda: Solution(*selector.solution(len(path)))):
                return True
            return by_share and path.steps[-1][1] < self.tol

        path = run(selector, stopping, after_step)
        return Solution(*selector.solution(selector.kept_size)), selector, path

    def _fit(self, dictionary, t, rng, step) -> Solution:
        solution, selector, path = self._select(dictionary, t, step)
        m = len(solution.chosen)
        residual = t - solution.w @ dictionary.columns(solution.chosen) if m else t
        error = float(residual @ residual)
        self.criterion_value_ = float(selector.criterion(error, m))
        self.noise_variance_ = error / max(selector.dof - m, 1.0)
        _store_selection(self, path)
        return solution


class RFSRegressor(LinearRegressor):
    """Regularised forward selection: one ridge for all weights, chosen again after each addition.

    Basis functions are added one at a time, each time the one that lowers the penalised squared
    error most; the ridge is then set to the minimum of generalised cross-validation (GCV), whose
    minimum over the sizes decides how many are kept.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        As in :class:`FastGCVRegressor`.
    fit_intercept : bool
    max_basis : int or None
        The most basis functions; None: up to the number of rows.
    patience : int or None
        Steps without a new minimum of GCV before stopping; None: run to `max_basis`.
    tol : float
        Relative decrease of GCV that counts as one.
    working_set : int or None
        Random candidates a step; None: all.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width, and the working sets.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, n_basis_, n_iter_, stop_reason_, kernel_
        As in :class:`FastGCVRegressor`.
    ridge_ : float
        What is added to the diagonal of the normal equations.
    alpha_ : (m,) array
        `ridge_ / noise_variance_` for every weight.
    noise_variance_, gcv_ : float
    path_ : structured array with the fields action, index, value, seconds
        One line an addition, those after the best size included; `value` is GCV.

    References
    ----------
    M. J. L. Orr, Regularization in the selection of radial basis function centres, Neural
    Computation 7 (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import RFSRegressor
    >>> Phi = np.random.default_rng(0).normal(size=(50, 30))
    >>> y = 3.0 * Phi[:, 4] - 2.0 * Phi[:, 7] + 1.0
    >>> RFSRegressor(kernel="precomputed").fit(Phi, y).relevance_[:2]
    array([4, 7])
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        max_basis: int | None = None,
        patience: int | None = 10,
        tol: float = 1e-4,
        working_set: int | None = None,
        cv: Any = 5,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_basis = max_basis
        self.patience = patience
        self.tol = tol
        self.working_set = working_set
        self.cv = cv
        self.random_state = random_state

    def _quick_fit(self, dictionary, t, rng) -> Solution:
        return self._select(dictionary, t, rng, None)[0]

    def _select(self, dictionary, t, rng, step: Step | None):
        selector = RidgeSelector(dictionary, t, self.working_set, rng)
        stopping = Stopping(
            patience=self.patience or dictionary.n_columns + 1,
            tol=float(self.tol),
            max_size=_limit(self.max_basis, dictionary),
            empty_value=selector.value,
        )

        def after_step(path) -> bool:
            return step is not None and step("add", lambda: _ridge_solution(selector))

        path = run(selector, stopping, after_step)
        return _ridge_solution(selector), selector, path

    def _fit(self, dictionary, t, rng, step) -> Solution:
        solution, selector, path = self._select(dictionary, t, rng, step)
        self.ridge_ = selector.ridges[-1] if selector.ridges else 0.0
        self.noise_variance_ = solution.noise_variance
        self.alpha_ = np.full(selector.size, self.ridge_ / max(solution.noise_variance, 1e-300))
        self.gcv_ = float(selector.value)
        _store_selection(self, path)
        return solution


class LocalRidgeRegressor(StdMixin, LinearRegressor):
    """Local ridge regression: the full model with a ridge for every weight, each by GCV.

    All basis functions are in the model at first. The ridge of each weight is set to its optimum
    by generalised cross-validation (GCV) in turn, cycle after cycle; many become infinite. A
    cycle takes time that grows with the cube of the number of rows, and memory that grows with its
    square: a few thousand rows at most. :class:`FastGCVRegressor` is the fast way.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        As in :class:`FastGCVRegressor`.
    fit_intercept : bool
    tol : float
        Relative decrease of GCV in a cycle that asks for another one.
    max_iter : int
        The most cycles.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, alpha_, noise_variance_, gcv_, n_basis_, kernel_
        As in :class:`FastGCVRegressor`.
    n_iter_ : int
        Cycles.
    stop_reason_ : str
        "converged", "max_iter", "callback" or "interrupted".
    path_ : structured array with the fields action, index, value, seconds
        One line a change; `value` is GCV after it.

    References
    ----------
    M. J. L. Orr, Local smoothing of radial basis function networks, International Symposium on
    Artificial Neural Networks, Hsinchu (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import LocalRidgeRegressor
    >>> Phi = np.random.default_rng(0).normal(size=(50, 30))
    >>> noise = 0.1 * np.random.default_rng(1).normal(size=50)
    >>> y = 3.0 * Phi[:, 4] - 2.0 * Phi[:, 7] + 1.0 + noise
    >>> model = LocalRidgeRegressor(kernel="precomputed").fit(Phi, y)
    >>> sorted(model.relevance_[np.abs(model.coef_) > 0.5].tolist())
    [4, 7]
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 100,
        cv: Any = 5,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.random_state = random_state

    def _quick_fit(self, dictionary, t, rng) -> Solution:
        model = FullModel(dictionary, t)
        model.run(QUICK * float(self.tol), min(self.max_iter, 10), None)
        return model.solution()

    def _fit(self, dictionary, t, rng, step) -> Solution:
        model = FullModel(dictionary, t)
        found = model.run(float(self.tol), self.max_iter, lambda name: step(name, model.solution))
        solution = model.solution()
        self.noise_variance_ = solution.noise_variance
        self.alpha_ = model.zeta[model.chosen] / max(solution.noise_variance, 1e-300)
        self.gcv_ = model.value
        self.path_ = np.array(found.steps, dtype=PATH_FIELDS)
        self.n_iter_ = found.cycles
        self.stop_reason_ = found.reason
        warn_of(found.reason, None, self.max_iter)
        return solution


def _ridge_solution(selector: RidgeSelector) -> Solution:
    state = selector.state
    noise = state.error / state.trace if state.trace > 0.0 else 0.0
    return Solution(list(state.chosen), state.w.copy(), state.inverse.copy(), noise)


def _limit(max_basis: int | None, dictionary: Dictionary) -> int:
    most = min(dictionary.n_rows, dictionary.n_columns)
    return most if max_basis is None else min(max_basis, most)


def _store_selection(estimator: Any, path: Any) -> None:
    """Store the path of a forward selection in the form of the loop's."""
    steps = [("add", index, value, seconds) for index, value, _, seconds in path.steps]
    estimator.path_ = np.array(steps, dtype=PATH_FIELDS)
    estimator.n_iter_ = max(len(path), 1)
    estimator.stop_reason_ = path.reason
    warn_of(path.reason, None, 0)
