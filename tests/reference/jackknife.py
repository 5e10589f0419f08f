"""The jackknife+ by its definition: one model for each left-out row, sorted lists of their ends.

Barber, Candes, Ramdas and Tibshirani (2021), equation (1.4), with errors in units of the error bar.
A model is a `SparseGP` or a `DenseGP` of this folder. Rows are repeated as often as their weights
say, which are whole numbers here. Nothing is imported from the package.
"""

import math

import numpy as np


def left_out_models(model):
    """Yield for every copy of every row: the model without it, its input and its target."""
    copies = model.repeated()
    for i in range(len(copies.X)):
        yield copies.without_row(i), copies.X[i : i + 1], copies.y[i]


def noisy(model, X):
    """Mean (N, T) and standard deviation (N,) of targets at X."""
    mean, cov = model.predict(X)
    # SparseGP adds the noise itself, DenseGP returns latent values.
    extra = 0.0 if hasattr(model, "basis") else model.noise_variance
    return mean, np.sqrt(np.diag(cov) + extra)


def ends_and_values(model, X_new):
    """Lower ends, upper ends and signed values of every left-out row at X_new, (n, N, T) each."""
    lower, upper, values = [], [], []
    for other, x, y in left_out_models(model):
        mean_x, std_x = noisy(other, x)
        error = (y - mean_x[0]) / std_x[0]
        mean, std = noisy(other, X_new)
        lower.append(mean - np.abs(error) * std[:, None])
        upper.append(mean + np.abs(error) * std[:, None])
        values.append(mean + error * std[:, None])
    return np.array(lower), np.array(upper), np.array(values)


def interval(model, X_new, coverage):
    """Both ends (N, T)."""
    lower, upper, _ = ends_and_values(model, X_new)
    n, a = len(lower), 1 - coverage
    smallest = math.floor(round(a * (n + 1), 9))
    largest = math.ceil(round((1 - a) * (n + 1), 9))
    return np.sort(lower, axis=0)[smallest - 1], np.sort(upper, axis=0)[largest - 1]


def quantile(model, X_new, level):
    """One quantile (N, T), rounded outwards; the median is between both middle values."""
    values = np.sort(ends_and_values(model, X_new)[2], axis=0)
    rank = round(level * (len(values) + 1), 9)
    low, high = values[math.floor(rank) - 1], values[math.ceil(rank) - 1]
    if level == 0.5:
        return 0.5 * (low + high)
    return low if level < 0.5 else high
