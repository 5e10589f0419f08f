"""Calibration of the methods of the suite of peers: coverage, and histograms of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.peers.comparison import OURS, compare
from benchmarks.peers.tables import by_set

LEVELS = (50, 80, 95)


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
        *by_set(suite, cell),
        "The place of the test targets in our predictive distributions (probability integral "
        "transform); flat is right, a hill means intervals that are too wide, "
        "walls mean intervals that are too narrow.",
        "",
        *histograms(suite, records, folder),
    ]


def histograms(suite: Suite, records: Sequence[Record], folder: Path) -> list[str]:
    """PIT histograms of ours, averaged over the partitions, relative to a flat one."""
    tasks = suite.tasks
    columns = 6
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
    caption = "Histograms of our probability integral transforms"
    return pages.save_figure(drawing, folder, f"{suite.name}_pit", caption)


def _histograms_of(records: Sequence[Record], task: Task) -> list[Any]:
    wanted = (task.name, OURS, "ok")
    mine = [r for r in records if (r["task"], r["method"], r["status"]) == wanted]
    return [r["curves"]["pit"] for r in mine if "pit" in r["curves"]]
