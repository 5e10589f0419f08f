"""Names of a package that are imported when first asked for.

A package lists its public names once, as imports that only type checkers run::

    if TYPE_CHECKING:
        from greedygp.dense.estimator import GPRegressor as GPRegressor
    else:
        __getattr__, __dir__, __all__ = lazy_names(__name__)

Type checkers and editors read the imports; at run time this module reads them, too, and does each
one when its name is first used. So `greedygp --help` need not wait for scikit-learn.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, *own: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`. Its source must be at hand.
    *own : str
        Public names that the package defines itself.

    Examples
    --------
    >>> import greedygp
    >>> "GPRegressor" in greedygp.__all__, "GPRegressor" in dir(greedygp)
    (True, True)
    """
    modules = dict(_listed_imports(package))
    names = [*modules, *own]

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # so that this is not asked for again
        return value

    def names_for_dir() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return get, names_for_dir, names


def _listed_imports(package: str) -> Iterator[tuple[str, str]]:
    """Yield the names imported below `if TYPE_CHECKING:`, and the module of each."""
    spec = sys.modules[package].__spec__ or find_spec(package)
    source = spec.loader.get_source(package) if spec and spec.loader else None  # type: ignore
    if source is None:
        raise ImportError(f"The names of {package} are read from its source, which is not here.")
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom):
                    for name in statement.names:
                        yield name.name, str(statement.module)
