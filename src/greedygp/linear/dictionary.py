"""The candidate columns of a sparse linear model, and their products with anything.

A dictionary is an N x M matrix `Phi` of basis functions at the rows: a kernel at the training
inputs, or a design matrix of the user's. Rows have weights (weight w is the row w times), and an
unpenalised intercept is taken out by weighted centring, so the models see

    Phi~ = W^1/2 (Phi - 1 means'),    t~ = W^1/2 (t - 1 mean),

whose plain least squares is the weighted least squares of the original with an intercept.
`Phi~` is never formed. Products use `Phi~'Y = Phi'(W^1/2 Y) - means (1'W^1/2 Y)`, and `Phi` itself
is held only where it takes less than `memory_limit` bytes; else it is made again, tile by tile.

Shapes: `N` rows, `M` columns, `k` right-hand sides. Several columns of the dictionary are stored as
the lines of a matrix, so that a column is contiguous. A product costs N M k multiply-adds; with
k = 1 it is bound by memory, 8 N M bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from greedygp.kernels import Kernel

__all__ = ["MEMORY_LIMIT", "Dictionary", "Store", "few_lines_times"]

MEMORY_LIMIT = 2**29
TILE_BYTES, GRAM_TILE_BYTES = 2**25, 2**27
# When one Gram row in so many has been made, all are: they cost as much as some fifty products with
# a few lines, and a model that has come so far will ask for more than that.
WHOLE_GRAM = 32
FEW_LINES, LARGE = 3, 20_000  # lines of a product that are few; entries of a matrix with many
CONSTANT = 1e-12  # a centred column of a smaller share of its norm is rounding


class Store:
    """Arrays by number, of which the least recently used leave when a bound in bytes is passed."""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.bytes = 0
        self._arrays: OrderedDict[int, np.ndarray] = OrderedDict()

    def __contains__(self, key: int) -> bool:
        return key in self._arrays

    def __len__(self) -> int:
        return len(self._arrays)

    def get(self, key: int) -> np.ndarray | None:
        """Return the array, which counts as a use of it; None where it is not here."""
        if key not in self._arrays:
            return None
        self._arrays.move_to_end(key)
        return self._arrays[key]

    def put(self, key: int, array: np.ndarray) -> None:
        """Keep an array."""
        if key in self._arrays:
            self.bytes -= self._arrays.pop(key).nbytes
        self._arrays[key] = array
        self.bytes += array.nbytes
        while self.bytes > self.max_bytes and len(self._arrays) > 1:
            self.bytes -= self._arrays.popitem(last=False)[1].nbytes


class Dictionary:
    """Weighted, centred candidate columns, on demand.

    Parameters
    ----------
    n_rows, n_columns : int
    tile : callable (slice or index array) -> (k, N) array
        Raw columns as lines; where none are held it is a new array.
    held : (M, N) array or None
        All of them, where they are held.
    weights : (N,) array or None
        Positive weights of the rows.
    intercept : bool
        Whether columns are centred.
    memory_limit : int
        Bytes of the cache of Gram rows.
    """

    def __init__(
        self, n_rows, n_columns, tile, held, weights, intercept, memory_limit=MEMORY_LIMIT
    ):
        self.n_rows, self.n_columns = n_rows, n_columns
        self._tile, self.held = tile, held
        self.intercept = intercept
        self.weights = np.ones(n_rows) if weights is None else weights
        self.root = None if weights is None else np.sqrt(weights)
        self.total = float(np.sum(self.weights))  # the number of rows, copies counted
        self.grams = Store(memory_limit)
        self._whole: np.ndarray | None = None
        self._asked = 0
        self._look_once()

    @classmethod
    def of_kernel(
        cls,
        kernel: Kernel,
        X: np.ndarray,
        weights: np.ndarray | None = None,
        intercept: bool = True,
        memory_limit: int = MEMORY_LIMIT,
    ) -> Dictionary:
        """Return the kernel at every row of X (N, D) as the dictionary, M = N."""
        cross, n = kernel.against(X), len(X)
        held = None
        if 8 * n * n <= memory_limit:
            held = np.empty((n, n))
            for a, b in _spans(n, n):
                cross(X[a:b], held[a:b])
        tile = (lambda which: held[which]) if held is not None else (lambda which: cross(X[which]))
        return cls(n, n, tile, held, weights, intercept, memory_limit)

    @classmethod
    def of_matrix(
        cls,
        Phi: np.ndarray,
        weights: np.ndarray | None = None,
        intercept: bool = True,
        memory_limit: int = MEMORY_LIMIT,
    ) -> Dictionary:
        """Return the columns of a design matrix (N, M) as the dictionary; it is not copied."""
        held, (n, m) = Phi.T, Phi.shape
        return cls(n, m, lambda which: held[which], held, weights, intercept, memory_limit)

    def reweighted(self, weights: np.ndarray, intercept: bool) -> Dictionary:
        """Return the same columns with other weights of the rows; what is held is shared."""
        return Dictionary(self.n_rows, self.n_columns, self._tile, self.held, weights, intercept)

    def _look_once(self) -> None:
        """Learn the means, squared norms and largest entries of all columns in one pass."""
        M = self.n_columns
        self.means, self.square_norms, self.peaks = np.zeros(M), np.empty(M), np.empty(M)
        for a, b, tile in self._tiles():
            self.peaks[a:b] = np.max(np.abs(tile), axis=1)
            raw = np.einsum("ij,ij,j->i", tile, tile, self.weights)
            if self.intercept:
                self.means[a:b] = tile @ self.weights / self.total
                tile = tile - self.means[a:b, None]
            squares = np.einsum("ij,ij,j->i", tile, tile, self.weights)
            squares[squares <= CONSTANT**2 * raw * self.n_rows] = 0.0
            self.square_norms[a:b] = squares

    def _tiles(self) -> Iterator[tuple[int, int, np.ndarray]]:
        for a, b in _spans(self.n_columns, self.n_rows):
            yield a, b, self._tile(slice(a, b))

    # --- columns and products -----------------------------------------------------------------

    def columns(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return weighted, centred columns as lines, (k, N)."""
        indices = np.asarray(indices, dtype=np.intp)
        columns = np.ascontiguousarray(self._tile(indices))
        if self.intercept:
            columns -= self.means[indices, None]
        if self.root is not None:
            columns *= self.root
        return columns

    def products(self, lines: np.ndarray) -> np.ndarray:
        """Return `lines Phi~`, (k, M), for lines (k, N)."""
        lines = np.atleast_2d(lines)
        if self.root is not None:
            lines = lines * self.root
        if self.held is not None:
            result = few_lines_times(lines, self.held.T)
        else:
            result = np.empty((len(lines), self.n_columns))
            for a, b, tile in self._tiles():
                np.matmul(lines, tile.T, out=result[:, a:b])
        if self.intercept:
            result -= np.sum(lines, axis=1)[:, None] * self.means
        return result

    def gram(self, index: int, likely: Sequence[int] | np.ndarray = ()) -> np.ndarray:
        """Return `phi~_j' Phi~`, (M,), not to be written to, from the cache or computed.

        One product with several lines costs little more than one with one line, so the rows of
        the `likely` next ones are computed with it and kept. When many have been asked for, and all
        of them fit, all are computed.
        """
        if self._whole is None and self._asked > self.n_columns // WHOLE_GRAM and self._fits:
            self._whole = self._whole_gram()
        if self._whole is not None:
            return self._whole[index]
        row = self.grams.get(index)
        if row is None:
            wanted = [index, *(int(j) for j in likely if j != index and j not in self.grams)]
            rows = self.products(self.columns(wanted))
            self._asked += len(wanted)
            for j, line in zip(wanted[1:], rows[1:], strict=True):
                self.grams.put(j, line.copy())
            row = rows[0].copy()
            self.grams.put(index, row)
        return row

    @property
    def _fits(self) -> bool:
        return self.held is not None and 8 * self.n_columns**2 <= self.grams.max_bytes

    def _whole_gram(self) -> np.ndarray:
        """Return `Phi~'Phi~`, (M, M): N M^2 multiply-adds, half of them saved by symmetry."""
        assert self.held is not None
        whole = np.empty((0, 0))
        for a, b in _spans(self.n_rows, self.n_columns, GRAM_TILE_BYTES):
            part = self.held[:, a:b]
            if self.intercept:
                part = part - self.means[:, None]
            if self.root is not None:
                part = part * self.root[a:b]
            products = part @ part.T
            whole = products if a == 0 else np.add(whole, products, out=whole)
        return whole

    def centred(self, t: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the targets as the models see them, `W^1/2 (t - mean)`, and their mean."""
        mean = float(self.weights @ t / self.total) if self.intercept else 0.0
        centred = t - mean
        if np.max(np.abs(centred), initial=0.0) <= 1e-13 * abs(mean):
            centred = np.zeros_like(t)  # a constant target, up to rounding
        return (centred if self.root is None else centred * self.root), mean


def few_lines_times(lines: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return `lines @ matrix`: up to three products with a vector beat one with a matrix."""
    if 1 < len(lines) <= FEW_LINES and matrix.size >= LARGE:
        return np.stack([line @ matrix for line in lines])
    return lines @ matrix


def _spans(n_columns: int, n_rows: int, tile_bytes: int = TILE_BYTES) -> Iterator[tuple[int, int]]:
    step = max(1, tile_bytes // (8 * n_rows))
    for a in range(0, n_columns, step):
        yield a, min(a + step, n_columns)
