"""Table 1 of the matching-pursuit paper: seven sets, 500 basis vectors, three ways to a model.

FIXED-SB holds the hyperparameters of a full GP on a subset and selects by Smola and Bartlett's
criterion. ADAPT-INFO and ADAPT-DMAX learn them by the evidence in turns with a selection by
information gain, and by matching pursuit with a cache as large as the basis.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import learning
from benchmarks.suites.matching_pursuit_kin40k import FRESH, PAPER
from benchmarks.suites.printed import TABLE_1_METHODS, table_1
from benchmarks.suites.problems import Problem, prepare, problem, sparse_model
from greedygp.kernels import Constant, Gaussian, Kernel
from greedygp.metrics import nlpd, nmse

TITLES = dict(zip(TABLE_1_METHODS, ("FIXED-SB", "ADAPT-INFO", "ADAPT-DMAX"), strict=True))
FIXED, INFO, DMAX = TABLE_1_METHODS
ROUNDS, MAX_ITER = 3, 10
SUBSET, SUBSET_STEPS = 2000, 40
LEVEL = 0.01
COMPARABLE = 1.1  # worst NMSE to best, up to which they count as comparable
FEWEST = 5  # partitions: with fewer the test cannot reach the level
# Metric -> title, digits, and the metric of the printed table that it belongs to.
METRICS = {
    "nmse": ("NMSE x 10^-2", 2, "nmse"),
    "nlpd": ("NLPD", 3, "nlpd"),
    "nlpd_latent": ("NLPD without noise", 2, "nlpd"),
}
SMALLEST_VARIANCE = 1e-10

Values = dict[tuple[str, str], dict[str, dict[int, float]]]
Averages = dict[tuple[str, str], dict[str, float]]


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Select (and learn, in turns), predict, measure."""
    data = problem(task, partition)
    size = task.parameters["max_basis"]
    parameters = {
        "criterion": method.parameters["criterion"],
        "max_basis": size,
        "working_set": FRESH,
        "cache_size": size if method.parameters.get("cached") else 0,
        "patience": None,
    }
    learns = "rounds" in method.parameters
    if learns:
        rounds, max_iter = method.parameters["rounds"], method.parameters["max_iter"]
        parameters |= learning.interleaved(rounds, max_iter)
        parameters["kernel"] = plain_kernel(data.X.shape[1])
    model = sparse_model(prepared, partition, **parameters)
    seconds = learning.fit(model, data)
    return {
        "metrics": {
            **measured(model, data),
            "basis": int(model.n_basis_),
            "fit_seconds": seconds,
            "noise_variance": learning.hyperparameters(model)[1],
        },
        "curves": learning.rounds_of(model) if learns else {},
    }


def plain_kernel(n_features: int) -> Kernel:
    """Where learning starts: unit variances, length scales as distances between rows."""
    return Gaussian(1.0, np.full(n_features, np.sqrt(n_features))) + Constant(1.0)


def measured(model: Any, data: Problem) -> dict[str, float]:
    """NMSE, and the NLPD with and without the noise in the predictive variance."""
    mean, std = learning.predicted(model, data.X_test)
    _, noise_variance = learning.hyperparameters(model)
    latent = np.sqrt(np.maximum(std**2 - noise_variance, SMALLEST_VARIANCE))
    return {
        "nmse": nmse(data.y_test, data.in_units_of_y(mean, std)[0]),
        "nlpd": nlpd(data.y_test, *data.in_units_of_y(mean, std)),
        "nlpd_latent": nlpd(data.y_test, *data.in_units_of_y(mean, latent)),
    }


# Page --------------------------------------------------------------------------------------------


def collect(suite: Suite, records: list[Record]) -> Values:
    """(Data set, metric) -> method -> partition -> value, NMSE in hundredths."""
    factor = {"nmse": 100.0}
    return {
        (task.name, metric): {
            method: pages.by_partition(
                records,
                task.name,
                method,
                lambda r, m=metric: factor.get(m, 1.0) * r["metrics"][m],
            )
            for method in TITLES
        }
        for task in suite.tasks
        for metric in METRICS
    }


