"""The parameters of the sparse linear models: those that several share, and checks of all."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel

from greedygp.kernels import Kernel
from greedygp.linear.gcv_selection import FIRST, STARTS
from greedygp.linear.orthogonal_selection import CRITERIA
from greedygp.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_kernel,
    check_number,
    check_seed,
)

__all__ = ["FastParameters", "check_parameters"]


class FastParameters:
    """The parameters of the estimators that add, re-estimate and delete basis functions."""

    time_limit: float | None = None  # of models that were saved before there was one

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | str | None = None,
        fit_intercept: bool = True,
        max_basis: int | None = None,
        tol: float = 1e-5,
        max_iter: int = 10_000,
        working_set: int | None = None,
        cv: Any = 5,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_basis = max_basis
        self.tol = tol
        self.max_iter = max_iter
        self.working_set = working_set
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state


def check_parameters(estimator: Any) -> None:
    """Raise a sentence that names the first parameter of an estimator that cannot be."""
    parameters = estimator.get_params(deep=False)
    check_kernel(parameters["kernel"], precomputed=True)
    check_flag("fit_intercept", parameters["fit_intercept"])
    check_integer("max_basis", parameters.get("max_basis"), 1, or_none=True)
    check_integer("working_set", parameters.get("working_set"), 1, or_none=True)
    check_integer("patience", parameters.get("patience"), 1, or_none=True)
    check_integer("max_iter", parameters.get("max_iter", 1), 1)
    check_number("tol", parameters["tol"], least=0)
    check_number("noise_variance", parameters.get("noise_variance"), above=0, or_none=True)
    if "start" in parameters:
        check_choice("start", parameters["start"], STARTS)
        check_choice("first", parameters["first"], FIRST)
    if "criterion" in parameters:
        check_choice("criterion", parameters["criterion"], CRITERIA)
    cv = parameters["cv"]
    if isinstance(cv, str) or not (hasattr(cv, "split") or np.iterable(cv)):
        check_integer("cv", cv, 2)
    check_number("time_limit", parameters["time_limit"], above=0, or_none=True)
    check_seed(parameters["random_state"])
