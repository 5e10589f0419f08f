"""Fast GCV as a classifier. No algebra here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.kernels import Kernel
from greedygp.linear.classifier import LinearClassifier
from greedygp.linear.labels import FastGCVClassification
from greedygp.linear.posterior import CalibratedMode

__all__ = ["FastGCVClassifier"]


class FastGCVClassifier(LinearClassifier):
    """Sparse linear classification by fast generalised cross-validation.

    The regression of :class:`FastGCVRegressor` on labels of +1 and -1, and a logistic function that
    is fitted to the values of left-out rows, known in closed form, for the probabilities. So
    generalised cross-validation (GCV) judges what it is an estimate of, a squared error. On the
    weighted least squares of a logistic model it would be compared across weights that move with
    the model, and would have no minimum where the classes can be separated. The functions were
    chosen with all rows, so that the probabilities are a little too sure. Two classes natively,
    more by one against the rest.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        The kernel at every training row is a candidate; "precomputed": every column of X is. None:
        a Gaussian over features scaled to unit variance, its one width chosen by
        cross-validation (on at most 1000 rows) of the log loss.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    start : {"rfs", "empty", "paper"}
    first : {"gcv", "projection"}
        As in :class:`FastGCVRegressor`.
    max_basis : int or None
        The most basis functions of one machine; None: as many as lower GCV.
    tol : float
        Relative decrease of GCV that is worth an action.
    max_iter : int
        The most actions of one machine.
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
    classes_ : array
    relevance_, basis_, n_basis_, n_iter_, stop_reason_, kernel_
        As in :class:`FastRVMClassifier`.
    coef_ : (1, m) array, or (n_classes, m) for more than two
        Weights of the log odds; zero where a machine does not use a function.
    intercept_ : (1,) or (n_classes,) array
    alpha_ : like `coef_`
        Precisions of the weights in the regression; infinite where a machine does not use one.
    gcv_ : (1,) or (n_classes,) array
        That of the labels.
    path_ : structured array with the fields action, index, value, seconds
        One line for each action, machine after machine; `value` is GCV.

    References
    ----------
    S. Sundararajan, S. Shevade and S. S. Keerthi, Fast generalized cross validation algorithm for
    sparse model learning, Neural Computation 19 (2007). J. Platt, Probabilistic outputs for support
    vector machines, Advances in Large Margin Classifiers (1999).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from greedygp import FastGCVClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = FastGCVClassifier(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.9), model.n_basis_ < 75
    (True, True)
    """

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

    def _algorithm(self) -> FastGCVClassification:
        return FastGCVClassification(
            float(self.tol),
            self.max_basis,
            self.max_iter,
            self.working_set,
            start_from=self.start,
            first=self.first,
        )

    def _store_modes(self, modes: list[CalibratedMode]) -> None:
        self.gcv_ = np.array([mode.gcv for mode in modes])
