"""Hyperparameters as the papers fix them: the evidence of a full GP on a random subset.

Kernel ``variance * exp(-0.5 sum_k ((a_k - b_k) / length_scale_k)^2) [+ bias]`` with noise
``noise_variance``. The negative log evidence is minimised over the logarithms by L-BFGS-B, from
two starts, the better of which after a few steps is followed to the end. Plain NumPy, so that the
numbers of a suite do not move with the library under test.

With ``W = K^-1 - a a'``, ``a = K^-1 y``, the gradient is ``0.5 sum(W * dK)``; for the length
scales the sum over pairs is contracted to products with the inputs, O(n^2 d), no n x n x d array.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

# Natural logarithms of bounds, for standardised inputs and targets.
_BOUNDS = {"variance": (-7.0, 9.0), "length": (-4.0, 7.0), "noise": (-14.0, 3.0)}

FIRST_STEPS = 15


@dataclass(frozen=True)
class Hyperparameters:
    """Of an ARD Gaussian kernel, with a bias where the paper has one."""

    variance: float
    length_scale: list[float]
    noise_variance: float
    bias: float | None
    negative_log_evidence: float
    n_rows: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def kernel(self) -> Any:
        """The kernel in greedygp's terms."""
        from greedygp.kernels import Constant, Gaussian

        gaussian = Gaussian(variance=self.variance, length_scale=self.length_scale)
        return gaussian if self.bias is None else gaussian + Constant(self.bias)


def full_gp_on_subset(
    X: np.ndarray, y: np.ndarray, n_rows: int, seed: int, *, bias: bool = False, max_iter: int = 200
) -> Hyperparameters:
    """Maximise the evidence of a full GP on ``n_rows`` random rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised inputs.
    y : ndarray of shape (n,)
        Standardised target.
    n_rows : int
        Rows to use; all when there are no more than this.
    seed : int
        Seed of the subset.
    bias : bool
        Whether the kernel has a constant term.
    max_iter : int
        Iterations of the optimiser, after the few that choose the start.

    Returns
    -------
    Hyperparameters
    """
    n, d = X.shape
    rows = np.random.default_rng(seed).permutation(n)[:n_rows]
    X, y = X[rows], y[rows]
    limits = [_BOUNDS["variance"], *[_BOUNDS["length"]] * d, _BOUNDS["noise"]]
    limits += [_BOUNDS["variance"]] * bias

    def search(start: np.ndarray, steps: int) -> Any:
        return minimize(
            _negative_log_evidence,
            start,
            args=(X, y),
            jac=True,
            bounds=limits,
            method="L-BFGS-B",
            options={"maxiter": steps, "ftol": 1e-7},
        )

    starts = [
        np.log(np.array([1.0, *[length] * d, noise, *[1.0] * bias]))
        for length, noise in ((np.sqrt(d), 0.1), (2 * np.sqrt(d), 0.5))
    ]
    first = min((search(start, FIRST_STEPS) for start in starts), key=lambda found: found.fun)
    best = search(first.x, max_iter)
    value = np.exp(best.x)
    return Hyperparameters(
        variance=float(value[0]),
        length_scale=[float(v) for v in value[1 : d + 1]],
        noise_variance=float(value[d + 1]),
        bias=float(value[d + 2]) if bias else None,
        negative_log_evidence=float(best.fun),
        n_rows=len(rows),
    )


def _negative_log_evidence(
    theta: np.ndarray, X: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Value and gradient in the logarithms of (variance, length scales, noise[, bias])."""
    n, d = X.shape
    variance, noise = np.exp(theta[0]), np.exp(theta[d + 1])
    bias = np.exp(theta[d + 2]) if len(theta) > d + 2 else 0.0
    scaled = X / np.exp(theta[1 : d + 1])
    square = np.sum(scaled**2, axis=1)
    gaussian = scaled @ scaled.T
    gaussian -= 0.5 * square[:, None]
    gaussian -= 0.5 * square
    np.minimum(gaussian, 0.0, out=gaussian)
    np.exp(gaussian, out=gaussian)
    gaussian *= variance
    K = gaussian + bias
    K[np.diag_indices(n)] += noise + 1e-10 * variance
    try:
        L = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(theta)
    a = cho_solve((L, True), y, check_finite=False)
    value = 0.5 * y @ a + np.sum(np.log(np.diag(L))) + 0.5 * n * np.log(2 * np.pi)
    inverse, _ = dpotri(L, lower=True)
    W = np.tril(inverse)
    W += np.tril(inverse, -1).T
    W -= np.outer(a, a)
    gradient = np.empty_like(theta)
    gradient[d + 1] = 0.5 * noise * np.trace(W)
    if len(theta) > d + 2:
        gradient[d + 2] = 0.5 * bias * np.sum(W)
    W *= gaussian
    gradient[0] = 0.5 * np.sum(W)
    # sum_ij W_ij (a_i - a_j)^2 = 2 (sum_i r_i a_i^2 - a'Wa), r the row sums, for each feature.
    gradient[1 : d + 1] = W.sum(axis=1) @ scaled**2 - np.sum(scaled * (W @ scaled), axis=0)
    return float(value), gradient
