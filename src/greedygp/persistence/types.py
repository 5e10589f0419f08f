"""The types that a model may hold, and in which kind of node of skops' tree."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np

from greedygp.persistence.unneeded import unneeded_hidden

__all__ = ["LOADERS", "PACKAGES", "is_allowed"]

PACKAGES = ("greedygp", "sklearn", "numpy")

# Nodes of plain values, with the one type that each may make. None of them calls a
# constructor with arguments from the file.
PLAIN = {
    "DictNode": "dict",
    "ListNode": "list",
    "TupleNode": "tuple",
    "SetNode": "set",
    "SliceNode": "slice",
    "JsonNode": "str",
}
RANDOM = {
    "RandomStateNode": {("numpy.random.mtrand", "RandomState"), ("numpy.random", "RandomState")},
    "RandomGeneratorNode": {
        ("numpy.random._generator", "Generator"),
        ("numpy.random", "Generator"),
    },
}
LOADERS = {*PLAIN, *RANDOM, "NdArrayNode", "DTypeNode", "TypeNode", "ObjectNode"}

# Types of the keys of dictionaries.
KEYS = ("str", "int", "float", "bool", "NoneType")

# Modules of greedygp that act on files and screens: no model holds an object of theirs.
NOT_OF_MODELS = ("cli", "persistence", "plotting", "report")


def is_allowed(loader: str, module: str, name: str) -> bool:
    """Tell whether a model may hold an object of the class `name` of a module in such a node.

    A module is imported only if it is one of greedygp's own that define models.
    """
    if loader in PLAIN:
        return (module, name) == ("builtins", PLAIN[loader])
    if loader in RANDOM:
        return (module, name) in RANDOM[loader]
    if loader == "DTypeNode":
        return (module, name) == ("numpy", "dtype")
    if loader == "NdArrayNode":
        return module == "numpy" and _is_array_or_number(name)
    if loader == "TypeNode" and module in ("builtins", "numpy"):
        return name in KEYS if module == "builtins" else _is_array_or_number(name)
    if loader not in ("ObjectNode", "TypeNode"):
        return False
    root = module.split(".")[0]
    if root == "greedygp":
        return _is_class_of_models(module, name)
    return root == "sklearn" and f"{module}.{name}" in _scikit_learn_types()


def _is_array_or_number(name: str) -> bool:
    """Tell whether this is NumPy's array type, or the type of a number, a truth value or text."""
    kind = getattr(np, name, None)
    if not isinstance(kind, type):
        return False
    return kind is np.ndarray or issubclass(kind, np.number | np.bool_ | np.str_)


def _is_class_of_models(module: str, name: str) -> bool:
    """Tell whether this is a class that greedygp's own module of that name defines."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts) or parts[1:2] == []:
        return False
    if parts[1] in NOT_OF_MODELS or any(part.startswith("__") for part in parts):
        return False
    try:
        found = vars(importlib.import_module(module)).get(name)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


@cache
def _scikit_learn_types() -> frozenset[str]:
    """Names of scikit-learn's estimators and of its kernels."""
    from sklearn.gaussian_process import kernels
    from sklearn.utils import all_estimators

    with unneeded_hidden():
        found = {kind for _, kind in all_estimators()}
    found |= {kind for kind in vars(kernels).values() if isinstance(kind, type)}
    return frozenset(
        f"{kind.__module__}.{kind.__name__}"
        for kind in found
        if kind.__module__.startswith("sklearn.")
    )
