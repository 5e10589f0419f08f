"""The stages of a fit of a full GP, in order: hyperparameters, system, solve, posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array
from greedygp.data import TrainingData
from greedygp.dense.checkpoint import Checkpoint, NoCheckpoint
from greedygp.dense.choosing import Prospects, choose_solver
from greedygp.dense.learning import Schedule, learn_hyperparameters
from greedygp.dense.loo import loo_residuals
from greedygp.dense.posterior import DensePosterior, Recipe
from greedygp.dense.solvers import make_solver
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.cholesky import CholeskySolver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.solving import Limits, Solution, solve
from greedygp.dense.system import System
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.full_gp import factor_and_solve
from greedygp.hyperparameters import Point
from greedygp.kernels.conversion import as_kernel
from greedygp.noise import LeftOutRows, NoiseFunction, noise_for
from greedygp.progress import Deadline, FitProgress
from greedygp.start import random_rows

__all__ = ["DenseFit", "FittedGP"]

LEARNING_ITERATIONS = 100
LEARNING_SHARE = 0.5  # of the time: the most that is spent on hyperparameters


@dataclass
class FittedGP:
    """What a fit gives."""

    point: Point
    objective_value: float  # of learning; NaN where nothing was learnt
    solver: str  # the one that ended the solve
    solution: Solution
    tol: float  # what the solve was to reach
    posterior: DensePosterior
    noise: NoiseFunction | None  # None: constant


class DenseFit:
    """Everything that the stages of one fit share.

    Parameters
    ----------
    options : GPRegressor
        Its parameters are read.
    data : TrainingData
    start : (p, n) array or None
        Where the solve starts; None: at zero.
    rng : numpy.random.Generator
    progress : FitProgress
    deadline : Deadline
        When to end with what there is.
    """

    def __init__(
        self,
        options: Any,
        data: TrainingData,
        start: Array | None,
        rng: np.random.Generator,
        progress: FitProgress,
        deadline: Deadline,
    ):
        self.options, self.data, self.start, self.rng = options, data, start, rng
        self.progress, self.deadline = progress, deadline
        self.limits = Limits(options.tol * data.spread, options.max_iter)
        self.solver_options = SolverOptions(
            block_size=options.block_size,
            working_set=options.working_set,
            accelerate=bool(options.accelerate),
            rank=options.preconditioner_rank,
            memory_limit=float(options.memory_limit),
        )

    def run(self) -> FittedGP:
        """Go through all stages."""
        with self.data.backend.threads_over_blocks():
            point, value = self.hyperparameters()
        recipe = self.recipe()
        solver = self.solver(point, recipe)
        solution = self.solved(solver, recipe)
        if solution.status == "hopeless":
            solver = self.factorised(solver)
            solution = solution.followed_by(self.steps(solver, recipe, NoCheckpoint()))
        posterior, noise = self.posterior(solver, recipe), self.noise(point)
        return FittedGP(point, value, solver.name, solution, self.limits.tol, posterior, noise)

    # --- hyperparameters -------------------------------------------------------------------------

    def hyperparameters(self) -> tuple[Point, float]:
        """Return kernel and noise, and the value of what they were learnt by."""
        options, data = self.options, self.data
        kernel = as_kernel(options.kernel, data.X.shape[1])
        noise = None if options.noise_variance is None else float(options.noise_variance)
        if options.objective is None and kernel is not None and noise is not None:
            return Point(kernel, noise), np.nan
        schedule = Schedule(
            options.objective,
            n_rows=options.hyperparameter_rows,
            max_iter=LEARNING_ITERATIONS,
            deadline=self.deadline.share(LEARNING_SHARE),
        )
        found = learn_hyperparameters(
            schedule, kernel, noise, *data.on_host(), random_state=self.rng
        )
        if found.interrupted:  # there is no model yet that could be kept
            raise KeyboardInterrupt
        return found.point, found.value

    # --- the solve -------------------------------------------------------------------------------

    def recipe(self) -> Recipe:
        """Return which solver to begin with, and how predictive variances are solved for."""
        options, data = self.options, self.data
        name = options.solver
        if name == "auto":
            n, p = data.X.shape[0], data.y.shape[0]
            name = choose_solver(n, self.solver_options, p, data.backend.prefers_products)
        for_variances = Limits(options.tol * data.spread**2, options.max_iter)
        return Recipe(name, self.solver_options, for_variances, int(self.rng.integers(2**31)))

    def solver(self, point: Point, recipe: Recipe) -> Solver:
        """Return the solver of the system of all rows, at its start."""
        data = self.data
        fits = self.solver_options.matrix_fits(data.X.shape[0])
        hold = fits and recipe.solver != "cholesky"  # whose factor takes the place of the matrix
        system = System(point.kernel, point.noise_variance, data.X, data.weights, hold=hold)
        rng = np.random.default_rng(recipe.seed)
        return make_solver(recipe.solver, system, data.y, self.start, recipe.options, rng)

    def solved(self, solver: Solver, recipe: Recipe) -> Solution:
        """Solve the system, from where an earlier solve left a file if there is one.

        A solver that the user has chosen is not given up.
        """
        path = self.options.checkpoint
        file = NoCheckpoint() if path is None else Checkpoint(path, solver)
        may_give_up = self.options.solver == "auto" and solver.system.hold
        prospects = Prospects(self.limits.tol) if may_give_up else None
        solution = self.steps(solver, recipe, file, prospects)
        if solution.status in ("converged", "hopeless"):
            file.remove()
        else:
            file.write(solution.n_iter)
        return solution

    def steps(
        self,
        solver: Solver,
        recipe: Recipe,
        file: NoCheckpoint,
        prospects: Prospects | None = None,
    ) -> Solution:
        """Let the solver make its steps, and tell the callbacks of each."""

        def watch(solver: Solver, n_iter: int) -> bool:
            file.after_step(n_iter)
            return self.progress.step("step")

        self.progress.model = lambda: {
            "kernel_": solver.system.kernel,
            "noise_variance_": solver.system.noise_variance,
            "_posterior": self.posterior(solver, recipe),
        }
        return solve(
            solver,
            self.limits,
            watch,
            deadline=self.deadline,
            first=file.resume(),
            gives_up=None if prospects is None else prospects.are_gone,
        )

    def factorised(self, solver: Solver) -> CholeskySolver:
        """Return a direct solver that goes on where another one has given up."""
        solver.system.hold = False  # the matrix makes room for its factor
        return CholeskySolver(solver.system, self.data.y, solver.alpha)

    # --- the posterior ---------------------------------------------------------------------------

    def posterior(self, solver: Solver, recipe: Recipe) -> DensePosterior:
        """Return what predicts with the solver's dual variables."""
        return DensePosterior(
            solver.system.kernel,
            solver.system.noise_variance,
            self.data.X,
            solver.alpha,
            weights=self.data.weights,
            factor=solver.factor if isinstance(solver, CholeskySolver) else None,
            recipe=recipe,
        )

    # --- the noise -------------------------------------------------------------------------------

    def noise(self, point: Point) -> NoiseFunction | None:
        """Return the noise as a function of the input; None: it is constant."""
        if self.deadline.passed:
            return None
        try:
            return noise_for(self.options, lambda: self._left_out(point), self.rng)
        except NotPositiveDefiniteError:
            return None

    def _left_out(self, point: Point) -> LeftOutRows:
        """Return what a full GP predicts of left-out rows; of many rows a random subset's own GP.

        Its latent variances are larger than those of all rows together, and the noise function
        takes them into account.
        """
        X, y, weights = random_rows(
            *self.data.on_host(), self.options.hyperparameter_rows, self.rng
        )
        s2 = point.noise_variance
        L, alpha = factor_and_solve(point.kernel, s2, X, y, weights)
        residual, variance = loo_residuals(L, alpha, s2, weights)
        return LeftOutRows.of(X, y, weights, y - residual, variance, s2)
