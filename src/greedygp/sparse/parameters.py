"""What may be given to `SparseGPRegressor`, checked."""

from __future__ import annotations

from typing import Any

from greedygp.inputs import MISSING
from greedygp.noise import NOISE_MODELS
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.objectives import OBJECTIVES, check_objective
from greedygp.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_kernel,
    check_number,
    check_path,
    check_seed,
)

__all__ = [
    "APPROXIMATIONS",
    "LARGEST_BASIS",
    "check_parameters",
    "first_approximation",
    "first_objective",
]

LARGEST_BASIS = 500  # unless the user wants more
LARGEST_TRIED = 1000  # by `max_basis="auto"`
APPROXIMATIONS = ("auto", "fitc", "dtc", "sor")


def first_objective(objective: str | None) -> str | None:
    """Return what a fit learns by, given or left to the fit ("auto"), where nothing is compared."""
    return "nlgpp" if objective == "auto" else objective


def first_approximation(approximation: str, objective: str | None) -> str:
    """Return the approximation that a fit begins with, given or left to the fit ("auto")."""
    if approximation != "auto":
        return approximation
    name = first_objective(objective)
    return "fitc" if name is None else OBJECTIVES[name].first_approximation


def check_parameters(estimator: Any) -> None:
    """Raise a sentence that names the first parameter that cannot be."""
    check_kernel(estimator.kernel)
    check_number("noise_variance", estimator.noise_variance, above=0, or_none=True)
    check_choice("noise_model", estimator.noise_model, NOISE_MODELS)
    check_choice("criterion", estimator.criterion, tuple(CRITERIA))
    check_choice("approximation", estimator.approximation, APPROXIMATIONS)
    check_integer("max_basis", estimator.max_basis, 1, or_none=True, or_auto=True)
    check_integer("working_set", estimator.working_set, 1, or_none=True)
    check_integer("cache_size", estimator.cache_size, 0)
    check_integer("patience", estimator.patience, 1, or_none=True, or_auto=True)
    check_number("tol", estimator.tol, least=0)
    check_choice("objective", estimator.objective, ("auto", *OBJECTIVES, None))
    objective = first_objective(estimator.objective)
    if objective is not None:
        check_objective(objective, first_approximation(estimator.approximation, objective))
    check_integer("rounds", estimator.rounds, 0)
    check_integer("max_iter", estimator.max_iter, 0)
    check_number("guard", estimator.guard, least=0)
    for name in ("refine_basis", "normalize_y"):
        check_flag(name, getattr(estimator, name))
    check_integer("learning_rows", estimator.learning_rows, 1, or_none=True)
    check_number("memory_limit", estimator.memory_limit, least=0)
    check_path("checkpoint", estimator.checkpoint)
    check_choice("missing", estimator.missing, MISSING)
    check_number("time_limit", estimator.time_limit, above=0, or_none=True)
    check_seed(estimator.random_state)
