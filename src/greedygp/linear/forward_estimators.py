"""Forward selection by OLS and by RFS as estimators: parameters, and what is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.linear.algorithms import OrthogonalLeastSquares, RegularisedForwardSelection
from greedygp.linear.estimator import LinearRegressor
from greedygp.linear.orthogonal_selection import OrthogonalSelection
from greedygp.linear.ridge_selection import RidgeSelection

__all__ = ["OLSRegressor", "RFSRegressor"]


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
    time_limit : float or None
        Seconds after which the fit ends with what it has; a width is searched for half of them.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, n_basis_, n_iter_, kernel_
        As in :class:`FastGCVRegressor`.
    stop_reason_ : str
        "patience", "max_basis", "converged" (the criterion "err"), "exhausted" (no function is left
        that would change anything), "time_limit", "callback" or "interrupted".
    criterion_value_ : float
        The criterion of the model.
    noise_variance_ : float
        Residual sum of squares over what is left of the degrees of freedom.
    path_ : structured array with the fields action, index, value, seconds
        One line for each addition, those after the best size included; `value` is the criterion.

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
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.max_basis = max_basis
        self.patience = patience
        self.tol = tol
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state

    def _algorithm(self) -> OrthogonalLeastSquares:
        return OrthogonalLeastSquares(
            float(self.tol), self.max_basis, self.patience, criterion=self.criterion
        )

    def _store_selection(self, selection: OrthogonalSelection, path: Path) -> None:
        self.criterion_value_ = float(selection.value)


class RFSRegressor(LinearRegressor):
    """Regularised forward selection: one ridge for all weights, chosen on the way.

    Basis functions are added one at a time, each time the one that lowers the penalised squared
    error most; where it pays, the ridge is then set to the minimum of generalised cross-validation
    (GCV), whose minimum over the sizes decides how many are kept.

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
        Relative decrease of GCV that counts as one, and that is worth a new ridge. The ridge of
        the model that is kept is the best one in any case.
    working_set : int or None
        Random candidates looked at for an addition; None: all.
    cv : int or scikit-learn splitter
        Folds for the width, where `kernel` is None.
    time_limit : float or None
        Seconds after which the fit ends with what it has; a width is searched for half of them.
    random_state : int, RandomState or None
        Chooses the rows and folds for the width, and the working sets.

    Attributes
    ----------
    relevance_, basis_, coef_, intercept_, n_basis_, n_iter_, kernel_
        As in :class:`FastGCVRegressor`.
    stop_reason_ : str
        "patience", "max_basis", "exhausted" (no function is left that would change anything),
        "time_limit", "callback", "interrupted" or "ill_conditioned".
    ridge_ : float
        What is added to the diagonal of the normal equations.
    alpha_ : (m,) array
        `ridge_ / noise_variance_` for every weight.
    noise_variance_, gcv_ : float
    path_ : structured array with the fields action, index, value, seconds
        One line for each addition, those after the best size included; `value` is GCV.

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
        patience: int | None = 20,
        tol: float = 1e-4,
        working_set: int | None = None,
        cv: Any = 5,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_basis = max_basis
        self.patience = patience
        self.tol = tol
        self.working_set = working_set
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state

    def _algorithm(self) -> RegularisedForwardSelection:
        return RegularisedForwardSelection(
            float(self.tol), self.max_basis, self.patience, working_set=self.working_set
        )

    def _store_selection(self, selection: RidgeSelection, path: Path) -> None:
        self.ridge_ = selection.ridges[-1] if selection.ridges else 0.0
        self.alpha_ = np.full(selection.size, self.ridge_ / max(self.noise_variance_, 1e-300))
        self.gcv_ = float(selection.value)
