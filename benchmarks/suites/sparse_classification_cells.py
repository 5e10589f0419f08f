"""Errors and NLPs of the suites of sparse classification, by set, method and size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.frame import Record, Suite
from benchmarks.suites import rank_tests

SIZES = (40, 80, 160, 320)
SMALL = (40, 80)
TESTED_SIZES = (40, 80, 160)  # where the paper's post-hoc test follows Friedman's
MEASURES = {"error": "error", "nlp": "NLP"}
TESTED = ("adaptive2", "validation", "entropy", "info_gain")
RIVALS = ("entropy", "info_gain")
LEVEL, DUNN_LEVEL = 0.05, 0.1
FEWEST = 6  # partitions: with five pairs no difference is significant at 0.05

Cells = dict[tuple[str, str, int], dict[int, float]]  # (set, method, size) -> partition -> value


def collect(suite: Suite, records: Sequence[Record], measure: str) -> Cells:
    """(set, method, size) -> partition -> value, where there are any."""
    found: Cells = {}
    for record in records:
        if record["status"] == "ok":
            for size in SIZES:
                key = record["task"], record["method"], size
                value = record["metrics"][f"{measure}_{size}"]
                found.setdefault(key, {})[record["partition"]] = value
    return found


def pair(cells: Cells, task: str, left: str, right: str, size: int) -> tuple[list, list]:
    """Values of two methods on the partitions that both have."""
    a, b = cells.get((task, left, size), {}), cells.get((task, right, size), {})
    common = sorted(set(a) & set(b))
    return [a[p] for p in common], [b[p] for p in common]


def differences(suite: Suite, cells: Cells, left: str, right: str, size: int) -> dict[str, float]:
    """Set -> mean of left minus right, where both have partitions in common."""
    found = {}
    for task in suite.tasks:
        a, b = pair(cells, task.name, left, right, size)
        if a:
            found[task.name] = float(np.mean(a) - np.mean(b))
    return found


def averages(suite: Suite, cells: Cells, size: int) -> np.ndarray:
    """Means (sets, methods tested) over the common partitions, of the sets that have all."""
    rows = []
    for task in suite.tasks:
        each = [cells.get((task.name, method, size), {}) for method in TESTED]
        common = sorted(set.intersection(*(set(values) for values in each)))
        if common:
            rows.append([np.mean([values[p] for p in common]) for values in each])
    return np.array(rows).reshape(-1, len(TESTED))


def friedman_values(suite: Suite, cells: Cells) -> dict[int, float]:
    """Size -> p-value, where at least two sets have all four methods."""
    return {
        s: rank_tests.friedman(values)
        for s in SIZES
        if len(values := averages(suite, cells, s)) > 1
    }


def title_of(suite: Suite, method: str) -> str:
    return next(m.title for m in suite.methods if m.name == method)


def set_title_of(suite: Suite, name: str) -> str:
    return next(task.title for task in suite.tasks if task.name == name)
