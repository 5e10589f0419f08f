"""Intervals and quantiles from the errors of left-out rows, in closed form: the jackknife+.

With `m_i(x)` and `s_i(x)` the mean and the standard deviation of a target at x by the model without
row i, and `e_i = (y_i - m_i(x_i)) / s_i(x_i)` that row's own error, the n numbers

    m_i(x) - |e_i| s_i(x)    and    m_i(x) + |e_i| s_i(x)

give an interval: from the `floor(a (n + 1))`-th smallest of the first to the `floor(a (n + 1))`-th
largest of the second, `a = 1 - coverage` (Barber, Candes, Ramdas and Tibshirani, 2021; with scores
in units of the error bar, as their proof allows). Whatever the distribution, it holds a new target
with a probability of at least `1 - 2 a` if the rows are exchangeable and each `m_i` and `s_i`
depends on the other rows in the same way: that is, if basis and hyperparameters come from
elsewhere. The rows may be a random part of those that the model was fitted to; n is their number.
Quantiles are those of `m_i(x) + e_i s_i(x)`.

No model is fitted again. Both families know how far row i pulls the prediction at x: the mean
without it is `m(x) - p_i(x) r_i` and the variance `v(x) + g_i p_i(x)^2`, with its leave-one-out
residual `r_i` and a number `g_i`. The cost of x is O(n log n) besides its pulls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy

__all__ = ["Influence", "Jackknife", "LeftOut"]

TILE_ENTRIES = 1_000_000
ROUNDING = 1e-9  # of a rank


@dataclass
class LeftOut:
    """What is predicted of rows without them, in the units of the normalised y, on the host.

    Parameters
    ----------
    residual : (n, p) array
        Targets minus their leave-one-out means.
    variance : (n,) array
        The leave-one-out variances of the targets, noise included.
    gain : (n,) array
        `g`: what a squared pull adds to the variance elsewhere.
    counts : (n,) array or None
        How many rows each one stands for; None: one.
    """

    residual: np.ndarray
    variance: np.ndarray
    gain: np.ndarray
    counts: np.ndarray | None

    @property
    def total(self) -> float:
        """The number of rows that these stand for."""
        return float(len(self.residual) if self.counts is None else np.sum(self.counts))


class Influence(Protocol):
    """What single rows do to the predictions of a model."""

    left_out: LeftOut

    def at(self, X: Array) -> tuple[Array, Array, Array]:
        """Return at X the mean (N, p), the latent variance (N,), and all pulls (N, n)."""


class Jackknife:
    """Intervals and quantiles of a fitted model, in the units of the normalised y.

    Parameters
    ----------
    influence : Influence
    noise_at : callable
        Gives the noise variance at inputs, (N,) or one number, from them and the means there.
    """

    def __init__(self, influence: Influence, noise_at: Callable[[Array, Array], Any]):
        self.influence, self.noise_at = influence, noise_at
        rows = influence.left_out
        self.error = rows.residual / np.sqrt(rows.variance)[:, None]  # (n, p)

    def interval(self, X: Array, coverage: float) -> tuple[Array, Array]:
        """Return the two ends (N, p) of the interval at X."""
        rank = self._rank(1.0 - coverage, f"An interval of {100 * coverage:g} %")

        def ends(centre: Array, spread: Array, error: Array) -> list[Array]:
            width = spread * abs(error)[None, :]
            return [self._ranked(centre - width, rank), -self._ranked(-centre - width, rank)]

        both = self._of_each(X, ends)
        return both[:, :, 0], both[:, :, 1]

    def quantiles(self, X: Array, levels: np.ndarray) -> Array:
        """Return the quantiles (N, p, q) of the targets at X."""
        ranks = [self._rank(min(t, 1.0 - t), f"The quantile {t:g}") for t in levels]

        def found(centre: Array, spread: Array, error: Array) -> list[Array]:
            values = centre + spread * error[None, :]
            return [self._quantile(values, t, rank) for t, rank in zip(levels, ranks, strict=True)]

        return self._of_each(X, found)

    def _rank(self, tail: float, what: str) -> float:
        """Return which value from the outside has the share `tail` beyond it."""
        total = self.influence.left_out.total
        rank = math.floor(tail * (total + 1.0) + ROUNDING)
        if rank < 1:
            raise ValueError(
                f'{what} by method="jackknife+" needs at least {math.ceil(1.0 / tail - 1e-6) - 1} '
                f"rows that the model can leave out; it has {total:g}. Ask for less, or use "
                'method="gaussian".'
            )
        return rank

    def _quantile(self, values: Array, level: float, rank: float) -> Array:
        if level < 0.5:
            return self._ranked(values, rank)
        if level > 0.5:
            return -self._ranked(-values, rank)
        return 0.5 * (self._ranked(values, rank) - self._ranked(-values, rank))

    def _ranked(self, values: Array, rank: float) -> Array:
        """Return the value of that rank, the smallest first, in each line (N, n)."""
        backend, counts = Backend(values), self.influence.left_out.counts
        if counts is None:
            return backend.xp.sort(values, axis=1)[:, int(rank) - 1]
        lines = to_numpy(values)
        order = np.argsort(lines, axis=1, kind="stable")
        below = np.cumsum(counts[order], axis=1) < rank * (1.0 - ROUNDING)
        place = np.minimum(np.sum(below, axis=1), lines.shape[1] - 1)
        chosen = np.take_along_axis(order, place[:, None], axis=1)
        return backend.asarray(np.take_along_axis(lines, chosen, axis=1)[:, 0])

    def _of_each(self, X: Array, found: Callable[[Array, Array, Array], list[Array]]) -> Array:
        """Return what is found for each target, (N, p, k).

        `found` gets the means without each row (N, n), the standard deviations without it (N, n)
        and the rows' own errors (n,); it returns k arrays (N,).
        """
        parts = []
        for tile in self._tiles(X):
            mean, latent, pull = self.influence.at(tile)
            backend = Backend(pull)
            xp, rows = backend.xp, self.influence.left_out
            residual, error, gain = map(backend.asarray, (rows.residual, self.error, rows.gain))
            variance = latent + self.noise_at(tile, mean)
            spread = xp.sqrt(variance[:, None] + gain[None, :] * pull * pull)
            columns = []
            for j in range(mean.shape[1]):
                centre = mean[:, j : j + 1] - pull * residual[None, :, j]
                columns.append(xp.stack(found(centre, spread, error[:, j]), axis=1))
            parts.append(xp.stack(columns, axis=1))
        return parts[0] if len(parts) == 1 else Backend(parts[0]).xp.concat(parts, axis=0)

    def _tiles(self, X: Array) -> Iterator[Array]:
        rows = max(1, TILE_ENTRIES // max(1, len(self.error)))
        for start in range(0, max(1, X.shape[0]), rows):
            yield X[start : start + rows, :]
