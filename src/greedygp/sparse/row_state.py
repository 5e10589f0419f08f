"""What is known of each row of a sparse GP: one block of rows, a dataclass of named arrays."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels import Kernel
from greedygp.kernels.cross import Cross
from greedygp.rows import RowBlock

__all__ = ["SparseRows"]


@dataclass
class SparseRows(RowBlock):
    """T rows, p targets and their state, in the symbols of `state.py`. Changed in place.

    Sums over rows are taken of float64 arrays. `Z`, `V` and what is multiplied with them have the
    dtype of the data: `row_scale` and `row_yt` are `scale` and `yt` in that dtype.
    """

    backend: Backend
    X: Array  # (T, D) inputs
    y: Array  # (p, T) targets
    weight: Array | None  # (T,) how many copies a row stands for; None: one each
    # of the basis; the first m lines are in use
    Z: Array  # (capacity, T)
    V: Array  # (capacity, T); None: it is not kept
    # of kernel and noise
    cross: Cross = field(init=False)  # the kernel between any inputs and these
    prior: Array = field(init=False)  # (T,) prior variance k_i
    lam: Array = field(init=False)  # (T,) noise of one copy
    scale: Array = field(init=False)  # (T,) sqrt(weight / lam)
    row_scale: Array = field(init=False)
    common_scale: float | None = field(init=False, default=None)  # None: rows differ
    yt: Array = field(init=False)  # (p, T) whitened targets
    row_yt: Array = field(init=False)
    _largest_prior: float | None = field(init=False, default=None)
    # of kernel, noise and basis
    fit: Array = field(init=False)  # (p, T) whitened fit
    leverage: Array = field(init=False)  # (T,) whitened leverage
    explained: Array = field(init=False)  # (T,) whitened q_i

    @classmethod
    def of(
        cls,
        block: RowBlock,
        backend: Backend,
        X: Array,
        y: Array,
        weights: Array | None,
        *,
        capacity: int,
        keep_v: bool,
    ) -> SparseRows:
        """Take a block's rows out of the data; kernel, noise and an empty basis are still to come.

        Parameters
        ----------
        block : RowBlock
        backend : Backend
        X, y, weights : (n, D) row array, (p, n) row array, (n,) row array or None
        capacity : int
            The most basis vectors.
        keep_v : bool
            Whether there is room for V.
        """
        part, shape = slice(block.start, block.stop), (capacity, block.width)
        return cls(
            block.number,
            block.start,
            block.stop,
            backend,
            X=X[part, :],
            y=backend.xp.astype(y[:, part], backend.float64),
            weight=None if weights is None else backend.as_float64(weights[part]),
            Z=backend.empty(shape),
            V=backend.empty(shape) if keep_v else None,
        )

    def with_room(self, capacity: int) -> SparseRows:
        """Return the same rows with arrays of their own for so many basis vectors."""
        other, shape = copy.copy(self), (capacity, self.width)
        other.Z = self.backend.empty(shape)
        other.V = None if self.V is None else self.backend.empty(shape)
        return other

    def set_weight(self, weights: Array | None) -> None:
        """Set how many copies the rows stand for, given that of all rows, in place."""
        part = slice(self.start, self.stop)
        self.weight = None if weights is None else self.backend.as_float64(weights[part])
        self.whiten(self.lam)

    def set_kernel(self, kernel: Kernel) -> None:
        """Set what depends on the kernel alone, in place."""
        self.cross = kernel.against(self.X)
        self.prior = self.backend.as_float64(kernel.diag(self.X))

    def whiten(self, lam: Array | float) -> None:
        """Set the noise of a copy (one number: all rows share it) and the scale, in place."""
        self.common_scale = None
        if isinstance(lam, float):
            self.common_scale = 1.0 / math.sqrt(lam) if self.weight is None else None
            lam = self.backend.xp.zeros_like(self.prior) + lam
        self.lam, self._largest_prior = lam, None
        noise = lam if self.weight is None else lam / self.weight
        self.scale = 1.0 / self.backend.xp.sqrt(noise)
        self.row_scale = self.backend.asarray(self.scale)
        self.yt = self.y * self.scale[None, :]
        self.row_yt = self.backend.asarray(self.yt)

    def clear(self) -> None:
        """Set what depends on the basis to an empty one, in place."""
        backend = self.backend
        self.fit = backend.zeros(self.y.shape, backend.float64)
        self.leverage = backend.zeros((self.width,), backend.float64)
        self.explained = backend.zeros((self.width,), backend.float64)

    # --- what others read ----------------------------------------------------------------------

    @property
    def weights(self) -> Array:
        """How many copies each row stands for."""
        return self.backend.xp.ones_like(self.lam) if self.weight is None else self.weight

    @property
    def largest_prior(self) -> float:
        """The largest prior variance of a row, in units of the noise of a copy."""
        if self._largest_prior is None:
            self._largest_prior = float(self.backend.xp.max(self.prior / self.lam))
        return self._largest_prior

    @property
    def unexplained(self) -> Array:
        """`k_i - q_i`, which is never negative but for rounding."""
        return self.prior - self.explained / (self.scale * self.scale)

    def weighted_sum(self, each: Array) -> np.ndarray:
        """Return the sum over the rows, a row of weight w counting w times."""
        return self.backend.sums(each if self.weight is None else self.weight * each)
