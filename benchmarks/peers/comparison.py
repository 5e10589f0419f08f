"""How the methods of the suite of peers stand on each set by one measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite

OURS = "greedygp"
EARLIER = (
    "greedygp_0.1.0"  # stored runs of an earlier default; cannot be repeated with this version
)
SPARSE = (
    OURS,
    "gpflow_sgpr",
    "gpflow_fitc",
    "gpflow_heteroscedastic",
    "gpytorch_sgpr",
    "gpytorch_svgp",
)
BOOSTED = ("trees", "catboost", "ngboost")

Values = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Comparison:
    """A measure on one set: method -> partition -> value, and how the methods stand.

    ``field`` names those that the best is taken from; the others are compared with that best.
    """

    values: Values
    field: Sequence[str] = SPARSE

    @property
    def present(self) -> Values:
        """The methods of the field that have values: two at least, where ours and another have.

        One that has hardly begun would leave a single partition that all have, and no test.
        """
        found = {name: v for name, v in self.values.items() if name in self.field and v}
        full = {name: v for name, v in found.items() if len(v) > 1}
        return full if OURS in full and len(full) > 1 else found

    @property
    def is_one(self) -> bool:
        """Whether ours and another method of the field have a partition in common."""
        return OURS in self.present and len(self.present) > 1 and bool(self.common)

    @property
    def common(self) -> list[int]:
        """Partitions that all of the field have."""
        return sorted(set.intersection(*(set(v) for v in self.present.values())))

    @property
    def best(self) -> str | None:
        """The method of the field with the smallest mean."""
        return pages.best_and_worse(self.present)[0]

    def is_worse(self, method: str) -> bool:
        """Whether a method, of the field or not, is significantly worse than the field's best."""
        if self.best is None or method == self.best:
            return False
        if method in self.field:
            return method in pages.best_and_worse(self.present)[1]
        pair = {self.best: self.values[self.best], method: self.values[method]}
        return method in pages.best_and_worse(pair)[1]

    def means(self, left: str, right: str) -> tuple[float, float]:
        """The means of two methods on the partitions that both have; NaN where there are none."""
        mine, theirs = self.values.get(left, {}), self.values.get(right, {})
        shared = sorted(set(mine) & set(theirs))
        if not shared:
            return float("nan"), float("nan")
        return float(np.mean([mine[p] for p in shared])), float(
            np.mean([theirs[p] for p in shared])
        )

    def ratio(self, method: str) -> float:
        """The method's mean over that of the field's best, on the partitions of both."""
        assert self.best is not None
        mine, theirs = self.means(method, self.best)
        return mine / theirs


def compare(
    suite: Suite, records: Sequence[Record], metric: str, field: Sequence[str] = SPARSE
) -> dict[str, Comparison]:
    """Set -> how the methods stand by a metric; records without the metric are left out."""
    having = [record for record in records if metric in record["metrics"]]
    return {
        task.name: Comparison(
            {
                method.name: pages.by_partition(
                    having, task.name, method.name, lambda r: r["metrics"][metric]
                )
                for method in suite.methods
            },
            field,
        )
        for task in suite.tasks
    }


def title_of(suite: Suite, name: str | None) -> str:
    return next(method.title for method in suite.methods if method.name == name)
