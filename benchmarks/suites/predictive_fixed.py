"""Tables 2 and 3: eight sets, five criteria, without and with the candidate cache.

Hyperparameters are fixed, by the evidence of a full GP on a subset, the same for all methods on a
partition. NLPP has a fixed basis size; the others stop by themselves: after ``patience`` steps
without a new minimum they go back to the minimum.
"""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import predictive, printed
from benchmarks.suites.predictive import WORKING_SET
from benchmarks.suites.predictive_pages import (
    Averages,
    Comparison,
    change_claim,
    count_claim,
    figure,
    names_in,
    share_of,
    side_by_side,
    size_claims,
    value_of,
)
from benchmarks.suites.problems import prepare, problem, sparse_model

HALVES = {"plain": "Without cache", "cache": "With cache"}
SELF_STOPPING = ("nlml", "loo_cve", "nlgpp", "gpe")
LOO_CVE_BETTER = ("boston", "abalone", "friedman2", "bank32NH")
LOO_CVE_SMALLER = ("bank8FM", "cpu_small", "cpu_act")
ERRORS_ALIKE = 5  # sets, of which the paper says that the NMSEs of four methods are alike


def cache_size(task: Task, half: str) -> int:
    """The paper's working set of 300 (Friedman: 100) less the 59 fresh candidates."""
    if half == "plain":
        return 0
    return (100 if "friedman" in task.parameters else 300) - WORKING_SET


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Select, predict, measure."""
    data = problem(task, partition)
    cached = cache_size(task, method.parameters["half"])
    model = sparse_model(
        prepared, partition, **predictive.selection(task, method.parameters["criterion"], cached)
    )
    start = time.perf_counter()
    model.fit(data.X, data.y)
    fit_seconds = time.perf_counter() - start
    return {
        "metrics": {
            **predictive.measured(model, data),
            "fit_seconds": fit_seconds,
            "noise_variance": prepared["noise_variance"],
        }
    }


# Page --------------------------------------------------------------------------------------------


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: findings, the paper's tables beside ours, one figure."""
    comparison = Comparison.of(suite, records, HALVES, printed.tables_2_and_3())
    caption = "Averages of the paper against ours, one point for each set, method and half"
    lines = [
        f"# {suite.title}",
        "",
        f"{predictive.PAPER}, Tables 2 and 3. Fixed ARD Gaussian hyperparameters, DTC; "
        f"{WORKING_SET} random candidates a step, with cache up to 241 more (Friedman: 41). "
        "NLPP has a fixed basis size, the others stop by themselves. Mean ± standard deviation "
        "over partitions; * worse than the best (bold) by a paired t-test at 0.05. Smaller is "
        "better everywhere. The paper's stars are not repeated. Findings compare averages in as "
        "many digits as the paper prints.",
        "",
        pages.partitions_line(suite, records)
        + " The paper has 20 (Boston and the Friedman sets: 100).",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(suite, comparison)),
        *notes(suite, records),
        *figure(suite, comparison, HALVES, folder, caption),
    ]
    for task in suite.tasks:
        lines += [f"## {task.title}", ""]
        for half, title in HALVES.items():
            lines += [f"{title}:", "", *side_by_side(task, half, comparison)]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def notes(suite: Suite, records: list[Record]) -> list[str]:
    """What to know before comparing, and the noise that the hyperparameters hold."""
    return [
        "Scale of the NPDL: in the units of y, except Abalone and Friedman3, where the printed "
        "figures can only belong to a standardised target. On Friedman3 even that scale is not "
        "sure; compare the order of the methods there.",
        "",
        "Not those of the paper: the random partitions and their number; the rule that says when "
        "a measure has stopped falling (here: no new minimum for 50 steps, Friedman 25), which "
        "the paper does not give; the hyperparameters, which it does not print. They decide how "
        "many basis vectors a set can use. Ours, as the noise's share of the target's variance, "
        "beside the smallest NMSE that was reached, which it should be somewhat below:",
        "",
        *noise_table(suite, records),
        "On Friedman2 ours have longer length scales than the paper's can have had: "
        "{doc}`shorter_scales` shows how size and error grow with shorter ones, and why NLPP ends "
        "before its fixed size. On Friedman3 the paper's errors are lower than ours. Of the "
        "target's variance a tenth is noise; on targets without noise a full GP is wrong by 6 "
        "hundredths there ({doc}`fast_gcv`); both together are about what our models reach. How "
        "the paper's get below that stays unexplained.",
        "",
    ]


def noise_table(suite: Suite, records: list[Record]) -> list[str]:
    rows = []
    for task in suite.tasks:
        good = [r for r in records if (r["task"], r["status"]) == (task.name, "ok")]
        noise = {r["partition"]: r["metrics"]["noise_variance"] for r in good}
        errors: dict[str, list[float]] = {}
        for record in good:
            errors.setdefault(record["method"], []).append(value_of(record, "nmse"))
        lowest = f"{min(np.mean(e) for e in errors.values()):.2f}" if errors else pages.MISSING
        text = pages.mean_and_deviation([100 * v for v in noise.values()], 2)
        rows.append([task.title, text, lowest])
    return pages.table(["data set", "noise x 10^-2", "smallest NMSE x 10^-2"], rows)


