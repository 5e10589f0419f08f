"""The solvers of `A alpha = y` by name. A new one is a subclass of `Solver`, listed here."""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.block_descent import CyclicDescent, GradientDescent
from greedygp.dense.solvers.cholesky import CholeskySolver
from greedygp.dense.solvers.conjugate_gradient import (
    ConjugateGradient,
    PreconditionedConjugateGradient,
)
from greedygp.dense.solvers.greedy_descent import GreedyDescent
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.solvers.smo import SMO
from greedygp.dense.system import System

__all__ = ["SOLVERS", "make_solver"]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        CholeskySolver,
        ConjugateGradient,
        PreconditionedConjugateGradient,
        SMO,
        CyclicDescent,
        GradientDescent,
        GreedyDescent,
    )
}


def make_solver(
    name: str,
    system: System,
    y: Array,
    alpha: Array | None,
    options: SolverOptions,
    rng: np.random.Generator,
) -> Solver:
    """Return the solver of that name.

    Parameters
    ----------
    name : str
    system : System
    y : (p, n) array
    alpha : (p, n) array or None
        Where to start.
    options : SolverOptions
    rng : Generator
    """
    solver = SOLVERS[name]
    return solver(system, y, alpha, **solver.settings(options, system, y.shape[0], rng))
