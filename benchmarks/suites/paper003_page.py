"""The page of the fast GCV paper's experiments: findings, box plots, p-values, other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks import pages
from benchmarks.frame import Record, Suite, Task
from benchmarks.suites.paper003_printed import PAIRS, PARTITIONS, p_values
from benchmarks.suites.rank_tests import signed_rank

PAPER = (
    "S. Sundararajan, S. Shevade and S. S. Keerthi, *Fast generalized cross validation algorithm "
    "for sparse model learning*"
)
OURS = {"fgcv": "FGCV", "frvm": "FRVM", "rfs": "RFS", "ols": "OLS"}
PEERS = {"fastrvm": "fastrvm", "ard": "ARDRegression", "svr": "SVR"}
BESIDE = {"fgcv": "FGCV", "frvm": "FRVM", **PEERS}
BETTER_ON = ("friedman2", "friedman3", "boston")  # where the paper has FGCV better than FRVM
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


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: findings, then each set with box plots and p-values, then the other libraries."""
    errors, sizes = collect(suite, records, "nmse"), collect(suite, records, "basis")
    titles = {task.name: task.title for task in suite.tasks}
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Tables 1 to 4 and Figures 1 to 4. FGCV is `FastGCVRegressor`, FRVM "
        "`FastRVMRegressor`, RFS `RFSRegressor`, OLS `OLSRegressor`, with their defaults: a "
        "Gaussian kernel of one width at every training row, the width chosen for each method and "
        "partition by 5-fold cross-validation. NMSE is the mean squared error on the test part "
        "over the variance of its targets. p-values are of Wilcoxon's matched-pairs signed-rank "
        "test, two-sided.",
        "",
        pages.partitions_line(suite, records)
        + " The paper has "
        + ", ".join(f"{titles[name]} {n}" for name, n in PARTITIONS.items() if name in titles)
        + f". With fewer than {FEWEST} pairs the test cannot reach {LEVEL:g}.",
        "",
        "## Findings",
        "",
        finding(suite, errors, sizes),
        "",
        *pages.claims_table(claims(suite, records, errors, sizes)),
        *local_minima(suite, records),
        *notes(),
    ]
    for task in suite.tasks:
        lines += section(suite, task, records, errors, sizes, folder)
    lines += other_libraries(suite, records)
    lines += pages.provenance(suite, records)
    lines += peer_versions(records)
    return pages.write_page(folder, suite, lines)


def notes() -> list[str]:
    """What differs from the paper."""
    return [
        "What differs from the paper. Friedman's sets are generated as it says: 200 training rows "
        "with noise (standard deviation 125 and 0.1), new for each partition, and 1000 test rows "
        "without. Its partitions of Boston (481/25 rows) and Abalone (3000/1177) are lost; these "
        "are random ones of the same sizes. Inputs and targets are standardised on the training "
        "part. It does not print its grid of widths; here it is the estimators' own, at most 1000 "
        "rows taking part. RFS and OLS were Matlab functions with their defaults; here OLS stops "
        "by GCV. Figures 1 to 4 are drawings without numbers, so that only the p-values can be put "
        "side by side.",
        "",
    ]


# Findings ----------------------------------------------------------------------------------------


def finding(suite: Suite, errors: Values, sizes: Values) -> str:
    """One sentence: on how many of the three sets the paper's main finding holds here."""
    names = [task.name for task in suite.tasks if task.name in BETTER_ON]
    verdicts = {name: Pair.of(errors, name, "fgcv", "frvm").verdict for name in names}
    known = {name: verdict for name, verdict in verdicts.items() if verdict is not None}
    if not known:
        return "There are not enough runs to say whether the paper's main finding holds."
    pairs = {name: Pair.of(sizes, name, "fgcv", "frvm") for name in known}
    larger = sum(pair.left.mean() > pair.right.mean() for pair in pairs.values())
    worse = sum(Pair.of(errors, name, "frvm", "fgcv").verdict is True for name in known)
    held = sum(known.values())
    outcome = "holds" if held == len(known) == larger else "does not hold"
    if 0 < held < len(known):
        outcome = "holds in part"
    return (
        "The paper's main finding is that FGCV has a better error than FRVM on Friedman2, "
        f"Friedman3 and Boston, with somewhat more basis functions. Here it **{outcome}**: "
        f"FGCV is significantly better on {held} of {len(known)} sets and significantly worse on "
        f"{worse}; it has more basis functions on {larger}."
    )


