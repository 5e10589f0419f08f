"""Looking through scikit-learn without importing torch and Dask on the way."""

from __future__ import annotations

import contextlib
import importlib.abc
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["unneeded_hidden"]

# Whole libraries that scikit-learn has a layer for. Importing them takes seconds.
UNNEEDED = frozenset({"torch", "dask", "cupy", "jax"})


@contextlib.contextmanager
def unneeded_hidden() -> Iterator[None]:
    """Keep these libraries from being imported by this thread, if they are not there yet.

    A search through all of scikit-learn for estimators (skops makes one when it is imported) comes
    by its layers for these libraries, and so imports them where they are installed. The search
    passes over what cannot be imported.
    """
    import sklearn

    from greedygp.versions import searchable

    finder = _Hiding(UNNEEDED - sys.modules.keys())
    sys.meta_path.insert(0, finder)
    try:
        with searchable(sklearn):
            yield
    finally:
        sys.meta_path.remove(finder)


class _Hiding(importlib.abc.MetaPathFinder):
    def __init__(self, names: frozenset[str]) -> None:
        self.names, self.thread = names, threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        hidden = fullname.partition(".")[0]
        if hidden in self.names and threading.get_ident() == self.thread:
            raise ImportError(f"{hidden} is not needed here")
