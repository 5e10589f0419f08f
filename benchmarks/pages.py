"""Parts of the rendered pages: tables, means with deviations, tests, where the runs were done."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu, ttest_rel

from benchmarks.frame import Record, Suite, plain, write_atomically
from benchmarks.verdicts import Claim as Claim
from benchmarks.verdicts import claims_table as claims_table
from benchmarks.verdicts import counted as counted
from benchmarks.verdicts import in_the_paper as in_the_paper

MISSING = "-"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A Markdown table; the first column to the left, numbers to the right."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + "|".join(["---"] + ["--:"] * (len(header) - 1)) + "|")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def mean_and_deviation(values: Sequence[float], digits: int, mark: str = "") -> str:
    """``mean ± standard deviation`` (of the sample), or the mean alone of a single value."""
    if len(values) == 0:
        return MISSING
    text = f"{np.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {np.std(values, ddof=1):.{digits}f}"
    return text + mark


def by_partition(
    records: Iterable[Record], task: str, method: str, value: Callable[[Record], float]
) -> dict[int, float]:
    """Partition number -> value, of the runs of one method on one task that succeeded."""
    return {
        record["partition"]: value(record)
        for record in records
        if (record["task"], record["method"], record["status"]) == (task, method, "ok")
    }


def paired_t(left: np.ndarray, right: np.ndarray) -> float:
    """p-value of the paired t-test; 0 for a difference that is the same everywhere."""
    return 0.0 if np.ptp(left - right) == 0 else float(ttest_rel(left, right).pvalue)


def rank_sum(left: np.ndarray, right: np.ndarray) -> float:
    """p-value of Wilcoxon's rank-sum test (exact for few values without ties)."""
    return float(mannwhitneyu(left, right).pvalue)


def best_and_worse(
    values: dict[str, dict[int, float]],
    level: float = 0.05,
    test: Callable[[np.ndarray, np.ndarray], float] = paired_t,
) -> tuple[str | None, set[str]]:
    """The method with the smallest mean, and those worse than it by a test of significance.

    ``values`` maps method -> partition -> value; only partitions that all methods have count.
    """
    present = {name: v for name, v in values.items() if v}
    if not present:
        return None, set()
    common = sorted(set.intersection(*(set(v) for v in present.values())))
    if not common:
        return None, set()
    columns = {name: np.array([v[p] for p in common]) for name, v in present.items()}
    best = min(columns, key=lambda name: columns[name].mean())
    worse = {
        name
        for name, column in columns.items()
        if len(common) > 1
        and np.any(column != columns[best])
        and test(column, columns[best]) < level
    }
    return best, worse


def provenance(suite: Suite, records: Sequence[Record]) -> list[str]:
    """How the page was made: command, partitions, versions, machine, failures."""
    good = [record for record in records if record["status"] == "ok"]
    repeats = 1 + max((record["partition"] for record in good), default=0)
    lines = [
        "## How this page was made",
        "",
        "```",
        f"python -m benchmarks run {suite.name} --repeats {repeats}",
        f"python -m benchmarks render {suite.name}",
        "```",
        "",
        f"{len(good)} runs, {len(records) - len(good)} failed; "
        f"partitions 0 to {repeats - 1}, seeded by their number; "
        f"{_duration(sum(record['seconds'] for record in good))} in all.",
        "",
    ]
    lines += _states(good)
    for title, field in (("Versions", "versions"), ("Machine", "machine")):
        kinds = {tuple(sorted(record[field].items())) for record in good}
        for kind in sorted(kinds, key=str):
            text = ", ".join(f"{name} {value}" for name, value in kind)
            lines += [f"{title}: {text}.", ""]
    failed = [record for record in records if record["status"] != "ok"]
    for record in failed:
        reason = record["error"].strip().splitlines()[-1]
        lines.append(
            f"- failed: {record['task']}, {record['method']}, partition "
            f"{record['partition']}: {reason}"
        )
    return lines


