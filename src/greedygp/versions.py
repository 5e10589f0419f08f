"""What older versions of scikit-learn and pandas lack: the one module that knows versions apart.

scikit-learn 1.9 brought callbacks. Where they are missing, estimators have no `set_callbacks`, and
a fit tells nobody how far it is. Nothing else changes. pandas 3 reads numbers in text to their last
digit; older ones have to be asked. scikit-learn 1.6 gives the columns that a `ColumnTransformer`
leaves out in a list of its own making, which model files do not hold; it has to be asked, too. And
its search for estimators fails beside SciPy 1.14 and newer.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "exact_numbers",
    "plain_lists",
    "searchable",
    "with_callbacks",
]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _managed

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    HAS_CALLBACKS = False

    class Nobody:
        """The task of a fit that nobody watches; its parts are it itself."""

        def subcontext(self, **names: Any) -> Nobody:
            return self

        def call_on_fit_task_begin(self, **what: Any) -> None:
            pass

        def call_on_fit_task_end(self, **what: Any) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What :class:`~greedygp.progress.FitProgress` needs of an estimator, without callbacks."""

        def _init_callback_context(self, max_subtasks: int | None = None) -> Nobody:
            return Nobody()

    def _managed(method: Any) -> Any:
        # A frame of its own, as in scikit-learn: warnings count frames to name the user's line.
        @functools.wraps(method)
        def managed(estimator: Any, *given: Any, **named: Any) -> Any:
            return method(estimator, *given, **named)

        return managed


def with_callbacks(method: Method) -> Method:
    """Give a `fit` the life cycle of callbacks, where there are any; its type stays."""
    managed: Method = _managed(method)
    return managed


def exact_numbers(pandas: Any) -> dict[str, str]:
    """Return the options with which `pandas.read_csv` reads numbers to their last digit."""
    newer = int(pandas.__version__.split(".")[0]) >= 3
    return {} if newer else {"float_precision": "round_trip"}


def plain_lists(sklearn: Any) -> dict[str, bool]:
    """Return the options with which a `ColumnTransformer` names columns in plain lists."""
    return {"force_int_remainder_cols": False} if _is_oldest(sklearn) else {}


def _is_oldest(sklearn: Any) -> bool:
    return sklearn.__version__.split(".")[:2] == ["1", "6"]


@contextlib.contextmanager
def searchable(sklearn: Any) -> Iterator[None]:
    """While this lasts, scikit-learn 1.6 can be searched for estimators, as skops does.

    The search imports its helpers for tests, which beside SciPy 1.14 and newer want this variable
    to be set. SciPy looked at it when it was imported: for SciPy nothing changes.
    """
    name = "SCIPY_ARRAY_API"
    if not _is_oldest(sklearn) or name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
