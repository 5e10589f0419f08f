"""Tables 2 and 3: eight sets, five criteria, without and with the candidate cache.

Hyperparameters are fixed, by the evidence of a full GP on a subset, the same for all methods on a
partition. NLPP has a fixed basis size; the others stop by themselves: after ``patience`` steps
without a new minimum they go back to the minimum.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import paper000, printed
from benchmarks.suites.problems import prepare, problem, sparse_model
from greedygp.metrics import nlpd, nmse

WORKING_SET = 59
HALVES = {"plain": "Without cache", "cache": "With cache"}
METRICS = {"nmse": ("NMSE x 10^-2", 2), "npdl": ("NPDL", 3), "basis": ("basis vectors", 1)}
SELF_STOPPING = ("nlml", "loo_cve", "nlgpp", "gpe")

Values = dict[int, float]
PRINTED = printed.tables_2_and_3()


def cache_size(task: Task, half: str) -> int:
    """The paper's working set of 300 (Friedman: 100) less the 59 fresh candidates."""
    if half == "plain":
        return 0
    return (100 if "friedman" in task.parameters else 300) - WORKING_SET


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Select, predict, measure."""
    data = problem(task, partition)
    criterion = method.parameters["criterion"]
    fixed_size = criterion == "nlpp"
    model = sparse_model(
        prepared,
        partition,
        criterion=criterion,
        max_basis=task.parameters["max_basis" if fixed_size else "limit"],
        working_set=WORKING_SET,
        cache_size=cache_size(task, method.parameters["half"]),
        patience=None if fixed_size else task.parameters["patience"],
    )
    start = time.perf_counter()
    model.fit(data.X, data.y)
    fit_seconds = time.perf_counter() - start
    mean, std = data.in_units_of_y(*model.predict(data.X_test, return_std=True))
    density = nlpd(data.y_test, mean, std)
    return {
        "metrics": {
            "nmse": nmse(data.y_test, mean),
            "npdl": density,
            "npdl_standardised": density - np.log(data.y_scale),
            "basis": int(model.n_basis_),
            "steps": len(model.path_),
            "fit_seconds": fit_seconds,
            "noise_variance": prepared["noise_variance"],
        }
    }


# Page --------------------------------------------------------------------------------------------


def value_of(record: Record, metric: str) -> float:
    """A metric as the paper prints it: NMSE in hundredths, NPDL on the paper's scale of y."""
    if metric == "nmse":
        return 100 * record["metrics"]["nmse"]
    if metric == "npdl" and record["task"] in paper000.STANDARDISED_NPDL:
        return record["metrics"]["npdl_standardised"]
    return record["metrics"][metric]


def collect(suite: Suite, records: list[Record]) -> dict[tuple[str, str, str], dict[str, Values]]:
    """(task, half, metric) -> method -> partition -> value."""
    return {
        (task.name, half, metric): {
            criterion: pages.by_partition(
                records, task.name, f"{criterion}-{half}", lambda r, m=metric: value_of(r, m)
            )
            for criterion in paper000.TITLES
        }
        for task in suite.tasks
        for half in HALVES
        for metric in METRICS
    }


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: findings, the paper's tables beside ours, one figure."""
    values = collect(suite, records)
    lines = [
        f"# {suite.title}",
        "",
        f"{paper000.PAPER}, Tables 2 and 3. Fixed ARD Gaussian hyperparameters, DTC; "
        f"{WORKING_SET} random candidates a step, with cache up to 241 more (Friedman: 41). "
        "NLPP has a fixed basis size, the others stop by themselves. Mean ± standard deviation "
        "over partitions; * worse than the best (bold) by a paired t-test at 0.05. Smaller is "
        "better everywhere. The paper's stars are not repeated.",
        "",
        pages.partitions_line(suite, records)
        + " The paper has 20 (Boston and the Friedman sets: 100).",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(suite, values)),
        *notes(suite, records),
        *figure(suite, values, folder),
    ]
    for task in suite.tasks:
        lines += [f"## {task.title}", ""]
        for half, title in HALVES.items():
            lines += [f"{title}:", "", *side_by_side(task, half, values)]
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


