"""Rows that a flag marks as noisier than others, found before the mean is learnt.

A flag is a column with two values: a number is missing, the colour is red. Where a flagged row
knows less about its target (a missing number was filled by a guess), one noise level for all rows
makes the mean run through the flagged targets, and the error bars of new ones far too narrow.

A full GP on some rows predicts each of them from the others. With the squared residual `r_i^2`
and the variance `t_i = v_i + s2` of a left-out row, a flag is noisy where the mean of
`r_i^2 / t_i` over its rows is clearly higher than over the others. The noise of a row then is
`s2 exp(sum_j g_j flag_ij)`, with the `g_j` that the density of the left-out targets asks for, and
the row counts `exp(-sum_j g_j flag_ij)` times while the mean is learnt. That is kept if left-out
rows become clearly more probable. They do not where flagged rows are no noisier, only harder to
predict: then they are needed to learn from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from greedygp.arrays import to_numpy
from greedygp.data import TrainingData
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.full_gp import factor_and_solve
from greedygp.hyperparameters import Point
from greedygp.left_out_rows import LeftOutRows
from greedygp.minimise import Minimum
from greedygp.noise import FEWEST_ROWS, minimiser
from greedygp.progress import Deadline
from greedygp.start import SUBSET_ROWS, random_places
from greedygp.threads import serial_blas

__all__ = ["NoisyFlags", "flag_columns", "learn_with_flags", "noisy_flags"]

FEWEST_FLAGGED = 10  # rows with a flag, and rows without it
ENOUGH_FLAGGED = 30  # looked at, where there are as many
MOST_WITH_RARE_FLAGS = 2 * SUBSET_ROWS
CLEARLY = 2.0  # standard errors by which flagged rows must be noisier
RIDGE = 0.3  # on g
LARGEST = 5.0  # largest exponent: a row counts at least 1/150
LEAST_GAIN = 1e-3  # nats a row by which left-out rows must become more probable


@dataclass(frozen=True)
class NoisyFlags:
    """The flags whose rows are noisier.

    Parameters
    ----------
    columns : (k,) int array
        Columns of X.
    values : (k,) array
        What a flagged row has there.
    log_noise : (k,) array
        `g`: the logarithm of how many times noisier a flagged row is.
    """

    columns: np.ndarray
    values: np.ndarray
    log_noise: np.ndarray

    def trust(self, X: np.ndarray) -> np.ndarray:
        """Return how much each row of X counts, from 0 to 1."""
        flagged = X[:, self.columns] == self.values
        return np.exp(-np.minimum(flagged @ self.log_noise, LARGEST))


def learn_with_flags(
    learn: Callable[[TrainingData], Minimum[Point]],
    data: TrainingData,
    deadline: Deadline,
    rng: np.random.Generator,
) -> tuple[Minimum[Point], TrainingData]:
    """Learn hyperparameters; where flags mark noisier rows, let these count less and learn again.

    What is learnt again is kept if left-out rows become clearly more probable.

    Parameters
    ----------
    learn : callable
        Learns hyperparameters from training data.
    data : TrainingData
    deadline : Deadline
        After which nothing is learnt again.
    rng : Generator
        Chooses rows where there are many.

    Returns
    -------
    found : Minimum
    data : TrainingData
        The same object, or data that trust flagged rows less.
    """
    found = learn(data)
    if data.X.shape[0] < FEWEST_ROWS or deadline.passed:
        return found, data
    X = data.on_host()[0]
    columns, values = flag_columns(X)
    if len(columns) == 0:
        return found, data
    places = random_places(len(X), SUBSET_ROWS, rng)
    some = _SomeRows(_with_rare_flags(places, X[:, columns] == values, rng))
    flags = noisy_flags(found.point, *some.of(data))
    if flags is None:
        return found, data
    trusting = data.trusting(flags.trust(X))
    other = learn(trusting)
    # With a mean that does not follow the flagged targets, the size of their noise shows.
    flags = noisy_flags(other.point, *some.of(trusting), flags) or flags
    trusting = data.trusting(flags.trust(X))
    least = some.left_out_loss(found.point, data) - LEAST_GAIN
    if some.left_out_loss(other.point, trusting) < least:
        return other, trusting
    return found, data


@dataclass(frozen=True)
class _SomeRows:
    """Some of the rows, by their places."""

    places: np.ndarray

    def of(self, data: TrainingData) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return their inputs, targets and weights."""
        X, y, weights = data.on_host()
        return X[self.places], y[self.places], None if weights is None else weights[self.places]

    def left_out_loss(self, point: Point, data: TrainingData) -> float:
        """Return what it costs to predict them, each left out, with the noise that trust says."""
        trust = np.ones(len(self.places))
        if data.trust is not None:
            trust = to_numpy(data.trust).astype(np.float64)[self.places]
        try:
            with serial_blas(1):
                return float(np.mean(_left_out(point, *self.of(data)).loss(-np.log(trust))))
        except NotPositiveDefiniteError:
            return np.inf


