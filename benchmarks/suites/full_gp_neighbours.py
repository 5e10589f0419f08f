"""Figure 1 of the paper on greedy block coordinate descent: gradients of neighbours are alike.

GBCD as in the paper, on 10,000 rows, for 50 steps. 100 random rows: the correlation, over the
steps, of each one's gradient with those of its 50 nearest neighbours. The right-hand side is y (the
mean) or the kernel of a test row (its variance).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.hyperparameters import Hyperparameters
from benchmarks.suites import full_gp
from benchmarks.suites.full_gp import PAPER, ROWS, TASKS
from benchmarks.suites.full_gp_variances import value_of
from benchmarks.suites.problems import Problem
from greedygp.dense.solvers import make_solver
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System

INPUTS, NEIGHBOURS, STEPS = 100, 50, 50
CORRELATED = 0.1  # a mean correlation that is not nothing
BLOCK = 500
EDGES = np.linspace(-1.0, 1.0, 21)


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Follow the gradients for some steps."""
    data = full_gp.problem(task, partition, task.parameters.get("rows", ROWS))
    gradients = follow(data, prepared, method.parameters["right"], partition)
    values = neighbours_correlations(data.X, gradients, np.random.default_rng(partition))
    frequency = np.histogram(values, bins=EDGES)[0] / len(values)
    return {
        "metrics": {
            "mean_correlation": float(np.mean(values)),
            "above_half": float(np.mean(values > 0.5)),
        },
        "curves": {"frequency": [float(f"{f:.6g}") for f in frequency]},
    }


def follow(data: Problem, prepared: dict[str, Any], right: str, seed: int) -> np.ndarray:
    """The gradient after each step, (steps, n)."""
    fixed = Hyperparameters(**prepared)
    kernel = fixed.kernel()
    system = System(kernel, fixed.noise_variance, data.X)
    y = data.y[np.newaxis] if right == "y" else kernel(data.X_test[:1], data.X)
    options = SolverOptions(block_size=min(BLOCK, len(data.X) // 10), accelerate=False)
    solver = make_solver("gbcd", system, y, None, options, np.random.default_rng(seed))
    gradients = np.empty((STEPS, len(data.X)))
    for step in range(STEPS):
        solver.step()
        gradients[step] = solver.gradient[0]
    return gradients


def neighbours_correlations(
    X: np.ndarray, gradients: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Correlations of random rows with their neighbours; what does not move has none."""
    rows = rng.permutation(len(X))[:INPUTS]
    neighbours = min(NEIGHBOURS, len(X) - 1)
    _, nearest = cKDTree(X).query(X[rows], k=neighbours + 1)
    centred = gradients - gradients.mean(axis=0)
    length = np.sqrt(np.sum(centred**2, axis=0))
    values = []
    for row, near in zip(rows, nearest, strict=True):
        others = near[near != row][:neighbours]
        scale = length[row] * length[others]
        moving = scale > 0
        products = centred[:, row] @ centred[:, others[moving]]
        values.append(products / scale[moving])
    return np.concatenate(values)


# Page --------------------------------------------------------------------------------------------


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    tasks = [t for t in suite.tasks if any(r["task"] == t.name for r in records)]
    rows = [
        [
            task.title,
            *(
                _cell(value_of(records, task.name, method.name, metric))
                for method in suite.methods
                for metric in ("mean_correlation", "above_half")
            ),
        ]
        for task in tasks
    ]
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Figure 1. {ROWS:,} rows, {STEPS} steps of GBCD with blocks of {BLOCK} "
        f"variables; correlations over the steps between the gradients of {INPUTS} random rows "
        f"and of their {NEIGHBOURS} nearest neighbours. The right-hand side is y, or the kernel of "
        "a test row.",
        "",
        pages.partitions_line(suite, records) + " " + full_gp.absent_line(suite, records),
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(records, tasks)),
        "## Correlations",
        "",
        *pages.table(
            ["data set", "y: mean", "y: above 0.5", "k: mean", "k: above 0.5"],
            rows,
        ),
        *figure(suite, records, tasks, folder),
    ]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def _cell(value: float) -> str:
    return pages.MISSING if np.isnan(value) else f"{value:.3f}"


def claims(records: list[Record], tasks: list[Task]) -> list[pages.Claim]:
    """What the paper reads off its figure."""
    means = {
        t.title: [value_of(records, t.name, m, "mean_correlation") for m in ("mean", "variance")]
        for t in tasks
    }
    means = {title: pair for title, pair in means.items() if not np.isnan(sum(pair))}
    absent: list[bool | None] = [None] * (len(TASKS) - len(means))
    return [
        pages.counted(
            "Gradients of neighbours are correlated",
            f"mean correlation above {CORRELATED:g}; "
            + ", ".join(f"{title} {y:.2f}" for title, (y, _) in means.items()),
            [y > CORRELATED for y, _ in means.values()] + absent,
            what="sets",
        ),
        pages.counted(
            "Correlations of neighbours' gradients are higher for the system of a variance",
            "mean correlation " + ", ".join(f"{title} {k:.2f}" for title, (_, k) in means.items()),
            [k > y for y, k in means.values()] + absent,
            what="sets",
        ),
    ]


def figure(suite: Suite, records: list[Record], tasks: list[Task], folder: Path) -> list[str]:
    drawing, axes = pages.new_figure(2, max(1, len(tasks)), width=3.4, height=2.6)
    for row, method in zip(axes, suite.methods, strict=True):
        for axis, task in zip(row, tasks, strict=False):
            found = [
                r["curves"]["frequency"]
                for r in records
                if (r["task"], r["method"], r["status"]) == (task.name, method.name, "ok")
                and "frequency" in r["curves"]
            ]
            if found:
                axis.stairs(np.mean(found, axis=0), EDGES, fill=True)
            axis.set(title=f"{task.title}, {method.title}", xlabel="correlation")
    caption = "Correlations of the gradients of neighbours"
    return pages.save_figure(drawing, folder, suite.name, caption)


SUITE = Suite(
    name="full_gp_neighbours",
    title="Full GP regression: gradients of neighbours",
    tasks=TASKS,
    methods=[
        Method("mean", "right-hand side y", {"right": "y"}),
        Method("variance", "right-hand side k", {"right": "k"}),
    ],
    metrics=["mean_correlation", "above_half"],
    repeats=1,
    run=run,
    render=render,
    prepare=full_gp.prepare,
    prepared_in="full_gp",
    applies=full_gp.is_there,
)
