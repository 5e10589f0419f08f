"""The stages of a fit of a full GP, in order: hyperparameters, system, solve, posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from greedygp.arrays import Array, to_numpy
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
from greedygp.flags import learn_with_flags
from greedygp.full_gp import factor_and_solve
from greedygp.hyperparameters import Point
from greedygp.left_out_rows import LeftOutRows
from greedygp.minimise import Minimum, interrupted_searches
from greedygp.noise import NoiseFunction, noise_for, noise_may_vary
from greedygp.progress import Deadline, FitProgress
from greedygp.rounds import trace_of
from greedygp.start import Given, random_places
from greedygp.threads import scipy_threads_only
from greedygp.trust import POWERS, predicts_better, row_trust
from greedygp.widening import widened

__all__ = ["DenseFit", "FittedGP"]

LEARNING_ITERATIONS = 100
TRUSTED_ROWS = 4000  # up to so many, all rows are looked at for their noise
SOON_SOLVED = 4000  # up to so many rows, a factor takes a second
LEARNING_SHARE = 0.5  # of the time: the most that is spent on hyperparameters
VARIANCE_ACCURACY = 100.0  # times tol: the relative error of a variance that is good enough


@dataclass
class FittedGP:
    """What a fit gives."""

    point: Point
    objective_value: float  # of learning; NaN where nothing was learnt
    trace: np.ndarray  # the objective at the start of learning and after each iteration
    solver: str  # the one that ended the solve
    solution: Solution
    tol: float  # what the solve was to reach
    posterior: DensePosterior
    noise: NoiseFunction | None  # None: constant
    interrupted: bool  # by Ctrl-C
    widening: float  # what kernel and noise were multiplied by after learning


@dataclass
class RowsLeftOut:
    """What a full GP predicts of rows without them, on the host, in the model's units."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None  # those given
    mean: np.ndarray  # (n, p)
    variance: np.ndarray  # (n,), with constant noise
    noise_variance: float
    widening: float  # which variance and noise have
    all_rows: bool

    def for_noise(self) -> LeftOutRows:
        """Return the rows as the noise function is learnt from them."""
        given = self.X, self.y, self.weights, self.mean, self.variance, self.noise_variance
        return LeftOutRows.of(*given, self.widening)

    def with_noise(self, noise: NoiseFunction | None) -> tuple[np.ndarray, np.ndarray]:
        """Return mean (n, p) and variance (n,) with that noise."""
        if noise is None:
            return self.mean, self.variance
        return self.mean, noise.instead_of_constant(self.variance, self.X, self.mean)


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
        self.given_data = data  # whose weights are those given; `data` may trust some rows less
        self.progress, self.deadline = progress, deadline
        self.limits = Limits(options.tol * data.spread, options.max_iter)
        self.solver_options = SolverOptions(
            block_size=options.block_size,
            working_set=options.working_set,
            accelerate=bool(options.accelerate),
            rank=options.preconditioner_rank,
            memory_limit=float(options.memory_limit),
            prefitting=options.block_choice == "prefitting",
        )
        self.widening = 1.0

    def run(self) -> FittedGP:
        """Go through all stages."""
        with scipy_threads_only():  # LAPACK has most of the work
            point, value, trace, cut_short = self.hyperparameters()
        if cut_short and not self.is_soon_solved():
            raise KeyboardInterrupt
        recipe = self.recipe()
        solver = self.solver(point, recipe)
        solution = self.solved(solver, recipe)
        if solution.status == "hopeless":
            solver = self.factorised(solver)
            solution = solution.followed_by(self.steps(solver, recipe, NoCheckpoint()))
        interrupted = cut_short or solution.status == "interrupted"
        if interrupted and solution.n_iter == 0 and self.start is None:
            raise KeyboardInterrupt
        if cut_short:
            solution = replace(solution, status="interrupted")
        posterior, noise = self.posterior(solver, recipe), None
        if not interrupted:
            try:
                left_out = self.left_out(point)
                noise = self.noise(left_out)
                trusted = self.trusted(point, recipe, left_out, noise, solver.alpha)
                if trusted is not None:
                    posterior, noise, again = trusted
                    solution = solution.followed_by(again)
            except KeyboardInterrupt:  # the model is there, with the noise that is known
                interrupted = True
        return FittedGP(
            point,
            value,
            trace,
            solver.name,
            solution,
            self.limits.tol,
            posterior,
            noise,
            interrupted,
            self.widening,
        )

    # --- hyperparameters -------------------------------------------------------------------------

    def hyperparameters(self) -> tuple[Point, float, np.ndarray, bool]:
        """Return kernel and noise, the value of what they were learnt by, and how it fell.

        Then whether Ctrl-C ended the learning: they are then the best that it had seen.
        """
        options, data = self.options, self.data
        given = Given.to(options, data.X.shape[1])
        kernel, noise = given.kernel, given.noise_variance
        if options.objective is None and kernel is not None and noise is not None:
            return Point(kernel, noise), np.nan, trace_of([]), False
        schedule = Schedule(
            options.objective,
            n_rows=options.hyperparameter_rows,
            max_iter=LEARNING_ITERATIONS,
            deadline=self.deadline.share(LEARNING_SHARE),
        )

        def learn(data: TrainingData) -> Minimum[Point]:
            return learn_hyperparameters(
                schedule,
                kernel,
                noise,
                *data.on_host(),
                first_noise=given.first_noise,
                random_state=self.rng,
            )

        with interrupted_searches() as ended:
            try:
                if noise_may_vary(options):
                    found, self.data = learn_with_flags(learn, data, schedule.deadline, self.rng)
                else:
                    found = learn(data)
            except KeyboardInterrupt:
                if not ended:
                    raise
                found = ended[-1]
        trace = trace_of([(found.first_value, *found.values)])
        value = np.nan if found.interrupted else found.value  # it may be that of the start
        point = found.point
        if options.objective is not None and noise is None:
            point, self.widening = widened(point, self.learnt_from())
        return point, value, trace, found.interrupted

    def learnt_from(self) -> float:
        """Return how many targets hyperparameters are learnt from, by weight."""
        y, weights = self.data.targets_on_host()
        total = len(y) if weights is None else float(np.sum(weights))
        return y.shape[1] * total * min(1.0, self.options.hyperparameter_rows / len(y))

    def is_soon_solved(self) -> bool:
        """Tell whether hyperparameters make a model within a moment, for a user who waits."""
        n = self.data.X.shape[0]
        may_factorise = self.options.solver in ("auto", "cholesky")
        return may_factorise and n <= SOON_SOLVED and self.solver_options.matrix_fits(n)

    # --- the solve -------------------------------------------------------------------------------

    def recipe(self) -> Recipe:
        """Return which solver to begin with, and how predictive variances are solved for."""
        options, data = self.options, self.data
        name = options.solver
        if name == "auto":
            n, p = data.X.shape[0], data.y.shape[0]
            name = choose_solver(n, self.solver_options, p, data.backend.is_accelerator)
        for_variances = Limits(options.tol * data.spread**2, options.max_iter)
        seed, accuracy = int(self.rng.integers(2**31)), VARIANCE_ACCURACY * options.tol
        return Recipe(name, self.solver_options, for_variances, seed, accuracy)

    def solver(self, point: Point, recipe: Recipe, start: Array | None = None) -> Solver:
        """Return the solver of the system of all rows, at its start."""
        data = self.data
        fits = self.solver_options.matrix_fits(data.X.shape[0])
        hold = fits and recipe.solver != "cholesky"  # whose factor takes the place of the matrix
        system = System(point.kernel, point.noise_variance, data.X, data.weights, hold=hold)
        rng = np.random.default_rng(recipe.seed)
        first = self.start if start is None else start
        return make_solver(recipe.solver, system, data.y, first, recipe.options, rng)

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
            copies=self.data.left_out_weights,
            factor=solver.factor if isinstance(solver, CholeskySolver) else None,
            recipe=recipe,
        )

    # --- the noise -------------------------------------------------------------------------------

    def left_out(self, point: Point) -> RowsLeftOut | None:
        """Return what is predicted of left-out rows, if the noise is to be learnt from that.

        Of many rows it is a random subset, predicted by a GP of its own. Its latent variances are
        larger than those of all rows together, and the noise function takes them into account.
        """
        asked = noise_may_vary(self.options) or self.options.noise_model == "input"
        if not asked or self.deadline.passed:
            return None
        data, s2 = self.data, point.noise_variance
        X, y, weights = data.on_host()
        _, given = self.given_data.targets_on_host()
        most = TRUSTED_ROWS if len(X) <= TRUSTED_ROWS else self.options.hyperparameter_rows
        places = random_places(len(X), most, self.rng)
        copies = None if data.left_out_weights is None else to_numpy(data.left_out_weights)
        X, y = X[places], y[places]
        weights, given, copies = (
            None if each is None else each[places] for each in (weights, given, copies)
        )
        try:
            L, alpha = factor_and_solve(point.kernel, s2, X, y, weights)
        except NotPositiveDefiniteError:
            return None
        residual, variance = loo_residuals(L, alpha, s2, weights, copies)
        all_rows = len(places) == data.X.shape[0]
        return RowsLeftOut(X, y, given, y - residual, variance, s2, self.widening, all_rows)

    def noise(self, left_out: RowsLeftOut | None) -> NoiseFunction | None:
        """Return the noise as a function of the input; None: it is constant."""
        if left_out is None:
            return None
        varies = self.data is not self.given_data
        return noise_for(self.options, left_out.for_noise, self.rng, varies=varies)

    def trusted(
        self,
        point: Point,
        recipe: Recipe,
        left_out: RowsLeftOut | None,
        noise: NoiseFunction | None,
        alpha: Array,
    ) -> tuple[DensePosterior, NoiseFunction | None, Solution] | None:
        """Fit the mean with rows trusted by their noise; None: left-out rows do not ask for it.

        Only where all rows were looked at. `alpha` is the solution so far.
        """
        if noise is None or left_out is None or not left_out.all_rows:
            return None
        if not noise_may_vary(self.options):
            return None
        untrusting = self.data
        at_rows = noise(left_out.X, left_out.mean)
        if untrusting.trust is not None:
            at_rows = at_rows * to_numpy(untrusting.trust)  # what is not accounted for yet
        for power in POWERS:
            self.data = untrusting.trusting(row_trust(at_rows, left_out.weights, power))
            again = self.left_out(point)
            other = self.noise(again)
            if again is None:
                break
            new, old = again.with_noise(other), left_out.with_noise(noise)
            if predicts_better(left_out.y, left_out.weights, new, old):
                solver = self.solver(point, recipe, alpha)
                solution = self.steps(solver, recipe, NoCheckpoint())
                if solution.status != "interrupted":
                    return self.posterior(solver, recipe), other, solution
                self.data = untrusting
                raise KeyboardInterrupt
        self.data = untrusting
        return None
