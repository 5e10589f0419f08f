"""Checks of the parameters of `SparseGPRegressor`."""

from __future__ import annotations

from typing import Any

from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.objectives import OBJECTIVES, check_objective
from greedygp.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_kernel,
    check_number,
    check_seed,
)

__all__ = ["check_parameters", "resolved"]

APPROXIMATIONS = ("auto", "fitc", "dtc", "sor")


def resolved(approximation: str, objective: str | None) -> str:
    """Return the approximation to begin with, where the user left the choice to the fit."""
    if approximation != "auto":
        return approximation
    return "dtc" if objective == "vfe" else "fitc"


def check_parameters(estimator: Any) -> None:
    """Raise a sentence that names the first parameter that cannot be."""
    check_kernel(estimator.kernel)
    check_number("noise_variance", estimator.noise_variance, above=0, or_none=True)
    check_choice("criterion", estimator.criterion, tuple(CRITERIA))
    check_choice("approximation", estimator.approximation, APPROXIMATIONS)
    check_integer("max_basis", estimator.max_basis, 1, or_none=True)
    check_integer("working_set", estimator.working_set, 1, or_none=True)
    check_integer("cache_size", estimator.cache_size, 0)
    if estimator.patience != "auto":
        check_integer("patience", estimator.patience, 1, or_none=True)
    check_number("tol", estimator.tol, least=0)
    check_choice("objective", estimator.objective, (*OBJECTIVES, None))
    if estimator.objective is not None:
        check_objective(estimator.objective, resolved(estimator.approximation, estimator.objective))
    check_integer("rounds", estimator.rounds, 0)
    check_integer("max_iter", estimator.max_iter, 0)
    check_number("guard", estimator.guard, least=0)
    for name in ("refine_basis", "normalize_y"):
        check_flag(name, getattr(estimator, name))
    check_number("time_limit", estimator.time_limit, above=0, or_none=True)
    check_seed(estimator.random_state)