def averages(values: Values) -> Averages:
    """Means; nothing unless all three methods have runs."""
    return {
        key: {m: float(np.mean(list(v.values()))) for m, v in methods.items()}
        if all(methods.values())
        else {}
        for key, methods in values.items()
    }


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: findings, what differs from the paper, the table side by side."""
    values = collect(suite, records)
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Table 1. ARD Gaussian kernel with bias, 500 basis vectors. FIXED-SB: Smola and "
        f"Bartlett's criterion, {FRESH} candidates, hyperparameters of a full GP on {SUBSET} rows "
        "held fixed. ADAPT-INFO (information gain) and ADAPT-DMAX (matching pursuit, a cache of "
        "500 kernel rows) learn them by the evidence in turns with the selection. Mean ± standard "
        f"deviation over partitions; * worse than the best (bold) by Wilcoxon's rank-sum test at "
        f"{LEVEL:g}. Smaller is better everywhere.",
        "",
        pages.partitions_line(suite, records)
        + " The paper has 20. With five and five values the test says so only where all of one "
        "lie above all of the other (p = 0.008).",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(suite, values)),
        *notes(suite, records),
        *figure(suite, values, folder),
    ]
    for metric, (title, _, _) in METRICS.items():
        lines += [f"## {title}", "", *side_by_side(suite, values, metric)]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def notes(suite: Suite, records: list[Record]) -> list[str]:
    """Data, what the NLPD is, how learning differs from the paper's, what it gained."""
    return [
        "Data: all seven sets are there with the paper's sizes (8192, 20640 and 22784 rows; "
        "california_housing is its calhouse), in random partitions of our own. Its eighth set, "
        "Outaouais, a blind test, is not available.",
        "",
        "NLPD: in the units of y. The paper's can hardly include the noise. On bank8FM and "
        "cpusmall, with the same sizes and NMSE, the paper on predictive approaches prints -2.14 "
        "and 2.45 for the same criterion, this one 3.11 and 5.18; and its formula is the variance "
        "of the latent function. So it is given both ways. Without the noise it measures mostly "
        "how small that variance is, so only its order can be compared. The marks of significance "
        "and one sign (bank32NH, ADAPT-DMAX) are lost in the text of the paper that we have.",
        "",
        'Learning: the paper repeats selection and "a (short) gradient based adaptation", and '
        "does not say how often, how short or from where. Here it starts from unit variances and "
        "length scales of the square root of the number of inputs, not from what FIXED-SB has; "
        "the estimator first follows the evidence of a full GP on at most 500 rows from there. "
        f"Then there are at most {ROUNDS} rounds of at most {MAX_ITER} iterations of L-BFGS, to "
        "keep the whole table at about an hour on one core (none after a round that gains next to "
        f"nothing in evidence); the round with the best evidence is kept. {beginnings(records)} "
        "For the same reason FIXED-SB's hyperparameters have at most "
        f"{SUBSET_STEPS} iterations on the {SUBSET} rows, after a few that choose between two "
        "starts.",
        "",
        *learning.gains_table(records, suite.tasks, {m: TITLES[m] for m in (INFO, DMAX)}),
    ]


def beginnings(records: list[Record]) -> str:
    """With what the cache of matching pursuit begins a round: section 4 of the paper."""
    runs = [r for r in records if (r["method"], r["status"]) == (DMAX, "ok")]
    seeded = sum("begins_with" in r["parameters"]["method"] for r in runs)
    rest = "." if seeded == len(runs) else "; the others are older, and begin it at random."
    return (
        f"In {seeded} of {len(runs)} runs of ADAPT-DMAX the cache begins each round after the "
        f"first with the rows of the last basis, as in the paper{rest}"
    )


def side_by_side(suite: Suite, values: Values, metric: str) -> list[str]:
    """A Markdown table: each method as printed and as found."""
    _, digits, printed_as = METRICS[metric]
    printed = table_1()
    header = ["data set", *[f"{t}, {who}" for t in TITLES.values() for who in ("paper", "ours")]]
    rows = []
    for task in suite.tasks:
        found = values[task.name, metric]
        best, worse = pages.best_and_worse(found, LEVEL, pages.rank_sum)
        row = [task.title]
        for method in TITLES:
            mean, deviation = printed[task.name][printed_as][method]
            mark = "*" if method in worse else ""
            text = pages.mean_and_deviation(list(found[method].values()), digits, mark)
            row += [f"{mean:g} ± {deviation:g}", f"**{text}**" if method == best else text]
        rows.append(row)
    return pages.table(header, rows)


def figure(suite: Suite, values: Values, folder: Path) -> list[str]:
    """The paper's averages against ours, one point for each set and method."""
    drawing, axes = pages.new_figure(1, len(METRICS))
    printed = table_1()
    for axis, (metric, (title, _, printed_as)) in zip(axes[0], METRICS.items(), strict=True):
        points = {
            label: [
                (printed[t.name][printed_as][method][0], float(np.mean(list(found.values()))))
                for t in suite.tasks
                if (found := values[t.name, metric][method])
            ]
            for method, label in TITLES.items()
        }
        pages.draw_against(axis, points, title, log=metric == "nmse")
    pages.add_legend(axes[0, 0])
    caption = "Averages of the paper against ours, one point for each set and method"
    return pages.save_figure(drawing, folder, suite.name, caption)


# Findings ----------------------------------------------------------------------------------------


