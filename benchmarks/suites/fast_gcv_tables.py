"""What the page of the fast GCV paper's experiments is made of: pairs of methods, and averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.suites.rank_tests import signed_rank

LEVEL = 0.05
FEWEST = 6  # pairs with which the test can reach 0.05

Values = dict[tuple[str, str], dict[int, float]]  # (set, method) -> partition -> value


@dataclass(frozen=True)
class Pair:
    """Two methods on the partitions that both have; smaller values are better."""

    left: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, values: Values, task: str, left: str, right: str) -> Pair:
        a, b = values[task, left], values[task, right]
        common = sorted(set(a) & set(b))
        return cls(np.array([a[p] for p in common]), np.array([b[p] for p in common]))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def p(self) -> float:
        """p-value of Wilcoxon's signed-rank test of the pairs."""
        return signed_rank(self.left, self.right) if len(self) else np.nan

    @property
    def wins(self) -> int:
        return int(np.sum(self.left < self.right))

    @property
    def is_left_better(self) -> bool:
        """By the sum of signed ranks, as the test sees it; by the mean where ranks balance."""
        difference = self.left - self.right
        ranks = np.sign(difference) * rankdata(np.abs(difference))
        return bool(ranks.sum() < 0) if ranks.sum() else bool(difference.mean() < 0)

    @property
    def verdict(self) -> bool | None:
        """Whether the left one is significantly better; None with too few pairs to say."""
        return None if len(self) < FEWEST else self.p < LEVEL and self.is_left_better


def collect(suite: Suite, records: Sequence[Record], metric: str) -> Values:
    """(Set, method) -> partition -> value of the metric, where a record has it."""
    having = [record for record in records if metric in record["metrics"]]
    return {
        (task.name, method.name): pages.by_partition(
            having, task.name, method.name, lambda record: record["metrics"][metric]
        )
        for task in suite.tasks
        for method in suite.methods
    }


def averages_table(
    suite: Suite,
    records: Sequence[Record],
    task: Task,
    methods: dict[str, str],
) -> list[str]:
    """A Markdown table: errors, sizes, widths and times of each method."""
    metrics = ("nmse", "basis", "length_scale", "fit_cpu_seconds", "search_cpu_seconds")
    found = {metric: collect(suite, records, metric) for metric in metrics}
    rows = []
    for method, title in methods.items():
        cells = {metric: list(found[metric][task.name, method].values()) for metric in metrics}
        row = [
            title,
            len(cells["nmse"]),
            median(cells["nmse"], 4),
            pages.mean_and_deviation(cells["nmse"], 4),
            median(cells["basis"], 1),
            pages.mean_and_deviation(cells["basis"], 1),
            median(cells["length_scale"], 1),
            mean(cells["fit_cpu_seconds"], 3),
            mean(cells["search_cpu_seconds"], 1),
        ]
        rows.append(row)
    header = [
        "",
        "partitions",
        "NMSE, median",
        "mean",
        "basis functions, median",
        "mean",
        "width, median",
        "CPU s a fit",
        "CPU s of the search",
    ]
    return pages.table(header, rows)


def median(values: Sequence[float], digits: int) -> str:
    return f"{np.median(values):.{digits}f}" if len(values) else pages.MISSING


def mean(values: Sequence[float], digits: int) -> str:
    return f"{np.mean(values):.{digits}f}" if len(values) else pages.MISSING
