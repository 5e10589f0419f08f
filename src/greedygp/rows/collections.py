"""Dask collections: what they are, and chunks of X, y and weights brought into line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.rows.store import Chunk

__all__ = [
    "Aligned",
    "Place",
    "aligned",
    "as_targets",
    "check_column_types",
    "chunk_of",
    "dtype_of",
    "is_dask",
    "lazy_rows",
    "names_of",
]


def is_dask(value: Any) -> bool:
    """Tell whether something is a Dask array or dataframe (without importing Dask)."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        value, "__dask_graph__"
    )


def is_frame(collection: Any) -> bool:
    """Tell whether a Dask collection is a dataframe or a series."""
    return hasattr(collection, "npartitions") and hasattr(collection, "divisions")


def check_column_types(X: Any) -> None:
    """Raise a sentence unless X has columns that all hold numbers, as far as Dask knows."""
    if is_frame(X):
        if X.ndim == 1:
            raise ValueError(
                f"X must have rows and columns; it is the series {X.name!r}. Take a dataframe with "
                "one column: frame[[name]]."
            )
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            if getattr(kind, "kind", "O") not in "biuf":
                raise ValueError(
                    f"X must hold numbers; its column {name!r} holds {kind}. Encode it or leave "
                    "it out."
                )
    elif getattr(X.dtype, "kind", "O") not in "biuf":
        raise ValueError(f"X must hold numbers; its dtype is {X.dtype}.")


def as_targets(name: str, values: Any) -> Any:
    """Return targets or weights as a Dask collection, an array, or None; of numbers, as it seems.

    Objects may be numbers; that is seen where they are.
    """
    if values is None:
        return None
    if not is_dask(values):
        values = np.asarray(values)
    kinds = values.dtypes if is_frame(values) and values.ndim == 2 else [values.dtype]
    for kind in kinds:
        if getattr(kind, "kind", "O") not in "biufO" or str(kind).startswith("str"):
            raise ValueError(f"{name} must hold numbers; its dtype is {kind}.")
    return values


def names_of(X: Any) -> list[str] | None:
    """Return the columns' names, where they are words."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def dtype_of(X: Any) -> type:
    """Return the precision in which the rows are worked on."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


# --- one chunk ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a chunk's rows are among all (None: not known), and what they are."""

    number: int
    names: tuple[str, ...]
    dtype: Any
    start: int | None = None


def chunk_of(X: Any, y: Any, weights: Any, place: Place) -> Chunk:
    """Return a chunk of rows, as NumPy arrays."""
    where = f"chunk {place.number}"
    if place.start:
        where += f", which begins at row {place.start} of all"
    return Chunk(
        _numbers("X", X, place.dtype, where),
        None if y is None else _numbers("y", y, np.float64, where),
        None if weights is None else _numbers("sample_weight", weights, np.float64, where),
        place.start or 0,
        where,
        0,
        place.names,
    )


def _numbers(name: str, block: Any, dtype: Any, where: str) -> np.ndarray:
    try:
        if hasattr(block, "to_numpy"):  # of a dataframe, whose missing values may be of any kind
            return block.to_numpy(dtype=dtype, na_value=np.nan)
        return np.asarray(block, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; not so in {where}: {error}.") from error


def lazy_rows(X: Any, function: Callable[[Chunk], np.ndarray], shape: tuple[int, ...]) -> Any:
    """Return a Dask array (n, *shape) of what a function gives for the rows of each chunk."""
    import dask.array as da
    from dask import delayed

    check_column_types(X)
    dtype, names = dtype_of(X), tuple(names_of(X) or ())
    blocks = _parts(X)
    lengths = [np.nan] * len(blocks) if is_frame(X) else X.chunks[0]
    make, work = delayed(chunk_of, pure=False), delayed(function, pure=False, traverse=False)
    return da.concatenate(
        [
            da.from_delayed(
                work(make(block, None, None, Place(number, names, dtype))), (length, *shape), dtype
            )
            for number, (block, length) in enumerate(zip(blocks, lengths, strict=True))
        ]
    )


# --- chunks of the same rows -------------------------------------------------------------------


@dataclass
class Aligned:
    """Chunks of X, y and weights (each a `Delayed`, or None) that have the same rows."""

    parts: list[tuple[Any, Any, Any]]
    lengths: list[int]
    n_targets: int | None


def aligned(X: Any, y: Any, weights: Any, values: Callable[[list], list]) -> Aligned:
    """Return chunks of the same rows; raise a sentence if there are not as many rows of each.

    `values` computes a list of tasks.
    """
    lengths = _lengths(X, values)
    columns = [_parts(X)]
    for name, other in (("y", y), ("sample_weight", weights)):
        if other is None:
            columns.append([None] * len(lengths))
        else:
            columns.append(_parts(_like(name, other, lengths, values)))
    n_targets = None if y is None else 1 if y.ndim == 1 else int(y.shape[1])
    return Aligned(list(zip(*columns, strict=True)), lengths, n_targets)


def _parts(collection: Any) -> list[Any]:
    """Return the chunks, each with all columns, as a list of `Delayed`."""
    if is_frame(collection):
        return list(collection.to_delayed())
    if collection.ndim == 2 and len(collection.chunks[1]) > 1:
        collection = collection.rechunk({1: -1})
    return list(np.ravel(collection.to_delayed()))


def _lengths(collection: Any, values: Callable[[list], list]) -> list[int]:
    """Return how many rows each chunk has; what Dask does not know is counted."""
    from dask import delayed

    if not is_frame(collection) and not np.any(np.isnan(collection.chunks[0])):
        return [int(length) for length in collection.chunks[0]]
    if is_frame(collection):
        parts = collection.to_delayed()
    else:
        parts = collection.to_delayed()
        parts = parts[:, 0] if parts.ndim == 2 else parts
    return [int(length) for length in values([delayed(len)(part) for part in parts])]


def _like(name: str, other: Any, lengths: list[int], values: Callable[[list], list]) -> Any:
    """Return targets or weights in chunks of those lengths."""
    if name == "sample_weight" and other.ndim == 0:
        other = np.broadcast_to(other, sum(lengths))
    if name == "sample_weight" and other.ndim != 1:
        raise ValueError("sample_weight must have one number per row; it has several columns.")
    if not is_dask(other):
        import dask.array as da

        if len(other) != sum(lengths):
            raise ValueError(_do_not_fit(name, [len(other)], lengths))
        return da.from_array(other, chunks=(tuple(lengths), *other.shape[1:]))
    own = _lengths(other, values)
    if sum(own) != sum(lengths):
        raise ValueError(_do_not_fit(name, own, lengths))
    if own == lengths:
        return other
    if is_frame(other):
        other = other.to_dask_array(lengths=tuple(own))
    elif np.any(np.isnan(other.chunks[0])):
        other = other.copy()
        other._chunks = (tuple(own), *other.chunks[1:])
    return other.rechunk({0: tuple(lengths)})


def _do_not_fit(name: str, own: list[int], lengths: list[int]) -> str:
    """Say that X and another collection have not as many rows, and where that begins."""
    sentence = f"X has {sum(lengths)} rows in {len(lengths)} chunks, but {name} has {sum(own)}"
    if len(own) != len(lengths):
        return f"{sentence} in {len(own)}; give both the same rows."
    first = next(i for i, (a, b) in enumerate(zip(own, lengths, strict=True)) if a != b)
    return (
        f"{sentence}: chunk {first} of {name} has {own[first]} rows, and that of X has "
        f"{lengths[first]}; give both the same rows."
    )
