"""Checks of the parameters of `SparseGPClassifier`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state

from greedygp.classification.criteria import CRITERIA
from greedygp.classification.objectives import OBJECTIVES
from greedygp.kernels import Kernel
from greedygp.validation import check_choice, check_integer, check_number

__all__ = ["check_parameters"]


def check_parameters(estimator: Any) -> None:
    """Raise a sentence that names the first parameter that cannot be."""
    kernel = estimator.kernel
    if kernel is not None and not isinstance(kernel, Kernel | ScikitLearnKernel):
        raise TypeError(
            f"kernel must be a greedygp kernel, a scikit-learn kernel or None; got {kernel!r}."
        )
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
    check_number("time_limit", estimator.time_limit, above=0, or_none=True)
    try:
        check_random_state(estimator.random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be an integer from 0 to 2**32 - 1, a numpy RandomState or "
            f"None; got {estimator.random_state!r}."
        ) from error
