"""What the suites of "Greedy block coordinate descent for large scale GP regression" share.

Five sets, standardised on all training rows. Two of them are run where the user has put their
files. Friedman1 is generated: training targets with noise of unit deviation, test targets without.
The kernel is the paper's, an ARD Gaussian of variance one; its length scales and the noise maximise
the evidence of 2000 random training rows. A solver is timed on the system alone, everything that it
prepares included.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.hyperparameters import Hyperparameters
from benchmarks.suites import problems
from benchmarks.suites.problems import Problem
from greedygp import datasets
from greedygp.dense.solvers import make_solver
from greedygp.dense.solvers.base import Solver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.solving import Limits, Solution, solve
from greedygp.dense.system import System
from greedygp.kernels import Gaussian
from greedygp.progress import NEVER, Deadline
from greedygp.start import subset_evidence

PAPER = (
    "L. Bo, C. Sminchisescu, *Greedy block coordinate descent for large scale Gaussian process "
    "regression*"
)
TOL = 1e-4
ROWS = 10_000
EVIDENCE_ROWS, FIRST_STEPS, STEPS = 2000, 15, 200
SUPPLIED = tuple(datasets.SUPPLIED)  # by the user
POINTS = 80  # of a curve
BETWEEN_LOOKS = 1.5  # times the seconds so far: when the coefficients are kept for the test error
FIRST_LOOK = 0.05  # seconds
TEST_TILE = 500


def _task(name: str, title: str, n_train: int, n_test: int, **more: object) -> Task:
    return Task(name, title, {"n_train": n_train, "n_test": n_test, **more})


# Table 1 of the paper, in its order.
TASKS = (
    _task("california_housing", "Calhouse", 18_000, 2640),
    _task("outaouais", "Outaouais", 20_000, 9000),
    _task("kin40k", "kin40k", 30_000, 10_000),
    _task("sarcos", "SARCOS", 44_484, 4449),
    _task("friedman1", "Friedman1", 100_000, 5000, friedman=1),
)


def is_there(task: Task, method: Method) -> bool:
    """Whether a set's file is there, of the two that only the user can supply."""
    return task.name not in SUPPLIED or task.name in datasets.available()


def absent_line(suite: Suite, records: Sequence[Record]) -> str:
    """Names the sets without a run for want of their files."""
    run = {record["task"] for record in records}
    names = {t.name: t.title for t in suite.tasks if t.name in SUPPLIED and t.name not in run}
    if not names:
        return "All sets of the paper were run."
    files = " and ".join(f"`{name}.npz`" for name in names)
    sources = " ".join(f"{title}: {datasets.SUPPLIED[n].source}" for n, title in names.items())
    return (
        f"Not run: {' and '.join(names.values())}; absent: {files}. The suite runs such a set when "
        "its file (training and test rows together) is in the folder named by `GREEDYGP_DATA`. "
        + sources
    )


# Data and hyperparameters ------------------------------------------------------------------------


def problem(task: Task, partition: int, rows: int | None = None) -> Problem:
    """A partition, of its training part the first ``rows``; they are in random order."""
    whole = problems.problem(task, partition)
    y_test = whole.y_test
    if "friedman" in task.parameters:
        n_train, n_test = task.parameters["n_train"], task.parameters["n_test"]
        which = task.parameters["friedman"]
        clean = datasets.make_friedman(which, n_train + n_test, random_state=partition, noise=0.0)
        y_test = np.asarray(clean.y, dtype=float)[n_train:]
    return replace(whole, X=whole.X[:rows], y=whole.y[:rows], y_test=y_test)


def prepare(task: Task, partition: int) -> dict[str, Any]:
    """Hyperparameters by the evidence: from two starts, the better of which is followed."""
    data = problem(task, partition)
    rows = np.random.default_rng(partition).permutation(len(data.X))[:EVIDENCE_ROWS]
    X, y = data.X[rows], data.y[rows]
    unit = np.full(X.shape[1], np.sqrt(X.shape[1]))
    starts = [Gaussian(1.0, factor * unit, fixed="variance") for factor in (0.5, 1.0)]
    first = [
        subset_evidence(start, None, X, y, n_rows=len(X), max_iter=FIRST_STEPS) for start in starts
    ]
    kernel = min(first, key=lambda found: found.value).point.kernel
    best = subset_evidence(kernel, None, X, y, n_rows=len(X), max_iter=STEPS)
    return Hyperparameters(
        variance=1.0,
        length_scale=[float(length) for length in best.point.kernel.length_scale],
        noise_variance=best.point.noise_variance,
        bias=None,
        negative_log_evidence=best.value,
        n_rows=len(rows),
    ).as_dict()


