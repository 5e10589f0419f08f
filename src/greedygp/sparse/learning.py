"""Hyperparameters by the evidence of a full GP on a random subset of the rows.

The negative log marginal likelihood of a full GP with C = K + s2 diag(1 / weight),

    0.5 y'C^-1 y + 0.5 log|C| + 0.5 n log 2 pi   (summed over the columns of y),

is minimised over the logarithms of the kernel's free parameters and of the noise variance by
L-BFGS, with the contracted gradient `dF/dC = 0.5 (p C^-1 - A A')`, `A = C^-1 Y`. The cost is
O(n^3) for an evaluation, so n is a few hundred; everything is on the host in float64, so that
every backend learns the same numbers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from greedygp.cholesky import factorise
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.kernels import Gaussian, Kernel

__all__ = ["Hyperparameters", "default_kernel", "evidence", "subset_evidence"]

SUBSET_ROWS = 500
REACH = 1e4  # the largest factor between a parameter's start and where it may go
NOISE_BOUNDS = (1e-6, 1e1)  # relative to the variance of y


@dataclass
class Hyperparameters:
    """What was learnt: the kernel, the noise variance, the objective there, iterations used."""

    kernel: Kernel
    noise_variance: float
    value: float
    n_iter: int
    converged: bool


def default_kernel(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Gaussian:
    """Return an ARD Gaussian scaled to the data.

    Parameters
    ----------
    X : (n, D) array
    y : (n, p) array
    weights : (n,) array or None
    """
    spread = np.sqrt(_variances(X, weights))
    rounding = 8.0 * np.finfo(np.float64).eps * np.max(np.abs(X), axis=0)
    spread[spread <= np.maximum(rounding, 1e-300)] = 1.0
    length_scale = spread * np.sqrt(X.shape[1])
    square = float(np.mean(np.average(y**2, axis=0, weights=weights)))  # the prior mean is zero
    return Gaussian(variance=square if square > 1e-300 else 1.0, length_scale=length_scale)


def _variances(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    centred = columns - np.average(columns, axis=0, weights=weights)
    return np.average(centred**2, axis=0, weights=weights)


def _mean_variance(y: np.ndarray, weights: np.ndarray | None) -> float:
    variance = float(np.mean(_variances(y, weights)))
    return variance if variance > 1e-300 else 1.0


def evidence(
    kernel: Kernel, noise_variance: float, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[float, np.ndarray, float]:
    """Return the NLML of a full GP, its gradient in the kernel's theta and in log(noise).

    A row of weight w stands for w rows with the same input and target.
    """
    n, p = y.shape
    w = np.ones(n) if weights is None else weights
    C = kernel(X)
    C[np.diag_indices(n)] += noise_variance / w
    L, _ = factorise(C, "K + noise", "Raise noise_variance.")
    A = scipy.linalg.cho_solve((L, True), y, check_finite=False)
    copies = np.sum((w - 1.0) * np.log(2.0 * np.pi * noise_variance) + np.log(w))
    log_det = 2.0 * np.sum(np.log(np.diagonal(L))) + n * np.log(2.0 * np.pi)
    value = 0.5 * float(np.sum(y * A)) + 0.5 * p * float(log_det + copies)
    inverse, _ = scipy.linalg.lapack.dpotri(L, lower=True, overwrite_c=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    dF_dC = 0.5 * (p * inverse - A @ A.T)
    on_diagonal = float(np.sum(np.diagonal(dF_dC) / w)) * noise_variance
    d_noise = on_diagonal + 0.5 * p * float(np.sum(w - 1.0))
    return value, kernel.gradient(dF_dC, X), d_noise


def subset_evidence(
    kernel: Kernel | None,
    noise_variance: float | None,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    n_rows: int = SUBSET_ROWS,
    max_iter: int = 100,
    learn_kernel: bool = True,
    deadline: float | None = None,
    random_state: np.random.Generator | int | None = None,
) -> Hyperparameters:
    """Learn hyperparameters by the evidence of a full GP on at most `n_rows` random rows.

    Parameters
    ----------
    kernel : Kernel or None
        The start; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed; None: learnt.
    X, y : (n, D) and (n, p) or (n,) arrays
    weights : (n,) array, optional
    n_rows, max_iter : int
    learn_kernel : bool
        False: only the noise is learnt.
    deadline : float or None
        Value of `time.perf_counter()` at which to stop.
    random_state : Generator, int or None
        Chooses the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.sparse.learning import subset_evidence
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> learnt = subset_evidence(None, None, X, np.sin(X[:, 0]), random_state=0)
    >>> learnt.noise_variance < 1e-3
    True
    """
    y = y[:, None] if y.ndim == 1 else y
    kernel = default_kernel(X, y, weights) if kernel is None else kernel
    if X.shape[0] > n_rows:
        rows = np.sort(np.random.default_rng(random_state).choice(len(X), n_rows, replace=False))
        X, y = X[rows], y[rows]
        weights = None if weights is None else weights[rows]
    problem = _Problem(kernel, noise_variance, X, y, weights, learn_kernel)
    return problem.solve(max_iter, deadline)


class _Problem:
    """The evidence as a function of one vector of free log parameters."""

    def __init__(self, kernel, noise_variance, X, y, weights, learn_kernel: bool):
        self.kernel, self.X, self.y, self.weights = kernel, X, y, weights
        self.fixed_noise = noise_variance
        self.learn_kernel = learn_kernel
        self.variance = _mean_variance(y, weights)
        self.best, self.best_value = self.starts()[-1], np.inf

    def unpack(self, x: np.ndarray) -> tuple[Kernel, float]:
        noise = self.fixed_noise if self.fixed_noise is not None else float(np.exp(x[-1]))
        theta = x if self.fixed_noise is not None else x[:-1]
        return (self.kernel.with_theta(theta) if self.learn_kernel else self.kernel), noise

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, noise = self.unpack(x)
        try:
            value, d_theta, d_noise = evidence(kernel, noise, self.X, self.y, self.weights)
        except NotPositiveDefiniteError:
            # No numbers out there: a bowl that leads back to where they were best.
            away = x - self.best
            return 1e10 * (1.0 + float(away @ away)), 2e10 * away
        if value < self.best_value:
            self.best, self.best_value = x.copy(), value
        gradient = np.concatenate(
            [
                d_theta if self.learn_kernel else np.empty(0),
                [] if self.fixed_noise is not None else [d_noise],
            ]
        )
        return value, gradient

    def starts(self) -> list[np.ndarray]:
        """Return the kernel as given with a few noise levels, to begin at the best of them."""
        theta = self.kernel.theta if self.learn_kernel else np.empty(0)
        if self.fixed_noise is not None:
            return [theta]
        levels = self.variance * np.array([0.01, 0.1, 0.5])
        return [np.append(theta, np.log(level)) for level in levels]

    def bounds(self) -> np.ndarray:
        """Return the kernel's bounds, no further from the start than distances stay accurate."""
        bounds = np.empty((0, 2))
        if self.learn_kernel:
            near = self.kernel.theta[:, None] + np.log(REACH) * np.array([-1.0, 1.0])
            bounds = np.clip(self.kernel.bounds, near[:, :1], near[:, 1:])
        if self.fixed_noise is not None:
            return bounds
        return np.vstack([bounds, np.log(self.variance * np.array(NOISE_BOUNDS))])

    def solve(self, max_iter: int, deadline: float | None) -> Hyperparameters:
        starts = self.starts()
        x = min(starts, key=lambda start: self.value_and_gradient(start)[0])
        if len(x) == 0:
            value = self.value_and_gradient(x)[0]
            return Hyperparameters(*self.unpack(x), value, 0, True)
        options: dict[str, Any] = {"maxiter": max_iter}

        def stop_in_time(intermediate_result: Any) -> None:
            if deadline is not None and time.perf_counter() > deadline:
                raise StopIteration

        result = scipy.optimize.minimize(
            self.value_and_gradient,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=self.bounds(),
            options=options,
            callback=stop_in_time,
        )
        return Hyperparameters(
            *self.unpack(self.best), self.best_value, int(result.nit), bool(result.success)
        )
