"""Noise that depends on the input, learnt from what a model predicts of the rows it has not seen.

A target at x has the noise variance `s2 exp(h(x))`. `s2` is the model's own noise variance, and

    h(x) = b + a'z + c'(z_f^2 - 1) / sqrt(2) + sum_j w_j exp(-|z - c_j|^2 / (2 width^2)).

`z` holds the inputs and the model's predicted means `f(x)` (`z_f`), standardised and clipped to
the range of the training rows, so that h does not run away outside of them. The means are there
because noise often grows with the level of the target, and one number tells that with few rows. But
where the model explains next to nothing, the mean of the other rows tells what the left-out target
was (it is low where the target was high), and with it the error: then the means are left out.

The model gives, in closed form, the residual `r_i` of each left-out row and the variance `v_i` of
its latent value. The coefficients minimise the leave-one-out predictive density

    sum_i weight_i (log t_i + r_i^2 / t_i) / 2 + ridge (|a|^2 + |c|^2 + |w|^2) / 2

with `t_i = v_i + s2 exp(h_i)`. So latent variance and noise stay apart, and neither can become
negative. Several shapes of h are compared by cross-validation over the rows. The best one is used
if it beats one constant clearly, by more than the error of its gain. That is how its degrees of
freedom are accounted for in the choice; in its size, they widen it (`greedygp.widening`).

Cost: O(n k^2) for a step of Newton's method with k features, about ten of which are taken, fewer in
the folds; everything is on the host in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from greedygp.arrays import Array, Backend
from greedygp.left_out_rows import LeftOutRows
from greedygp.threads import serial_blas
from greedygp.widening import widening

__all__ = [
    "NOISE_MODELS",
    "NoiseFunction",
    "learn_noise",
    "minimiser",
    "noise_for",
    "noise_may_vary",
]

NOISE_MODELS = ("auto", "constant", "input")

MOST_ROWS = 20_000  # that the function is learnt from
FOLDS = 5
FEWEST_ROWS = 100  # fewer tell nothing about a shape that lasts
CLEARLY = 1.5  # standard errors by which cross-validation must prefer a function to a constant
FURTHEST = 4.0  # standard deviations at which features are clipped
LARGEST = 12.0  # largest |h|
ITERATIONS, SHORTENINGS = 50, 30  # of Newton's method, and of one of its steps
LEAST_FALL = 1e-8  # nats a row
ENOUGH = 1e-4  # share of the fall that a step promises
FLAT, TINY = 1e-12, 1e-300  # added to a curvature, relative to its trace, and where that is zero


@dataclass(frozen=True)
class Shape:
    """A form of h to try: how strongly its coefficients are drawn to zero, and its bumps.

    Parameters
    ----------
    ridge : float
        In rows: a feature needs about so many to be believed.
    rows_a_bump : float or None
        Training rows for each bump; None: no bumps.
    width : float
        Of a bump, in standard deviations times the root of the number of features.
    """

    ridge: float
    rows_a_bump: float | None = None
    width: float = 1.0


SHAPES = (Shape(10.0), Shape(2.0, 100.0, 1.0), Shape(2.0, 25.0, 0.4))
MOST_BUMPS = 30


class NoiseFeatures:
    """The features of h: one, the inputs and means, the means' squares, and bumps.

    Parameters
    ----------
    low, high, centre, spread : (D + p,) arrays
        Range, mean and standard deviation of inputs and means over the training rows.
    n_means : int
    bumps : (J, D + p) array
        Centres of the bumps, standardised.
    width : float
    """

    def __init__(
        self,
        low: np.ndarray,
        high: np.ndarray,
        centre: np.ndarray,
        spread: np.ndarray,
        n_means: int,
        bumps: np.ndarray,
        width: float,
    ):
        self.low, self.high, self.centre, self.spread = low, high, centre, spread
        self.n_means, self.bumps, self.width = n_means, bumps, width

    @classmethod
    def of(cls, rows: LeftOutRows, shape: Shape, rng: np.random.Generator) -> NoiseFeatures:
        """Return the features for a shape; bumps sit at random rows."""
        columns = np.hstack([rows.X, rows.mean])
        centre = np.average(columns, axis=0, weights=rows.weights)
        spread = np.sqrt(np.average((columns - centre) ** 2, axis=0, weights=rows.weights))
        spread[spread <= 1e-12 * np.maximum(np.abs(centre), 1e-300)] = 1.0
        ends = np.min(columns, axis=0), np.max(columns, axis=0)
        none = np.empty((0, columns.shape[1]))
        features = cls(*ends, centre, spread, rows.mean.shape[1], none, 1.0)
        if shape.rows_a_bump is not None:
            count = min(MOST_BUMPS, max(2, int(len(columns) / shape.rows_a_bump)), len(columns))
            chosen = np.sort(rng.choice(len(columns), count, replace=False))
            features.bumps = features.standardised(rows.X[chosen], rows.mean[chosen])
            features.width = shape.width * float(np.sqrt(columns.shape[1]))
        return features

    def standardised(self, X: Array, mean: Array) -> Array:
        """Return inputs and means (N, D + p), clipped to where the training rows are."""
        backend = Backend(mean)
        xp = backend.xp
        means = mean[:, : self.n_means]  # none where they tell nothing
        columns = xp.concat([xp.astype(X, mean.dtype, copy=False), means], axis=1)
        low, high = (backend.asarray(end) for end in (self.low, self.high))
        columns = xp.minimum(xp.maximum(columns, low), high)
        z = (columns - backend.asarray(self.centre)) / backend.asarray(self.spread)
        return xp.clip(z, min=-FURTHEST, max=FURTHEST)

    def __call__(self, X: Array, mean: Array) -> Array:
        """Return the features at X, (N, k), given the model's means there, (N, p)."""
        backend = Backend(mean)
        xp, z = backend.xp, self.standardised(X, mean)
        means = z[:, z.shape[1] - self.n_means :]
        parts = [xp.ones_like(z[:, :1]), z, (means**2 - 1.0) / np.sqrt(2.0)]
        if len(self.bumps):
            bumps = backend.asarray(self.bumps)
            squares = xp.sum(z**2, axis=1)[:, None] + xp.sum(bumps**2, axis=1)[None, :]
            squares = xp.clip(squares - 2.0 * backend.matmul(z, bumps.T), min=0.0)
            parts.append(xp.exp(squares / (-2.0 * self.width**2)))
        return xp.concat(parts, axis=1)


