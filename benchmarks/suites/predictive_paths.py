"""Figures 2 to 4: measure, NMSE and NPDL against the number of basis vectors, without cache.

One run to the largest basis gives all smaller ones: its basis vectors come in order, and
`prefix_predictions` predicts with every prefix.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.prefix_predictions import PrefixModel, prefix_metrics
from benchmarks.suites import predictive, printed
from benchmarks.suites.predictive import WORKING_SET
from benchmarks.suites.problems import Problem, prepare, problem, sparse_model
from greedygp.metrics import nlpd, nmse

FIGURES = {
    "Figure 2": ("boston", "abalone", "bank8FM"),
    "Figure 3": ("cpu_small", "cpu_act", "bank32NH"),
    "Figure 4": ("friedman2", "friedman3"),
}
INFERIOR = ("boston", "friedman2")  # sets on which the paper finds NLGPP's NMSE inferior
MOST = Fraction(5, 8)  # of the sets: "in general"
ROWS = {"measure": "measure (0 to 1)", "nmse": "NMSE", "npdl": "NPDL"}

Column = tuple[str, str, str]  # heading, task, what follows the criterion in the methods' names


def sizes_for(largest: int) -> list[int]:
    """About 60 sizes, all of the small ones."""
    grid = np.concatenate([np.arange(1, 11), np.linspace(10, largest, 50)])
    return sorted({round(float(size)) for size in grid if size <= largest})


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Select to the limit; measures of the prefixes."""
    data = problem(task, partition)
    parameters = predictive.selection(task, method.parameters["criterion"])
    model = sparse_model(prepared, partition, **parameters | to_the_end(task)).fit(data.X, data.y)
    return along_the_path(task, model, data)


def to_the_end(task: Task) -> dict[str, Any]:
    """The estimator's parameters of a selection that does not stop by itself."""
    return {"max_basis": task.parameters["limit"], "patience": None}