def _states(records: Sequence[Record]) -> list[str]:
    """Which states of the code the runs are of, where that was noted."""
    states = Counter(record.get("code") for record in records)
    older = states.pop(None, 0)
    if not states:
        return []
    text = ", ".join(f"{name} ({n} runs)" for name, n in sorted(states.items()))
    if older:
        text += (
            f"; {older} runs are older, and it was not noted. Other states may draw other "
            "candidates at random"
        )
    return [f"State of the code: {text}.", ""]


def partitions_line(suite: Suite, records: Sequence[Record]) -> str:
    """Number of partitions with results, data set by data set."""
    parts = []
    for task in suite.tasks:
        done = {r["partition"] for r in records if r["task"] == task.name and r["status"] == "ok"}
        parts.append(f"{task.title} {len(done)}")
    return " ".join(["Partitions done: " + ", ".join(parts) + ".", *_earlier(suite, records)])


def _earlier(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Sentences on the methods whose runs had other parameters than the suite has now."""
    found = []
    for method in suite.methods:
        now = plain(method.parameters)
        counts: dict[str, int] = {}
        for record in records:
            if record["method"] == method.name and record["status"] == "ok":
                before = record["parameters"]["method"]
                changes = [
                    f"{name} {before.get(name, 'not set')}, now {now.get(name, 'not set')}"
                    for name in sorted({*before, *now})
                    if before.get(name) != now.get(name)
                ]
                if changes:
                    counts["; ".join(changes)] = counts.get("; ".join(changes), 0) + 1
        found += [
            f"{n} runs of {method.title} are of earlier settings ({text})."
            for text, n in counts.items()
        ]
    return found


def machines_line(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Which runs were made on which processor, where there is more than one: do not compare."""
    by_cpu: dict[str, dict[str, list[str]]] = {}
    titles = {method.name: method.title for method in suite.methods}
    for task in suite.tasks:
        for r in records:
            if (r["task"], r["status"]) == (task.name, "ok") and r["method"] in titles:
                methods = by_cpu.setdefault(r["machine"]["cpu"], {}).setdefault(task.title, [])
                if titles[r["method"]] not in methods:
                    methods.append(titles[r["method"]])
    if len(by_cpu) < 2:
        return []
    parts = [
        f"{cpu}: " + "; ".join(f"{task} {', '.join(names)}" for task, names in sets.items())
        for cpu, sets in by_cpu.items()
    ]
    return [f"Seconds of different processors cannot be compared. {'. '.join(parts)}.", ""]


def write_page(folder: Path, suite: Suite, lines: Sequence[str]) -> Path:
    """Write the suite's page; returns its path."""
    path = folder / f"{suite.name}.md"
    write_atomically(path, "\n".join(lines).rstrip() + "\n")
    return path


def save_figure(figure: Any, folder: Path, name: str, caption: str) -> list[str]:
    """Save a figure next to the page; returns the Markdown that shows it."""
    path = folder / "figures" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the software's version in the file, the same records give the same bytes.
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    return [f"![{caption}](figures/{name}.png)", ""]


def new_figure(rows: int, columns: int, width: float = 4.6, height: float = 3.4) -> tuple[Any, Any]:
    """A matplotlib figure without a window, and its axes as a 2-D array."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def draw_against(
    axis: Any, points: dict[str, Sequence[tuple[float, float]]], title: str, *, log: bool
) -> None:
    """Pairs (paper, ours) as points, one colour for each label, and the line where both agree."""
    span: list[float] = []
    for k, (label, pairs) in enumerate(points.items()):
        if pairs:
            x, y = np.array(pairs).T
            axis.plot(x, y, "osD^v"[k], color=f"C{k}", label=label, alpha=0.7)
            span += [*x, *y]
    if span:
        axis.plot([min(span), max(span)], [min(span), max(span)], color="0.7", zorder=0)
    if log:
        axis.set_xscale("log")
        axis.set_yscale("log")
    axis.set(xlabel="paper", ylabel="ours", title=title)


def add_legend(axis: Any) -> None:
    """A legend, where something is drawn."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize="small")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
