"""`SparseGPClassifier`: validates, assembles the parts, stores the result. No algebra here."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state

from greedygp import advice
from greedygp.classification.fitting import ClassifierFit
from greedygp.classification.learning import LearntClassifier
from greedygp.classification.parameters import check_parameters
from greedygp.classification.probabilities import ProbabilityMixin
from greedygp.classification.sampled import Sample
from greedygp.classification.weights import used_rows
from greedygp.exceptions import FitInterrupted
from greedygp.inputs import HolesMixin
from greedygp.kernels import Kernel
from greedygp.progress import Deadline, FitProgress
from greedygp.rows import RowStore
from greedygp.validation import (
    check_brings_targets,
    check_classification_data,
    check_store,
    check_weights,
)
from greedygp.versions import CallbackSupportMixin, with_callbacks

__all__ = ["SparseGPClassifier"]


class SparseGPClassifier(
    HolesMixin, ProbabilityMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
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
    criterion : {"auto", "adaptive", "validation", "entropy", "info_gain", "random", "violated"}
        How the next basis vector is chosen: candidates drawn by their predicted chance of error
        and judged by the loss over all rows; random candidates judged by the loss over the rows
        outside the basis; the row that lowers the entropy most (informative vector machine); the
        row of the largest information gain; any row; the row whose class is predicted with the
        least probability, which noisy rows mislead. "auto": "adaptive"; where the basis may be a
        quarter of the rows or more "entropy" too, and the basis with the lower leave-one-out loss
        is kept; "entropy" alone where it is all rows, and only their order is open. With `patience`
        or optimised sites it is always "adaptive".
    working_set : int or None
        Candidates per step; None: 2 for `adaptive`, 59 for `validation`, 1 for `random` (with
        more, it is `validation`). Without effect for `entropy`, `info_gain` and `violated`, which
        score every row.
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
        Whether all sites, with the kernel and bias that are learnt, are moved in the end to lower
        the predictive loss of the rows outside the basis. A fifth of those rows is held out to end
        it in time. "auto": where there are at least five rows for a basis vector and `objective` is
        not None.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied into `sample_weight`.
    missing : {"error", "indicator"}
        What becomes of missing values and words in X. "indicator": a missing number becomes the
        median of its column, and a feature marks it; words and pandas' categoricals become a
        feature per word.
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
        One line per step of the selection that was kept; `value` is the leave-one-out NLP after it:
        the mean of `-log` probability over all rows, those of the basis without their own sites.
        `score` is what the row was chosen by.
    objective_value_ : float
        The objective of the model, with the share of the default kernel's prior: after rounds, on
        all rows; without, that of the start, on at most 500. Where the sites were refined, the loss
        of the rows held out. NaN where nothing was learnt.
    rounds_ : structured array with the fields n_basis, value_before, value, n_iter, seconds
        One line for each round of learning.
    trace_ : structured array with the fields round, iteration, value
        The objective at the start of each round and after each of its iterations.
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
        missing: str = "error",
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
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose a basis and fit.

        Parameters
        ----------
        X : (n, D) array-like
            Or a :class:`~greedygp.RowSource` or :class:`~greedygp.DaskRows`, which have targets and
            weights, too: at most 100,000 random rows of it are learnt from.
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
        sample = None
        if isinstance(X, RowStore):
            check_brings_targets(X, y, sample_weight)
            sample, store = Sample(X, rng), X
            X, y, sample_weight = sample.X, sample.y, sample.weights
        X, y, self.classes_ = check_classification_data(self, X, y)
        if sample is not None:
            check_store(self, store)  # the features' names
        given = {"X": X, "y": self.classes_[y], "metadata": {"sample_weight": sample_weight}}
        weights = check_weights(sample_weight, X)
        used, weights = used_rows(self.class_weight, self.classes_, y, weights)
        X_used = X[used].astype(np.float64)
        fit = ClassifierFit(self, X_used, y[used], weights, rng, deadline)
        progress = FitProgress(self, given, fit.max_stages)
        models = fit.run(progress)
        progress.end(lambda: {"_posteriors": fit.posteriors})
        self._posteriors = fit.posteriors
        places = np.flatnonzero(used)
        self._store(models, places if sample is None else sample.places[places])
        if any(model.was_interrupted for model in models):
            raise FitInterrupted(type(self).__name__)
        advice.warn(advice.of_classifier(self, X_used))
        return self

    def _store(self, models: list[LearntClassifier], used: np.ndarray) -> None:
        """Keep what happened; `used` are the places of the rows that had a part."""
        each = [_attributes(model, used) for model in models]
        for name in each[0]:
            values = [attributes[name] for attributes in each]
            setattr(self, name, values if len(models) > 1 else values[0])
        self.n_iter_ = max(len(model.selected.path) for model in models)


def _attributes(model: LearntClassifier, used: np.ndarray) -> dict[str, Any]:
    """Return what the estimator shows of the model of one class."""
    state, path = model.selected.state, model.selected.path.as_array()
    path["index"] = used[path["index"]]
    means, precisions = state.sites
    return {
        "basis_indices_": used[np.array(state.indices, dtype=np.intp)],
        "basis_": state.X[state.indices],
        "n_basis_": state.size,
        "site_means_": means,
        "site_precisions_": precisions,
        "bias_": state.bias,
        "kernel_": state.kernel,
        "path_": path,
        "objective_value_": model.value,
        "rounds_": model.rounds_array(),
        "trace_": model.trace_array(),
        "stop_reason_": model.selected.path.reason,
    }
