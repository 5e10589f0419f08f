"""The solvers by name, the sizes that they work with, and which one to take.

`auto`, where the matrix fits into memory: a factorisation of few rows, and preconditioned conjugate
gradients for many. How many steps the latter need depends on the kernel and the noise, and shows
only on the way: where the steps made so far promise no end before a factorisation would have one,
they are broken off and the matrix is factorised. Where it does not fit: greedy block descent;
conjugate gradients for many right-hand sides, which have no block in common, and on accelerators,
which are faster at products than at choosing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.arrays import Array
from greedygp.dense.block_descent import CyclicDescent, GradientDescent
from greedygp.dense.cholesky import CholeskySolver
from greedygp.dense.conjugate_gradient import ConjugateGradient, PreconditionedConjugateGradient
from greedygp.dense.greedy_descent import MOST_SCORED, GreedyDescent
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
    "suited",
]

SOLVERS = ("cholesky", "cg", "pcg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd")
FEW_ROWS = 1500  # up to here nothing beats a factorisation
STEPS_TO_LOOK, ROWS_A_LOOK = 6, 600  # steps, or rows for each, after which the steps are judged
PEAK = 4.0  # about the largest entry of a gradient over its root mean square
ROWS_A_STEP = 40  # rows for every step that takes as long as its share of a factorisation
PANEL_BYTES = 2**30  # of the columns of a block
MEMORY = 30  # earlier steps that a step of gbcd is made conjugate to
STAGES = 4  # in which a block is chosen
# Ranks for every row, and the smallest and the largest one; steps are cheap where K is held.
RANK_HELD, RANK_OF_GBCD, RANK_OF_PCG = 0.1, 0.15, 0.2
RANKS = (200, 2000)


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


def choose_solver(
    n: int, options: SolverOptions, p: int = 1, prefers_products: bool = False
) -> str:
    """Return the solver to begin with for n rows and p right-hand sides."""
    if matrix_fits(n, options):
        return "cholesky" if n <= FEW_ROWS else "pcg"
    return "pcg" if prefers_products else suited("gbcd", p)


def suited(name: str, p: int) -> str:
    """Return the solver, or, where p right-hand sides are too many for greedy blocks, another."""
    return "pcg" if name == "gbcd" and p > MOST_SCORED else name


def is_hopeless(norms: list[float], tol: float, n: int) -> bool:
    """Tell whether a factorisation would end before steps of conjugate gradients do.

    Parameters
    ----------
    norms : list of float
        Root mean squares of the gradient, one for every step: they fall evenly, where its largest
        entry jumps about.
    tol : float
        Where the largest entry must get to.
    n : int
        The number of rows.
    """
    made, tol = len(norms) - 1, tol / PEAK
    if made < max(STEPS_TO_LOOK, n // ROWS_A_LOOK) or min(norms) <= tol:
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
        rank = options.rank or default_rank(system.n, RANK_HELD if system.hold else RANK_OF_PCG)
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
    rank = options.rank or default_rank(system.n, RANK_HELD if system.hold else RANK_OF_GBCD)
    return GreedyDescent(
        system,
        y,
        alpha,
        block_size=size,
        working_set=options.working_set,
        together=max(1, size // STAGES) if fast else 1,
        memory=max(2, MEMORY // y.shape[0]) if fast else 0,
        rank=rank if fast else 0,
        rng=rng,
    )


def default_block(n: int) -> int:
    """Return how many variables a block has."""
    by_memory = PANEL_BYTES // (8 * n)
    return int(max(min(n, 100), min(np.clip(n // 10, 500, 1000), by_memory)))


def default_rank(n: int, share: float) -> int:
    """Return the rank of a preconditioner: a share of the rows, as far as memory allows it."""
    by_memory = PANEL_BYTES // (8 * n)
    return int(max(min(n, 50), min(np.clip(int(share * n), *RANKS), by_memory)))
