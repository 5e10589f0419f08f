"""Checks of the parameters of `SparseGPClassifier`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from greedygp.classification.criteria import CRITERIA
from greedygp.classification.objectives import OBJECTIVES
from greedygp.inputs import MISSING
from greedygp.validation import (
    check_choice,
    check_integer,
    check_kernel,
    check_number,
    check_seed,
)

__all__ = ["check_parameters"]


def check_parameters(estimator: Any) -> None:
    """Raise a sentence that names the first parameter that cannot be."""
    check_kernel(estimator.kernel)
    check_number("bias", estimator.bias, above=-np.inf, or_none=True)
    check_choice("criterion", estimator.criterion, ("auto", *CRITERIA))
    check_integer("working_set", estimator.working_set, 1, or_none=True)
    check_choice("sites", estimator.sites, ("moment_matching", "optimized"))
    check_integer("max_basis", estimator.max_basis, 1, or_none=True)
    check_integer("patience", estimator.patience, 1, or_none=True)
    check_number("tol", estimator.tol, least=0)
    check_choice("objective", estimator.objective, (*OBJECTIVES, None))
    check_integer("rounds", estimator.rounds, 0)
    check_integer("max_iter", estimator.max_iter, 0)
    check_integer("ep_passes", estimator.ep_passes, 0)
    if estimator.refine != "auto" and not isinstance(estimator.refine, bool | np.bool_):
        raise TypeError(f"refine must be True, False or 'auto'; got {estimator.refine!r}.")
    if not (
        estimator.class_weight is None
        or isinstance(estimator.class_weight, Mapping)
        or estimator.class_weight == "balanced"
    ):
        raise ValueError(
            "class_weight must be 'balanced', a dict from class to weight, or None; got "
            f"{estimator.class_weight!r}."
        )
    check_choice("missing", estimator.missing, MISSING)
    check_number("time_limit", estimator.time_limit, above=0, or_none=True)
    check_seed(estimator.random_state)
