"""Fitted models of small problems, whose variances are solved for."""

import numpy as np

from greedygp.dense.posterior import DensePosterior, Recipe
from greedygp.dense.solvers.cholesky import factor_of
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.solving import Limits

OPTIONS = {"block_size": 8, "working_set": 5, "rank": 6, "memory_limit": 0.0}


def new_inputs(n=17):
    return np.random.default_rng(7).uniform(-1.2, 1.2, size=(n, 2))


def posterior(problem, solver, tol=1e-6, to=np.asarray, max_iter=None, accuracy=0.0, **options):
    """The model with the exact dual variables; variances by the solver."""
    weights = None if problem.weights is None else to(problem.weights)
    options = SolverOptions(**(OPTIONS | options))
    return DensePosterior(
        problem.kernel,
        problem.noise,
        to(problem.X),
        to(problem.dense().alpha.T.copy()),
        weights=weights,
        factor=factor_of(problem.system()) if solver == "cholesky" else None,
        recipe=Recipe(solver, options, Limits(tol, max_iter), 0, accuracy),
    )
