"""What the workers of a Dask cluster do with a chunk of rows that they hold, and with sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from greedygp.rows.device import backend_of, sent_chunk
from greedygp.rows.store import Chunk, plus
from greedygp.threads import serial_blas

__all__ = ["added", "alone", "count_used", "mapped", "reduced", "taken"]


def mapped(function: Callable[[Chunk], Any], chunk: Chunk, rows: int, device: Any) -> list[Any]:
    """Return what a pass gives for at most so many rows at a time."""
    chunk = _on(chunk, device)
    with serial_blas(1):  # the worker's threads have a task each
        return [function(piece) for piece in chunk.pieces(rows)]


def reduced(function: Callable[[Chunk], Any], chunk: Chunk, rows: int, device: Any) -> Any:
    """Return the sum of what a pass gives."""
    chunk, total = _on(chunk, device), None
    with serial_blas(1):
        for piece in chunk.pieces(rows):
            total = plus(total, function(piece))
    return total


def alone(function: Callable[[Chunk], np.ndarray], chunk: Chunk, device: Any) -> np.ndarray:
    """Return what a function gives for the whole chunk."""
    return function(_on(chunk, device))


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of partial sums."""
    total = None
    for part in parts:
        total = plus(total, part)
    return total


def count_used(chunk: Chunk) -> int:
    """Return how many rows have a positive weight."""
    return len(chunk) if chunk.used is None else len(chunk.used)


def taken(chunk: Chunk, places: np.ndarray) -> tuple:
    """Return X, y, weights of some rows of positive weight, and their places among all."""
    places = places if chunk.used is None else chunk.used[places]
    return *chunk.take(places), chunk.start + places


def _on(chunk: Chunk, device: Any) -> Chunk:
    """Return a chunk where passes work on it: the one pass has its tensors there already."""
    if device is None:
        return chunk
    return sent_chunk(chunk, backend_of(device, float(np.finfo(chunk.X.dtype).eps)))
