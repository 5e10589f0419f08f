"""The page of the suite of peers: findings, densities, errors, seconds, calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task

OURS = "greedygp"
SPARSE = (OURS, "gpflow_sgpr", "gpytorch_sgpr", "gpytorch_svgp")
LARGE = 2000  # training rows from which a set is one of the larger ones
CLOSE = 1.02  # an error of at most this times the best counts as the same
COVERED = (0.93, 0.97)  # where the coverage of the 95 % interval should lie
LEVELS = (50, 80, 95)
SUMS = {
    "all fits": "fit_seconds",
    "all fits, processor": "fit_cpu_seconds",
    "all predictions": "predict_seconds",
    "all predictions, processor": "predict_cpu_seconds",
}

Values = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Comparison:
    """A measure on one set: method -> partition -> value, and how the methods stand."""

    values: Values

    @property
    def sparse(self) -> Values:
        return {name: v for name, v in self.values.items() if name in SPARSE and v}

    @property
    def is_one(self) -> bool:
        """Whether ours and another sparse GP have a partition in common."""
        return OURS in self.sparse and len(self.sparse) > 1 and bool(self.common)

    @property
    def common(self) -> list[int]:
        """Partitions that all the sparse GPs have."""
        return sorted(set.intersection(*(set(v) for v in self.sparse.values())))

    @property
    def best(self) -> str | None:
        """The sparse GP with the smallest mean."""
        return pages.best_and_worse(self.sparse)[0]

    def is_worse(self, method: str) -> bool:
        """Whether a method, sparse or not, is significantly worse than the best sparse GP."""
        if self.best is None or method == self.best:
            return False
        if method in SPARSE:
            return method in pages.best_and_worse(self.sparse)[1]
        pair = {self.best: self.values[self.best], method: self.values[method]}
        return method in pages.best_and_worse(pair)[1]

    def ratio(self, method: str) -> float:
        """The method's mean over that of the best sparse GP, on the partitions of both."""
        assert self.best is not None
        mine, theirs = self.values[method], self.values[self.best]
        shared = sorted(set(mine) & set(theirs))
        if not shared:
            return float("nan")
        return float(np.mean([mine[p] for p in shared]) / np.mean([theirs[p] for p in shared]))


def compare(suite: Suite, records: Sequence[Record], metric: str) -> dict[str, Comparison]:
    """Set -> how the methods stand by a metric."""
    return {
        task.name: Comparison(
            {
                method.name: pages.by_partition(
                    records, task.name, method.name, lambda r: r["metrics"][metric]
                )
                for method in suite.methods
            }
        )
        for task in suite.tasks
    }


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """Write the page."""
    lines = [
        f"# {suite.title}",
        "",
        *introduction(suite, records),
        "## Findings",
        "",
        *findings(suite, records),
        "## Negative log predictive density",
        "",
        "Nats, of the standardised target; smaller is better. Bold: the best sparse GP; * "
        "significantly worse than it (paired t-test over the partitions at 0.05; three partitions "
        "show large differences only).",
        "",
        *density_table(suite, records),
        "## Normalised mean squared error",
        "",
        "In hundredths. Bold: the best sparse GP; ≈ within 2 % of it, or better.",
        "",
        *error_table(suite, records),
        "## Seconds",
        "",
        *seconds_section(suite, records),
        "## Calibration",
        "",
        *calibration_section(suite, records, folder),
        *provenance(suite, records),
    ]
    return pages.write_page(folder, suite, lines)


