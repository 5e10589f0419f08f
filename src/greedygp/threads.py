"""Who has the threads: BLAS, or the blocks of rows that the library works on itself.

How many threads a BLAS library uses is a property of the process. threadpoolctl sees to it that
threads of a user's program do not undo each other's limits: one of them controls the library, and
requests of the others are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = [
    "START_THREADS",
    "Background",
    "numpy_threads_only",
    "scipy_threads_only",
    "serial_blas",
    "thread_count",
]

START_THREADS = 4  # for LAPACK where a fit starts: more wait for each other over so few rows

# The threads that belong to blocks of rows, in the thread that works on them.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)


def thread_count() -> int:
    """Return how many threads there are to work with: BLAS's own limit, or the number of cores.

    Where BLAS is serial because the threads belong to blocks of rows, it is their number.
    """
    granted = _granted.get()
    if granted is not None:
        return granted
    libraries = _blas().lib_controllers
    return max((library.num_threads for library in libraries), default=os.cpu_count() or 1)


@contextmanager
def serial_blas(threads: int) -> Iterator[None]:
    """While this lasts, BLAS is serial, and `threads` of them are there for blocks of rows."""
    granted = _granted.set(threads)
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _granted.reset(granted)


@contextmanager
def numpy_threads_only() -> Iterator[None]:
    """While this lasts, no BLAS library but NumPy's has threads.

    NumPy's and SciPy's wheels each bring a library of their own. After a call its threads spin for
    a while, waiting for more work. Where calls to both alternate, each takes the cores from the
    other.
    """
    with _serial(lambda path: "numpy" not in path):
        yield


@contextmanager
def scipy_threads_only(most: int | None = None) -> Iterator[None]:
    """The same for SciPy's, which may have at most so many: where LAPACK does the work."""
    others = None if most is None else min(most, thread_count())
    with _serial(lambda path: "numpy" in path, others):
        yield


@contextmanager
def _serial(which: Callable[[str], bool], others: int | None = None) -> Iterator[None]:
    """While this lasts, BLAS libraries with such paths are serial; the others may have a limit.

    Nothing changes where that is all of them, or none.
    """
    paths = [library.filepath for library in _blas().lib_controllers]
    chosen = [path for path in paths if which(path)]
    if chosen in ([], paths):  # one library serves both, or it cannot be told
        yield
        return
    rest = [path for path in paths if path not in chosen]
    serial, limited = (_blas().select(filepath=part) for part in (chosen, rest))
    with serial.limit(limits=1), limited.limit(limits=others):
        yield


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401, so that its library is loaded, too

    return ThreadpoolController().select(user_api="blas")


class Background:
    """Work that has been handed to the helper threads; its results are asked for later.

    By then, the caller does itself whatever no helper has begun. Where a call only queues work for
    a device (`queued`), the caller makes all calls at once.
    """

    def __init__(
        self,
        threads: int,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        *,
        queued: bool = False,
    ):
        self._function, self._items = function, items
        self._tasks: list[Future | None] = [None] * len(items)
        if queued:
            self._tasks = [_done(function(item)) for item in items]
        elif threads > 1:
            pool = _pool(os.getpid(), threads)
            self._tasks = [pool.submit(function, item) for item in items]

    def results(self) -> list[Any]:
        """Return the results in the order of the items."""
        try:
            # Helpers begin with the first items, so the caller begins with the last.
            found = [self._result(i) for i in reversed(range(len(self._items)))]
            return [task.result() if isinstance(task, Future) else task for task in found[::-1]]
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Cancel what has not begun and wait for the rest: nobody may write to the rows later."""
        wait([task for task in self._tasks if task is not None and not task.cancel()])

    def _result(self, i: int) -> Any:
        """Do item i, unless a helper has begun with it: then return its task."""
        task = self._tasks[i]
        if task is None or task.cancel():
            return self._function(self._items[i])
        return task


def _done(result: Any) -> Future:
    """Return a task that has ended."""
    task: Future = Future()
    task.set_result(result)
    return task


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the helper threads of a process; a forked process makes its own."""
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix=f"greedygp-{process}")
