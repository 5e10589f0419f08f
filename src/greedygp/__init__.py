"""Gaussian processes and sparse kernel models that choose their own basis greedily."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from greedygp.classification.estimator import SparseGPClassifier
    from greedygp.dense.estimator import GPRegressor
    from greedygp.linear.classifier import FastRVMClassifier
    from greedygp.linear.estimator import FastGCVRegressor, FastRVMRegressor
    from greedygp.linear.rivals import LocalRidgeRegressor, OLSRegressor, RFSRegressor
    from greedygp.persistence import load, save
    from greedygp.sparse.estimator import SparseGPRegressor

__all__ = [
    "SparseGPClassifier",
    "SparseGPRegressor",
    "GPRegressor",
    "FastGCVRegressor",
    "FastRVMRegressor",
    "OLSRegressor",
    "RFSRegressor",
    "LocalRidgeRegressor",
    "FastRVMClassifier",
    "load",
    "save",
    "__version__",
]

__version__ = "0.1.0"

# Imported when first asked for, so that `greedygp --help` need not wait for scikit-learn.
_HOMES = {
    "SparseGPClassifier": "greedygp.classification.estimator",
    "SparseGPRegressor": "greedygp.sparse.estimator",
    "GPRegressor": "greedygp.dense.estimator",
    "FastGCVRegressor": "greedygp.linear.estimator",
    "FastRVMRegressor": "greedygp.linear.estimator",
    "OLSRegressor": "greedygp.linear.rivals",
    "RFSRegressor": "greedygp.linear.rivals",
    "LocalRidgeRegressor": "greedygp.linear.rivals",
    "FastRVMClassifier": "greedygp.linear.classifier",
    "load": "greedygp.persistence",
    "save": "greedygp.persistence",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
