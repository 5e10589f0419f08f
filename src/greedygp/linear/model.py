"""What predictions of a sparse linear model need: basis functions, weights, their covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.kernels import Kernel
from greedygp.linear.dictionary import Dictionary

__all__ = ["LinearModel", "Solution"]

TILE_ENTRIES = 2**22


@dataclass
class Solution:
    """What an algorithm found.

    `inverse` is `(Phi'Phi + diag(zeta))^-1` in the order of `chosen`, or None where the model is
    not probabilistic.
    """

    chosen: list[int]
    w: np.ndarray
    inverse: np.ndarray | None = None
    noise_variance: float = 0.0


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
        X = X.astype(np.float64, copy=False)
        if self.kernel is None:
            return X[:, self.columns]
        if not len(self.columns):
            return np.empty((len(X), 0))
        return np.asarray(self.kernel(X, self.basis))

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
