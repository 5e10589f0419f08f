"""The stages of one fit: choose the kernel, make the dictionary, select, make the model.

:class:`RegressionFit` and :class:`ClassificationFit` have the same stages. A stage leaves its
result in attributes that the next one reads, and tells the callbacks what there is so far.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.kernels.conversion import as_kernel
from greedygp.linear.algorithms import Algorithm
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.laplace import FastRVMClassification, LaplaceProblem
from greedygp.linear.posterior import LatentFunction, LinearModel, Mode, class_probabilities
from greedygp.linear.width import Predictor, WidthSearch
from greedygp.progress import FitProgress

__all__ = ["ClassificationFit", "RegressionFit", "warn_of"]

LEAST_PROBABILITY = 1e-12  # of a class that a fold did not have


@dataclass
class UsedRows:
    """The rows of positive weight, in float64."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    places: np.ndarray  # among all rows

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> UsedRows:
        """Return the data without the rows of weight zero."""
        used = np.arange(len(X)) if weights is None else np.flatnonzero(weights > 0)
        X = np.ascontiguousarray(X[used], dtype=np.float64)
        return cls(X, y[used], None if weights is None else weights[used], used)

    def dictionary(
        self, kernel: Kernel | None, weights: np.ndarray | None, intercept: bool
    ) -> Dictionary:
        """Return the candidates: the kernel at the rows, or the columns of X."""
        if kernel is None:
            return Dictionary.of_matrix(self.X, weights, intercept)
        return Dictionary.of_kernel(kernel, self.X, weights, intercept)


