"""`FastRVMClassifier`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.kernels import Kernel
from greedygp.linear.base import Data, given_kernel, warn_of
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.laplace import Mode, fast_rvm_classifier
from greedygp.linear.loop import PATH_FIELDS, Limits
from greedygp.linear.parameters import LoopParameters, check_parameters
from greedygp.linear.progress import FitActions
from greedygp.linear.width import WidthSearch
from greedygp.summary import SummaryMixin
from greedygp.validation import (
    check_classification_data,
    check_predict_inputs,
    check_two_classes,
    check_weights,
)

__all__ = ["FastRVMClassifier"]

QUICK = 10.0  # tolerance while a width is looked for, in units of `tol`


class FastRVMClassifier(
    LoopParameters, SummaryMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
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
        One line an action, machine after machine; `value` is the log evidence of the regression
        problem that the machine looked like then.
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

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Choose basis functions and fit their weights.

        Parameters
        ----------
        X : (n, D) array-like
            Inputs; with `kernel="precomputed"` the design matrix, one column a basis function.
        y : (n,) array-like
            Class labels.
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, places, classes = check_classification_data(self, X, y)
        weights = check_weights(sample_weight, X)
        used = slice(None) if weights is None else weights > 0
        present = np.unique(places[used])
        self.classes_ = classes[present]
        check_two_classes(self.classes_)
        given = {"X": X, "y": classes[places], "metadata": {"sample_weight": sample_weight}}
        actions = FitActions(self, given)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        places = np.searchsorted(present, places).clip(max=len(present) - 1)
        wide = X.astype(np.float64, copy=False)
        kernel = self._kernel(wide, places, weights, rng)
        self.kernel_ = "precomputed" if kernel is None else kernel
        data = Data.of(X, places, weights)
        runs = self._machines(data, kernel, rng, float(self.tol), actions)
        self._store(data, kernel, runs)
        actions.end(lambda: self._fitted)
        return self

    # --- fitting -------------------------------------------------------------------------------

    def _machines(self, data: Data, kernel, rng, tol: float, actions=None) -> list:
        """Return the model and the path of each machine."""
        n_classes = int(np.max(data.y)) + 1
        weights = np.ones(len(data.X)) if data.weights is None else data.weights
        plain = data.dictionary(kernel, False, np.ones(len(data.X)))
        intercept = bool(self.fit_intercept)
        limits = Limits(tol, self.max_basis, self.max_iter)

        def reweighted(row_weights: np.ndarray) -> Dictionary:
            return plain.reweighted(row_weights, intercept)

        runs: list[tuple[Mode, Any]] = []
        for number in [1] if n_classes == 2 else range(n_classes):
            labels = (data.y == number).astype(np.float64)

            def watch(path, mode) -> bool:
                if actions is None or not path.steps:
                    return False
                found = [*runs, (mode, path)]
                return actions.step("renewal", lambda: self._attributes(data, kernel, found))

            runs.append(
                fast_rvm_classifier(
                    plain, reweighted, labels, weights, limits, self.working_set, rng, watch
                )
            )
        return runs

    def _kernel(self, X, y, weights, rng) -> Kernel | None:
        """Return the kernel that was given, or a Gaussian whose width cross-validation chose."""
        if self.kernel is not None:
            return given_kernel(self.kernel, X.shape[1])
        search = WidthSearch(X, y, weights, self.cv, bool(self.fit_intercept), rng, classes=True)
        inner = np.random.default_rng(int(rng.integers(2**31)))
        n_classes = len(self.classes_)

        def fit(dictionary: Dictionary, labels: np.ndarray):
            assert dictionary.held is not None
            _, present = np.unique(labels, return_inverse=True)
            data = Data(dictionary.held.T, present, dictionary.weights, np.arange(len(labels)))
            runs = self._machines(data, None, inner, QUICK * float(self.tol))
            names = np.unique(labels)

            def probabilities(Phi: np.ndarray) -> np.ndarray:
                result = np.full((len(Phi), n_classes), 1e-12)
                result[:, names] = _probabilities(
                    [_Latent(mode, None, None) for mode, _ in runs], Phi
                )
                return result

            return probabilities

        def loss(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
            chances = probabilities[np.arange(len(labels)), labels]
            return -np.log(np.maximum(chances, 1e-12))

        return search.kernel(search.best(fit, loss))

    def _attributes(self, data: Data, kernel, runs) -> dict[str, Any]:
        """Return what predictions need."""
        return {"_machines_": [_Latent(mode, kernel, data.X) for mode, _ in runs]}

    @property
    def _fitted(self) -> dict[str, Any]:
        return {"_machines_": self._machines_}

    def _store(self, data: Data, kernel, runs) -> None:
        self._machines_ = self._attributes(data, kernel, runs)["_machines_"]
        union = np.unique(np.concatenate([np.array(m.chosen, dtype=np.intp) for m, _ in runs]))
        self.relevance_ = data.places(union, kernel)
        self.coef_ = np.zeros((len(runs), len(union)))
        self.alpha_ = np.full((len(runs), len(union)), np.inf)
        for line, (mode, _) in enumerate(runs):
            columns = np.searchsorted(union, np.array(mode.chosen, dtype=np.intp))
            self.coef_[line, columns] = mode.w
            self.alpha_[line, columns] = mode.alpha
        self.intercept_ = np.array([mode.intercept for mode, _ in runs])
        self.log_evidence_ = np.array([mode.log_evidence for mode, _ in runs])
        self.n_basis_ = len(union)
        self.path_ = np.concatenate([path.as_array() for _, path in runs]).astype(PATH_FIELDS)
        self.path_["index"] = data.places(self.path_["index"], kernel)
        self.n_iter_ = max(len(self.path_), 1)
        reasons = [path.reason for _, path in runs]
        others = [reason for reason in reasons if reason != "converged"]
        self.stop_reason_ = others[0] if others else "converged"
        self.__dict__.pop("basis_", None)
        if kernel is not None:
            self.basis_ = data.X[union]
        warn_of(self.stop_reason_, kernel, self.max_iter)

    # --- predicting ----------------------------------------------------------------------------

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "_machines_")
        return to_numpy(check_predict_inputs(self, X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds, (N,), or those of each class against the rest, (N, n_classes).

        They are averaged over the posterior: the latent function, drawn towards zero where it is
        uncertain.
        """
        X = self._checked(X)
        latent = np.column_stack([machine.log_odds(X) for machine in self._machines_])
        return latent[:, 0] if len(self.classes_) == 2 else latent

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (N, n_classes), averaged over the posterior."""
        X = self._checked(X)
        return _probabilities(self._machines_, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (N,)."""
        latent = self.decision_function(X)
        places = (latent > 0).astype(np.intp) if latent.ndim == 1 else np.argmax(latent, axis=1)
        return self.classes_[places]