class NoiseFunction:
    """The noise variance as a function of the input: `s2 exp(h(x))`.

    Parameters
    ----------
    features : NoiseFeatures
    coefficients : (k,) array
    noise_variance : float
        `s2`.

    Attributes
    ----------
    typical : (2,) array
        What 5 % and 95 % of the training rows have less noise variance than.
    """

    def __init__(self, features: NoiseFeatures, coefficients: np.ndarray, noise_variance: float):
        self.features, self.coefficients = features, coefficients
        self.noise_variance = noise_variance
        self.typical = np.full(2, noise_variance)

    def __call__(self, X: Array, mean: Array) -> Array:
        """Return the noise variance at X (N, D), given the model's means there, (N, p)."""
        backend = Backend(mean)
        h = backend.matmul(self.features(X, mean), backend.asarray(self.coefficients))
        h = backend.xp.clip(h, min=-LARGEST, max=LARGEST)
        return self.noise_variance * backend.xp.exp(h)

    def instead_of_constant(self, variance: Array, X: Array, mean: Array) -> Array:
        """Return predictive variances (N,) that had constant noise with this noise instead."""
        latent = Backend(variance).xp.clip(variance - self.noise_variance, min=0.0)
        return latent + self(X, mean)


def learn_noise(
    rows: LeftOutRows, random_state: np.random.Generator, *, always: bool = False
) -> NoiseFunction | None:
    """Learn the noise as a function of the input; None: one constant predicts as well.

    Parameters
    ----------
    rows : LeftOutRows
    random_state : Generator
        Chooses folds and places of bumps, and the rows where there are very many.
    always : bool
        Return a function even if a constant is as good.
    """
    rng = random_state
    if len(rows.X) > MOST_ROWS:
        rows = rows.some(np.sort(rng.choice(len(rows.X), MOST_ROWS, replace=False)))
    if not always and (len(rows.X) < FEWEST_ROWS or not np.any(rows.square > 0.0)):
        return None
    folds = rng.permutation(len(rows.X)) % FOLDS
    constant = _left_out_loss(rows, np.ones((len(rows.X), 1)), 0.0, folds, np.zeros(1))
    best, best_gain = None, -np.inf
    for shape in SHAPES:
        features = NoiseFeatures.of(rows, shape, rng)
        table = features(rows.X, rows.mean)
        # The folds begin where all rows end, which saves steps and changes nothing else.
        penalty = _penalty(table, shape.ridge)
        coefficients = minimiser(rows, table, penalty)
        gain = constant - _left_out_loss(rows, table, shape.ridge, folds, coefficients)
        mean = float(np.average(gain, weights=rows.weights))
        error = float(np.std(gain)) / np.sqrt(len(gain))
        pays = always or mean > CLEARLY * error
        if pays and mean > best_gain:
            best, best_gain = (features, coefficients, table, penalty), mean
    if best is None:
        return None
    features, coefficients, table, penalty = best
    spent = _degrees_of_freedom(rows, table, penalty, coefficients)
    coefficients[0] += np.log(widening(float(np.sum(rows.weights)), spent))
    found = NoiseFunction(features, coefficients, rows.noise_variance * rows.widening)
    found.typical = np.quantile(found(rows.X, rows.mean), [0.05, 0.95])
    return found