def claims(suite: Suite, values: Values) -> list[pages.Claim]:
    """What the paper reads off its table, and the same read off ours."""
    small = [t.name for t in suite.tasks if t.parameters["n_train"] < 10_000]
    large = [t.name for t in suite.tasks if t.name not in small]
    found = [_comparable_claim(small, values)]
    for metric, label in (("nlpd", ", noise included"), ("nlpd_latent", ", without noise")):
        text = f"On the smaller sets ADAPT-DMAX has significantly the best NLPD{label}"
        found.append(_better_claim(text, small, values, metric, (FIXED, INFO)))
    for metric, label in (
        ("nmse", "NMSE"),
        ("nlpd", "NLPD, noise included"),
        ("nlpd_latent", "NLPD, without noise"),
    ):
        text = f"On the larger sets ADAPT-DMAX is significantly better than ADAPT-INFO: {label}"
        found.append(_better_claim(text, large, values, metric, (INFO,)))
    return found


def _comparable_claim(names: list[str], values: Values) -> pages.Claim:
    printed, ours = table_1(), averages(values)
    theirs = [[mean for mean, _ in printed[n]["nmse"].values()] for n in names]
    mine = {n: list(ours[n, "nmse"].values()) for n in names if ours[n, "nmse"]}
    paper = max((max(row) / min(row) for row in theirs), default=np.nan)
    ratios = {n: max(row) / min(row) for n, row in mine.items()}
    return pages.counted(
        "On the sets with 4500 training rows the NMSEs of the three are quite comparable (in the "
        f"paper worst to best at most {paper:.2f})",
        f"at most {COMPARABLE:g}; " + ", ".join(f"{n} {ratio:.2f}" for n, ratio in ratios.items()),
        [ratios[n] < COMPARABLE if n in ratios else None for n in names],
        what="sets",
    )


def _better_claim(
    text: str, names: list[str], values: Values, metric: str, rivals: tuple[str, ...]
) -> pages.Claim:
    """ADAPT-DMAX significantly below its rivals, counted: in ours as often as in the paper's.

    Where there are too few partitions for the test a set can tell nothing.
    """
    printed, ours = table_1(), averages(values)
    printed_as = METRICS[metric][2]
    known = [n for n in names if ours[n, metric]]
    paper = [
        n
        for n in names
        if all(
            printed[n][printed_as][DMAX][0] < printed[n][printed_as][rival][0] for rival in rivals
        )
    ]
    mine = [n for n in known if all(ours[n, metric][DMAX] < ours[n, metric][r] for r in rivals)]
    clear = [n for n in mine if all(_apart(values[n, metric], rival) for rival in rivals)]
    enough = [n for n in known if min(map(len, values[n, metric].values())) >= FEWEST]
    return pages.counted(
        text + pages.in_the_paper(len(paper), len(names), "sets"),
        f"the best average on {', '.join(mine) or 'none'}",
        [name in clear if name in enough else None for name in names],
        Fraction(len(paper), max(1, len(names))),
        "sets",
    )


def _apart(methods: dict[str, dict[int, float]], rival: str) -> bool:
    pair = {name: methods[name] for name in (DMAX, rival)}
    return rival in pages.best_and_worse(pair, LEVEL, pages.rank_sum)[1]


def _task(name: str, title: str, n_train: int, n_test: int) -> Task:
    sizes = {"n_train": n_train, "n_test": n_test, "subset": SUBSET, "subset_steps": SUBSET_STEPS}
    return Task(name, title, {**sizes, "bias": True, "max_basis": 500})


TURNS = {"rounds": ROUNDS, "max_iter": MAX_ITER, "start": "plain"}

SUITE = Suite(
    name="matching_pursuit_learnt",
    title="Matching pursuit: hyperparameters learnt in turns with the selection",
    tasks=[
        _task("bank8FM", "bank8FM", 4500, 3692),
        _task("bank32NH", "bank32NH", 4500, 3692),
        _task("cpu_small", "cpusmall", 4500, 3692),
        _task("cpu_act", "cpuact", 4500, 3692),
        _task("california_housing", "calhouse", 10_000, 10_640),
        _task("house_8L", "house8L", 10_000, 12_784),
        _task("house_16H", "house16H", 10_000, 12_784),
    ],
    methods=[
        Method(FIXED, TITLES[FIXED], {"criterion": "nlpp"}),
        Method(INFO, TITLES[INFO], {"criterion": "info_gain", **TURNS}),
        Method(
            DMAX,
            TITLES[DMAX],
            {"criterion": "matching_pursuit", "cached": True, "begins_with": "last basis", **TURNS},
        ),
    ],
    metrics=["nmse", "nlpd", "nlpd_latent", "basis", "fit_seconds", "noise_variance"],
    repeats=5,
    run=run,
    render=render,
    prepare=prepare,
)
