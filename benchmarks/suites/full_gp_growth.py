"""Figure 4 of the paper on greedy block coordinate descent: time against the number of rows.

Friedman1, to 1e-4, the same hyperparameters for all sizes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import full_gp
from benchmarks.suites.full_gp import PAPER, TASKS, TOL

SIZES = (2000, 5000, 10_000, 20_000, 50_000)
LIMIT = 300.0
# Label -> name, solver's parameters, largest size: Cholesky's factor of 50,000 rows has 20 GB, and
# the others would come to the limit.
SOLVERS: dict[str, tuple[str, dict[str, Any], int]] = {
    "Chol": ("cholesky", {"solver": "cholesky"}, 20_000),
    "CG": ("cg", {"solver": "cg"}, 10_000),
    "PCG": ("pcg", {"solver": "pcg"}, 50_000),
    "BCDC": ("bcd_cyclic", {"solver": "bcd_cyclic", "block_size": 500}, 10_000),
    "GBCD": ("gbcd_paper", {"solver": "gbcd", "accelerate": False, "block_size": 500}, 20_000),
    "GBCD+": ("gbcd", {"solver": "gbcd"}, 50_000),
}


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Solve with so many rows."""
    parameters = dict(method.parameters)
    data = full_gp.problem(task, partition, parameters.pop("rows"))
    watched = full_gp.watched_solve(data, prepared, seed=partition, **parameters)
    return {"metrics": watched.metrics()}


# Page --------------------------------------------------------------------------------------------

Cells = dict[tuple[str, int], dict[str, float]]


def collect(suite: Suite, records: list[Record]) -> Cells:
    """(Label, size) -> metrics, the median over partitions of each."""
    methods = {method.name: method for method in suite.methods}
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for record in records:
        if record["status"] == "ok":
            method = methods[record["method"]]
            key = method.title, method.parameters["rows"]
            found.setdefault(key, []).append(record["metrics"])
    return {
        key: {name: float(np.median([m[name] for m in metrics])) for name in metrics[0]}
        for key, metrics in found.items()
    }


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    cells = collect(suite, records)
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Figure 4. Friedman1, to a norm of the gradient of {TOL:g}, or {LIMIT:.0f} s; "
        "hyperparameters by the evidence of 2000 rows, the same for all sizes. K is never held, "
        "except by Cholesky.",
        "",
        pages.partitions_line(suite, records),
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(cells)),
        "## Seconds",
        "",
        "Kernel entries evaluated, over $n^2$, in brackets. Where the limit came first, the norm "
        "of the gradient that was reached is given.",
        "",
        *pages.table(
            ["rows", *SOLVERS],
            [[f"{size:,}", *(_cell(cells.get((s, size))) for s in SOLVERS)] for size in SIZES],
        ),
        *figure(suite, cells, folder),
    ]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def _cell(metrics: dict[str, float] | None) -> str:
    if metrics is None:
        return pages.MISSING
    if not metrics["converged"]:
        return f"> {metrics['seconds']:.0f}, norm {metrics['norm']:.1e}"
    return f"{metrics['seconds']:.2f} ({metrics['passes']:.1f})"


def claims(cells: Cells) -> list[pages.Claim]:
    """What the paper says of its figure, and how our times grow."""
    ratios = {
        size: cells["BCDC", size]["seconds"] / cells["GBCD", size]["seconds"]
        for size in SIZES
        if ("BCDC", size) in cells and ("GBCD", size) in cells
    }
    slopes = {}
    for label in SOLVERS:
        sizes = [s for s in SIZES if (label, s) in cells and cells[label, s]["converged"]]
        if len(sizes) > 1:
            times = [cells[label, size]["seconds"] for size in sizes]
            slopes[label] = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    ended = [bool(cells["BCDC", s]["converged"] and cells["GBCD", s]["converged"]) for s in ratios]
    values = list(ratios.values())
    return [
        pages.Claim(
            "The gap between BCDC and GBCD widens with the number of rows",
            "BCDC : GBCD = "
            + ", ".join(
                f"{'' if end else '> '}{ratio:.2f} at {size:,}"
                for (size, ratio), end in zip(ratios.items(), ended, strict=True)
            )
            + ("" if all(ended) else f" (both converged at {sum(ended)} of {len(ended)} sizes)")
            if ratios
            else pages.MISSING,
            values[-1] > values[0] if len(values) > 1 and all(ended) else None,
        ),
        pages.Claim(
            "(not in the paper) Time grows with a power of the rows below that of Cholesky",
            ", ".join(f"{label} {slope:.2f}" for label, slope in slopes.items()) or pages.MISSING,
            slopes["GBCD+"] < slopes["Chol"] if {"GBCD+", "Chol"} <= set(slopes) else None,
        ),
    ]


def figure(suite: Suite, cells: Cells, folder: Path) -> list[str]:
    drawing, axes = pages.new_figure(1, 1, width=6.4, height=4.2)
    for number, label in enumerate(SOLVERS):
        sizes = [s for s in SIZES if (label, s) in cells and cells[label, s]["converged"]]
        seconds = [cells[label, size]["seconds"] for size in sizes]
        axes[0, 0].loglog(sizes, seconds, "o-", color=f"C{number}", label=label)
    axes[0, 0].set(xlabel="rows", ylabel="seconds")
    pages.add_legend(axes[0, 0])
    return pages.save_figure(drawing, folder, suite.name, "Seconds against the number of rows")


def _methods() -> list[Method]:
    return [
        Method(
            f"{name}-{size}",
            label,
            {**parameters, "rows": size}
            | ({} if parameters["solver"] == "cholesky" else {"time_limit": LIMIT}),
        )
        for size in SIZES
        for label, (name, parameters, largest) in SOLVERS.items()
        if size <= largest
    ]


SUITE = Suite(
    name="full_gp_growth",
    title="Full GP regression: time against the number of rows",
    tasks=[task for task in TASKS if task.name == "friedman1"],
    methods=_methods(),
    metrics=["seconds", "cpu_seconds", "converged", "norm", "steps", "passes"],
    repeats=1,
    run=run,
    render=render,
    prepare=full_gp.prepare,
    prepared_in="full_gp",
)
