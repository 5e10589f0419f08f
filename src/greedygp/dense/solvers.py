"""The solvers by name, the sizes that they work with, and which one to take.

`auto` is a factorisation for few rows, and preconditioned conjugate gradients for many. How many
steps the latter need depends on the kernel and the noise, and shows only on the way: where the
matrix fits into memory and the steps made so far promise no end before a factorisation would have
one, they are broken off and the matrix is factorised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array
from greedygp.dense.block_descent import CyclicDescent, GradientDescent, GreedyDescent
from greedygp.dense.cholesky import CholeskySolver
from greedygp.dense.conjugate_gradient import ConjugateGradient, PreconditionedConjugateGradient
from greedygp.dense.smo import SMO
from greedygp.dense.solver import Solver
from greedygp.dense.system import System
from greedygp.threads import numpy_threads_only

__all__ = [
    "SOLVERS",
    "SolverOptions",
    "choose_solver",
    "default_rank",
    "is_hopeless",
    "make_solver",
    "matrix_fits",
]

SOLVERS = ("cholesky", "cg", "pcg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd")
FEW_ROWS = 4000  # up to here nothing beats a factorisation
ROWS_A_LOOK = 300  # rows for every step after which the steps are judged
ROWS_A_STEP = 100  # rows for every step that takes as long as its share of a factorisation
PANEL_BYTES = 2**30  # of the columns of a block
MEMORY = 30  # earlier steps that a step of gbcd is made conjugate to
STAGES = 4  # in which a block is chosen


@dataclass(frozen=True)
class SolverOptions:
    """What the user says of the solver; see `GPRegressor`."""

    block_size: int | None = None
    working_set: int = 60
    accelerate: bool = True
    rank: int | None = None
    memory_limit: float = 2.0**31


def matrix_fits(n: int, options: SolverOptions) -> bool:
    """Tell whether an n x n matrix may be held."""
    return 8.0 * n * n <= options.memory_limit


def choose_solver(n: int, options: SolverOptions) -> str:
    """Return the solver to begin with for a problem of that size."""
    return "cholesky" if n <= FEW_ROWS and matrix_fits(n, options) else "pcg"


def is_hopeless(norms: list[float], tol: float, n: int) -> bool:
    """Tell whether a factorisation would end before steps of conjugate gradients do.

    Parameters
    ----------
    norms : list of float
        Of the gradient, one for every step.
    tol : float
        Where they must get to.
    n : int
        The number of rows.
    """
    made = len(norms) - 1
    if made < max(10, n // ROWS_A_LOOK) or min(norms) <= tol:
        return False
    half = made // 2
    fall = np.log(min(norms[: half + 1]) / min(norms)) / (made - half)
    return fall <= 0.0 or made + np.log(min(norms) / tol) / fall > n / ROWS_A_STEP


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
    if name == "cholesky":
        return CholeskySolver(system, y, alpha)
    if name == "cg":
        return ConjugateGradient(system, y, alpha)
    if name == "pcg":
        rank = options.rank or default_rank(system.n, system.hold)
        with numpy_threads_only():
            return PreconditionedConjugateGradient(system, y, alpha, rank=rank, rng=rng)
    if name == "smo":
        return SMO(system, y, alpha)
    size = options.block_size or default_block(system.n)
    if name == "bcd_cyclic":
        return CyclicDescent(system, y, alpha, block_size=size)
    if name == "bcd_gradient":
        return GradientDescent(system, y, alpha, block_size=size)
    fast = options.accelerate
    return GreedyDescent(
        system,
        y,
        alpha,
        block_size=size,
        working_set=options.working_set,
        together=max(1, size // STAGES) if fast else 1,
        memory=max(2, MEMORY // y.shape[0]) if fast else 0,
        held=min(2 * size, system.n // 2) if fast else 0,
        rng=rng,
    )


def default_block(n: int) -> int:
    """Return how many variables a block has."""
    by_memory = PANEL_BYTES // (8 * n)
    return int(max(min(n, 100), min(np.clip(n // 10, 500, 1000), by_memory)))


def default_rank(n: int, hold: bool) -> int:
    """Return the rank of the preconditioner; steps are cheap where the kernel matrix is held."""
    by_memory = PANEL_BYTES // (8 * n)
    by_rows = np.clip(n // 10 if hold else n // 5, 200, 2000)
    return int(max(min(n, 50), min(by_rows, by_memory)))
