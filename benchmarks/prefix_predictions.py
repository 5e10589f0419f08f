"""Predictions of the DTC model for every prefix of a chosen basis, from one factorisation.

A Cholesky factor of a prefix is the prefix of the factor. With ``G G' = K_uu``,
``V = G^-1 K_uf``, ``L L' = I + V V' / s2``, ``Z = L^-1 V`` and ``w = L^-1 V y / s2``, and the same
``V_*``, ``Z_*`` at the test inputs, the model of the first m basis vectors predicts

    mean = sum_{k < m} Z_*k w_k,    variance = k_** - sum_{k < m} V_*k^2 + sum_{k < m} Z_*k^2 + s2,

so all sizes together cost what the largest costs: O((n + t) m^2) for n training and t test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

JITTERS = (0.0, 1e-12, 1e-10, 1e-8)


class PrefixModel:
    """DTC models of all prefixes of a basis.

    Parameters
    ----------
    kernel : callable
        ``kernel(A, B)`` gives the matrix, ``kernel.diag(A)`` the diagonal.
    noise_variance : float
    basis : ndarray of shape (m, d)
        Basis inputs, in the order in which they were chosen.
    X, y : ndarrays of shape (n, d) and (n,)
        Training rows; the model has mean zero, so centre y before.
    """

    def __init__(
        self, kernel: Any, noise_variance: float, basis: np.ndarray, X: np.ndarray, y: np.ndarray
    ):
        self.kernel, self.noise_variance, self.basis = kernel, noise_variance, basis
        self.jitter, self.G = _factor(kernel(basis, basis))
        V = solve_triangular(self.G, kernel(basis, X), lower=True, check_finite=False)
        inner = V @ V.T / noise_variance
        inner[np.diag_indices(len(basis))] += 1.0
        self.L = cholesky(inner, lower=True, check_finite=False)
        self.w = solve_triangular(self.L, V @ y / noise_variance, lower=True)

    def predict(self, X: np.ndarray, sizes: Sequence[int]) -> Iterator[tuple[np.ndarray, ...]]:
        """Mean and standard deviation (noise included) at X for each size, increasing."""
        V = solve_triangular(self.G, self.kernel(self.basis, X), lower=True, check_finite=False)
        Z = solve_triangular(self.L, V, lower=True, check_finite=False)
        mean = np.zeros(len(X))
        variance = np.asarray(self.kernel.diag(X), dtype=float) + self.noise_variance
        start = 0
        for stop in sizes:
            step = slice(start, stop)
            mean = mean + self.w[step] @ Z[step]
            variance = variance + np.sum(Z[step] ** 2, axis=0) - np.sum(V[step] ** 2, axis=0)
            start = stop
            # Rounding can leave k_** - Q_** slightly negative where the basis explains everything.
            yield mean, np.sqrt(np.maximum(variance, 0.5 * self.noise_variance))


def prefix_metrics(
    model: PrefixModel,
    sizes: Sequence[int],
    X: np.ndarray,
    y: np.ndarray,
    measures: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]],
    tile: int = 10_000,
) -> dict[str, list[float]]:
    """Measures ``(y, mean, std) -> float`` of each prefix size, the test rows taken in tiles."""
    sizes = sorted(sizes)
    tiles = [model.predict(X[start : start + tile], sizes) for start in range(0, len(X), tile)]
    values: dict[str, list[float]] = {name: [] for name in measures}
    means = np.empty((len(sizes), len(X)))
    stds = np.empty_like(means)
    for number, predictions in enumerate(tiles):
        rows = slice(number * tile, (number + 1) * tile)
        for k, (mean, std) in enumerate(predictions):
            means[k, rows], stds[k, rows] = mean, std
    for mean, std in zip(means, stds, strict=True):
        for name, measure in measures.items():
            values[name].append(measure(y, mean, std))
    return values


def _factor(K: np.ndarray) -> tuple[float, np.ndarray]:
    """The smallest relative jitter that lets K be factored, and the factor."""
    scale = float(np.mean(np.diag(K)))
    for jitter in JITTERS:
        try:
            G = cholesky(K + jitter * scale * np.eye(len(K)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        # A squared pivot of this size is rounding: its row of V would be noise.
        if np.min(np.diag(G)) ** 2 > 1e-13 * scale:
            return jitter, G
    raise np.linalg.LinAlgError(
        f"K_uu of {len(K)} basis vectors is not positive definite with a relative jitter of "
        f"{JITTERS[-1]:g}."
    )
