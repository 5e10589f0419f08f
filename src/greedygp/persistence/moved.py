"""Names that classes had in earlier versions.

A model file names the classes of its objects. Whoever moves or renames a class that can be inside
a fitted model writes the old name and the new one here, so that old files keep opening; chains are
not followed, so an entry always has the name of today. The names of attributes inside the objects
are not translated: they stay, or the class's `__setstate__` takes both.

The table is applied before a file is judged. An entry therefore opens nothing that a file could
not name itself: the new name is checked like any other.
"""

from __future__ import annotations

__all__ = ["MOVED", "name_of_today"]

MOVED: dict[str, str] = {
    "greedygp.dense.solver.Limits": "greedygp.dense.solving.Limits",
    "greedygp.dense.solvers.SolverOptions": "greedygp.dense.solvers.options.SolverOptions",
    "greedygp.tables.encoder.Column": "greedygp.tables.columns.Column",
    "greedygp.tables.encoder.Encoder": "greedygp.tables.earlier.EarlierEncoder",
    "greedygp.linear.classifier._Latent": "greedygp.linear.posterior.LatentFunction",
    "greedygp.linear.estimator.FastRVMRegressor": (
        "greedygp.linear.relevance_estimator.FastRVMRegressor"
    ),
    "greedygp.linear.laplace.Mode": "greedygp.linear.posterior.Mode",
    "greedygp.linear.model.LinearModel": "greedygp.linear.posterior.LinearModel",
    "greedygp.linear.rivals.LocalRidgeRegressor": (
        "greedygp.linear.local_ridge_estimator.LocalRidgeRegressor"
    ),
    "greedygp.linear.rivals.OLSRegressor": "greedygp.linear.forward_estimators.OLSRegressor",
    "greedygp.linear.rivals.RFSRegressor": "greedygp.linear.forward_estimators.RFSRegressor",
}


def name_of_today(module: str, name: str) -> tuple[str, str]:
    """Return module and name that a class has now."""
    full = MOVED.get(f"{module}.{name}")
    if full is None:
        return module, name
    module, _, name = full.rpartition(".")
    return module, name