class LinearFit:
    """What the fits of regressors and of the classifier share.

    Parameters
    ----------
    algorithm : Algorithm or FastRVMClassification
    X : (n, D) array
    y : (n,) array
        Targets in float64, or classes as numbers from zero.
    weights : (n,) array or None
    intercept : bool
    rng : numpy.random.Generator
    progress : FitProgress
    """

    has_classes: bool
    kernel: Kernel | None  # None: the columns of X are the candidates

    def __init__(
        self,
        algorithm: Any,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        *,
        intercept: bool,
        rng: np.random.Generator,
        progress: FitProgress,
    ):
        self.algorithm = algorithm
        self.X, self.y, self.weights = X, y, weights
        self.rows = UsedRows.of(X, y, weights)
        self.intercept, self.rng, self.progress = intercept, rng, progress

    def choose_kernel(self, given: Any, cv: Any) -> None:
        """Take the kernel that was given, or a Gaussian whose width cross-validation chooses."""
        if isinstance(given, str):  # "precomputed"
            self.kernel = None
        elif given is not None:
            self.kernel = as_kernel(given, self.X.shape[1])
        else:
            self.kernel = self._kernel_by_cross_validation(cv)

    def _kernel_by_cross_validation(self, cv: Any) -> Kernel:
        search = WidthSearch(
            self.X.astype(np.float64, copy=False),
            self.y,
            self.weights,
            cv,
            self.intercept,
            self.rng,
            self.has_classes,
        )
        algorithm = self.algorithm.coarser()
        rng = np.random.default_rng(int(self.rng.integers(2**31)))

        def predictor(dictionary: Dictionary, y: np.ndarray) -> Predictor:
            return self._predictor(algorithm, dictionary, y, rng)

        return search.kernel(search.best(predictor, self._loss))

    def _predictor(
        self, algorithm: Any, dictionary: Dictionary, y: np.ndarray, rng: np.random.Generator
    ) -> Predictor:
        """Fit the training rows of a fold, and return what predicts from the raw columns."""
        raise NotImplementedError

    def _loss(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """Return the loss of each test row of a fold."""
        raise NotImplementedError

    def original_places(self, indices: Any) -> np.ndarray:
        """Return candidates as numbers of training rows, or of columns of X."""
        indices = np.asarray(indices, dtype=np.intp)
        return indices if self.kernel is None else self.rows.places[indices]

    def path_array(self, path: Path) -> np.ndarray:
        """Return a path as an array, with numbers of training rows, or of columns of X."""
        array = path.as_array()
        array["index"] = self.original_places(array["index"])
        return array


class RegressionFit(LinearFit):
    """A regressor's fit; it ends with a `selection`, its `path` and the `model`.

    Parameters as :class:`LinearFit`.
    """

    algorithm: Algorithm
    has_classes = False

    def _predictor(self, algorithm, dictionary, y, rng) -> Predictor:
        t, mean = dictionary.centred(y)
        selection = algorithm.start(dictionary, t, rng)
        algorithm.run(selection)
        return LinearModel(selection.solution(), dictionary, mean, None, None).mean

    def _loss(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return (y - prediction) ** 2

    def select(self) -> None:
        """Choose basis functions, and make the model."""
        rows = self.rows
        self.dictionary = rows.dictionary(self.kernel, rows.weights, self.intercept)
        t, self.target_mean = self.dictionary.centred(rows.y)
        self.selection = self.algorithm.start(self.dictionary, t, self.rng)
        self.progress.model = lambda: {"_model": self._model_so_far()}
        self.path = self.algorithm.run(self.selection, self._watch)
        self.model = self._model_so_far()
        self.progress.model = lambda: {"_model": self.model}

    def _watch(self, path: Path) -> bool:
        return self.progress.step(path.steps[-1][0])

    def _model_so_far(self) -> LinearModel:
        solution = self.selection.solution()
        basis = None if self.kernel is None else self.rows.X[solution.chosen]
        return LinearModel(solution, self.dictionary, self.target_mean, self.kernel, basis)


class ClassificationFit(LinearFit):
    """The classifier's fit; it ends with the `modes` and `paths` of its machines.

    There is one machine for two classes, and else one for each class against the rest. Parameters
    as :class:`LinearFit`.
    """

    algorithm: FastRVMClassification
    has_classes = True

    def __init__(self, algorithm: FastRVMClassification, X, y, weights, **options: Any):
        super().__init__(algorithm, X, y, weights, **options)
        self.n_classes = int(np.max(self.rows.y)) + 1
        self.modes: list[Mode] = []
        self.paths: list[Path] = []

    def _predictor(self, algorithm, dictionary, y, rng) -> Predictor:
        present, labels = np.unique(y, return_inverse=True)
        columns = dictionary.reweighted(np.ones(len(y)), False)
        latent = []
        for label in _machines_of(len(present)):
            problem = self._problem(columns, labels == label, dictionary.weights)
            selection = algorithm.start(problem, rng)
            algorithm.run(selection)
            latent.append(LatentFunction(selection.best, None, None))

        def probabilities(functions: np.ndarray) -> np.ndarray:
            result = np.full((len(functions), self.n_classes), LEAST_PROBABILITY)
            result[:, present] = class_probabilities(latent, functions)
            return result

        return probabilities

    def _loss(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return -np.log(np.maximum(prediction[np.arange(len(y)), y], LEAST_PROBABILITY))

    def _problem(
        self, columns: Dictionary, is_class: np.ndarray, weights: np.ndarray
    ) -> LaplaceProblem:
        return LaplaceProblem(columns, is_class.astype(np.float64), weights, self.intercept)

    def select(self) -> None:
        """Choose the basis functions of one machine after the other."""
        rows = self.rows
        ones = np.ones(len(rows.X))
        weights = ones if rows.weights is None else rows.weights
        columns = rows.dictionary(self.kernel, ones, False)
        for label in _machines_of(self.n_classes):
            self._select_one(self._problem(columns, rows.y == label, weights))
        self.latent = self._latent_functions(self.modes)
        self.progress.model = lambda: {"_machines_": self.latent}

    def _select_one(self, problem: LaplaceProblem) -> None:
        selection = self.algorithm.start(problem, self.rng)
        self.progress.model = lambda: {
            "_machines_": self._latent_functions([*self.modes, selection.mode])
        }
        path = self.algorithm.run(selection, lambda _: self._watch(selection.actions))
        self.modes.append(selection.best)
        self.paths.append(path)

    def _watch(self, actions: Path) -> bool:
        return bool(actions.steps) and self.progress.step("renewal")

    def _latent_functions(self, modes: list[Mode]) -> list[LatentFunction]:
        return [LatentFunction(mode, self.kernel, self.rows.X) for mode in modes]

    @property
    def reason(self) -> str:
        """What ended the first machine that did not come to rest; else "converged"."""
        others = [path.reason for path in self.paths if path.reason != "converged"]
        return others[0] if others else "converged"


def _machines_of(n_classes: int) -> list[int]:
    """Return the classes that have a machine."""
    return [1] if n_classes == 2 else list(range(n_classes))


def warn_of(reason: str, kernel: Kernel | None, max_iter: int | None) -> None:
    """Warn where the loop did not come to rest; to be called by `fit` itself."""
    if reason == "max_iter":
        message = f"No convergence in max_iter={max_iter} actions; raise max_iter or tol."
    elif reason == "interrupted":
        message = "The fit was interrupted; the model is what had been reached."
    elif reason == "ill_conditioned":
        width = None if kernel is None else kernel.length_scales(kernel.n_features or 1)
        if width is None:
            cause = "the columns of the design matrix are nearly dependent: drop or rescale some"
        else:
            shown = np.array2string(np.squeeze(width), precision=3, threshold=6)
            cause = f"the kernel is wide for these data, length_scale={shown}: make it smaller"
        message = (
            "The fit stopped where rounding errors took over, with the last model that could be "
            f"trusted; {cause}."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
