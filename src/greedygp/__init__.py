"""Gaussian processes and sparse kernel models that choose their own basis greedily."""

from typing import TYPE_CHECKING

from greedygp.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    __all__: list[str]

    from greedygp.auto import AutoGPRegressor as AutoGPRegressor
    from greedygp.classification.estimator import SparseGPClassifier as SparseGPClassifier
    from greedygp.dense.estimator import GPRegressor as GPRegressor
    from greedygp.linear.classifier import FastRVMClassifier as FastRVMClassifier
    from greedygp.linear.estimator import FastGCVRegressor as FastGCVRegressor
    from greedygp.linear.forward_estimators import OLSRegressor as OLSRegressor
    from greedygp.linear.forward_estimators import RFSRegressor as RFSRegressor
    from greedygp.linear.gcv_classifier import FastGCVClassifier as FastGCVClassifier
    from greedygp.linear.local_ridge_estimator import LocalRidgeRegressor as LocalRidgeRegressor
    from greedygp.linear.relevance_estimator import FastRVMRegressor as FastRVMRegressor
    from greedygp.persistence import load as load
    from greedygp.persistence import save as save
    from greedygp.rows.cluster import DaskRows as DaskRows
    from greedygp.rows.device import DeviceRows as DeviceRows
    from greedygp.rows.files import RowSource as RowSource
    from greedygp.sparse.estimator import SparseGPRegressor as SparseGPRegressor
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, "__version__")
