"""Rows that live on the host, or in files, and pass by on a GPU a chunk at a time.

A thread reads the next chunk and sends it on from pinned memory while the device works on the last.
A first look at the rows and the sample's choice are the host's business: only what is computed with
goes to the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, as_array, is_foreign
from greedygp.rows.memory import ArrayRows
from greedygp.rows.store import Chunk, RowStore

__all__ = ["DeviceRows", "backend_of", "sent", "sent_chunk"]


class DeviceRows(RowStore):
    """Rows that are worked on by a device of torch, which need not hold them all.

    `SparseGPRegressor.fit`, `predict` and `loo_predict` take it in the place of X and y. What they
    return lies on the device.

    Parameters
    ----------
    X : (n, D) array or memory map, or RowSource
    y : (n,) or (n, p) array or None
    sample_weight : (n,) array or None
        A weight of w means the row w times. A `RowSource` has targets and weights of its own.
    device : str or torch.device

    Examples
    --------
    >>> import numpy as np, pytest
    >>> torch = pytest.importorskip("torch")
    >>> from greedygp import DeviceRows, SparseGPRegressor
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> rows = DeviceRows(X, np.sin(X[:, 0]), device="cpu")  # "cuda", where there is one
    >>> model = SparseGPRegressor(max_basis=10, max_iter=5, random_state=0).fit(rows)
    >>> type(model.predict(rows)).__name__
    'Tensor'
    """

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = "cuda"):
        if is_foreign(X):
            raise TypeError(
                f"X is an array of {type(X).__module__.partition('.')[0]} already; give it to the "
                "estimator as it is, or give NumPy arrays, memory maps or a RowSource here."
            )
        if isinstance(X, RowStore) and (y is not None or sample_weight is not None):
            raise ValueError(
                f"X brings its own targets and weights (it is a {type(X).__name__}); leave y and "
                "sample_weight out."
            )
        self.rows = X if isinstance(X, RowStore) else ArrayRows(as_array(X), y, sample_weight)
        self.n_features, self.feature_names = self.rows.n_features, self.rows.feature_names
        self.keeps_left_out = self.rows.keeps_left_out
        self.backend = backend_of(device, self.rows.backend.epsilon)

    def check(self) -> tuple[int, ...] | None:
        return self.rows.check()

    def on_host(self) -> RowStore:
        return self.rows

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.rows.chunks():
            yield sent_chunk(chunk, self.backend)

    def gather(self, places: np.ndarray) -> tuple[Array, Array, Array, np.ndarray]:
        X, y, weights, numbers = self.rows.gather(places)
        return sent(X, self.backend), sent(y, self.backend), weights, numbers


def sent_chunk(chunk: Chunk, backend: Backend) -> Chunk:
    """Return a chunk with inputs and targets on a device; weights stay."""
    return replace(chunk, X=sent(chunk.X, backend), y=sent(chunk.y, backend))


def sent(values: np.ndarray | None, backend: Backend) -> Array:
    """Return host values on a device; to a GPU they go while it is at work."""
    if values is None:
        return None
    return backend.sent(values)


def backend_of(device: Any, epsilon: float) -> Backend:
    """Return that of a device, in the precision whose rounding error is `epsilon`."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("Rows on a device need torch: pip install torch.") from error
    dtype = torch.float64 if epsilon < 1e-12 else torch.float32
    return Backend(torch.empty(0, dtype=dtype, device=device))
