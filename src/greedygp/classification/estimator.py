"""`SparseGPClassifier`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from greedygp import advice
from greedygp.classification.fitting import TwoClassFit
from greedygp.classification.learning import Learnt
from greedygp.classification.parameters import check_parameters
from greedygp.classification.points import Point
from greedygp.classification.posterior import Posterior
from greedygp.classification.prediction import PredictionMixin
from greedygp.classification.progress import ClassifierTasks
from greedygp.classification.start import starting_bias, starting_kernel
from greedygp.classification.state import ClassificationState
from greedygp.kernels import Kernel
from greedygp.kernels.conversion import as_kernel
from greedygp.messages import shown
from greedygp.progress import Deadline
from greedygp.threads import numpy_threads_only
from greedygp.validation import check_classification_data, check_weights

__all__ = ["SparseGPClassifier"]

LARGEST_BASIS = 500  # unless the user wants more
REFINED_BASIS = 200  # the same where the sites will be refined
ROWS_TO_REFINE = 5  # for a basis vector, at least


class SparseGPClassifier(PredictionMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Sparse Gaussian process classification that chooses its own basis by predictive loss.

    A Gaussian process with the probit likelihood `Phi(y (f(x) + b))`. Basis vectors are taken from
    the training rows one at a time; each gets a Gaussian site in place of its likelihood, by which
    the whole posterior is known. Kernel and bias are learnt in rounds. See the user guide for the
    mathematics and the paper.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
        Where learning starts. None: a Gaussian on the features in units of their spread, with one
        length scale for all of them, or one for each where that pays, and a weak prior on both;
        pass `Gaussian(length_scale=[...])` to learn one for each by the objective alone.
    bias : float or None
        Held fixed where given; None: learnt, from the classes' shares on.
    criterion : {"auto", "adaptive", "validation", "entropy", "info_gain", "random"}
        How the next basis vector is chosen: candidates drawn by their predicted chance of error
        and judged by the loss over all rows; random candidates judged by the loss over the rows
        outside the basis; the row that lowers the entropy most (informative vector machine); the
        row of the largest information gain; any row. "auto": "adaptive"; where the basis may be a
        quarter of the rows or more "entropy" too, and the basis with the lower leave-one-out loss
        is kept; "entropy" alone where it is all rows, and only their order is open.
    working_set : int or None
        Candidates a step; None: 2 for `adaptive`, 59 for `validation`, 1 for `random`. Without
        effect for `entropy` and `info_gain`, which score every row.
    sites : {"moment_matching", "optimized"}
        How a row's site is estimated: by matching moments, or by minimising the predictive loss
        over its mean and precision.
    max_basis : int or None
        The most basis vectors; None: 500, or 200 where the sites are refined (from 2500 rows on).
    patience : int or None
        Steps without a new minimum of the leave-one-out loss before the selection stops and goes
        back to the minimum; None: run to `max_basis`.
    tol : float
        Relative improvement of the loss that counts as a new minimum.
    objective : {"nlml", "loo", "nlp", None}
        What kernel and bias are learnt by: the approximate evidence; the predictive loss with rows
        of the basis left out in turn; the predictive loss over the rows outside the basis. None:
        they are held fixed.
    rounds : int
        The most rounds of optimising for a basis and selecting another, after a start by the
        evidence of at most 500 random rows. Without effect where the sites are refined, and for
        the evidence of a basis of all rows, which the start has minimised already.
    max_iter : int
        The most iterations of the optimiser in a round.
    ep_passes : int
        The most passes of expectation propagation over a chosen basis, which revisit its sites
        until they settle; 0: sites stay as they were when their rows came in. The result is kept
        only if it lowers the leave-one-out loss. Without effect for optimised sites.
    refine : bool or "auto"
        Whether all sites, with kernel and bias, are moved in the end to lower the predictive loss
        of the rows outside the basis. A fifth of those rows is held out to end it in time. "auto":
        where there are at least five rows for a basis vector and `objective` is not None.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied into `sample_weight`.
    time_limit : float or None
        Seconds after which the fit ends with what it has.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (n_classes,) array
    basis_indices_ : (m,) int array
        The basis' places among the training rows.
    basis_ : (m, D) array
    n_basis_ : int
    site_means_, site_precisions_ : (m,) arrays
    bias_ : float
    kernel_ : Kernel
    path_ : structured array with the fields index, value, score, seconds
        One line a step of the selection that was kept; `value` is the leave-one-out NLP after it:
        the mean of `-log` probability over all rows, those of the basis without their own sites.
        `score` is what the row was chosen by.
    objective_value_ : float
        The objective of the model, with the share of the default kernel's prior; NaN where nothing
        was learnt.
    rounds_ : structured array with the fields n_basis, value_before, value, n_iter, seconds
    stop_reason_ : str
        Why the selection stopped: "max_basis", "patience", "exhausted", "time_limit", "callback"
        or "interrupted".
    n_iter_ : int
        Steps that the selection made (the most of all classes).
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had them.

    Notes
    -----
    More than two classes are fitted one against the others; then each of the attributes from
    `basis_indices_` to `stop_reason_` is a list with an entry for each class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from greedygp import SparseGPClassifier
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = SparseGPClassifier(max_basis=30, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | None = None,
        bias: float | None = None,
        criterion: str = "auto",
        working_set: int | None = None,
        sites: str = "moment_matching",
        max_basis: int | None = None,
        patience: int | None = None,
        tol: float = 1e-6,
        objective: str | None = "nlml",
        rounds: int = 2,
        max_iter: int = 30,
        ep_passes: int = 30,
        refine: bool | str = "auto",
        class_weight: Any = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.bias = bias
        self.criterion = criterion
        self.working_set = working_set
        self.sites = sites
        self.max_basis = max_basis
        self.patience = patience
        self.tol = tol
        self.objective = objective
        self.rounds = rounds
        self.max_iter = max_iter
        self.ep_passes = ep_passes
        self.refine = refine
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Choose a basis and fit.

        Parameters
        ----------
        X : (n, D) array-like
        y : (n,) array-like
            Labels: numbers or strings, of at least two classes.
        sample_weight : (n,) array-like, optional
            Powers of the rows' likelihoods, and their weights in the loss; rows of weight 0 are
            left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        deadline = Deadline.after(self.time_limit)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        X, y, self.classes_ = check_classification_data(self, X, y)
        given = {"X": X, "y": self.classes_[y], "metadata": {"sample_weight": sample_weight}}
        weights = check_weights(sample_weight, X)
        rows, weights = self._used_rows(y, weights)
        X_used, places = X[rows].astype(np.float64), y[rows]
        two = len(self.classes_) == 2
        labels = [
            np.where(places == k, 1.0, -1.0) for k in ([1] if two else range(len(self.classes_)))
        ]
        starts = [self._start(X_used, label, weights) for label in labels]
        priors = [
            ClassificationState(point.kernel, point.bias, X_used[:1], label[:1], capacity=0)
            for point, label in zip(starts, labels)
        ]
        rounds = 0 if self.objective is None else self.rounds
        context = self._init_callback_context(max_subtasks=len(labels) * (3 * rounds + 3))
        tasks = ClassifierTasks(self, context, given, priors)
        models = []
        for k, (start, label) in enumerate(zip(starts, labels)):
            until = deadline.share(1 / (len(labels) - k))
            with numpy_threads_only():
                learnt = self._fit_two_classes(X_used, label, weights, start, rng, tasks, until)
            models.append(learnt)
            tasks.keep(learnt.state)
        tasks.finish()
        self._store(models, np.flatnonzero(rows))
        advice.warn(advice.of_classifier(self, X_used))
        return self

    def _used_rows(
        self, y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return a mask of the rows with a positive weight, and their weights, classes included."""
        if self.class_weight is not None:
            by_class = _class_weights(self.class_weight, self.classes_, y, weights)
            weights = by_class if weights is None else weights * by_class
        if weights is None:
            return np.ones(len(y), dtype=bool), None
        rows = weights > 0
        if len(np.unique(y[rows])) < len(self.classes_):
            gone = np.setdiff1d(np.arange(len(self.classes_)), y[rows])
            label = self.classes_[gone].tolist()[0]
            raise ValueError(
                f"No row of class {label!r} has a positive weight; give it one, or leave the class "
                "out of y."
            )
        weights = weights[rows]
        return rows, None if np.all(weights == 1.0) else weights

    def _start(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Point:
        """Return the hyperparameters to begin with."""
        kernel = as_kernel(self.kernel, X.shape[1])
        if kernel is None:
            kernel = starting_kernel(X, weights)
        mass = np.ones(len(y)) if weights is None else weights
        bias = starting_bias(y, mass, kernel, X) if self.bias is None else float(self.bias)
        return Point(kernel, bias)

    def _limit(self, n: int) -> int:
        """Return the most basis vectors."""
        most = LARGEST_BASIS
        if self._refines(n, LARGEST_BASIS):
            most = REFINED_BASIS
        return min(most if self.max_basis is None else self.max_basis, n)

    def _refines(self, n: int, m: int) -> bool:
        """Whether m sites of a basis among n rows will be moved together."""
        if self.refine == "auto":
            return self.objective is not None and n >= ROWS_TO_REFINE * m
        return bool(self.refine) and n > m + 1

    def _fit_two_classes(self, X, y, weights, start: Point, rng, tasks, deadline) -> Learnt:
        """Select and learn with labels +1 and -1."""
        n, limit = len(y), self._limit(len(y))
        fit = TwoClassFit(self, X, y, weights, limit, rng, tasks, deadline)
        if self.objective is None:
            model = Learnt(start, *fit.select(start), np.nan)
        else:
            model = fit.learnt(start, in_rounds=not self._refines(n, limit))
        if self._refines(n, model.state.size) and not model.broken_off:
            fit.refine(model)
        return model

    def _store(self, models: list[Learnt], used: np.ndarray) -> None:
        """Keep what predictions need, and what happened."""
        if any(model.interrupted or model.path.reason == "interrupted" for model in models):
            warnings.warn(
                "The fit was interrupted; the model is the best one seen until then.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._posteriors = [Posterior(model.state) for model in models]
        stored: dict[str, list] = {}
        for model in models:
            path = model.path.as_array()
            path["index"] = used[path["index"]]
            means, precisions = model.state.sites
            entries = {
                "basis_indices_": used[np.array(model.state.indices, dtype=np.intp)],
                "basis_": model.state.X[model.state.indices],
                "n_basis_": model.state.size,
                "site_means_": means,
                "site_precisions_": precisions,
                "bias_": model.state.bias,
                "kernel_": model.state.kernel,
                "path_": path,
                "objective_value_": model.value,
                "rounds_": model.rounds_array(),
                "stop_reason_": model.path.reason,
            }
            for name, value in entries.items():
                stored.setdefault(name, []).append(value)
        for name, values in stored.items():
            setattr(self, name, values if len(models) > 1 else values[0])
        self.n_iter_ = max(len(model.path) for model in models)


def _class_weights(class_weight, classes, y, weights) -> np.ndarray:
    """Return each row's weight by its class."""
    if class_weight == "balanced":
        used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        present = np.unique(y[used])
        each = np.zeros(len(classes))
        each[present] = compute_class_weight(
            "balanced",
            classes=present,
            y=y[used],
            sample_weight=None if weights is None else weights[used],
        )
        return each[y]
    # Not left to scikit-learn: it looks a label such as "1" up as the number 1.
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(
            f"class_weight has the class {shown(unknown[0])}, which is not in y; its classes are "
            f"{', '.join(repr(label) for label in classes.tolist())}."
        )
    each = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    if not (np.all(np.isfinite(each)) and np.all(each >= 0)):
        raise ValueError(f"class_weight must hold finite numbers from 0 on; got {class_weight!r}.")
    return each[y]
