"""The linear system of a full GP, `A alpha = y` with `A = K + diag(ridge)`, as an operator.

`K` is the n x n kernel matrix of the rows and `ridge_i = s2 / w_i`: a row of weight w stands for w
rows with the same input. Vectors have the row as their last axis, (p, n), one line for each
right-hand side. Kernel entries are evaluated when they are needed, in tiles of a size that stays in
the processor's cache (larger ones elsewhere); where the whole matrix fits into the memory that the
user allows, it is evaluated once and held. `entries` counts every kernel entry that was evaluated.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.kernels import Kernel

__all__ = ["System"]

# NumPy's tiles stay in the processor's cache; those of other libraries are large, to be fast.
COLUMN_TILE, ROW_TILE = 2048, 256
WIDE_COLUMN_TILE, WIDE_ROW_TILE = 8192, 8192


class System:
    """The matrix `A` of a full GP.

    Parameters
    ----------
    kernel : Kernel
    noise_variance : float
    X : (n, D) array
    weights : (n,) array or None
    hold : bool
        Whether the kernel matrix may be held in memory (it is evaluated at the first use).
    """

    def __init__(
        self,
        kernel: Kernel,
        noise_variance: float,
        X: Array,
        weights: Array | None = None,
        *,
        hold: bool = False,
    ):
        self.kernel, self.noise_variance, self.X = kernel, noise_variance, X
        self.backend = Backend(X)
        self.n = X.shape[0]
        self.hold = hold
        self.entries = 0
        ones = np.ones(self.n) if weights is None else to_numpy(weights).astype(np.float64)
        self.ridge = self.backend.asarray(noise_variance / ones)
        self.diagonal = kernel.diag(X) + self.ridge
        self._held: Array | None = None
        self._against = [kernel.against(X[tile, :]) for tile in self._tiles()]

    def _tiles(self) -> list[slice]:
        width = self.backend.tile_size(COLUMN_TILE, WIDE_COLUMN_TILE)
        return [slice(i, min(i + width, self.n)) for i in range(0, self.n, width)]

    @property
    def matrix(self) -> Array:
        """The kernel matrix K, held from now on."""
        if self._held is None:
            self._held = self._gram()
        return self._held

    def forget(self) -> None:
        """Free the memory of the kernel matrix."""
        self._held = None

    def _gram(self) -> Array:
        """Evaluate K: the tiles on and below the diagonal; those above it are mirrored."""
        K = self.backend.empty((self.n, self.n))
        tiles = self._tiles()

        def fill(j: int) -> int:
            columns, done = tiles[j], 0
            for rows in self._row_tiles(columns.start, self.n):
                tile = self._against[j](self.X[rows, :], out=K[rows, columns])
                if rows.start >= columns.stop:
                    K[columns, rows] = tile.T
                done += tile.shape[0] * tile.shape[1]
            return done

        self.entries += sum(self._map(fill, range(len(tiles))))
        return K

    def _row_tiles(self, start: int, stop: int) -> list[slice]:
        height = self.backend.tile_size(ROW_TILE, WIDE_ROW_TILE)
        return [slice(i, min(i + height, stop)) for i in range(start, stop, height)]

    def _map(self, function, items) -> list:
        with self.backend.threads_over_blocks():
            return self.backend.map(function, items)

    # --- products --------------------------------------------------------------------------------

    def product(self, vectors: Array) -> Array:
        """Return `vectors A`, (p, n); on the fly every entry is used for both of its places."""
        if self.hold:
            result = self.backend.matmul(vectors, self.matrix)
        else:
            result = self._product_on_the_fly(vectors)
        result += vectors * self.ridge[None, :]
        return result

    def _product_on_the_fly(self, vectors: Array) -> Array:
        tiles = self._tiles()
        workers = max(1, min(self.backend.threads, len(tiles)))
        shares = [list(range(w, len(tiles), workers)) for w in range(workers)]

        def work(share: list[int]) -> tuple[Array, int]:
            part, done = self.backend.zeros(tuple(vectors.shape)), 0
            for j in share:
                done += self._add_column_tile(j, tiles[j], vectors, part)
            return part, done

        parts = self._map(work, shares)
        self.entries += sum(done for _, done in parts)
        total = parts[0][0]
        for part, _ in parts[1:]:
            total += part
        return total

    def _add_column_tile(self, j: int, columns: slice, vectors: Array, total: Array) -> int:
        """Add, in place, what the tile of columns j contributes from the diagonal down."""
        done = 0
        for rows in self._row_tiles(columns.start, self.n):
            tile = self._against[j](self.X[rows, :])
            total[:, columns] += self.backend.matmul(vectors[:, rows], tile)
            if rows.start >= columns.stop:
                total[:, rows] += self.backend.matmul(vectors[:, columns], tile.T)
            done += tile.shape[0] * tile.shape[1]
        return done

    # --- columns ---------------------------------------------------------------------------------

    def columns(self, index: np.ndarray, out: Array | None = None) -> Array:
        """Return `K[index, :]`, (b, n), without the ridge, into `out` if given."""
        out = self.backend.empty((len(index), self.n)) if out is None else out
        if self.hold:
            return self.backend.take_rows(self.matrix, index, out)
        inputs = self.backend.xp.take(self.X, self.backend.integers(index), axis=0)
        tiles = self._tiles()

        def fill(j: int) -> None:
            for rows in self._row_tiles(0, len(index)):
                self._against[j](inputs[rows, :], out=out[rows, tiles[j]])

        self._map(fill, range(len(tiles)))
        self.entries += len(index) * self.n
        return out

    def square(self, panel: Array, index: np.ndarray) -> np.ndarray:
        """Return `A[index, index]` on the host, in float64, given `panel = K[index, :]`."""
        chosen = self.backend.integers(index)
        block = to_numpy(self.backend.xp.take(panel, chosen, axis=1)).astype(np.float64)
        block = 0.5 * (block + block.T)
        block[np.diag_indices(len(index))] = to_numpy(
            self.backend.xp.take(self.diagonal, chosen, axis=0)
        )
        return block
