"""Local ridge regression as an estimator: parameters, and what is stored."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.linear.algorithms import LocalRidge
from greedygp.linear.estimator import LinearRegressor, StdMixin
from greedygp.linear.local_ridge import LocalRidgeSelection

__all__ = ["LocalRidgeRegressor"]


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
    time_limit : float or None
        Seconds after which the fit ends with what it has; a width is searched for half of them.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, alpha_, noise_variance_, gcv_, n_basis_, kernel_
        As in :class:`FastGCVRegressor`.
    n_iter_ : int
        Cycles.
    stop_reason_ : str
        "converged", "max_iter", "time_limit", "callback" or "interrupted".
    path_ : structured array with the fields action, index, value, seconds
        One line for each change; `value` is GCV after it.

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
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state

    def _algorithm(self) -> LocalRidge:
        return LocalRidge(float(self.tol), self.max_iter)

    def _store_selection(self, selection: LocalRidgeSelection, path: Path) -> None:
        self.alpha_ = selection.zeta[selection.chosen] / max(self.noise_variance_, 1e-300)
        self.gcv_ = selection.value
        self.n_iter_ = selection.cycles