def introduction(suite: Suite, records: Sequence[Record]) -> list[str]:
    """What was compared, and how."""
    return [
        "`SparseGPRegressor(max_basis=m, random_state=partition)`, nothing else set, beside other "
        "libraries on the same random partitions, each run on one thread. Training rows: four "
        "fifths of the set, at most 10000; test rows: the rest, at most 10000. Inputs and target "
        "are standardised on the training part. m = 200 basis vectors (inducing inputs), a tenth "
        "of the training rows where those are fewer than 2000. Mean ± standard deviation over "
        "partitions.",
        "",
        "The sparse GPs are the first four. The peers' have an ARD Gaussian kernel and trained "
        "inducing inputs, and start from k-means centres, length scales sqrt(d), variance 1, noise "
        "0.1: GPflow's SGPR with 100 iterations of L-BFGS; GPyTorch's SGPR (float64, Cholesky, its "
        "own diagonal correction in predictions, as it comes) with 100 steps of Adam at 0.05; "
        "GPyTorch's SVGP (float64) with about 1500 steps of Adam at 0.01 on batches of 512.",
        "",
        "Not sparse, for orientation: scikit-learn's exact GP (ARD Gaussian, noise learnt; up to "
        "1500 training rows only), its histogram gradient boosting with early stopping on a tenth "
        "of the training rows, and its SVR (C, gamma, epsilon by a 3-fold grid on at most 2000 "
        "rows). Trees and SVR predict no distribution: their standard deviation is the root of "
        "the mean squared error on a held-out tenth of the training rows, the same for all test "
        "rows.",
        "",
        pages.partitions_line(suite, records),
        "",
    ]


# Findings ----------------------------------------------------------------------------------------


def findings(suite: Suite, records: Sequence[Record]) -> list[str]:
    """The counts, as a table of questions and answers."""
    questions = {
        "NLPD best among the sparse GPs, or not significantly worse than the best": density_count,
        "NMSE within 2 % of the best sparse GP, or the best": error_count,
        "95 % intervals cover 93 to 97 % (sets with at least 2000 training rows)": covered_count,
        "Seconds in all, fit and prediction, on the runs that all sparse GPs have": total_seconds,
        "The same, of the processor": total_cpu_seconds,
    }
    lines = ["| | greedygp |", "|---|---|"]
    lines += [f"| {text} | {count(suite, records)} |" for text, count in questions.items()]
    return [*lines, ""]


def density_count(suite: Suite, records: Sequence[Record]) -> str:
    return _count(
        suite,
        compare(suite, records, "nlpd"),
        lambda c: not c.is_worse(OURS),
        lambda c: (
            f"{np.mean(list(c.values[OURS].values())):.3f} against "
            f"{np.mean(list(c.values[c.best].values())):.3f} of {_title(suite, c.best)}"
        ),
    )


def error_count(suite: Suite, records: Sequence[Record]) -> str:
    return _count(
        suite,
        compare(suite, records, "nmse"),
        lambda c: c.ratio(OURS) <= CLOSE,
        lambda c: f"{c.ratio(OURS):.2f} times that of {_title(suite, c.best)}",
    )


def _count(
    suite: Suite,
    comparisons: dict[str, Comparison],
    holds: Callable[[Comparison], bool],
    describe: Callable[[Comparison], str],
) -> str:
    """``k of n sets``, and the exceptions in words."""
    done = [(t.title, comparisons[t.name]) for t in suite.tasks if comparisons[t.name].is_one]
    if not done:
        return "not enough runs"
    missed = [f"{title} ({describe(c)})" for title, c in done if not holds(c)]
    return _listed(len(done), missed)


def _listed(total: int, missed: Sequence[str]) -> str:
    text = f"{total - len(missed)} of {total} sets"
    return f"{text}; not on {', '.join(missed)}" if missed else text


def covered_count(suite: Suite, records: Sequence[Record]) -> str:
    found = {}
    for task in larger_sets(suite):
        values = compare(suite, records, "coverage_95")[task.name].values[OURS]
        if values:
            found[task.title] = float(np.mean(list(values.values())))
    if not found:
        return "not enough runs"
    low, high = COVERED
    missed = [f"{title} ({100 * v:.1f} %)" for title, v in found.items() if not low <= v <= high]
    return _listed(len(found), missed)


