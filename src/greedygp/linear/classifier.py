"""What the linear classifiers share, and the relevance vector machine. No algebra here."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.exceptions import FitInterrupted
from greedygp.linear.fitting import ClassificationFit, warn_of
from greedygp.linear.laplace import FastRVMClassification
from greedygp.linear.parameters import FastParameters, check_parameters
from greedygp.linear.posterior import Mode, class_probabilities
from greedygp.progress import Deadline, FitProgress
from greedygp.summary import SummaryMixin
from greedygp.validation import (
    check_classification_data,
    check_predict_inputs,
    check_two_classes,
    check_weights,
)
from greedygp.versions import CallbackSupportMixin, with_callbacks

__all__ = ["FastRVMClassifier", "LinearClassifier"]


class LinearClassifier(
    FastParameters, SummaryMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Fit and prediction of a sparse linear classifier; a subclass has the algorithm."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose basis functions and fit their weights.

        Parameters
        ----------
        X : (n, D) array-like
            Inputs; with `kernel="precomputed"` the design matrix, one column for each basis
            function.
        y : (n,) array-like
            Class labels.
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        deadline = Deadline.after(self.time_limit)
        X, places, classes = check_classification_data(self, X, y)
        weights = check_weights(sample_weight, X)
        used = slice(None) if weights is None else weights > 0
        present = np.unique(places[used])
        self.classes_ = classes[present]
        check_two_classes(self.classes_)
        given = {"X": X, "y": classes[places], "metadata": {"sample_weight": sample_weight}}
        fit = ClassificationFit(
            self._algorithm(),
            X,
            np.searchsorted(present, places).clip(max=len(present) - 1),
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
        warn_of(self.stop_reason_, fit.kernel, self.max_iter, X.shape[1])
        return self

    def _algorithm(self) -> Any:
        """Return the algorithm with the parameters of the estimator."""
        raise NotImplementedError

    def _store_modes(self, modes: list[Any]) -> None:
        """Store what only this algorithm has."""
        raise NotImplementedError

    def _store(self, fit: ClassificationFit) -> None:
        self._machines_ = fit.latent
        self.kernel_ = "precomputed" if fit.kernel is None else fit.kernel
        chosen = [np.array(mode.chosen, dtype=np.intp) for mode in fit.modes]
        union = np.unique(np.concatenate(chosen))
        self.relevance_ = fit.original_places(union)
        self.coef_ = np.zeros((len(chosen), len(union)))
        self.alpha_ = np.full((len(chosen), len(union)), np.inf)
        for line, mode in enumerate(fit.modes):
            columns = np.searchsorted(union, chosen[line])
            self.coef_[line, columns] = mode.w
            self.alpha_[line, columns] = mode.alpha
        self.intercept_ = np.array([mode.intercept for mode in fit.modes])
        self._store_modes(fit.modes)
        self.n_basis_ = len(union)
        self.path_ = np.concatenate([fit.path_array(path) for path in fit.paths])
        self.n_iter_ = max(len(self.path_), 1)
        self.stop_reason_ = fit.reason
        self.__dict__.pop("basis_", None)
        if fit.kernel is not None:
            self.basis_ = fit.rows.X[union]

    # --- predicting ----------------------------------------------------------------------------

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "_machines_")
        return to_numpy(check_predict_inputs(self, X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds, (N,), or those of each class against the rest, (N, n_classes).

        Those of :class:`FastRVMClassifier` are averaged over the posterior: the latent function,
        drawn towards zero where it is uncertain. :class:`FastGCVClassifier` has no posterior; its
        log odds are calibrated.
        """
        X = self._checked(X)
        latent = np.column_stack([machine.log_odds(X) for machine in self._machines_])
        return latent[:, 0] if len(self.classes_) == 2 else latent

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (N, n_classes), by :meth:`decision_function`.

        With more than two classes: those of each class against the rest, normalised.
        """
        X = self._checked(X)
        return class_probabilities(self._machines_, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (N,)."""
        latent = self.decision_function(X)
        places = (latent > 0).astype(np.intp) if latent.ndim == 1 else np.argmax(latent, axis=1)
        return self.classes_[places]


class FastRVMClassifier(LinearClassifier):
    """The relevance vector machine for classification, by fast maximisation of the evidence.

    A logistic model over basis functions, each with a precision of its own for its weight, whose
    posterior is approximated by Laplace's method. Two classes natively, more by one against the
    rest.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, "precomputed" or None
        The kernel at every training row is a candidate; "precomputed": every column of X is. None:
        a Gaussian over features scaled to unit variance, its one width chosen by
        cross-validation (on at most 1000 rows) of the log loss.
    fit_intercept : bool
        Whether there is an intercept; it has a flat prior.
    max_basis : int or None
        The most basis functions of one machine; None: as many as raise the evidence.
    tol : float
        Increase of the log evidence, per row, that is worth an action.
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
    relevance_ : (m,) int array
        The training rows (or columns of X) whose basis functions some machine uses.
    basis_ : (m, D) array
        Their inputs; absent for "precomputed".
    coef_ : (1, m) array, or (n_classes, m) for more than two
        Weights; zero where a machine does not use a function.
    intercept_ : (1,) or (n_classes,) array
    alpha_ : like `coef_`
        Precisions of the weights; infinite where a machine does not use a function.
    log_evidence_ : (1,) or (n_classes,) array
        Laplace's approximation to it.
    path_ : structured array with the fields action, index, value, seconds
        One line for each action, machine after machine; `value` is the log evidence of the
        regression problem that the machine looked like then.
    n_basis_, n_iter_ : int
        Basis functions of the model, and actions taken.
    stop_reason_ : str
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
    >>> from sklearn.datasets import make_moons
    >>> from greedygp import FastRVMClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = FastRVMClassifier(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.9), model.n_basis_ < 30
    (True, True)
    """

    def _algorithm(self) -> FastRVMClassification:
        return FastRVMClassification(
            float(self.tol), self.max_basis, self.max_iter, self.working_set
        )

    def _store_modes(self, modes: list[Mode]) -> None:
        self.log_evidence_ = np.array([mode.log_evidence for mode in modes])
