"""Learning objectives of a sparse GP straight from the definitions, and their derivatives.

Dense and slow on purpose; nothing is imported from the package. With `Q = K_fu K_uu^-1 K_uf` and
`lambda_i = s2` (DTC, SoR) or `k_i - Q_ii + s2` (FITC), a row of weight `w` being `w` copies::

    nlml     -log N(y; 0, Q + Lambda) of all copies, summed over the targets
    vfe      nlml + p sum_i w_i (k_i - Q_ii) / (2 s2)   (DTC only)
    loo_cve  mean of r_i^2
    nlgpp    mean of r_i^2 / t_i + log t_i
    gpe      mean of r_i^2 + t_i

The means are over all copies and over the targets; `r_i` and `t_i` are the residual and the
variance of the noisy target of a copy, predicted by the model fitted again without it.

Every function here is analytic, so a derivative is the imaginary part of the value at a complex
argument, `Im f(x + ih) / h`: no difference is taken, and it is exact to rounding for any small h.
"""

from types import SimpleNamespace

import numpy as np

from reference.loo_formulas import LOO_FORMULAS

STEP = 1e-30


def dense_kernel(kernel, theta=None):
    """Return `k(A, B)` by the page's formula of a kernel of the package, at another theta."""
    theta = kernel.theta if theta is None else theta
    kind = type(kernel).__name__
    if kind in ("Sum", "Product"):
        ends = np.cumsum([len(part.theta) for part in kernel.kernels])[:-1]
        parts = [dense_kernel(*each) for each in zip(kernel.kernels, np.split(theta, ends))]
        combine = np.sum if kind == "Sum" else np.prod
        return lambda A, B: combine([part(A, B) for part in parts], axis=0)
    variance, length_scale = parameters(kernel, theta)

    def function(A, B):
        if kind == "Constant":
            return variance * np.ones((len(A), len(B)))
        if kind == "Linear":
            return (A * variance) @ B.T
        r2 = np.sum(((A[:, None, :] - B[None, :, :]) / length_scale) ** 2, axis=2)
        if kind == "Gaussian":
            return variance * np.exp(-0.5 * r2)
        s = np.sqrt(2 * kernel.nu * r2)
        polynomial = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s**2 / 3.0}[kernel.nu]
        return variance * polynomial * np.exp(-s)

    return function


def parameters(kernel, theta):
    """Return variance and length scale of a simple kernel: in theta, or fixed."""
    values, used = [], 0
    for name in ("variance", "length_scale"):
        value = np.atleast_1d(getattr(kernel, name, 1.0))
        if hasattr(kernel, name) and name not in kernel.fixed:
            value = np.exp(theta[used : used + len(value)])
            used += len(value)
        values.append(value)
    return values


def objective_value(name, kernel, noise_variance, X, y, basis, weights=None, approximation="dtc"):
    """Return the objective; `kernel(A, B)` is a function, y has shape (n, p), basis (m, D)."""
    p, w = y.shape[1], np.ones(len(X)) if weights is None else weights
    K_uf = kernel(basis, X)
    Q = K_uf.T @ np.linalg.solve(kernel(basis, basis), K_uf)
    unexplained = np.diagonal(kernel(X, X)) - np.diagonal(Q)
    lam = noise_variance + (unexplained if approximation == "fitc" else np.zeros(len(X)))
    if name in ("nlml", "vfe"):
        assert name == "nlml" or approximation == "dtc"
        sign, log_abs_det = np.linalg.slogdet(Q + np.diag(lam / w))
        quadratic = np.sum(y * np.linalg.solve(Q + np.diag(lam / w), y))
        # w copies that agree: their mean has variance lam / w, w - 1 directions have lam.
        copies = np.sum(w * np.log(2 * np.pi) + (w - 1) * np.log(lam) + np.log(w))
        nlml = 0.5 * quadratic + 0.5 * p * (np.log(sign) + log_abs_det + copies)
        return nlml + (p * np.sum(w * unexplained) / (2 * noise_variance) if name == "vfe" else 0)
    residual, spread = leave_one_out(Q, lam, y, w)
    t = noise_variance + spread + (0 if approximation == "sor" else unexplained)
    each = LOO_FORMULAS[name](np.mean(residual**2, axis=1), t)
    return np.sum(w * each) / np.sum(w)


def leave_one_out(Q, lam, y, w):
    """Return residuals (n, p) and variances of the projected latent (n,), refitting n times.

    Row i loses one copy, or all of it if it is less than one; all keep their `lambda`. With the
    precisions `W` of what is left, conditioning `Q` on it gives the residuals `R y` and the
    covariance `R Q`, `R = (I + Q W)^-1`, of which row i is needed. `W_ii` may be zero.
    """
    n = len(w)
    W = (w - np.diag(np.minimum(w, 1.0))) / lam  # row i: the precisions in fit i
    rows = np.linalg.solve(np.eye(n) + W[:, :, None] * Q, np.eye(n)[:, :, None])[:, :, 0]
    return rows @ y, np.sum(rows * Q, axis=1)


def objective_gradient(name, kernel, noise_variance, X, y, basis, weights, approximation):
    """Return value and derivatives; `kernel` is one of the package, of which only theta is used."""

    def value(theta, log_noise, basis):
        function = dense_kernel(kernel, theta)
        rest = X, y, basis, weights, approximation
        return objective_value(name, function, np.exp(log_noise)[0], *rest)

    at = [kernel.theta, np.log([noise_variance]), basis]

    def derivatives(k):
        found = np.zeros(at[k].size)
        for i in range(at[k].size):
            moved = [part.astype(complex) for part in at]
            moved[k].flat[i] += 1j * STEP
            found[i] = value(*moved).imag / STEP
        return found.reshape(at[k].shape)

    return SimpleNamespace(
        value=value(*at),
        theta=derivatives(0),
        log_noise=derivatives(1)[0],
        basis=derivatives(2),
    )