def _with_rare_flags(places: np.ndarray, flags: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the places, and more of the rows with a flag (n, k) that hardly any of these have."""
    for flag in flags.T:
        flagged = np.flatnonzero(flag)
        absent = np.setdiff1d(flagged, places)
        lacking = min(ENOUGH_FLAGGED - (len(flagged) - len(absent)), len(absent))
        if lacking > 0 and len(places) + lacking <= MOST_WITH_RARE_FLAGS:
            places = np.union1d(places, rng.choice(absent, lacking, replace=False))
    return places


def flag_columns(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of two values, and the rarer value of each."""
    columns, values = [], []
    for j in range(X.shape[1]):
        low, high = np.min(X[:, j]), np.max(X[:, j])
        highs = X[:, j] == high
        if low < high and np.all(highs | (X[:, j] == low)):
            columns.append(j)
            values.append(low if 2 * np.sum(highs) > len(X) else high)
    return np.array(columns, dtype=np.intp), np.array(values)


def noisy_flags(
    point: Point,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    known: NoisyFlags | None = None,
) -> NoisyFlags | None:
    """Return the flags whose rows are noisier than others; None: there are none.

    Parameters
    ----------
    point : Point
        Hyperparameters of the full GP.
    X, y, weights : (n, D), (n, p) and (n,) arrays
        A few hundred rows. Weights are those that the GP was learnt with.
    known : NoisyFlags, optional
        Flags found before, whose noise is to be learnt anew.
    """
    columns, values = (known.columns, known.values) if known else flag_columns(X)
    if len(columns) == 0:
        return None
    with serial_blas(1):
        try:
            rows = _left_out(point, X, y, weights)
        except NotPositiveDefiniteError:
            return None
        flagged = X[:, columns] == values
        noisy = _noisy(rows, flagged) if known is None else np.ones(len(columns), dtype=bool)
        if not np.any(noisy):
            return None
        table = np.hstack([np.ones((len(X), 1)), flagged[:, noisy]])
        penalty = np.r_[0.0, np.full(np.sum(noisy), RIDGE)]
        log_noise = minimiser(rows, table, penalty)[1:]
    return NoisyFlags(columns[noisy], values[noisy], np.maximum(log_noise, 0.0))


def _left_out(
    point: Point, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> LeftOutRows:
    """Return what a full GP predicts of each row without it, whatever its weight."""
    s2 = point.noise_variance
    L, alpha = factor_and_solve(point.kernel, s2, X, y, weights)
    inverse, _ = scipy.linalg.lapack.dpotri(L, lower=True, overwrite_c=True)
    g = np.diagonal(inverse)
    latent = np.maximum(1.0 / g - s2 / (1.0 if weights is None else weights), 0.0)
    square = np.mean((alpha / g[:, None]) ** 2, axis=1)
    return LeftOutRows(X, y[:, :0], square, latent, np.ones(len(X)), s2)


def _noisy(rows: LeftOutRows, flagged: np.ndarray) -> np.ndarray:
    """Tell for each flag (n, k) whether its rows are clearly noisier than the others."""
    share = rows.square / (rows.latent + rows.noise_variance)
    noisy = []
    for flag in flagged.T:
        with_flag, without = share[flag], share[~flag]
        more = np.mean(with_flag) - np.mean(without)
        error = np.sqrt(np.var(with_flag) / len(with_flag) + np.var(without) / len(without))
        enough = min(len(with_flag), len(without)) >= FEWEST_FLAGGED
        noisy.append(enough and more > CLEARLY * error)
    return np.array(noisy)