def noise_may_vary(options: Any) -> bool:
    """Tell whether an estimator leaves both the noise and its form to the fit."""
    return options.noise_model != "constant" and options.noise_variance is None


def noise_for(
    options: Any,
    rows: Callable[[], LeftOutRows],
    random_state: np.random.Generator,
    *,
    varies: bool = False,
) -> NoiseFunction | None:
    """Return the noise function that an estimator asks for; None: its noise is constant.

    Parameters
    ----------
    options : estimator
        With the parameters `noise_model` and `noise_variance`.
    rows : callable
        Gives what the model predicts of left-out rows.
    random_state : Generator
    varies : bool
        Whether it is known already that the noise is not the same everywhere.
    """
    asked = options.noise_model
    if asked != "input" and not noise_may_vary(options):
        return None
    left_out = rows()
    # Many short products: several threads would only wait for each other.
    with serial_blas(1):
        return learn_noise(left_out, random_state, always=varies or asked == "input")


def _left_out_loss(
    rows: LeftOutRows, table: np.ndarray, ridge: float, folds: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Return the loss of each row by coefficients learnt without its fold."""
    losses = np.empty(len(table))
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if len(inside) and len(outside):
            penalty = _penalty(table, ridge)
            coefficients = minimiser(rows.some(inside), table[inside], penalty, start)
            h = np.clip(table[outside] @ coefficients, -LARGEST, LARGEST)
            losses[outside] = rows.some(outside).loss(h)
    return losses


def _penalty(table: np.ndarray, ridge: float) -> np.ndarray:
    """Return the ridge of each coefficient; the constant has none."""
    penalty = np.full(table.shape[1], ridge)
    penalty[0] = 0.0
    return penalty


def minimiser(
    rows: LeftOutRows, table: np.ndarray, penalty: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """Return the coefficients of the features (n, k) that minimise the penalised loss.

    Newton's method; a step that does not lower the loss is shortened. It ends where the next step
    promises less than `LEAST_FALL` nats a row.
    """
    x = np.zeros(table.shape[1]) if start is None else start
    value, slope, curvature = penalised_loss(rows, table, penalty, x)
    least = LEAST_FALL * float(np.sum(rows.weights))
    for _ in range(ITERATIONS):
        step = -scipy.linalg.solve(curvature, slope, assume_a="pos", check_finite=False)
        fall, length = -float(step @ slope), 1.0
        if fall <= least:
            break
        for _ in range(SHORTENINGS):
            new = penalised_loss(rows, table, penalty, x + length * step)
            if new[0] <= value - ENOUGH * length * fall:
                break
            length *= 0.5
        else:
            break
        x, (value, slope, curvature) = x + length * step, new
    return x


def _degrees_of_freedom(
    rows: LeftOutRows, table: np.ndarray, penalty: np.ndarray, coefficients: np.ndarray
) -> float:
    """Return how many free numbers the penalised coefficients are worth."""
    curvature = penalised_loss(rows, table, penalty, coefficients)[2]
    inverse = scipy.linalg.inv(curvature, check_finite=False)
    return len(penalty) - float(np.sum(penalty * np.diagonal(inverse)))


def penalised_loss(
    rows: LeftOutRows, table: np.ndarray, penalty: np.ndarray, coefficients: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the loss of the rows with the penalty of the coefficients, its slope and curvature.

    The curvature is positive definite: of a row it is the second derivative, or half of what that
    is expected to be, if that is more.
    """
    h = table @ coefficients
    inside = np.clip(h, -LARGEST, LARGEST)
    noise = rows.noise_variance * np.exp(inside)
    t = rows.latent + noise
    value = rows.weights @ rows.loss(inside) + 0.5 * float(penalty @ coefficients**2)
    share, surprise = noise / t, rows.square / t
    moves = 0.5 * rows.weights * (h == inside)
    by_h = moves * (1.0 - surprise) * share
    second = share * (1.0 - surprise) + share**2 * (2.0 * surprise - 1.0)
    bend = moves * np.maximum(second, 0.5 * share**2)
    weighted = table * np.sqrt(bend)[:, None]
    curvature = weighted.T @ weighted + np.diag(penalty)
    curvature.flat[:: len(curvature) + 1] += FLAT * float(np.trace(curvature)) + TINY
    return float(value), table.T @ by_h + penalty * coefficients, curvature
