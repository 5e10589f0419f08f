"""Tables of "Predictive approaches for sparse GP regression" beside ours, and findings counted.

A table has parts ("without cache" and "with cache", say). Everything is kept under (data set, part,
metric): method -> average, in the paper and here, and method -> partition -> value here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.suites import predictive
from benchmarks.suites.printed import Tables

# Digits after the point in print: both are compared in as many, so that a tie there is one here.
DIGITS = {"nmse": 2, "npdl": 2, "basis": 1}
ABALONE_NPDL = 4  # printed in hundredths
METRICS = {"nmse": ("NMSE x 10^-2", 2), "npdl": ("NPDL", 3), "basis": ("basis vectors", 1)}

Key = tuple[str, str, str]
Values = dict[str, dict[int, float]]
Averages = dict[Key, dict[str, float]]
Stars = dict[tuple[str, str], set[str]]


def value_of(record: Record, metric: str) -> float:
    """A metric as the paper prints it: NMSE in hundredths, NPDL on the paper's scale of y."""
    if metric == "nmse":
        return 100 * record["metrics"]["nmse"]
    if metric == "npdl" and record["task"] in predictive.STANDARDISED_NPDL:
        return record["metrics"]["npdl_standardised"]
    return record["metrics"][metric]


@dataclass(frozen=True)
class Comparison:
    """The paper's tables and our runs.

    Attributes
    ----------
    printed : data set -> part -> method -> metric -> (mean, deviation)
        A part that the paper does not have is left out.
    values : (data set, part, metric) -> method -> partition -> value
    """

    printed: Tables
    values: dict[Key, Values]

    @classmethod
    def of(
        cls, suite: Suite, records: list[Record], parts: Iterable[str], printed: Tables
    ) -> Comparison:
        """From the records of methods that are named ``<criterion>-<part>``."""
        values = {
            (task.name, part, metric): {
                criterion: pages.by_partition(
                    records, task.name, f"{criterion}-{part}", lambda r, m=metric: value_of(r, m)
                )
                for criterion in predictive.TITLES
            }
            for task in suite.tasks
            for part in parts
            for metric in METRICS
        }
        return cls(printed, values)

    @cached_property
    def theirs(self) -> Averages:
        """Averages as printed; empty where the paper has none."""
        return {
            (name, part, metric): {
                c: methods[c][metric][0]
                for methods in [self.printed.get(name, {}).get(part, {})]
                for c in methods
            }
            for name, part, metric in self.values
        }

    @cached_property
    def ours(self) -> Averages:
        """Averages of our runs as in print; empty unless all five methods have some."""
        averages = {
            key: {c: as_printed(key, np.mean(list(v.values()))) for c, v in methods.items() if v}
            for key, methods in self.values.items()
        }
        return {k: a if len(a) == len(predictive.TITLES) else {} for k, a in averages.items()}

    def tested(self, part: str) -> list[str]:
        """Data sets with enough of our runs for a test of significance."""
        return [
            name
            for name in names_in(self.ours, part)
            if all(len(found) > 1 for found in self.values[name, part, "npdl"].values())
        ]

    def worse(self, name: str, part: str, metric: str) -> set[str]:
        """Methods that are significantly worse than the best in our runs."""
        return pages.best_and_worse(self.values[name, part, metric])[1]


def as_printed(key: Key, value: float) -> float:
    """An average with the digits that the paper's tables have."""
    name, _, metric = key
    hundredths = (name, metric) == ("abalone", "npdl")
    return round(float(value), ABALONE_NPDL if hundredths else DIGITS[metric])


def names_in(table: Averages, part: str) -> list[str]:
    """Data sets of which the table has all methods."""
    return [n for n, p, m in table if p == part and m == "npdl" and table[n, p, m]]


# Tables and figure -------------------------------------------------------------------------------


def side_by_side(
    task: Task, part: str, comparison: Comparison, stars: Stars | None = None
) -> list[str]:
    """A Markdown table: each metric as printed and as found; ``stars`` are the paper's own."""
    header = ["algorithm"]
    columns = []
    printed = comparison.printed.get(task.name, {}).get(part, {})
    for metric, (title, digits) in METRICS.items():
        header += [f"{title}, paper", f"{title}, ours"]
        ours = comparison.values[task.name, part, metric]
        best, worse = (None, set()) if metric == "basis" else pages.best_and_worse(ours)
        theirs, mine = [], []
        for criterion in predictive.TITLES:
            starred = criterion in (stars or {}).get((task.name, metric), ())
            theirs.append(_printed(printed[criterion][metric], starred) if printed else "-")
            mark = "*" if criterion in worse else ""
            text = pages.mean_and_deviation(list(ours[criterion].values()), digits, mark)
            mine.append(f"**{text}**" if criterion == best else text)
        columns += [theirs, mine]
    return pages.table(header, zip(predictive.TITLES.values(), *columns, strict=True))


