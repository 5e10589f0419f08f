"""A full GP on few rows: its factor, its evidence, and gradients from one triangle of `dF/dK`.

The evidence, as negative log marginal likelihood (NLML), with `C = K + s2 diag(1 / weight)`, is

    0.5 y'C^-1 y + 0.5 log|C| + 0.5 n log 2 pi   (summed over the columns of y),

and its contracted gradient `dF/dC = 0.5 (p C^-1 - A A')`, `A = C^-1 Y`. An evaluation costs
O(n^3). Everything is on the host in float64, so that every backend learns the same numbers.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from greedygp.cholesky import factorise
from greedygp.hyperparameters import Evaluation
from greedygp.kernels import Kernel

__all__ = ["evidence", "evidence_value", "factor_and_solve", "triangle_gradient"]

GRADIENT_BLOCK = 256  # rows whose kernel gradients are contracted together


def factor_and_solve(
    kernel: Kernel, noise_variance: float, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower Cholesky factor of `C = K + s2 diag(1 / weight)`, and `C^-1 y`."""
    C = kernel(X)
    C[np.diag_indices(len(C))] += noise_variance / (1.0 if weights is None else weights)
    L, _ = factorise(C.T, "K + noise", "Raise noise_variance.")
    return L, scipy.linalg.cho_solve((L, True), y, check_finite=False)


def evidence(
    kernel: Kernel, noise_variance: float, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> Evaluation:
    """Return the NLML of a full GP and its gradient.

    A row of weight w stands for w rows with the same input and target.
    """
    p, w = y.shape[1], np.ones(len(y)) if weights is None else weights
    L, A = factor_and_solve(kernel, noise_variance, X, y, weights)
    value = _value(L, A, noise_variance, y, w)
    inverse, _ = scipy.linalg.lapack.dpotri(L, lower=True, overwrite_c=True)
    # Only the lower triangle is computed.
    dF_dC = scipy.linalg.blas.dsyrk(-0.5, A, beta=0.5 * p, c=inverse, lower=True, overwrite_c=True)
    on_diagonal = float(np.sum(np.diagonal(dF_dC) / w)) * noise_variance
    d_noise = on_diagonal + 0.5 * p * float(np.sum(w - 1.0))
    return Evaluation(value, triangle_gradient(kernel, dF_dC, X), d_noise)


def evidence_value(
    kernel: Kernel, noise_variance: float, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> float:
    """Return the NLML of a full GP alone, in a third of the time."""
    L, A = factor_and_solve(kernel, noise_variance, X, y, weights)
    return _value(L, A, noise_variance, y, np.ones(len(y)) if weights is None else weights)


def _value(L: np.ndarray, A: np.ndarray, noise: float, y: np.ndarray, w: np.ndarray) -> float:
    """Return the NLML, given the factor of C and `A = C^-1 Y`."""
    n, p = y.shape
    copies = np.sum((w - 1.0) * np.log(2.0 * np.pi * noise) + np.log(w))
    log_det = 2.0 * np.sum(np.log(np.diagonal(L))) + n * np.log(2.0 * np.pi)
    return 0.5 * float(np.sum(y * A)) + 0.5 * p * float(log_det + copies)


def triangle_gradient(kernel: Kernel, W: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return `dF/dtheta`, given the lower triangle of the symmetric `W = dF/dK(X, X)`.

    Changes W in place; its other triangle is not read. Every pair of rows is looked at once.
    """
    n, total = len(X), np.zeros(len(kernel.theta))
    upper = W.T  # LAPACK's columns, as rows
    for start in range(0, n, GRADIENT_BLOCK):
        stop = min(start + GRADIENT_BLOCK, n)
        square = np.triu(upper[start:stop, start:stop])
        upper[start:stop, start:stop] = square + np.triu(square, 1).T
        upper[start:stop, stop:] *= 2.0
        total += kernel.gradient(upper[start:stop, start:], X[start:stop], X[start:])
    return total
