"""A first look at all rows: are they numbers, how many are there, what are the targets like.

Moments are merged pairwise (Chan, Golub and LeVeque), so they lose no digits to a large mean. The
fingerprint is a sum over rows of a number made from each row's bits and its place. It is the same
whatever the chunks, and tells (with overwhelming odds) whether data are those of another day.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array, to_numpy
from greedygp.rows.store import Chunk, RowStore, Watch

__all__ = ["Survey", "check_inputs", "survey"]

LARGE = 1 << 64
ROWS = 65_536  # looked at together


@dataclass(frozen=True)
class Survey:
    """What is known of some rows; `+` of two gives that of both.

    Attributes
    ----------
    n_rows, n_used : int
        All, and those of positive weight.
    weight, largest : float
        Sum of the weights, and the largest of them.
    mean, spread : (p,) arrays
        Weighted mean of each target, and the weighted sum of squares around it.
    fingerprint : int
    """

    n_rows: int
    n_used: int
    weight: float
    largest: float
    mean: np.ndarray
    spread: np.ndarray
    fingerprint: int

    def __add__(self, other: Survey) -> Survey:
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        gap = other.mean - self.mean
        return Survey(
            self.n_rows + other.n_rows,
            self.n_used + other.n_used,
            weight,
            max(self.largest, other.largest),
            self.mean + share * gap,
            self.spread + other.spread + self.weight * share * gap**2,
            (self.fingerprint + other.fingerprint) % LARGE,
        )

    @property
    def variance(self) -> np.ndarray:
        """Variance of each target, (p,)."""
        return self.spread / self.weight


def survey(store: RowStore, watch: Watch | None = None) -> Survey:
    """Look at all rows once; raise a ValueError that says where, if they cannot be learnt from."""
    found = store.on_host().reduce(look, ROWS, watch)
    if found is None:
        raise ValueError("There are no rows: at least one is required.")
    if found.n_used == 0:
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return found


def look(chunk: Chunk) -> Survey | None:
    """Return what is known of a chunk; None: it has no rows."""
    if len(chunk) == 0:
        return None
    X, y = to_numpy(chunk.X), to_numpy(chunk.y)
    y = y[:, None] if y.ndim == 1 else y
    _check_finite("X", X, chunk)
    _check_finite("y", y, chunk)
    weights = _checked_weights(chunk)
    total, wide = float(np.sum(weights)), y.astype(np.float64)
    mean = weights @ wide / total if total else np.zeros(y.shape[1])
    return Survey(
        n_rows=len(chunk),
        n_used=int(np.count_nonzero(weights)),
        weight=total,
        largest=float(np.max(weights)),
        mean=mean,
        spread=weights @ (wide - mean) ** 2,
        fingerprint=_fingerprint(np.column_stack([X, y, weights]), chunk.start),
    )


def check_inputs(chunk: Chunk) -> Array:
    """Return a chunk's inputs, if they are finite; else raise a sentence that says where not."""
    _check_finite("X", to_numpy(chunk.X), chunk)
    return chunk.X


def _checked_weights(chunk: Chunk) -> np.ndarray:
    if chunk.weights is None:
        return np.ones(len(chunk))
    weights = np.asarray(to_numpy(chunk.weights), dtype=np.float64)
    _check_finite("sample_weight", weights[:, None], chunk)
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight must not be negative; got {float(weights[row])!r} in "
            f"{_place(chunk, row)}."
        )
    return weights


def _check_finite(name: str, array: Array, chunk: Chunk) -> None:
    """Raise a sentence with the first row that is not finite."""
    with np.errstate(all="ignore"):
        if np.isfinite(np.sum(array)):  # nearly always; an overflow alone is no harm
            return
    wrong = ~np.isfinite(array)
    rows = np.flatnonzero(np.any(wrong, axis=1))
    if len(rows) == 0:
        return
    what = "NaN" if np.any(np.isnan(array[rows])) else "infinity"
    column = int(np.argmax(wrong[rows[0]]))
    column_name = repr(chunk.names[column]) if name == "X" and chunk.names else column
    in_column = f", column {column_name}" if name == "X" or array.shape[1] > 1 else ""
    others = f" and {len(rows) - 1} more rows near it" if len(rows) > 1 else ""
    raise ValueError(
        f"Input {name} contains {what} in {_place(chunk, int(rows[0]))}{in_column}{others}; impute "
        "or remove such rows."
    )


def _place(chunk: Chunk, row: int) -> str:
    """Say where a row of a chunk is: arrays and files count from 0."""
    of = f" of {chunk.where}" if chunk.where else ""
    return f"row {chunk.first + row}{of} (counted from 0)"


def _fingerprint(table: np.ndarray, start: int) -> int:
    bits = np.ascontiguousarray(table, dtype=np.float64).view(np.uint64)
    rng, rows = np.random.default_rng(table.shape[1]), np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        rows += column * (rng.integers(0, LARGE, dtype=np.uint64) | np.uint64(1))
    rows ^= rows >> np.uint64(29)
    places = np.arange(start, start + len(rows), dtype=np.uint64)
    return int(np.sum(rows * (np.uint64(2) * places + np.uint64(1)), dtype=np.uint64))