def _printed(pair: tuple[float, float], starred: bool) -> str:
    mean, deviation = pair
    return f"{mean:g}" + (f" ± {deviation:g}" if deviation else "") + ("*" if starred else "")


def figure(
    suite: Suite, comparison: Comparison, parts: Collection[str], folder: Path, caption: str
) -> list[str]:
    """The paper's averages against ours, one point for each set, method and part."""
    drawing, axes = pages.new_figure(1, 3)
    for axis, (metric, (title, _)) in zip(axes[0], METRICS.items(), strict=True):
        points = {
            label: [
                (theirs[criterion], float(np.mean(list(found.values()))))
                for t in suite.tasks
                for part in parts
                if (found := comparison.values[t.name, part, metric][criterion])
                and (theirs := comparison.theirs[t.name, part, metric])
            ]
            for criterion, label in predictive.TITLES.items()
        }
        pages.draw_against(axis, points, title, log=metric != "npdl")
    pages.add_legend(axes[0, 0])
    return pages.save_figure(drawing, folder, suite.name, caption)


# Findings ----------------------------------------------------------------------------------------


def count_claim(
    text: str,
    holds: Callable[[Averages, str], bool],
    comparison: Comparison,
    part: str,
    only: Collection[str] = (),
) -> pages.Claim:
    """A property of a data set's averages, counted: in ours as often as in the paper's.

    ``only`` are the sets that the paper says it of; empty: all.
    """
    names = [n for n in names_in(comparison.ours, part) if n in (only or comparison.printed)]
    known = [n for n in names_in(comparison.theirs, part) if n in (only or comparison.printed)]
    paper = [name for name in known if holds(comparison.theirs, name)]
    mine = [name for name in names if holds(comparison.ours, name)]
    return pages.counted(
        text + pages.in_the_paper(len(paper), len(known), "sets"),
        ", ".join(mine) or "none",
        [name in mine if name in names else None for name in known],
        share_of(paper, known),
        "sets",
    )


def share_of(true: Sequence[str], known: Sequence[str]) -> Fraction:
    """In how many of the cases something is so in the paper."""
    return Fraction(len(true), max(1, len(known)))


def size_claims(comparison: Comparison, part: str, label: str) -> list[pages.Claim]:
    """Findings about the size of the basis that hold in both experiments."""

    def gpe_largest(t: Averages, name: str) -> bool:
        sizes = t[name, part, "basis"]
        return sizes["gpe"] >= max(sizes[c] for c in ("loo_cve", "nlgpp"))

    def nlgpp_small(t: Averages, name: str) -> bool:
        sizes = t[name, part, "basis"]
        return sizes["nlgpp"] < min(sizes[c] for c in ("gpe", "nlpp"))

    return [
        count_claim(
            f"GPE ends with the largest basis of the LOO measures{label}",
            gpe_largest,
            comparison,
            part,
        ),
        count_claim(
            f"NLGPP needs fewer basis vectors than GPE and NLPP{label}",
            nlgpp_small,
            comparison,
            part,
        ),
    ]


def change_claim(
    text: str,
    comparison: Comparison,
    metric: str,
    parts: tuple[str, str],
    criteria: Sequence[str],
    tasks: Sequence[str],
    *,
    falls: bool = True,
    factor: bool = False,
) -> pages.Claim:
    """How often a metric falls (or rises) from one part of the tables to another.

    A case is a data set and a method; the finding holds where as many cases have it as in the
    paper. ``factor`` adds the average ratio.
    """
    before, after = parts

    def cases(table: Averages) -> list[tuple[float, float]]:
        names = [n for n in tasks if table[n, before, metric] and table[n, after, metric]]
        return [
            (table[n, before, metric][c], table[n, after, metric][c])
            for n in names
            for c in criteria
        ]

    def count(pairs: list[tuple[float, float]]) -> int:
        return sum(new < old if falls else new > old for old, new in pairs)

    paper, mine = cases(comparison.theirs), cases(comparison.ours)
    ratio = ""
    if factor and mine:
        mean = np.exp(np.mean([np.log(new / old) for old, new in mine]))
        ratio = f"by a factor of {mean:.2f} on average"
    moved: list[bool | None] = [new < old if falls else new > old for old, new in mine]
    return pages.counted(
        text + pages.in_the_paper(count(paper), len(paper), "cases"),
        ratio,
        moved + [None] * (len(paper) - len(mine)),
        Fraction(count(paper), max(1, len(paper))),
    )