def claims(suite: Suite, comparison: Comparison) -> list[pages.Claim]:
    """The paper's findings, counted in its figures and in ours."""
    found = []
    for half, title in HALVES.items():
        label = f", {title.lower()}"
        found += [_npdl_claim(comparison, half, label), *size_claims(comparison, half, label)]
    found += [*_loo_cve_claims(comparison), *_error_claims(suite, comparison)]
    found.append(
        change_claim(
            "The cache makes the bases of the methods that stop by themselves smaller",
            comparison,
            "basis",
            ("plain", "cache"),
            SELF_STOPPING,
            [task.name for task in suite.tasks],
            factor=True,
        )
    )
    return found


def _loo_cve_claims(comparison: Comparison) -> list[pages.Claim]:
    """LOO-CVE beside NLML: better densities on some sets, smaller bases on others."""

    def better(table: Averages, name: str) -> bool:
        npdl = table[name, "plain", "npdl"]
        return npdl["loo_cve"] < npdl["nlml"]

    def smaller(table: Averages, name: str) -> bool:
        sizes = table[name, "plain", "basis"]
        return sizes["loo_cve"] < sizes["nlml"]

    def claim(text: str, holds: Any, names: tuple[str, ...]) -> pages.Claim:
        return count_claim(f"{text}, without cache", holds, comparison, "plain", names)

    return [
        claim(
            "LOO-CVE has a better NPDL than NLML on Boston, Abalone, Friedman2 and bank32NH",
            better,
            LOO_CVE_BETTER,
        ),
        claim(
            "LOO-CVE needs fewer basis vectors than NLML on bank8FM, cpusmall and cpuact",
            smaller,
            LOO_CVE_SMALLER,
        ),
    ]


def _error_claims(suite: Suite, comparison: Comparison) -> list[pages.Claim]:
    """The NMSEs without cache: NLGPP's is seldom the best, the others are alike."""

    def as_said(table: Averages, name: str) -> bool:
        nmse = table[name, "plain", "nmse"]
        return (nmse["nlgpp"] <= min(nmse.values())) == (name == "abalone")

    tested = comparison.tested("plain")
    others = {n: comparison.worse(n, "plain", "nmse") - {"nlgpp"} for n in tested}
    alike = [n for n in tested if not others[n]]
    return [
        count_claim(
            "NLGPP has the best average NMSE on Abalone and on no other set, without cache",
            as_said,
            comparison,
            "plain",
        ),
        pages.counted(
            "The NMSEs of NLML, NLPP, LOO-CVE and GPE are not significantly worse than the best, "
            "without cache" + pages.in_the_paper(ERRORS_ALIKE, len(suite.tasks), "sets"),
            ", ".join(alike) or "none",
            [task.name in alike if task.name in tested else None for task in suite.tasks],
            Fraction(ERRORS_ALIKE, len(suite.tasks)),
            "sets",
        ),
    ]


def _npdl_claim(comparison: Comparison, half: str, label: str) -> pages.Claim:
    def best(table: Averages, name: str) -> bool:
        npdl = table[name, half, "npdl"]
        return npdl["nlgpp"] <= min(npdl.values())

    names = names_in(comparison.ours, half)
    known = names_in(comparison.theirs, half)
    paper = [name for name in known if best(comparison.theirs, name)]
    mine = [name for name in names if best(comparison.ours, name)]
    worse = {name: comparison.worse(name, half, "npdl") for name in names}
    clear = [name for name in mine if len(worse[name]) == 4]
    tied = [name for name in names if name not in mine and "nlgpp" not in worse[name]]
    return pages.counted(
        f"NLGPP has the best average NPDL{label}"
        + pages.in_the_paper(len(paper), len(known), "sets", ", ties included"),
        f"{', '.join(mine) or 'none'}; on {len(clear)} of them all others are significantly worse; "
        f"on {len(tied)} more it is not significantly worse than the best "
        f"({', '.join(tied) or 'none'})",
        [name in mine if name in names else None for name in known],
        share_of(paper, known),
        "sets",
    )


SUITE = Suite(
    name="predictive_fixed",
    title="Predictive approaches: fixed hyperparameters, without and with cache",
    tasks=predictive.TASKS,
    methods=[
        Method(f"{criterion}-{half}", title, {"criterion": criterion, "half": half})
        for half in HALVES
        for criterion, title in predictive.TITLES.items()
    ],
    metrics=["nmse", "npdl", "npdl_standardised", "basis", "fit_seconds", "noise_variance"],
    repeats=5,
    run=run,
    render=render,
    prepare=prepare,
    prepared_in="predictive",
)