def side_by_side(task: Task, half: str, values: dict) -> list[str]:
    header = ["algorithm"]
    columns = []
    for metric, (title, digits) in METRICS.items():
        header += [f"{title}, paper", f"{title}, ours"]
        ours = values[task.name, half, metric]
        best, worse = (None, set()) if metric == "basis" else pages.best_and_worse(ours)
        theirs, mine = [], []
        for criterion in paper000.TITLES:
            mean, deviation = PRINTED[task.name][half][criterion][metric]
            spread = f" ± {deviation:g}" if deviation else ""
            theirs.append(f"{mean:g}{spread}")
            mark = "*" if criterion in worse else ""
            text = pages.mean_and_deviation(list(ours[criterion].values()), digits, mark)
            mine.append(f"**{text}**" if criterion == best else text)
        columns += [theirs, mine]
    rows = zip(paper000.TITLES.values(), *columns, strict=True)
    return pages.table(header, rows)


def averages(values: dict[str, Values]) -> dict[str, float]:
    """Means of the methods that have runs; nothing unless all five have."""
    means = {name: float(np.mean(list(v.values()))) for name, v in values.items() if v}
    return means if len(means) == len(paper000.TITLES) else {}


def claims(suite: Suite, values: dict) -> list[pages.Claim]:
    """The paper's findings, counted in its figures and in ours."""
    theirs = {
        (name, half, metric): {c: PRINTED[name][half][c][metric][0] for c in paper000.TITLES}
        for name, half, metric in values
    }
    ours = {key: averages(methods) for key, methods in values.items()}
    found = []
    for half, title in HALVES.items():
        label = title.lower()
        found += [
            _npdl_claim(theirs, ours, values, half, label),
            _count_claim(
                f"GPE ends with the largest basis of the LOO measures, {label}",
                lambda t, name, h=half: (
                    t[name, h, "basis"]["gpe"]
                    >= max(t[name, h, "basis"][c] for c in ("loo_cve", "nlgpp"))
                ),
                theirs,
                ours,
                half,
            ),
            _count_claim(
                f"NLGPP needs fewer basis vectors than GPE and NLPP, {label}",
                lambda t, name, h=half: (
                    t[name, h, "basis"]["nlgpp"]
                    < min(t[name, h, "basis"][c] for c in ("gpe", "nlpp"))
                ),
                theirs,
                ours,
                half,
            ),
            _count_claim(
                f"LOO-CVE has an NPDL no worse than NLML's, {label}",
                lambda t, name, h=half: t[name, h, "npdl"]["loo_cve"] <= t[name, h, "npdl"]["nlml"],
                theirs,
                ours,
                half,
            ),
        ]
    found.append(_cache_claim(suite, theirs, ours))
    return found


def _names(table: dict, half: str) -> list[str]:
    """Tasks of which all methods have runs."""
    return [n for n, h, m in table if h == half and m == "npdl" and table[n, h, m]]


def _count_claim(text: str, holds: Any, theirs: dict, ours: dict, half: str) -> pages.Claim:
    """A property counted over the sets; it holds where most sets have it."""
    names = _names(ours, half)
    paper = [name for name in _names(theirs, half) if holds(theirs, name)]
    mine = [name for name in names if holds(ours, name)]
    verdict = len(mine) > len(names) / 2 if names else None
    listed = f": {', '.join(mine)}" if mine else ""
    return pages.Claim(
        f"{text}: {len(paper)} of {len(_names(theirs, half))} sets",
        f"{len(mine)} of {len(names)} sets{listed}",
        verdict,
    )


