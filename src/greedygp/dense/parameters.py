"""Checks of the parameters of `GPRegressor`."""

from __future__ import annotations

from typing import Any

from greedygp.dense.objectives import DENSE_OBJECTIVES
from greedygp.dense.solvers import SOLVERS
from greedygp.inputs import MISSING
from greedygp.noise import NOISE_MODELS
from greedygp.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_kernel,
    check_number,
    check_path,
    check_seed,
)

__all__ = ["check_parameters"]

BLOCK_CHOICES = ("residual", "prefitting")


def check_parameters(estimator: Any) -> None:
    """Raise an error that names the first parameter with an impossible value."""
    check_kernel(estimator.kernel)
    check_number("noise_variance", estimator.noise_variance, above=0, or_none=True)
    check_choice("noise_model", estimator.noise_model, NOISE_MODELS)
    check_choice("solver", estimator.solver, ("auto", *SOLVERS))
    check_integer("block_size", estimator.block_size, 1, or_none=True)
    check_integer("working_set", estimator.working_set, 1, or_none=True)
    check_choice("block_choice", estimator.block_choice, BLOCK_CHOICES)
    check_integer("preconditioner_rank", estimator.preconditioner_rank, 1, or_none=True)
    check_number("tol", estimator.tol, above=0)
    check_integer("max_iter", estimator.max_iter, 0, or_none=True)
    check_number("memory_limit", estimator.memory_limit, least=0)
    check_choice("objective", estimator.objective, (*DENSE_OBJECTIVES, None))
    check_integer("hyperparameter_rows", estimator.hyperparameter_rows, 1)
    for name in ("accelerate", "warm_start", "normalize_y"):
        check_flag(name, getattr(estimator, name))
    check_choice("missing", estimator.missing, MISSING)
    check_number("time_limit", estimator.time_limit, above=0, or_none=True)
    check_path("checkpoint", estimator.checkpoint)
    check_seed(estimator.random_state)
