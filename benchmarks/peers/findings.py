"""The findings of the suite of peers: counts of sets for each half, from the records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.frame import Record, Suite, Task
from benchmarks.peers.comparison import (
    BOOSTED,
    EARLIER,
    OURS,
    SPARSE,
    Comparison,
    compare,
    title_of,
)
from benchmarks.peers.sets import CHOSEN_ON, REPORTED_ON

CLOSE = 1.02  # an error of at most this times the best counts as the same
NO_WORSE = 1.03  # the most that an error may be, times that of the earlier default
MOST_GAIN = 0.3  # nats; a gain of more counts as this much, so that no set carries the mean
COVERED = (0.93, 0.97)  # where the coverage of the 95 % interval should lie
NOTHING = "not enough runs"
FEW_RUNS = ("gpflow_fitc", "gpflow_heteroscedastic")  # told of by themselves, too
HALVES = {"chosen on": CHOSEN_ON, "reported on": REPORTED_ON}

Parts = dict[str, Suite]


def halves(suite: Suite) -> Parts:
    """The suite with the sets of each half alone."""
    return {
        title: replace(suite, tasks=[task for task in suite.tasks if task.name in names])
        for title, names in HALVES.items()
    }


@dataclass(frozen=True)
class Count:
    """On how many sets something holds, and the others in words."""

    total: int
    missed: Sequence[str]
    remark: str = ""

    @property
    def short(self) -> str:
        return f"{self.total - len(self.missed)} of {self.total}" if self.total else NOTHING

    def __str__(self) -> str:
        if not self.total:
            return NOTHING
        text = self.short + self.remark
        return f"{text}; not on {', '.join(self.missed)}" if self.missed else text


def findings(suite: Suite, records: Sequence[Record]) -> list[str]:
    """The counts for each half and for all sets, and the seconds."""
    earlier = title_of(suite, EARLIER)
    questions: dict[str, tuple[str, Callable[[Suite, Sequence[Record]], Count | Gain]]] = {
        "NLPD best among the sparse GPs, or not significantly worse than the best": (
            "all",
            density_count,
        ),
        "The same among the sparse GPs and the boosted trees of all kinds": (
            "13 of 17",
            density_count_with_boosted,
        ),
        f"Mean gain in NLPD over {earlier}, nats, no set counting for more than {MOST_GAIN}": (
            "0.08",
            density_gain,
        ),
        "NMSE within 2 % of the best sparse GP, or the best": ("15 of 17", error_count),
        f"NMSE at most 3 % worse than that of {earlier}": ("all", error_kept_count),
        "95 % intervals cover 93 to 97 %": ("15 of 17", covered_count),
        **{
            f"NLPD lower than that of {title_of(suite, name)}, whatever number of partitions": (
                "",
                partial(lower_count, name=name),
            )
            for name in FEW_RUNS
        },
    }
    header = ["", "goal", *(f"sets {title}" for title in HALVES), "all sets"]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for text, (goal, count) in questions.items():
        parts = [str(count(part, records)) for part in halves(suite).values()]
        cells = [text, goal, *parts, count(suite, records).short]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", *seconds(suite, records)]


# Densities ---------------------------------------------------------------------------------------


def density_count(suite: Suite, records: Sequence[Record]) -> Count:
    return _density_count(suite, compare(suite, records, "nlpd"))


def density_count_with_boosted(suite: Suite, records: Sequence[Record]) -> Count:
    return _density_count(suite, compare(suite, records, "nlpd", (*SPARSE, *BOOSTED)))


def _density_count(suite: Suite, comparisons: dict[str, Comparison]) -> Count:
    """The remark tells what a test with few partitions hides: where another mean is smaller."""
    done = comparable(suite, comparisons)
    behind = [(task, c) for task, c in done if c.best != OURS]
    missed = [_against_best(suite, task, c) for task, c in behind if c.is_worse(OURS)]
    level = [_against_best(suite, task, c) for task, c in behind if not c.is_worse(OURS)]
    remark = f" (the smallest mean on {len(done) - len(behind)}"
    remark += f"; no significant difference on {', '.join(level)})" if level else ")"
    return Count(len(done), missed, remark)


def _against_best(suite: Suite, task: Task, comparison: Comparison) -> str:
    assert comparison.best is not None
    ours, best = comparison.means(OURS, comparison.best)
    text = f"{ours:.3f} against {best:.3f} of {title_of(suite, comparison.best)}"
    alone = ", one partition" if len(comparison.common) == 1 else ""
    return f"{task.title} ({text}{alone})"


def lower_count(suite: Suite, records: Sequence[Record], name: str) -> Count:
    """How we stand beside a method whose partitions are too few for a test."""
    pairs = [
        (task, *compare(suite, records, "nlpd")[task.name].means(OURS, name))
        for task in suite.tasks
    ]
    pairs = [pair for pair in pairs if not np.isnan(pair[1])]
    higher = [
        f"{t.title} ({ours:.3f} against {theirs:.3f})" for t, ours, theirs in pairs if ours > theirs
    ]
    return Count(len(pairs), higher)


@dataclass(frozen=True)
class Gain:
    """Set -> how much smaller our mean NLPD is than the earlier default's."""

    of: dict[str, float]

    @property
    def short(self) -> str:
        if not self.of:
            return NOTHING
        return f"{np.mean([min(gain, MOST_GAIN) for gain in self.of.values()]):.3f}"

    def __str__(self) -> str:
        losses = [f"{title} ({gain:.3f})" for title, gain in self.of.items() if gain < 0]
        return f"{self.short}; worse on {', '.join(losses)}" if losses else self.short