def along_the_path(task: Task, model: Any, data: Problem) -> dict[str, Any]:
    """Metrics and curves of a fitted model: its measure, and NMSE and NPDL of its prefixes."""
    sizes = sizes_for(model.n_basis_)
    prefixes = PrefixModel(
        model.kernel_, model.noise_variance_, data.X[model.basis_indices_], data.X, data.y
    )
    shift = np.log(data.y_scale) if task.name in predictive.STANDARDISED_NPDL else 0.0

    def density(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
        return nlpd(y, *data.in_units_of_y(mean, std)) - shift

    def error(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
        return nmse(y, data.in_units_of_y(mean, std)[0])

    curves = prefix_metrics(
        prefixes, sizes, data.X_test, data.y_test, {"nmse": error, "npdl": density}
    )
    measure = np.asarray(model.path_["value"], dtype=float)
    best = int(np.argmin(measure)) + 1
    return {
        "metrics": {
            "basis": int(model.n_basis_),
            "measure_minimum_at": best,
            "npdl_minimum_at": sizes[int(np.argmin(curves["npdl"]))],
            "seconds": float(model.path_["seconds"][-1]),
        },
        "curves": {
            "size": sizes,
            "measure": [float(f"{measure[size - 1]:.6g}") for size in sizes],
            **{name: [float(f"{v:.6g}") for v in values] for name, values in curves.items()},
        },
    }


# Page --------------------------------------------------------------------------------------------


def curve(records: list[Record], task: str, method: str, name: str) -> tuple[list, np.ndarray]:
    """Sizes and the average curve over partitions; measures scaled to [0, 1] before."""
    chosen = [r for r in records if (r["task"], r["method"], r["status"]) == (task, method, "ok")]
    if not chosen:
        return [], np.array([])
    common = set.intersection(*(set(r["curves"]["size"]) for r in chosen))
    sizes = sorted(common)
    rows = []
    for record in chosen:
        values = dict(zip(record["curves"]["size"], record["curves"][name], strict=True))
        row = np.array([values[size] for size in sizes])
        if name == "measure":
            row = (row - row.min()) / (np.ptp(row) or 1.0)
        rows.append(row)
    return sizes, np.mean(rows, axis=0)


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    lines = [
        f"# {suite.title}",
        "",
        f"{predictive.PAPER}, Figures 2 to 4. Fixed hyperparameters, DTC, {WORKING_SET} random "
        "candidates a step, no cache, no stopping. Each measure is scaled to run from 0 to 1; "
        "curves are averages over partitions. NPDL in the units of y, except Abalone and "
        "Friedman3 (standardised y).",
        "",
        pages.partitions_line(suite, records)
        + " The paper averages over 20, 10 and 5 partitions, and its curves are only drawn, so "
        "its words are compared.",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(suite, records)),
    ]
    titles = {task.name: task.title for task in suite.tasks}
    for number, (title, names) in enumerate(FIGURES.items(), start=2):
        lines += [f"## {title}: {', '.join(titles[name] for name in names)}", ""]
        caption = f"Measure, NMSE and NPDL on {', '.join(titles[name] for name in names)}"
        columns = [(titles[name], name, "") for name in names]
        lines += draw(records, columns, folder, f"{suite.name}_{number}", caption)
    lines += [
        "## Where the minima are",
        "",
        "Number of basis vectors at which the measure, and the NPDL of the test set, is smallest.",
        "",
        *minima(records, [(task.title, task.name, "") for task in suite.tasks]),
        *pages.provenance(suite, records),
    ]
    return pages.write_page(folder, suite, lines)


def draw(
    records: list[Record], columns: list[Column], folder: Path, name: str, caption: str
) -> list[str]:
    """Measure, NMSE and NPDL, one column for each set or stage."""
    drawing, axes = pages.new_figure(len(ROWS), len(columns), height=3.0)
    for column, (heading, task, suffix) in enumerate(columns):
        for row, (quantity, label) in enumerate(ROWS.items()):
            axis = axes[row, column]
            shown = []
            for k, (criterion, title) in enumerate(predictive.TITLES.items()):
                sizes, values = curve(records, task, criterion + suffix, quantity)
                if len(sizes):
                    axis.plot(sizes, values, color=f"C{k}", label=title)
                    shown += list(values[len(values) // 4 :])
            if shown and quantity != "measure":
                # The first few basis vectors are far off the scale of what is compared.
                room = 0.05 * (np.ptp(shown) or 1.0)
                axis.set_ylim(min(shown) - room, max(shown) + 4 * room)
            axis.set(ylabel=label, xlabel="basis vectors" if row == len(ROWS) - 1 else "")
            if row == 0:
                axis.set_title(heading)
    pages.add_legend(axes[0, 0])
    return pages.save_figure(drawing, folder, name, caption)


def minima(records: list[Record], lines: list[Column]) -> list[str]:
    """Where the measure and the NPDL are smallest, one line for each set or stage."""
    rows = []
    for heading, task, suffix in lines:
        row = [heading]
        for criterion in predictive.TITLES:
            pair = []
            for metric in ("measure_minimum_at", "npdl_minimum_at"):
                values = pages.by_partition(
                    records, task, criterion + suffix, lambda r, m=metric: r["metrics"][m]
                )
                pair.append(f"{np.mean(list(values.values())):.0f}" if values else pages.MISSING)
            row.append(" / ".join(pair))
        rows.append(row)
    return pages.table(["measure / NPDL", *predictive.TITLES.values()], rows)


def claims(suite: Suite, records: list[Record]) -> list[pages.Claim]:
    best_late, close_early, falling, inferior = [], [], [], []
    correlations: dict[str, float] = {}
    for task in suite.tasks:
        curves = {c: curve(records, task.name, c, "npdl") for c in predictive.TITLES}
        if not all(len(sizes) for sizes, _ in curves.values()):
            continue
        sizes = sorted(set.intersection(*(set(s) for s, _ in curves.values())))
        at = {c: dict(zip(*curves[c], strict=True)) for c in curves}
        middle = sizes[len(sizes) // 2 :]
        level = {c: np.mean([at[c][size] for size in middle]) for c in at}
        if level["nlgpp"] < level["gpe"]:
            best_late.append(task.title)
        errors = {c: dict(zip(*curve(records, task.name, c, "nmse"))) for c in ("nlgpp", "gpe")}
        if np.mean([errors["nlgpp"][s] - errors["gpe"][s] for s in middle]) > 0:
            inferior.append(task.title)
        early = sizes[: max(3, len(sizes) // 4)]
        gap = {c: np.mean([abs(at[c][s] - at["nlgpp"][s]) for s in early]) for c in at}
        if gap["gpe"] <= min(gap[c] for c in ("nlpp", "nlml")):
            close_early.append(task.title)
        measured, values = curve(records, task.name, "nlgpp", "measure")
        test = np.array([at["nlgpp"][s] for s in measured if s in at["nlgpp"]])
        correlations[task.title] = float(np.corrcoef(values, test)[0, 1])
        measured, values = curve(records, task.name, "nlpp", "measure")
        if np.all(np.diff(values) <= 1e-9):
            falling.append(task.title)

    tables = {name: parts["plain"] for name, parts in printed.tables_2_and_3().items()}
    known = [task.name for task in suite.tasks]
    ahead = [n for n in known if tables[n]["nlgpp"]["npdl"][0] < tables[n]["gpe"]["npdl"][0]]

    def cases(true: list[str], only: tuple[str, ...] = ()) -> list[bool | None]:
        return [
            t.title in true if t.title in correlations else None
            for t in suite.tasks
            if t.name in (only or known)
        ]

    return [
        pages.counted(
            "In general NLGPP outperforms GPE in NPDL as the iterations progress"
            + pages.in_the_paper(len(ahead), len(known), "sets", " at the end, Tables 2 and 3"),
            "over the second half of the sizes a lower NPDL than GPE's "
            f"({', '.join(best_late) or 'none'})",
            cases(best_late),
            Fraction(len(ahead), len(known)),
            "sets",
        ),
        pages.counted(
            "The NLGPP measure is highly correlated with the NPDL of the test set",
            "correlation along the curve above 0.9: "
            + ", ".join(f"{value:.3f}" for value in correlations.values()),
            cases([title for title, value in correlations.items() if value > 0.9]),
            what="sets",
        ),
        pages.counted(
            "In general GPE closely follows NLGPP in the first iterations",
            "over the first quarter of the sizes closer to it in NPDL than NLML and NLPP "
            f"({', '.join(close_early) or 'none'})",
            cases(close_early),
            MOST,
            "sets",
        ),
        pages.counted(
            "NLGPP's NMSE is inferior to GPE's on Boston and Friedman2",
            f"over the second half of the sizes above it ({', '.join(inferior) or 'none'})",
            cases(inferior, INFERIOR),
            what="sets",
        ),
        pages.counted(
            "The NLPP measure gives no size by itself: it keeps falling",
            "it never rises",
            cases(falling),
            what="sets",
        ),
    ]


SUITE = Suite(
    name="predictive_paths",
    title="Predictive approaches: measure, NMSE and NPDL along the selection",
    tasks=predictive.TASKS,
    methods=[Method(c, title, {"criterion": c}) for c, title in predictive.TITLES.items()],
    metrics=["basis", "measure_minimum_at", "npdl_minimum_at", "seconds"],
    repeats=5,
    run=run,
    render=render,
    prepare=prepare,
    prepared_in="predictive",
)
