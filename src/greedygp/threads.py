"""Who has the threads: BLAS, or the blocks of rows that the library works on itself.

How many threads a BLAS library uses is a property of the process, so what one thread of a user's
program asks for must not be undone by another one that asks for it, too, and ends later. Everything
that is asked for is counted in one place, and the libraries get their own limits back when nobody
asks any more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["numpy_threads_only", "serial_blas", "thread_count"]

# The threads that belong to blocks of rows, in the thread that works on them.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)


def thread_count() -> int:
    """Return how many threads there are to work with: BLAS's own limit, or the number of cores.

    Where BLAS is serial because the threads belong to blocks of rows, it is their number.
    """
    granted = _granted.get()
    if granted is not None:
        return granted
    return max((library.num_threads for library in _libraries()), default=os.cpu_count() or 1)


@contextmanager
def serial_blas(threads: int) -> Iterator[None]:
    """While this lasts, no BLAS library has threads; so many are there for blocks of rows."""
    granted = _granted.set(threads)
    try:
        with _limits.asked_for("nobody"):
            yield
    finally:
        _granted.reset(granted)


@contextmanager
def numpy_threads_only() -> Iterator[None]:
    """While this lasts, no BLAS library but NumPy's has threads.

    NumPy's and SciPy's wheels bring a library each. Threads of one wait for work in a loop for a
    while after each call, and take the cores from those of the other, where calls alternate.
    """
    with _limits.asked_for("numpy only"):
        yield


class _Limits:
    """What is asked for now, by how many, and the libraries' own limits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking = {"nobody": 0, "numpy only": 0}
        self._own: dict[str, int] = {}

    @contextmanager
    def asked_for(self, what: str) -> Iterator[None]:
        self._count(what, 1)
        try:
            yield
        finally:
            self._count(what, -1)

    def _count(self, what: str, change: int) -> None:
        with self._lock:
            if not any(self._asking.values()):
                self._own = {library.filepath: library.num_threads for library in _libraries()}
            self._asking[what] += change
            for library in _libraries():
                wanted = self._wanted(library.filepath)
                if wanted != library.num_threads:
                    library.set_num_threads(wanted)

    def _wanted(self, path: str) -> int:
        serial = self._asking["nobody"] or (self._asking["numpy only"] and path in _not_numpys())
        return 1 if serial else self._own[path]


_limits = _Limits()


@cache
def _libraries() -> list:
    import scipy.linalg  # noqa: F401, so that its library is loaded, too

    controllers = ThreadpoolController().lib_controllers
    return [library for library in controllers if library.user_api == "blas"]


@cache
def _not_numpys() -> frozenset[str]:
    """Return the libraries that are not NumPy's; none where it shares one, or nobody knows."""
    paths = {library.filepath for library in _libraries()}
    others = {path for path in paths if "numpy" not in path}
    return frozenset() if others == paths else frozenset(others)
