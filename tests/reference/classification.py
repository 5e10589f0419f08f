"""Sparse GP classification from its definitions: dense matrices, numerical integrals, no tricks."""

import numpy as np
import scipy.stats


def gaussian_kernel(X, Z, variance, length_scale):
    difference = (X[:, None, :] - Z[None, :, :]) / length_scale
    return variance * np.exp(-0.5 * np.sum(difference**2, axis=2))


def tilted_moments(mean, variance, y, bias, weight=1.0):
    """Return log Z, mean and variance of Phi(y (f + b))^w N(f; mean, variance) by quadrature."""
    spread = np.sqrt(variance)

    def log_density(f):
        log_likelihood = weight * scipy.stats.norm.logcdf(y * (f + bias))
        return log_likelihood + scipy.stats.norm.logpdf(f, mean, spread)

    # The trapezoidal rule where the integrand is not negligible, found by looking twice.
    middle, reach = mean, 14 * spread + 2 * abs(mean + bias) + 10
    for _ in range(2):
        grid = np.linspace(middle - reach, middle + reach, 20_001)
        kept = grid[log_density(grid) > np.max(log_density(grid)) - 50]
        middle, reach = (
            0.5 * (kept[0] + kept[-1]),
            0.5 * (kept[-1] - kept[0]) + 2 * np.ptp(grid[:2]),
        )
    grid = np.linspace(middle - reach, middle + reach, 20_001)
    heights = log_density(grid)
    density = np.exp(heights - heights.max())
    total, average = np.sum(density), np.average(grid, weights=density)
    log_z = np.log(total * (grid[1] - grid[0])) + heights.max()
    return log_z, average, np.average((grid - average) ** 2, weights=density)


def matching_site(mean, variance, y, bias, weight=1.0):
    """Return mean and precision of the site: posterior precision minus prior precision."""
    _, new_mean, new_variance = tilted_moments(mean, variance, y, bias, weight)
    precision = 1 / new_variance - 1 / variance
    return (new_mean / new_variance - mean / variance) / precision, precision


def posterior(K, means, precisions):
    """Return f and A of N(f; 0, K) times the sites; rows without a site have precision 0."""
    Pi = np.diag(precisions)
    A = np.linalg.solve(np.eye(len(K)) + K @ Pi, K)
    return A @ Pi @ means, A


def nlp(f, A, y, bias, rows, weights=None):
    """Return (4), (5): the mean of -log Phi over some rows."""
    z = y * (f + bias) / np.sqrt(1 + np.diag(A))
    weights = np.ones(len(y)) if weights is None else weights
    return -np.average(scipy.stats.norm.logcdf(z)[rows], weights=weights[rows])


def leave_one_out_nlp(K, means, precisions, y, bias, weights=None):
    """Return the mean of -log probability, each row without its own site."""
    losses = []
    for i in range(len(y)):
        without = precisions.copy()
        without[i] = 0.0
        f, A = posterior(K, means, without)
        losses.append(-scipy.stats.norm.logcdf(y[i] * (f[i] + bias) / np.sqrt(1 + A[i, i])))
    return np.average(losses, weights=weights)


def log_evidence(K, means, precisions, y, bias):
    """Return expectation propagation's log Z: log of the integral of the sites with their scales.

    The scale of site i makes cavity times site integrate to cavity times likelihood.
    """
    total = 0.0
    for i in range(len(y)):
        without = precisions.copy()
        without[i] = 0.0
        f, A = posterior(K, means, without)
        mean, variance = f[i], A[i, i]
        log_z = tilted_moments(mean, variance, y[i], bias)[0]
        spread = np.sqrt(variance + 1 / precisions[i])
        total += log_z - scipy.stats.norm.logpdf(means[i], mean, spread)
    return total + scipy.stats.multivariate_normal.logpdf(
        means, np.zeros(len(y)), K + np.diag(1 / precisions)
    )


def sequential_propagation(K, y, bias, sweeps=200):
    """Return sites of expectation propagation, one row at a time, from dense posteriors."""
    n = len(y)
    means, precisions = np.zeros(n), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            without = precisions.copy()
            without[i] = 0.0
            f, A = posterior(K, means, without)
            v, mu = A[i, i], f[i]
            z = y[i] * (mu + bias) / np.sqrt(1 + v)
            ratio = np.exp(scipy.stats.norm.logpdf(z) - scipy.stats.norm.logcdf(z))
            alpha = y[i] * ratio / np.sqrt(1 + v)
            nu = alpha * (alpha + (mu + bias) / (1 + v))
            precisions[i] = nu / (1 - v * nu)
            means[i] = mu + alpha / nu
    return means, precisions


def kl_of_marginals(new_mean, new_variance, old_mean, old_variance):
    """Return KL(N(new) || N(old))."""
    ratio = new_variance / old_variance
    return 0.5 * (-np.log(ratio) + ratio - 1 + (new_mean - old_mean) ** 2 / old_variance)
