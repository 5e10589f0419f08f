"""Kernels that look at some columns of the inputs only: `active_dims`, by number or by name."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.kernels.cross import Cross
from greedygp.messages import shown

__all__ = ["ColumnsCross", "places_of", "scattered", "selected", "validate_columns"]


def validate_columns(kind: str, name: str, columns: Any) -> tuple[int | str, ...] | None:
    """Return columns, given by number or by name, as a tuple; None stays None (all columns)."""
    if columns is None:
        return None
    given = [columns] if isinstance(columns, str | Integral) else columns
    error = ValueError(
        f"{name} of {kind} must be None, or the columns it looks at, each once, by number (from "
        f"0) or by name; got {shown(columns)}"
    )
    try:
        values = list(given)
    except TypeError:
        raise error from None
    found: list[int | str] = []
    for value in values:
        if isinstance(value, str):
            found.append(str(value))
        elif isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
            found.append(int(value))
        else:
            raise error
    if not found or len(set(found)) < len(found):
        raise error
    return tuple(found)


def places_of(
    kind: str, columns: tuple[int | str, ...], names: Sequence[Any] | None
) -> tuple[int, ...]:
    """Return the numbers of columns that may have been given by name."""
    wanted = [column for column in columns if isinstance(column, str)]
    if wanted and names is None:
        raise ValueError(
            f"active_dims of {kind} names the column {wanted[0]!r}, but the inputs have no column "
            "names: fit on a DataFrame (in a pipeline, with set_output(transform='pandas')), or "
            "give columns by number"
        )
    known = [] if names is None else [str(name) for name in names]
    missing = [repr(name) for name in wanted if name not in known]
    if missing:
        shown_names = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        raise ValueError(
            f"active_dims of {kind} names {', '.join(missing)}, but the columns are {shown_names}"
        )
    places = tuple(known.index(c) if isinstance(c, str) else c for c in columns)
    if len(set(places)) < len(places):
        raise ValueError(f"active_dims of {kind} names a column twice: {shown(columns)}")
    return places


def selected(A: Array, places: tuple[int, ...] | None) -> Array:
    """Return some columns of A (None: A itself)."""
    if places is None:
        return A
    first = places[0]
    if places == tuple(range(first, first + len(places))):
        return A[:, first : first + len(places)]
    backend = Backend(A)
    return backend.xp.take(A, backend.integers(np.array(places)), axis=1)


def scattered(part: Array, A: Array, places: tuple[int, ...] | None) -> Array:
    """Return an array like A that is zero but for `part` in some columns (None: `part` itself)."""
    if places is None:
        return part
    whole = Backend(A).zeros(A.shape)
    for k, place in enumerate(places):
        whole[:, place] = part[:, k]
    return whole


class ColumnsCross(Cross):
    """A cross of some columns, for inputs with all of them."""

    def __init__(self, B: Array, places: tuple[int, ...], inner: Cross):
        super().__init__(B)
        self.places, self.inner = places, inner

    def __call__(self, A: Array, out: Array | None = None) -> Array:
        return self.inner(selected(self.rows(A), self.places), out)

    def add_to(self, K: Array, A: Array) -> Array:
        return self.inner.add_to(K, selected(self.rows(A), self.places))

    def multiply_into(self, K: Array, A: Array) -> Array:
        return self.inner.multiply_into(K, selected(self.rows(A), self.places))