def claims(
    suite: Suite, records: Sequence[Record], errors: Values, sizes: Values
) -> list[pages.Claim]:
    """What the paper says, and the same from the records."""
    printed = p_values()
    found = []
    for task in suite.tasks:
        pair = Pair.of(errors, task.name, "fgcv", "frvm")
        p = printed[task.name]["fgcv", "frvm"]
        if task.name in BETTER_ON:
            text = f"{task.title}: FGCV has a better error than FRVM (p = {p:.2g})"
            found.append(pages.Claim(text, compared(pair, "NMSE", 4), pair.verdict))
        else:
            text = f"{task.title}: FGCV and FRVM do not differ significantly (p = {p:.2g})"
            alike = None if len(pair) < FEWEST else bool(pair.p >= LEVEL)
            found.append(pages.Claim(text, compared(pair, "NMSE", 4), alike))
    for task in suite.tasks:
        pair = Pair.of(sizes, task.name, "fgcv", "frvm")
        text = f"{task.title}: FGCV has somewhat more basis functions than FRVM"
        more = bool(pair.left.mean() > pair.right.mean()) if len(pair) else None
        found.append(pages.Claim(text, compared(pair, "basis functions", 1), more))
    return [*found, rivals_claim(suite, errors), speed_claim(suite, records)]


def compared(pair: Pair, what: str, digits: int) -> str:
    """Means of both, wins of the left one, p-value and number of pairs."""
    if not len(pair):
        return pages.MISSING
    return (
        f"{what} {pair.left.mean():.{digits}f} against {pair.right.mean():.{digits}f} on average, "
        f"less on {pair.wins} of {len(pair)} partitions, p = {pair.p:.2g}"
    )


def rivals_claim(suite: Suite, errors: Values) -> pages.Claim:
    """FGCV against RFS and OLS: in how many of the comparisons it is significantly better."""
    printed = p_values()
    cases = [(t, r) for t in suite.tasks for r in ("rfs", "ols")]
    theirs = [(t, r) for t, r in cases if printed[t.name]["fgcv", r] < LEVEL]
    verdicts = {(t.title, r): Pair.of(errors, t.name, "fgcv", r).verdict for t, r in cases}
    known = {case: verdict for case, verdict in verdicts.items() if verdict is not None}
    ours = [f"{title} {OURS[r]}" for (title, r), verdict in known.items() if verdict]
    return pages.Claim(
        f"FGCV has a significantly better error than RFS and OLS in {len(theirs)} of "
        f"{len(cases)} comparisons",
        f"in {len(ours)} of {len(known)} ({', '.join(ours) or 'none'})" if known else pages.MISSING,
        len(ours) >= len(theirs) if len(known) == len(cases) else None,
    )


def speed_claim(suite: Suite, records: Sequence[Record]) -> pages.Claim:
    """A fit of FGCV in units of a fit of FRVM, in seconds of the processor."""
    seconds = collect(suite, records, "fit_cpu_seconds")
    pairs = {t.title: Pair.of(seconds, t.name, "fgcv", "frvm") for t in suite.tasks}
    ratios = {title: p.left.sum() / p.right.sum() for title, p in pairs.items() if len(p)}
    text = ", ".join(f"{title} {ratio:.2f}" for title, ratio in ratios.items())
    return pages.Claim(
        "FGCV is 1.25 to 1.5 times slower than FRVM",
        f"time of a fit over FRVM's: {text}" if ratios else pages.MISSING,
        all(ratio <= 1.5 for ratio in ratios.values()) if ratios else None,
    )


def local_minima(suite: Suite, records: Sequence[Record]) -> list[str]:
    """On how many partitions RFS, whose models FGCV could have found, ends with a lower GCV."""
    theirs, ours = collect(suite, records, "rfs_gcv"), collect(suite, records, "gcv")
    counts = []
    for task in suite.tasks:
        common = sorted(set(theirs[task.name, "fgcv"]) & set(ours[task.name, "fgcv"]))
        rfs, fgcv = (np.array([v[task.name, "fgcv"][p] for p in common]) for v in (theirs, ours))
        if common:
            counts.append(
                f"{task.title} {np.sum(rfs < fgcv)} of {len(common)} ({rfs.mean():.3f} against "
                f"{fgcv.mean():.3f} on average)"
            )
    if not counts:
        return []
    return [
        "FGCV minimises GCV over a ridge for every weight; RFS, over one ridge for all, which is a "
        "special case (but for FGCV's least ridge, alpha = 1/N). Where RFS ends with a lower GCV "
        "at the same width, FGCV is in a local minimum, which no single addition, deletion or "
        "change of one ridge leaves, or is held back by that least ridge. Partitions where that is "
        "so at the width that FGCV chose, with GCV in units of the targets' variance: "
        f"{', '.join(counts)}.",
        "",
    ]