class _Latent:
    """The latent function of one machine."""

    def __init__(self, mode: Mode, kernel: Kernel | None, X: np.ndarray | None):
        self.mode, self.kernel = mode, kernel
        self.basis = None if kernel is None or X is None else X[mode.chosen]

    def functions(self, X: np.ndarray) -> np.ndarray:
        """Return the basis functions at X, (N, m)."""
        X = X.astype(np.float64, copy=False)
        if self.kernel is None:
            return X[:, self.mode.chosen]
        return np.asarray(self.kernel(X, self.basis)) if self.mode.chosen else np.empty((len(X), 0))

    def log_odds(self, X: np.ndarray) -> np.ndarray:
        """Return those of the sigmoid averaged over the posterior (MacKay's approximation)."""
        functions = self.functions(X)
        mean = functions @ self.mode.w + self.mode.intercept
        if len(self.mode.covariance) > functions.shape[1]:
            functions = np.column_stack([functions, np.ones(len(functions))])
        variance = np.einsum("ij,ij->i", functions @ self.mode.covariance, functions)
        return mean / np.sqrt(1.0 + np.pi / 8.0 * np.maximum(variance, 0.0))


def _probabilities(machines: list[_Latent], X: np.ndarray) -> np.ndarray:
    chances = np.column_stack([expit(machine.log_odds(X)) for machine in machines])
    if len(machines) == 1:
        return np.column_stack([1.0 - chances, chances])
    chances = np.maximum(chances, 1e-300)
    return chances / np.sum(chances, axis=1, keepdims=True)