def larger_sets(suite: Suite) -> list[Task]:
    return [task for task in suite.tasks if task.parameters["n_train"] >= LARGE]


def total_seconds(suite: Suite, records: Sequence[Record]) -> str:
    return _totals(suite, records, ("fit_seconds", "predict_seconds"))


def total_cpu_seconds(suite: Suite, records: Sequence[Record]) -> str:
    return _totals(suite, records, ("fit_cpu_seconds", "predict_cpu_seconds"))


def _totals(suite: Suite, records: Sequence[Record], metrics: Sequence[str]) -> str:
    """Sums over the runs that all sparse GPs have, so that they can be compared."""
    totals: dict[str, float] = dict.fromkeys(SPARSE, 0.0)
    runs = 0
    for metric in metrics:
        for comparison in compare(suite, records, metric).values():
            if len(comparison.sparse) < len(SPARSE):
                continue
            runs += len(comparison.common)
            for name in SPARSE:
                totals[name] += sum(comparison.values[name][p] for p in comparison.common)
    if not runs:
        return "not enough runs"
    return ", ".join(f"{_title(suite, name)} {totals[name]:.0f}" for name in SPARSE)


def _title(suite: Suite, name: str | None) -> str:
    return next(method.title for method in suite.methods if method.name == name)


# Tables ------------------------------------------------------------------------------------------


def _table(suite: Suite, cell: Callable[[Task, str], str]) -> list[str]:
    """A row for each set, a column for each method."""
    header = ["data set", *(method.title for method in suite.methods)]
    rows = [[task.title, *(cell(task, m.name) for m in suite.methods)] for task in suite.tasks]
    return pages.table(header, rows)


def density_table(suite: Suite, records: Sequence[Record]) -> list[str]:
    comparisons = compare(suite, records, "nlpd")

    def cell(task: Task, method: str) -> str:
        comparison = comparisons[task.name]
        mark = "*" if comparison.is_worse(method) else ""
        text = pages.mean_and_deviation(list(comparison.values[method].values()), 3, mark)
        return f"**{text}**" if method == comparison.best else text

    return _table(suite, cell)


def error_table(suite: Suite, records: Sequence[Record]) -> list[str]:
    comparisons = compare(suite, records, "nmse")

    def cell(task: Task, method: str) -> str:
        comparison = comparisons[task.name]
        values = [100 * v for v in comparison.values[method].values()]
        digits = _decimals(comparison)
        if method == comparison.best:
            return f"**{pages.mean_and_deviation(values, digits)}**"
        close = comparison.best is not None and comparison.ratio(method) <= CLOSE
        return pages.mean_and_deviation(values, digits, " ≈" if close else "")

    return _table(suite, cell)


def _decimals(comparison: Comparison) -> int:
    """As many as show three digits of the best sparse GP's error in hundredths, at least two."""
    if comparison.best is None:
        return 2
    smallest = 100 * np.mean(list(comparison.values[comparison.best].values()))
    return max(2, 2 - int(np.floor(np.log10(smallest))))


