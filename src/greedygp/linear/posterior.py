"""What predictions of a sparse linear model need: basis functions, weights, their covariance.

A regressor has a :class:`LinearModel`. A classifier has a :class:`LatentFunction` for each class
against the rest, or one for two classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from greedygp.kernels import Kernel
from greedygp.linear.dictionary import Dictionary

__all__ = [
    "CalibratedMode",
    "LatentFunction",
    "LinearModel",
    "Mode",
    "Solution",
    "class_probabilities",
]

TILE_ENTRIES = 2**22


@dataclass
class Solution:
    """What an algorithm found for a regressor.

    `inverse` is `(Phi'Phi + diag(zeta))^-1` in the order of `chosen`, or None where the model is
    not probabilistic.
    """

    chosen: list[int]
    w: np.ndarray
    inverse: np.ndarray | None = None
    noise_variance: float = 0.0


@dataclass
class Mode:
    """What an algorithm found for a classifier: a Gaussian at the mode of the posterior."""

    chosen: list[int]
    alpha: np.ndarray
    w: np.ndarray
    intercept: float
    log_evidence: float
    covariance: np.ndarray  # of the weights, then of the intercept where there is one


@dataclass
class CalibratedMode(Mode):
    """Weights of a regression on labels, with the calibration in them; no covariance is known."""

    gcv: float = np.nan


def _basis_functions(
    X: np.ndarray, kernel: Kernel | None, basis: np.ndarray | None, columns: Any
) -> np.ndarray:
    """Return the basis functions at X, (N', m): the kernel at `basis`, or columns of X."""
    X = X.astype(np.float64, copy=False)
    if kernel is None:
        return X[:, columns]
    return np.asarray(kernel(X, basis)) if len(columns) else np.empty((len(X), 0))


class LinearModel:
    """Weights of basis functions, and error bars.

    Parameters
    ----------
    solution : Solution
    dictionary : Dictionary
    target_mean : float
        What was taken off the target.
    kernel : Kernel or None
        None: the basis functions are columns of the inputs.
    basis : (m, D) array or None
        Inputs of the chosen functions.
    """

    def __init__(
        self,
        solution: Solution,
        dictionary: Dictionary,
        target_mean: float,
        kernel: Kernel | None,
        basis: np.ndarray | None,
    ):
        self.kernel, self.basis = kernel, basis
        self.columns = np.array(solution.chosen, dtype=np.intp)
        self.coef = np.array(solution.w, dtype=np.float64)
        self.means = dictionary.means[self.columns]
        self.intercept = target_mean - float(self.coef @ self.means)
        self.noise_variance = solution.noise_variance
        self.inverse = solution.inverse
        # the variance of an intercept with a flat prior, in units of the noise
        self.of_intercept = 1.0 / dictionary.total if dictionary.intercept else 0.0

    def functions(self, X: np.ndarray) -> np.ndarray:
        """Return the basis functions at X, (N', m)."""
        return _basis_functions(X, self.kernel, self.basis, self.columns)

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the mean at X, (N',)."""
        mean = np.full(len(X), self.intercept)
        for rows in self._tiles(len(X)):
            mean[rows] += self.functions(X[rows]) @ self.coef
        return mean

    def variance(self, X: np.ndarray) -> np.ndarray:
        """Return the variance of the latent function at X, (N',), without noise."""
        assert self.inverse is not None
        variance = np.full(len(X), self.of_intercept)
        for rows in self._tiles(len(X)):
            functions = self.functions(X[rows])
            if self.of_intercept:
                functions = functions - self.means
            variance[rows] += np.einsum("ij,ij->i", functions @ self.inverse, functions)
        return self.noise_variance * np.maximum(variance, 0.0)

    def _tiles(self, n: int):
        step = max(1, TILE_ENTRIES // max(1, len(self.columns)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))


class LatentFunction:
    """The latent function of one class against the rest.

    Parameters
    ----------
    mode : Mode
    kernel : Kernel or None
        None: the basis functions are columns of the inputs.
    X : (n, D) array or None
        The inputs among which the mode has chosen.
    """

    def __init__(self, mode: Mode, kernel: Kernel | None, X: np.ndarray | None):
        self.mode, self.kernel = mode, kernel
        self.basis = None if kernel is None or X is None else X[mode.chosen]

    def log_odds(self, X: np.ndarray) -> np.ndarray:
        """Return those of the sigmoid averaged over the posterior (MacKay's approximation)."""
        functions = _basis_functions(X, self.kernel, self.basis, self.mode.chosen)
        mean = functions @ self.mode.w + self.mode.intercept
        if len(self.mode.covariance) > functions.shape[1]:
            functions = np.column_stack([functions, np.ones(len(functions))])
        variance = np.einsum("ij,ij->i", functions @ self.mode.covariance, functions)
        return mean / np.sqrt(1.0 + np.pi / 8.0 * np.maximum(variance, 0.0))


def class_probabilities(latent: list[LatentFunction], X: np.ndarray) -> np.ndarray:
    """Return the probability of each class, (N', n_classes)."""
    chances = np.column_stack([expit(function.log_odds(X)) for function in latent])
    if len(latent) == 1:
        return np.column_stack([1.0 - chances, chances])
    chances = np.maximum(chances, 1e-300)
    return chances / np.sum(chances, axis=1, keepdims=True)
