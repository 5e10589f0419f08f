"""The picture of the suite of peers: how far every method's density is from ours, set by set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.peers.comparison import EARLIER, OURS, SPARSE, Comparison, compare
from benchmarks.peers.findings import halves

BEYOND = (-0.4, 0.8)  # nats; what lies further out stands at the edge
HEADINGS = {"chosen on": "the defaults were chosen on", "reported on": "the other sets"}
MARKERS = "osD^vP*Xp"


def picture(suite: Suite, records: Sequence[Record], folder: Path) -> list[str]:
    """Draw it; returns the Markdown that shows it."""
    comparisons = compare(suite, records, "nlpd")
    rows = [row for row in _rows(suite) if not isinstance(row, Task) or row.name in comparisons]
    drawing, axes = pages.new_figure(1, 1, 8.8, 0.27 * len(rows) + 1.3)
    axis = axes[0, 0]
    for number, method in enumerate(_methods(suite, comparisons)):
        points = [
            (_distance(comparisons[row.name], method.name), place)
            for place, row in enumerate(rows)
            if isinstance(row, Task)
        ]
        x, y = np.array(points).T
        look = {"mfc": "white"} if method.name not in SPARSE else {}
        marker = MARKERS[number % len(MARKERS)]
        axis.plot(np.clip(x, *BEYOND), y, marker, color=f"C{number}", label=method.title, **look)
    _dress(axis, rows)
    caption = "Difference of the NLPD to that of greedygp, set by set; greedygp is the line"
    return pages.save_figure(drawing, folder, "peers_nlpd", caption)


def _rows(suite: Suite) -> Iterator[Task | str]:
    """The lines of the picture: each half of the sets below its heading."""
    for title, half in halves(suite).items():
        if half.tasks:
            yield HEADINGS[title]
            yield from half.tasks


def _methods(suite: Suite, comparisons: dict[str, Comparison]) -> list[Any]:
    """The other methods that have run on most of the sets."""
    return [
        method
        for method in suite.methods
        if method.name not in (OURS, EARLIER)
        and 2 * sum(bool(c.values[method.name]) for c in comparisons.values()) > len(comparisons)
    ]


def _distance(comparison: Comparison, method: str) -> float:
    """How much larger the method's NLPD is than ours, on the partitions of both."""
    theirs, ours = comparison.means(method, OURS)
    return theirs - ours


def _dress(axis: Any, rows: Sequence[Task | str]) -> None:
    """Names, headings, the line that is greedygp, and what the sides mean."""
    axis.axvline(0, color="black", linewidth=1.5)
    for place, row in enumerate(rows):
        if isinstance(row, Task):
            axis.axhline(place, color="0.92", linewidth=0.8, zorder=0)
    axis.set_yticks(range(len(rows)), [row.title if isinstance(row, Task) else row for row in rows])
    for label, row in zip(axis.get_yticklabels(), rows, strict=True):
        if not isinstance(row, Task):
            label.set(fontstyle="italic", color="0.4", fontsize=8)
    axis.tick_params(axis="y", length=0)
    margin = 0.03
    axis.set(ylim=(len(rows) - 0.4, -0.6), xlim=(BEYOND[0] - margin, BEYOND[1] + margin))
    ticks = np.linspace(*BEYOND, 7)
    ends = {0: "≤ ", len(ticks) - 1: "≥ "}
    axis.set_xticks(ticks, [f"{ends.get(k, '')}{tick:+.1f}" for k, tick in enumerate(ticks)])
    axis.set_xlabel("NLPD in nats, minus that of greedygp  (to the right: greedygp is better)")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=9)