# Sets --------------------------------------------------------------------------------------------


def section(
    suite: Suite,
    task: Task,
    records: Sequence[Record],
    errors: Values,
    sizes: Values,
    folder: Path,
) -> list[str]:
    """Box plots, averages and p-values of one set."""
    number = 1 + list(p_values()).index(task.name)
    caption = f"Error and number of basis functions on {task.title}, as in Figure {number}"
    drawing, axes = pages.new_figure(1, 2)
    for axis, values, label in (
        (axes[0, 0], errors, "NMSE"),
        (axes[0, 1], sizes, "basis functions"),
    ):
        draw_boxes(axis, {OURS[m]: list(values[task.name, m].values()) for m in OURS}, label)
    rows = task.parameters
    return [
        f"## {task.title}",
        "",
        f"{rows['n_train']} training and {rows['n_test']} test rows.",
        "",
        *pages.save_figure(drawing, folder, f"{suite.name}_{task.name}", caption),
        *averages_table(suite, records, task, OURS),
        f"p-values of Table {number}, the paper's and ours:",
        "",
        *p_table(task, errors),
    ]


def draw_boxes(axis: Any, values: dict[str, list[float]], label: str) -> None:
    """Box plots side by side, the methods that have values."""
    present = {name: v for name, v in values.items() if v}
    if present:
        axis.boxplot(list(present.values()), tick_labels=list(present))
    axis.set_ylabel(label)


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


def p_table(task: Task, errors: Values) -> list[str]:
    """A Markdown table: each pair, both p-values, and which one is better here."""
    printed = p_values()[task.name]
    rows = []
    for left, right in PAIRS:
        pair = Pair.of(errors, task.name, left, right)
        row = [f"{OURS[left]}, {OURS[right]}", f"{printed[left, right]:.2g}"]
        if len(pair):
            better = OURS[left if pair.is_left_better else right]
            row += [f"{pair.p:.2g}", better + ("" if pair.p < LEVEL else ", not significantly")]
        else:
            row += [pages.MISSING, pages.MISSING]
        rows.append([*row, len(pair)])
    return pages.table(["", "paper", "ours", "better here", "pairs"], rows)


# Other libraries ---------------------------------------------------------------------------------


def other_libraries(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Ours beside fastrvm, ARDRegression and SVR on the partitions that have them."""
    lines = [
        "## Other libraries",
        "",
        "The same partitions, one thread. `fastrvm` (with intercept) and scikit-learn's "
        "`ARDRegression` on the kernel matrix maximise the evidence as FRVM does. `fastrvm` looks "
        "for its width as ours do. ARDRegression is slow: its width comes from one fold, five "
        "widths and 30 iterations, and it is not run on Abalone, where it would begin with the "
        "inverse of a matrix of all 3000 columns. SVR has a 5-fold grid (width, C, epsilon); its "
        "basis functions are the support vectors. Times are in seconds of the processor: one fit "
        "at the width found, and the search for it (our own with a fit in it).",
        "",
    ]
    for task in suite.tasks:
        lines += [f"### {task.title}", ""]
        lines += averages_table(suite, records, task, BESIDE)
        lines += [line for peer in PEERS for line in beside(suite, records, task, peer)]
    return lines


def beside(suite: Suite, records: Sequence[Record], task: Task, peer: str) -> list[str]:
    """A line on a peer: FRVM's error and time in units of its own, on common partitions."""
    error = Pair.of(collect(suite, records, "nmse"), task.name, "frvm", peer)
    seconds = Pair.of(collect(suite, records, "fit_cpu_seconds"), task.name, "frvm", peer)
    if not len(error):
        return []
    text = (
        f"{PEERS[peer]}: {error.right.mean() / error.left.mean():.2f} times the error of FRVM "
        f"(p = {error.p:.2g}, {len(error)} pairs) in "
        f"{seconds.right.sum() / seconds.left.sum():.1f} times its time."
    )
    return [text, ""]


def peer_versions(records: Sequence[Record]) -> list[str]:
    """The versions of the peer's own environment, and how it is made."""
    found = {
        ", ".join(f"{name} {version}" for name, version in record["peer_versions"].items())
        for record in records
        if record.get("peer_versions")
    }
    if not found:
        return []
    return [
        "",
        "fastrvm runs in an environment of its own, made by "
        "`python -m benchmarks.peers.environments fastrvm`: " + "; ".join(sorted(found)) + ".",
    ]
