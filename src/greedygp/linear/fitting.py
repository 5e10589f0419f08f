"""The stages of one fit: choose the kernel, make the dictionary, select, make the model.

:class:`RegressionFit` and :class:`ClassificationFit` have the same stages. A stage leaves its
result in attributes that the next one reads, and tells the callbacks what there is so far.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from greedygp.greedy import Path
from greedygp.kernels import Kernel
from greedygp.kernels.conversion import as_kernel
from greedygp.linear.algorithms import Algorithm, ClassificationAlgorithm
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.posterior import LatentFunction, LinearModel, Mode, class_probabilities
from greedygp.linear.width import SEARCH_SHARE, Predictor, WidthSearch
from greedygp.progress import NEVER, Deadline, FitProgress
from greedygp.threads import numpy_threads_only, serial_blas

__all__ = ["ClassificationFit", "RegressionFit", "warn_of"]

SERIAL_ENTRIES = 2000**2  # of a dictionary; an action's products are shorter than it takes to share
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
    algorithm : Algorithm or ClassificationAlgorithm
    X : (n, D) array
    y : (n,) array
        Targets in float64, or classes as numbers from zero.
    weights : (n,) array or None
    intercept : bool
    rng : numpy.random.Generator
    progress : FitProgress
    deadline : Deadline
        When to end with what there is.
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
        deadline: Deadline = NEVER,
    ):
        self.algorithm = algorithm
        self.X, self.y, self.weights = X, y, weights
        self.rows = UsedRows.of(X, y, weights)
        self.intercept, self.rng, self.progress = intercept, rng, progress
        self.deadline = deadline

    def choose_kernel(self, given: Any, cv: Any, names: Any = None) -> None:
        """Take the kernel that was given, or a Gaussian whose width cross-validation chooses.

        `names` are those of the columns, where they have some.
        """
        if isinstance(given, str):  # "precomputed"
            self.kernel = None
        elif given is not None:
            self.kernel = as_kernel(given, self.X.shape[1], names)
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

        def predictor(dictionary: Dictionary, y: np.ndarray, until: Deadline) -> Predictor:
            return self._predictor(algorithm, dictionary, y, rng, until)

        until = self.deadline.share(SEARCH_SHARE)
        return search.kernel(search.best(predictor, self._loss, until))

    def _predictor(
        self,
        algorithm: Any,
        dictionary: Dictionary,
        y: np.ndarray,
        rng: np.random.Generator,
        until: Deadline,
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

    def _predictor(self, algorithm, dictionary, y, rng, until) -> Predictor:
        t, mean = dictionary.centred(y)
        selection = algorithm.start(dictionary, t, rng)
        _run_or_raise(algorithm, selection, until)
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
        with _blas_for(self.dictionary):
            self.path = self.algorithm.run(self.selection, self._watch, self.deadline)
        if self.interrupted and len(self.path) == 0:
            raise KeyboardInterrupt
        self.model = self._model_so_far()
        self.progress.model = lambda: {"_model": self.model}

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the selection."""
        return self.path.reason == "interrupted"

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

    algorithm: ClassificationAlgorithm
    has_classes = True

    def __init__(self, algorithm: ClassificationAlgorithm, X, y, weights, **options):
        super().__init__(algorithm, X, y, weights, **options)
        self.n_classes = int(np.max(self.rows.y)) + 1
        self.modes: list[Mode] = []
        self.paths: list[Path] = []

    def _predictor(self, algorithm, dictionary, y, rng, until) -> Predictor:
        present, labels = np.unique(y, return_inverse=True)
        columns = dictionary.reweighted(np.ones(len(y)), False)
        latent = []
        for label in _machines_of(len(present)):
            problem = self._problem(columns, labels == label, dictionary.weights)
            selection = algorithm.start(problem, rng)
            _run_or_raise(algorithm, selection, until)
            latent.append(LatentFunction(selection.best, None, None))

        def probabilities(functions: np.ndarray) -> np.ndarray:
            result = np.full((len(functions), self.n_classes), LEAST_PROBABILITY)
            result[:, present] = class_probabilities(latent, functions)
            return result

        return probabilities

    def _loss(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return -np.log(np.maximum(prediction[np.arange(len(y)), y], LEAST_PROBABILITY))

    def _problem(self, columns: Dictionary, is_class: np.ndarray, weights: np.ndarray) -> Any:
        labels = is_class.astype(np.float64)
        return self.algorithm.problem(columns, labels, weights, self.intercept)

    def select(self) -> None:
        """Choose the basis functions of one machine after the other."""
        rows = self.rows
        ones = np.ones(len(rows.X))
        weights = ones if rows.weights is None else rows.weights
        self.columns = columns = rows.dictionary(self.kernel, ones, False)
        labels = _machines_of(self.n_classes)
        for place, label in enumerate(labels):
            problem = self._problem(columns, rows.y == label, weights)
            self._select_one(problem, share=1 / (len(labels) - place))
        if self.interrupted and not any(len(path) for path in self.paths):
            raise KeyboardInterrupt
        self.latent = self._latent_functions(self.modes)
        self.progress.model = lambda: {"_machines_": self.latent}

    def _select_one(self, problem: Any, share: float) -> None:
        """Choose the functions of one machine, in a share of the time that is left."""
        selection = self.algorithm.start(problem, self.rng)
        self.progress.model = lambda: {
            "_machines_": self._latent_functions([*self.modes, selection.mode])
        }
        if self.interrupted:  # what is left of the classes is predicted by their shares
            path = Path(selection.fields, reason="interrupted")
        else:
            with _blas_for(self.columns):
                path = self.algorithm.run(
                    selection, lambda _: self._watch(selection.actions), self.deadline.share(share)
                )
        self.modes.append(selection.best)
        self.paths.append(path)

    def _watch(self, actions: Path) -> bool:
        if not actions.steps:
            return False
        return self.progress.step(self.algorithm.step_name or actions.steps[-1][0])

    def _latent_functions(self, modes: list[Mode]) -> list[LatentFunction]:
        return [LatentFunction(mode, self.kernel, self.rows.X) for mode in modes]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the selection of some machine."""
        return any(path.reason == "interrupted" for path in self.paths)

    @property
    def reason(self) -> str:
        """What ended the first machine that did not come to rest; else "converged"."""
        others = [path.reason for path in self.paths if path.reason != "converged"]
        return others[0] if others else "converged"


def _run_or_raise(algorithm: Any, selection: Any, until: Deadline) -> None:
    """Fit a model that is only tried; Ctrl-C leaves nothing that is worth keeping."""
    if algorithm.run(selection, deadline=until).reason == "interrupted":
        raise KeyboardInterrupt


def _blas_for(dictionary: Dictionary) -> AbstractContextManager[None]:
    """Return what holds BLAS to one thread where a product is too short for two."""
    short = dictionary.n_rows * dictionary.n_columns <= SERIAL_ENTRIES
    return serial_blas(1) if short else numpy_threads_only()


def _machines_of(n_classes: int) -> list[int]:
    """Return the classes that have a machine."""
    return [1] if n_classes == 2 else list(range(n_classes))


def warn_of(reason: str, kernel: Kernel | None, max_iter: int | None, n_features: int) -> None:
    """Warn where the loop did not come to rest; to be called by `fit` itself."""
    if reason == "max_iter":
        message = f"No convergence in max_iter={max_iter} actions; raise max_iter or tol."
    elif reason == "ill_conditioned":
        width = None if kernel is None else kernel.length_scales(n_features)
        if width is None:
            cause = "the columns of the design matrix are nearly dependent: drop or rescale some"
        else:
            width = np.unique(width) if np.ptp(width) == 0 else width
            shown = np.array2string(np.squeeze(width), precision=3, threshold=6)
            cause = f"the kernel is wide for these data, length_scale={shown}: make it smaller"
        message = (
            "The fit stopped where rounding errors took over, with the last model that could be "
            f"trusted; {cause}."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
