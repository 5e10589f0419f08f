"""What is predicted of rows had each been left out: of rows at hand, and of rows that pass by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.data import TargetScale, targets_and_weights
from greedygp.noise import NoiseFunction
from greedygp.rows import Chunk, RowStore
from greedygp.rows.cluster import DaskRows
from greedygp.sparse import passes
from greedygp.sparse.loo import loo_rows
from greedygp.sparse.model import SparseModel
from greedygp.sparse.passes import filled_block, rows_at_once
from greedygp.sparse.posterior import Posterior

__all__ = ["LeftOut", "left_out_lazily", "left_out_of_store", "left_out_rows"]


@dataclass
class LeftOut:
    """What is predicted of each row of a chunk without it: mean (T, p) and variance (T,).

    A row of weight zero has no part in the model: its prediction is the ordinary one.
    """

    model: SparseModel
    scale: TargetScale
    noise: NoiseFunction | None = None

    def __call__(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
        p = self.model.n_targets
        mean, variance = np.empty((len(chunk), p)), np.empty(len(chunk))
        used = np.arange(len(chunk)) if chunk.used is None else chunk.used
        if len(used):
            X, y, weights = chunk.take(used)
            targets, weights = targets_and_weights(X, y, weights, self.scale)
            mean[used], variance[used] = left_out_rows(self.model, X, targets, weights, self.noise)
        dropped = np.setdiff1d(np.arange(len(chunk)), used)
        if len(dropped):
            X = chunk.take(dropped)[0]
            found, latent = Posterior(self.model).mean_and_variance(X)
            noise = self.model.noise_variance if self.noise is None else self.noise(X, found)
            mean[dropped], variance[dropped] = to_numpy(found), to_numpy(latent + noise)
        return mean, variance


def left_out_rows(
    model: SparseModel,
    X: Array,
    y: Array,
    weights: Array | None,
    noise: NoiseFunction | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (n, p) and variance (n,) of training rows, had each been left out, on the host.

    X (n, D), y (p, n) and weights (n,) or None are in the model's units.
    """
    means, variances = [], []
    for begin in range(0, X.shape[0], passes.MOST_ROWS):
        part = slice(begin, begin + passes.MOST_ROWS)
        shares = None if weights is None else weights[part]
        block = filled_block(model, X[part, :], y[:, part], shares)
        residual, variance = loo_rows(model, block)
        mean = (block.y - residual).T
        if noise is not None:
            variance = noise.instead_of_constant(variance, X[part, :], mean)
        means.append(to_numpy(mean))
        variances.append(to_numpy(variance))
    return np.concatenate(means), np.concatenate(variances)


def left_out_of_store(
    store: RowStore,
    model: SparseModel,
    scale: TargetScale,
    noise: NoiseFunction | None,
    memory_limit: float,
) -> tuple[Array, Array]:
    """Return mean (n, p) and variance (n,) of all of a store's rows, had each been left out."""
    rows = rows_at_once(model.size, store.backend, memory_limit)
    parts = list(store.map(LeftOut(model, scale, noise), rows))
    if not parts:
        raise ValueError("There are no rows to predict.")
    mean, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    return store.backend.asarray(mean), store.backend.asarray(variance)


def left_out_lazily(store: DaskRows, left_out: LeftOut, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return Dask arrays of the same, as means and standard deviations in the units of y."""
    scale = left_out.scale

    def both(chunk: Chunk) -> np.ndarray:
        mean, variance = left_out(chunk)
        return np.stack([scale.mean(mean, shape), scale.std(np.sqrt(variance), shape)], axis=-1)

    found = store.lazily(both, (*shape, 2))
    return found[..., 0], found[..., 1]