def seconds_section(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Fits set by set with the sizes, and what one partition of every set takes."""
    fits = compare(suite, records, "fit_seconds")
    header = ["data set", "rows", "m", "basis of greedygp", *(m.title for m in suite.methods)]
    rows = []
    for task in suite.tasks:
        basis = pages.by_partition(records, task.name, OURS, lambda r: r["metrics"].get("basis", 0))
        sizes = [task.parameters.get("n_train"), task.parameters.get("basis")]
        seconds = [
            pages.mean_and_deviation(list(fits[task.name].values[m.name].values()), 1)
            for m in suite.methods
        ]
        rows.append(
            [task.title, *sizes, pages.mean_and_deviation(list(basis.values()), 0), *seconds]
        )
    for title, metric in SUMS.items():
        sums = compare(suite, records, metric)
        rows.append([title, "", "", "", *(_sum(sums, m.name) for m in suite.methods)])
    return [
        "Of a fit, by the clock, without imports, with compilation (TensorFlow) and with the "
        "search for SVR's parameters. The sums are for one partition of every set; other programs "
        "on the machine disturb the processor's seconds less than the clock's.",
        "",
        *pages.table(header, rows),
    ]


def _sum(comparisons: dict[str, Comparison], method: str) -> str:
    """Sum over the sets of the mean over partitions; the number of sets, where it is not all."""
    means = [
        np.mean(list(c.values[method].values())) for c in comparisons.values() if c.values[method]
    ]
    if not means:
        return pages.MISSING
    text = f"{sum(means):.1f}"
    return text if len(means) == len(comparisons) else f"{text} ({len(means)} sets)"


# Calibration -------------------------------------------------------------------------------------


def calibration_section(suite: Suite, records: Sequence[Record], folder: Path) -> list[str]:
    """Coverage of three intervals by every method, and histograms of ours."""
    levels = {p: compare(suite, records, f"coverage_{p}") for p in LEVELS}

    def cell(task: Task, method: str) -> str:
        found = [list(levels[p][task.name].values[method].values()) for p in LEVELS]
        if not found[0]:
            return pages.MISSING
        return " / ".join(f"{100 * np.mean(values):.1f}" for values in found)

    return [
        "Per cent of the test targets inside the central 50 / 80 / 95 % predictive intervals.",
        "",
        *_table(suite, cell),
        "The place of the test targets in our predictive distributions (probability integral "
        "transform), on the larger sets; flat is right, a hill means intervals that are too wide, "
        "walls mean intervals that are too narrow.",
        "",
        *histograms(suite, records, folder),
    ]


def histograms(suite: Suite, records: Sequence[Record], folder: Path) -> list[str]:
    """PIT histograms of ours, averaged over the partitions, relative to a flat one."""
    tasks = larger_sets(suite)
    columns = 5
    drawing, axes = pages.new_figure(-(-len(tasks) // columns) or 1, columns, 2.4, 1.9)
    for axis in axes.flat[len(tasks) :]:
        axis.set_axis_off()
    for axis, task in zip(axes.flat, tasks, strict=False):
        found = _histograms_of(records, task)
        if found:
            height = np.mean(found, axis=0) * len(found[0])
            edges = np.arange(len(height)) / len(height)
            axis.bar(edges, height, 1 / len(height), align="edge", color="C0", alpha=0.7)
        axis.axhline(1.0, color="0.3", linewidth=0.8)
        axis.set(xlim=(0, 1), ylim=(0, None))
        axis.set_title(task.title, fontsize="small")
        axis.tick_params(labelsize="x-small")
    caption = "Histograms of our probability integral transforms on the larger sets"
    return pages.save_figure(drawing, folder, f"{suite.name}_pit", caption)


def _histograms_of(records: Sequence[Record], task: Task) -> list[Any]:
    wanted = (task.name, OURS, "ok")
    mine = [r for r in records if (r["task"], r["method"], r["status"]) == wanted]
    return [r["curves"]["pit"] for r in mine if "pit" in r["curves"]]


# Provenance --------------------------------------------------------------------------------------


def provenance(suite: Suite, records: Sequence[Record]) -> list[str]:
    """The frame's lines, with the peers' environments and versions after them."""
    lines = [
        *pages.provenance(suite, records),
        "",
        "The peers' environments are made before, from pinned requirements, by",
        "",
        "```",
        "python -m benchmarks.peers.environments",
        "```",
        "",
    ]
    for method in suite.methods:
        kinds = {
            ", ".join(f"{name} {version}" for name, version in r["peer_versions"].items())
            for r in records
            if r["method"] == method.name and r.get("peer_versions")
        }
        lines += [f"- {method.title}: {kind}" for kind in sorted(kinds)]
    return lines