def density_gain(suite: Suite, records: Sequence[Record]) -> Gain:
    """Gains above ``MOST_GAIN`` are clipped in the mean, losses are not."""
    found = {}
    for task, comparison in with_earlier(suite, records, "nlpd"):
        ours, earlier = comparison.means(OURS, EARLIER)
        found[task.title] = earlier - ours
    return Gain(found)


# Errors and coverage -----------------------------------------------------------------------------


def error_count(suite: Suite, records: Sequence[Record]) -> Count:
    done = comparable(suite, compare(suite, records, "nmse"))
    missed = [
        f"{task.title} ({c.ratio(OURS):.2f} times that of {title_of(suite, c.best)})"
        for task, c in done
        if c.ratio(OURS) > CLOSE
    ]
    return Count(len(done), missed)


def error_kept_count(suite: Suite, records: Sequence[Record]) -> Count:
    ratios = {}
    for task, comparison in with_earlier(suite, records, "nmse"):
        ours, earlier = comparison.means(OURS, EARLIER)
        ratios[task.title] = ours / earlier
    missed = [f"{title} ({r:.2f} times)" for title, r in ratios.items() if r > NO_WORSE]
    return Count(len(ratios), missed)


def covered_count(suite: Suite, records: Sequence[Record]) -> Count:
    comparisons = compare(suite, records, "coverage_95")
    found = {
        task.title: float(np.mean(list(comparisons[task.name].values[OURS].values())))
        for task in suite.tasks
        if comparisons[task.name].values[OURS]
    }
    low, high = COVERED
    missed = [f"{title} ({100 * v:.1f} %)" for title, v in found.items() if not low <= v <= high]
    return Count(len(found), missed)


def comparable(suite: Suite, comparisons: dict[str, Comparison]) -> list[tuple[Task, Comparison]]:
    """The sets where ours and another of the field have runs."""
    return [(t, comparisons[t.name]) for t in suite.tasks if comparisons[t.name].is_one]


def with_earlier(
    suite: Suite, records: Sequence[Record], metric: str
) -> list[tuple[Task, Comparison]]:
    """The sets where ours and the earlier default have a partition in common."""
    comparisons = compare(suite, records, metric, (OURS, EARLIER))
    return comparable(suite, comparisons)


# Seconds -----------------------------------------------------------------------------------------


def seconds(suite: Suite, records: Sequence[Record]) -> list[str]:
    """The sums of all runs that the sparse GPs have in common."""
    kinds = {
        "Seconds in all, fit and prediction": ("fit_seconds", "predict_seconds"),
        "The same, of the processor": ("fit_cpu_seconds", "predict_cpu_seconds"),
    }
    lines = [f"{title}: {_totals(suite, records, names)}." for title, names in kinds.items()]
    return [
        "Of the runs that all sparse GPs have, those with few runs left out:",
        "",
        *(f"- {line}" for line in lines),
        *_at_other_times(suite, records),
        "",
    ]


def _at_other_times(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Which sparse GPs were not run in turns with ours: their seconds are of another machine."""
    states = {name: {r.get("code") for r in records if r["method"] == name} for name in SPARSE}
    others = [
        title_of(suite, name)
        for name, state in states.items()
        if state and name != OURS and not state & states[OURS]
    ]
    if not others:
        return []
    return [f"- Run at another time, perhaps on a slower machine: {', '.join(others)}."]


def _totals(suite: Suite, records: Sequence[Record], metrics: Sequence[str]) -> str:
    """Sums over the runs that all sparse GPs have, so that they can be compared."""
    counts = Counter(r["method"] for r in records if r["status"] == "ok")
    enough = [name for name in SPARSE if counts[name] > 0 and 2 * counts[name] >= counts[OURS]]
    totals: dict[str, float] = dict.fromkeys(enough, 0.0)
    runs = 0
    for metric in metrics:
        for comparison in compare(suite, records, metric).values():
            if len(comparison.present) < len(totals):
                continue
            runs += len(comparison.common)
            for name in totals:
                totals[name] += sum(comparison.values[name][p] for p in comparison.common)
    if not runs or len(totals) < 2:
        return NOTHING
    return ", ".join(f"{title_of(suite, name)} {total:.0f}" for name, total in totals.items())
