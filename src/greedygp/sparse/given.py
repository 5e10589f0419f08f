"""What `SparseGPRegressor.fit` is given, and which of the rows it works on.

Few rows in arrays are all there is to it. Of many, a random sample (`learning_rows`) selects the
basis and learns the hyperparameters, and all rows have one pass for the posterior. Where the state
of the rows to learn from would take more than `memory_limit`, the basis is selected from no more
of them than may be held, and the objective goes over all of them in passes.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from greedygp.arrays import is_foreign
from greedygp.data import TargetScale, TrainingData, WholeData
from greedygp.inputs import held
from greedygp.rows import ArrayRows, RowStore, survey
from greedygp.rows.cluster import DaskRows
from greedygp.rows.collections import is_dask
from greedygp.rows.memory import is_mapped
from greedygp.sparse.parameters import LARGEST_BASIS, LARGEST_TRIED
from greedygp.validation import (
    check_brings_targets,
    check_store,
    check_training_data,
    check_weight_sizes,
    check_weights,
)

__all__ = ["checked_store", "store_of", "training_data"]

CANDIDATES = 120  # arrays of a candidate's entries that a selection holds beside the basis'
FEWEST_ROWS = 1000  # that are selected from, whatever the memory


def store_of(X: Any, y: Any = None, sample_weight: Any = None) -> RowStore | None:
    """Return where rows live that are not to be held all at once; None: they are in memory."""
    if isinstance(X, RowStore):
        check_brings_targets(X, y, sample_weight)
        return X
    if is_dask(X):
        return DaskRows(X, y, sample_weight)
    if is_dask(y) or is_dask(sample_weight):
        raise TypeError(
            "y or sample_weight is a Dask collection, but X is not; make X one, or pass "
            "y.compute() and sample_weight.compute()."
        )
    if isinstance(sample_weight, numbers.Real) and is_mapped(X):
        sample_weight = np.broadcast_to(float(sample_weight), len(X))
    return ArrayRows(X, y, sample_weight) if is_mapped(X) else None


def training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, rng: np.random.Generator
) -> TrainingData:
    """Return the rows to select from and to learn from, with the others behind them.

    Sets what the estimator knows of the features and of the targets' shape.
    """
    X = held(estimator, X)
    store = checked_store(estimator, X, y, sample_weight)
    if isinstance(store, ArrayRows) and not is_mapped(X):
        if store.n_rows <= _most_rows(estimator, store.X):
            return TrainingData(store.X, store.y, store.weights, estimator.normalize_y)
    return _sampled(estimator, store, rng)


def checked_store(estimator: Any, X: Any, y: Any, sample_weight: Any) -> RowStore:
    """Return a store of what was given, as far as it can be checked without a look at all rows.

    Sets what the estimator knows of the features and of the targets' shape.
    """
    X = held(estimator, X)
    store = store_of(X, y, sample_weight)
    if store is None:
        X, y = check_training_data(estimator, X, y)
        estimator._target_shape = tuple(y.shape[1:])
        return ArrayRows(X, y, check_weights(sample_weight, X))
    estimator._target_shape = check_store(estimator, store)
    return store


def _most_rows(estimator: Any, X: Any) -> float:
    """Return how many rows of X are worked on as they are."""
    learning = np.inf if estimator.learning_rows is None else estimator.learning_rows
    if is_foreign(X):  # in the memory of a device, say
        return learning
    return min(learning, rows_held(estimator, X.dtype.itemsize))


def rows_held(estimator: Any, itemsize: int) -> int:
    """Return the state of how many rows `memory_limit` allows to hold: Z, V, candidates."""
    sizes: dict[Any, int] = {None: LARGEST_BASIS, "auto": LARGEST_TRIED}
    size = sizes.get(estimator.max_basis, estimator.max_basis)
    held = estimator.memory_limit / (itemsize * (2.0 * size + CANDIDATES))
    return max(FEWEST_ROWS, int(held))


def _sampled(estimator: Any, store: RowStore, rng: np.random.Generator) -> TrainingData:
    """Return a sample of a store's rows, with the whole behind it; all, if they are few."""
    normalize = estimator.normalize_y
    with store.backend.threads_over_blocks():
        found = survey(store)
        if not isinstance(store, ArrayRows) or is_mapped(store.X):  # else they have been looked at
            check_weight_sizes(found.largest, found.weight, found.n_used)
        n, p = found.n_used, len(found.mean)
        learning = n if estimator.learning_rows is None else min(estimator.learning_rows, n)
        held = rows_held(estimator, np.dtype(np.float64).itemsize)
        if n <= min(learning, held):
            return TrainingData(*store.everything(), normalize)
        scale = TargetScale(np.zeros(p), np.ones(p))
        if normalize:
            scale = TargetScale.of(found.mean, found.variance)
        whole = WholeData(store, found, scale)
        data = whole.sample(min(learning, held), rng)
        data.whole = whole
        if held < learning:
            data.streamed = whole if learning == n else _in_memory(whole, learning, rng)
    return data


def _in_memory(whole: WholeData, count: int, rng: np.random.Generator) -> WholeData:
    """Return so many random rows, of which inputs and targets are held, but no state."""
    X, y, weights, _ = whole.drawn(count, rng)
    store = ArrayRows(X, y, weights)
    return WholeData(store, survey(store), whole.scale)
