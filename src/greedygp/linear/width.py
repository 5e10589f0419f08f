"""The width of a Gaussian kernel by cross-validation, where no kernel is given.

Features are scaled to unit variance and one length scale serves all of them: `factor` times the
median distance between rows. Factors on a coarse grid are tried, then the neighbours of the best
one on a grid twice as fine. Squared distances are computed once for all folds and widths. At most
`SUBSET_ROWS` random rows take part.

Narrow widths cost most, because their models are large, so wide ones are tried first. A width is
given up as soon as the folds so far have more error than all folds of the best width, which changes
nothing. The narrowest is not tried at all where the one before was worse than a wider one and half
of the largest error is explained.

Rows that are equal in inputs and target are one row with a weight, so that weights and repeated
rows choose the same width, and copies of a row never are in training and test at once. A splitter
of the user's is given the rows as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from greedygp.kernels import Gaussian
from greedygp.linear.dictionary import Dictionary
from greedygp.progress import NEVER, Deadline
from greedygp.threads import serial_blas

__all__ = ["SUBSET_ROWS", "Predictor", "WidthSearch", "feature_scales"]

SUBSET_ROWS = 1000
COARSE = (4.0, 2.0, 1.0, 0.5, 0.25)  # widths tried first, in units of the median distance
EXPLAINED = 0.5  # share of the largest error that is low enough not to look at narrower widths
SEARCH_SHARE = 0.5  # of the time: the most that is spent on the width

Predictor = Callable[[np.ndarray], np.ndarray]
Loss = Callable[..., np.ndarray]
Fit = Callable[[Dictionary, np.ndarray, Deadline], Predictor]


def feature_scales(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the standard deviation of each feature (D,); one where a feature is constant."""
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    constant = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return np.where(constant, 1.0, scale)


class WidthSearch:
    """Squared distances, folds, and the errors of the widths tried.

    Parameters
    ----------
    X, y : (N, D) and (N,) arrays
    weights : (N,) array or None
        Rows of weight zero are there for the splitter's sake only.
    cv : int, scikit-learn splitter or iterable of pairs (train, test)
    intercept : bool
    rng : numpy.random.Generator
        Chooses the rows and the folds.
    classes : bool
        Whether y are classes (the folds are then stratified).
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        cv: Any,
        intercept: bool,
        rng: np.random.Generator,
        classes: bool = False,
    ):
        self.scales = feature_scales(X, weights)
        self.intercept = intercept
        plain = np.ones(len(X)) if weights is None else weights
        if isinstance(cv, int | np.integer):
            X, y, plain = _distinct(X, y, plain)
            folds = _shuffled_folds(int(cv), y, classes, rng)
        else:
            folds = list(check_cv(cv, y, classifier=classes).split(X, y))
        rows = np.flatnonzero(plain > 0)
        if len(rows) > SUBSET_ROWS:
            rows = np.sort(rng.choice(rows, SUBSET_ROWS, replace=False))
        X, self.y, self.weights = X[rows], y[rows], plain[rows]
        place = np.full(len(plain), -1)
        place[rows] = np.arange(len(rows))
        self.folds = [(_left(place[train]), _left(place[test])) for train, test in folds]
        if classes:
            self.folds = [fold for fold in self.folds if len(np.unique(self.y[fold[0]])) > 1]
        scaled = (X - X.mean(axis=0)) / self.scales
        norms = np.sum(scaled**2, axis=1)
        self.squares = np.maximum(norms[:, None] + norms - 2.0 * scaled @ scaled.T, 0.0)
        np.fill_diagonal(self.squares, 0.0)
        self.folds = [fold for fold in self.folds if len(fold[0]) and len(fold[1])]
        apart = self.squares[np.triu_indices(len(X), 1)]
        apart = apart[apart > 0.0]
        self.unit = float(np.sqrt(np.median(apart))) if len(apart) else 1.0
        self.errors: dict[float, float] = {}

    def kernel(self, factor: float) -> Gaussian:
        """Return the kernel of a width, over features as they came."""
        return Gaussian(length_scale=(factor * self.unit * self.scales).tolist())

    def best(self, fit: Fit, loss: Loss, deadline: Deadline = NEVER) -> float:
        """Return the best factor.

        Parameters
        ----------
        fit : callable (dictionary, y, deadline) -> predictor
            The predictor is given the raw columns at test rows, (N', M).
        loss : callable (y, prediction) -> (N',) array
            Not negative.
        deadline : Deadline
            No width is tried after it. One that it cuts short does not count, unless it is the
            first.
        """
        if len(self.folds) == 0 or len(self.y) < 2:
            return 1.0
        # Many short calls, by turns of NumPy's BLAS and SciPy's: their threads would only spin.
        with serial_blas(1):
            for factor in COARSE:
                if not self._too_narrow(factor):
                    self._try(factor, fit, loss, deadline)
            best = self._lowest()
            for factor in (best / np.sqrt(2.0), best * np.sqrt(2.0)):
                self._try(float(factor), fit, loss, deadline)
        return self._lowest()

    def _lowest(self) -> float:
        """Return the widest factor of the lowest error."""
        lowest = min(self.errors.values())
        return max(f for f, error in self.errors.items() if error <= lowest * (1.0 + 1e-9))

    def _too_narrow(self, factor: float) -> bool:
        """Tell whether the last of the coarse widths need not be tried."""
        if factor != COARSE[-1] or len(self.errors) < len(COARSE) - 1:
            return False
        errors = list(self.errors.values())
        lowest = min(errors)
        return errors[-1] > errors[-2] and lowest <= EXPLAINED * max(errors)

    def _try(self, factor: float, fit: Fit, loss: Loss, deadline: Deadline) -> None:
        if self.errors and deadline.passed:
            return
        lowest = min(self.errors.values(), default=np.inf)
        K = np.exp(self.squares * (-0.5 / (factor * self.unit) ** 2))
        total = 0.0
        for train, test in self.folds:
            weights = self.weights[train]
            dictionary = Dictionary.of_matrix(
                K[np.ix_(train, train)],
                None if np.all(weights == 1.0) else weights,
                self.intercept,
            )
            predictor = fit(dictionary, self.y[train], deadline)
            losses = loss(self.y[test], predictor(K[np.ix_(test, train)]))
            total += float(self.weights[test] @ losses)
            if total > lowest * (1.0 + 1e-9):  # the folds that are left can only add to it
                break
        if not (self.errors and deadline.passed):
            self.errors[factor] = total


def _distinct(X, y, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct rows of inputs and target, and the sum of the weights of each."""
    kept = weights > 0
    X, y, weights = X[kept], y[kept], weights[kept]
    both = np.column_stack([X, y])
    _, first, place = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return X[first], y[first], np.bincount(place.ravel(), weights=weights)


def _left(places: np.ndarray) -> np.ndarray:
    return places[places >= 0]


def _shuffled_folds(n_folds, y, classes, rng) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return random folds; classes are dealt to them in turn, however few rows one has."""
    n_folds = min(n_folds, len(y))
    if n_folds < 2:
        return []
    order = rng.permutation(len(y))
    if classes:
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = np.arange(len(y)) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
