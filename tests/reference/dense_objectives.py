"""Learning objectives of a full GP straight from the definitions: one refit for every row.

Dense and slow on purpose; nothing is imported from the package. A row of weight w is w copies with
noise s2 each, whose mean is a measurement with noise `s2 / w`. Of every row one copy is left out,
or the whole row if it weighs less; the measures are means over all copies and targets::

    nlml     -log N(y; 0, K + s2 I) of all copies, summed over the targets
    loo_cve  mean of r_i^2
    nlgpp    mean of r_i^2 / t_i + log t_i
    gpe      mean of r_i^2 + t_i

Derivatives are taken by complex steps, `Im f(x + ih) / h`, exact to rounding.
"""

from types import SimpleNamespace

import numpy as np

from reference.loo_formulas import LOO_FORMULAS
from reference.sparse_objectives import STEP, dense_kernel


def predict(kernel, noise, X, y, x):
    """Return mean (p,) and variance of the latent value at x (D,); `noise` (n,) by row."""
    prior = kernel(x[None], x[None])[0, 0]
    if len(X) == 0:
        return np.zeros(y.shape[1]), prior
    weights = np.linalg.solve(kernel(X, X) + np.diag(noise), kernel(X, x[None]))[:, 0]
    return weights @ y, prior - weights @ kernel(X, x[None])[:, 0]


def leave_one_out(kernel, noise_variance, X, y, weights=None):
    """Return residuals (n, p) and variances of the noisy left-out copies (n,)."""
    w = np.ones(len(X)) if weights is None else weights
    residuals, variances = [], []
    for i in range(len(X)):
        rest = w.copy()
        rest[i] -= min(w[i], 1.0)
        kept = rest > 0
        mean, variance = predict(kernel, noise_variance / rest[kept], X[kept], y[kept], X[i])
        residuals.append(y[i] - mean)
        variances.append(variance + noise_variance)
    return np.array(residuals), np.array(variances)


def objective_value(name, kernel, noise_variance, X, y, weights=None):
    """Return the objective; `kernel(A, B)` is a function, y has shape (n, p)."""
    w = np.ones(len(X)) if weights is None else weights
    if name == "nlml":
        C = kernel(X, X) + np.diag(noise_variance / w)
        sign, log_abs_det = np.linalg.slogdet(C)
        # w copies that agree: their mean has variance s2 / w, w - 1 directions have s2.
        copies = np.sum(w * np.log(2 * np.pi) + (w - 1) * np.log(noise_variance) + np.log(w))
        log_det = np.log(sign) + log_abs_det + copies
        return 0.5 * np.sum(y * np.linalg.solve(C, y)) + 0.5 * y.shape[1] * log_det
    r, t = leave_one_out(kernel, noise_variance, X, y, weights)
    each = LOO_FORMULAS[name](np.mean(r**2, axis=1), t)
    return np.sum(w * each) / np.sum(w)


def objective_gradient(name, kernel, noise_variance, X, y, weights=None):
    """Return value and derivatives; `kernel` is one of the package, of which only theta is used."""

    def value(theta, log_noise):
        return objective_value(name, dense_kernel(kernel, theta), np.exp(log_noise), X, y, weights)

    at = np.append(kernel.theta, np.log(noise_variance))
    slopes = []
    for step in np.eye(len(at)):
        moved = at + 1j * STEP * step
        slopes.append(value(moved[:-1], moved[-1]).imag / STEP)
    return SimpleNamespace(
        value=value(at[:-1], at[-1]), theta=np.array(slopes[:-1]), log_noise=slopes[-1]
    )
