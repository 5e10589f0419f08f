"""Which solver to take, and when to take another one.

`auto`, where the matrix fits into memory: a factorisation of few rows, and preconditioned conjugate
gradients for many. How many steps the latter need depends on the kernel and the noise, and shows
only on the way: where the steps made so far promise no end before a factorisation would have one,
they are broken off and the matrix is factorised. Where it does not fit: greedy block descent;
conjugate gradients for many targets, no few of which speak for all in the choice of a block, and on
accelerators, which are faster at products than at choosing.
"""

from __future__ import annotations

import numpy as np

from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.greedy_descent import MOST_SCORED
from greedygp.dense.solvers.options import SolverOptions

__all__ = ["Prospects", "choose_solver", "is_hopeless"]

FEW_ROWS = 1500  # up to here nothing beats a factorisation
# Steps are judged once there are six of them, and one for every 600 rows.
STEPS_BEFORE_JUDGEMENT, ROWS_PER_STEP_BEFORE_JUDGEMENT = 6, 600
PEAK = 4.0  # about how much the largest entry of a gradient exceeds its root mean square
ROWS_PER_STEP = 40  # a factorisation of n rows takes as long as n / 40 steps


def choose_solver(
    n: int, options: SolverOptions, p: int = 1, prefers_products: bool = False
) -> str:
    """Return the solver to begin with for n rows and p right-hand sides."""
    if options.matrix_fits(n):
        return "cholesky" if n <= FEW_ROWS else "pcg"
    return "pcg" if prefers_products or p > MOST_SCORED else "gbcd"


class Prospects:
    """Whether it is worth going on, judged by the gradient at the start and after every step.

    Parameters
    ----------
    tol : float
        Where the largest entry of the gradient must get to.
    """

    def __init__(self, tol: float):
        self.tol = tol
        self.norms: list[float] = []

    def are_gone(self, solver: Solver) -> bool:
        """Note the gradient; return whether a factorisation is the better way on."""
        self.norms.append(solver.mean_norm)
        return is_hopeless(self.norms, self.tol, solver.system.n)


def is_hopeless(norms: list[float], tol: float, n: int) -> bool:
    """Tell whether a factorisation would end before steps of conjugate gradients do.

    Parameters
    ----------
    norms : list of float
        Root mean squares of the gradient, at the start and after every step: they fall evenly,
        where its largest entry jumps about.
    tol : float
        Where the largest entry must get to.
    n : int
        The number of rows.
    """
    made, tol = len(norms) - 1, tol / PEAK
    early = max(STEPS_BEFORE_JUDGEMENT, n // ROWS_PER_STEP_BEFORE_JUDGEMENT)
    if made < early or min(norms) <= tol:
        return False
    half = made // 2
    fall = np.log(min(norms[: half + 1]) / min(norms)) / (made - half)
    return fall <= 0.0 or made + np.log(min(norms) / tol) / fall > n / ROWS_PER_STEP