def rmse(data: Problem, mean: np.ndarray) -> float:
    """Equation 16: relative to the deviation of the training targets."""
    error = (data.y_test - data.y_mean) / data.y_scale - mean
    return float(np.sqrt(np.mean(error**2)))


def dense_model(prepared: dict[str, Any], seed: int, **parameters: Any) -> Any:
    """An unfitted ``GPRegressor`` with the prepared hyperparameters, held fixed."""
    from greedygp import GPRegressor

    fixed = Hyperparameters(**prepared)
    settings = {
        "kernel": fixed.kernel(),
        "noise_variance": fixed.noise_variance,
        "objective": None,
        "normalize_y": False,
        "tol": TOL,
        "memory_limit": 0.0,
        "random_state": seed,
    }
    return GPRegressor(**settings | parameters)


# A solve that is watched -------------------------------------------------------------------------


@dataclass
class Watched:
    """A solve, the seconds before its first step, and coefficients that it passed through."""

    solution: Solution
    setup: float
    cpu_seconds: float
    looks: list[tuple[float, np.ndarray]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.setup + self.solution.seconds

    def metrics(self) -> dict[str, float]:
        return {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "converged": float(self.solution.converged),
            "norm": self.solution.norm,
            "steps": self.solution.n_iter,
            "passes": self.solution.kernel_passes,
        }

    def curves(self) -> dict[str, list[float]]:
        """Of the history, so many points that a line can be drawn through them."""
        history = self.solution.history_array()
        last = len(history)
        steps = np.unique(np.geomspace(1, last, min(POINTS, last)).round().astype(int)) - 1
        curves = {name: history[name][steps] for name in history.dtype.names or ()}
        curves["seconds"] = curves["seconds"] + self.setup
        digits = {name: [float(f"{v:.9g}") for v in values] for name, values in curves.items()}
        return {"step": [float(step) for step in steps], **digits}


def watched_solve(
    data: Problem,
    prepared: dict[str, Any],
    solver: str,
    seed: int,
    *,
    time_limit: float | None = None,
    **options: Any,
) -> Watched:
    """Solve the system of the training rows; K is never held, except by Cholesky."""
    fixed = Hyperparameters(**prepared)
    begin, cpu = time.perf_counter(), time.process_time()
    system = System(fixed.kernel(), fixed.noise_variance, data.X)
    settings = SolverOptions(memory_limit=0.0, **options)
    rng = np.random.default_rng(seed)
    made = make_solver(solver, system, data.y[np.newaxis], None, settings, rng)
    setup = time.perf_counter() - begin
    looks: list[tuple[float, np.ndarray]] = []

    def watch(solver: Solver, n_iter: int) -> bool:
        now = time.perf_counter() - begin
        if now > (BETWEEN_LOOKS * looks[-1][0] if looks else FIRST_LOOK):
            looks.append((now, np.array(solver.alpha[0])))
        return False

    deadline = NEVER if time_limit is None else Deadline(begin + time_limit)
    solution = solve(made, Limits(TOL), watch, deadline=deadline)
    cpu = time.process_time() - cpu
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    watched = Watched(solution, setup, cpu, looks)
    watched.looks.append((watched.seconds, np.array(solution.alpha[0])))
    return watched


def errors_on_test(data: Problem, prepared: dict[str, Any], watched: Watched) -> list[float]:
    """RMSE at each of the looks."""
    kernel = Hyperparameters(**prepared).kernel()
    coefficients = np.stack([alpha for _, alpha in watched.looks], axis=1)
    tiles = range(0, len(data.X_test), TEST_TILE)
    means = [kernel(data.X_test[i : i + TEST_TILE], data.X) @ coefficients for i in tiles]
    return [rmse(data, mean) for mean in np.concatenate(means).T]