def _npdl_claim(theirs: dict, ours: dict, values: dict, half: str, label: str) -> pages.Claim:
    def best(table: dict, name: str) -> bool:
        npdl = table[name, half, "npdl"]
        return npdl["nlgpp"] <= min(npdl.values())

    names = _names(ours, half)
    paper = [name for name in _names(theirs, half) if best(theirs, name)]
    mine = [name for name in names if best(ours, name)]
    clear = [name for name in mine if len(pages.best_and_worse(values[name, half, "npdl"])[1]) == 4]
    tied = [
        name
        for name in names
        if name not in mine and "nlgpp" not in pages.best_and_worse(values[name, half, "npdl"])[1]
    ]
    return pages.Claim(
        f"NLGPP has the best average NPDL, {label}: {len(paper)} of 8 sets (as printed, ties "
        "included)",
        f"{len(mine)} of {len(names)} sets ({', '.join(mine) or 'none'}); on {len(clear)} of them "
        f"all others are significantly worse; on {len(tied)} more it is not significantly worse "
        f"than the best ({', '.join(tied) or 'none'})",
        len(mine) > len(names) / 2 if names else None,
    )


def _cache_claim(suite: Suite, theirs: dict, ours: dict) -> pages.Claim:
    def smaller(table: dict, names: list[str]) -> list[tuple[str, str]]:
        return [
            (name, c)
            for name in names
            for c in SELF_STOPPING
            if table[name, "cache", "basis"][c] < table[name, "plain", "basis"][c]
        ]

    everything = [task.name for task in suite.tasks]
    names = [n for n in _names(ours, "plain") if n in _names(ours, "cache")]
    paper, mine = smaller(theirs, everything), smaller(ours, names)
    change = [
        ours[n, "cache", "basis"][c] / ours[n, "plain", "basis"][c]
        for n in names
        for c in SELF_STOPPING
    ]
    ratio = f", by a factor of {np.exp(np.mean(np.log(change))):.2f} on average" if change else ""
    return pages.Claim(
        "The cache makes the basis smaller (methods that stop by themselves): "
        f"{len(paper)} of {len(everything) * len(SELF_STOPPING)} cases",
        f"{len(mine)} of {len(names) * len(SELF_STOPPING)} cases{ratio}",
        len(mine) > len(change) / 2 if change else None,
    )


def figure(suite: Suite, values: dict, folder: Path) -> list[str]:
    """The paper's averages against ours, one point for each set, method and half."""
    drawing, axes = pages.new_figure(1, 3)
    for axis, (metric, (title, _)) in zip(axes[0], METRICS.items(), strict=True):
        span: list[float] = []
        for k, (criterion, label) in enumerate(paper000.TITLES.items()):
            points = [
                (PRINTED[t.name][h][criterion][metric][0], np.mean(list(v.values())))
                for t in suite.tasks
                for h in HALVES
                if (v := values[t.name, h, metric][criterion])
            ]
            if points:
                x, y = np.array(points).T
                axis.plot(x, y, "osD^v"[k], color=f"C{k}", label=label, alpha=0.7)
                span += [*x, *y]
        if span:
            axis.plot([min(span), max(span)], [min(span), max(span)], color="0.7", zorder=0)
        if metric != "npdl":
            axis.set_xscale("log")
            axis.set_yscale("log")
        axis.set(xlabel="paper", ylabel="ours", title=title)
    pages.add_legend(axes[0, 0])
    caption = "Averages of the paper against ours, one point for each set, method and half"
    return pages.save_figure(drawing, folder, suite.name, caption)


SUITE = Suite(
    name="paper000_tables23",
    title="Predictive approaches: fixed hyperparameters, without and with cache",
    tasks=paper000.TASKS,
    methods=[
        Method(f"{criterion}-{half}", title, {"criterion": criterion, "half": half})
        for half in HALVES
        for criterion, title in paper000.TITLES.items()
    ],
    metrics=["nmse", "npdl", "npdl_standardised", "basis", "fit_seconds", "noise_variance"],
    repeats=5,
    run=run,
    render=render,
    prepare=prepare,
    prepared_in="paper000",
)
