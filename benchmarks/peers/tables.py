"""The tables of the suite of peers: a row for each set, a column for each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.peers.comparison import OURS, Comparison, compare
from benchmarks.peers.findings import CLOSE, halves

SUMS = {
    "all fits": "fit_seconds",
    "all fits, processor": "fit_cpu_seconds",
    "all predictions": "predict_seconds",
    "all predictions, processor": "predict_cpu_seconds",
}


def by_set(suite: Suite, cell: Callable[[Task, str], str]) -> list[str]:
    """The table of a measure: the two halves of the sets one below the other."""
    header = ["data set", *(method.title for method in suite.methods)]
    rows = []
    for title, half in halves(suite).items():
        rows.append([f"*{title}*", *("" for _ in suite.methods)])
        rows += [[task.title, *(cell(task, m.name) for m in suite.methods)] for task in half.tasks]
    return pages.table(header, rows)


def density_table(suite: Suite, records: Sequence[Record]) -> list[str]:
    return _marked_table(suite, compare(suite, records, "nlpd"), 3)


def score_table(suite: Suite, records: Sequence[Record]) -> list[str]:
    return _marked_table(suite, compare(suite, records, "crps"), 4)


def _marked_table(suite: Suite, comparisons: dict[str, Comparison], digits: int) -> list[str]:
    """Means and deviations; the best in bold, a star at what is significantly worse."""

    def cell(task: Task, method: str) -> str:
        comparison = comparisons[task.name]
        mark = "*" if comparison.is_worse(method) else ""
        text = pages.mean_and_deviation(list(comparison.values[method].values()), digits, mark)
        return f"**{text}**" if method == comparison.best else text

    return by_set(suite, cell)


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

    return by_set(suite, cell)


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
