"""The defaults of ``SparseGPRegressor``, one factor changed at a time.

Eight sets of at most 5000 training rows, three of them small; the default and its variants see
the same partitions and may use the same number of basis vectors. Measures are in units of the
standardised target.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.exceptions import ConvergenceWarning

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites.problems import problem
from greedygp.metrics import coverage, nlpd, nmse

MOST_ROWS, MOST_BASIS = 5000, 200
ROWS = {
    "boston": ("Boston", 506),
    "energy": ("Energy", 768),
    "concrete": ("Concrete", 1030),
    "abalone": ("Abalone", 4177),
    "kin8nm": ("kin8nm", 8192),
    "bank8FM": ("bank8FM", 8192),
    "cpu_small": ("cpu_small", 8192),
    "california_housing": ("California housing", 20640),
}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "criterion": {
        name: {"criterion": name} for name in ("nlgpp", "loo_cve", "nlml", "info_gain", "random")
    },
    "objective": {
        "auto": {"objective": "auto"},
        "loo_cve": {"objective": "loo_cve"},
        "gpe": {"objective": "gpe"},
        "nlml (FITC)": {"objective": "nlml"},
        "nlml (DTC)": {"objective": "nlml", "approximation": "dtc"},
        "vfe (DTC)": {"objective": "vfe", "approximation": "dtc"},
    },
    "approximation": {name: {"approximation": name} for name in ("fitc", "dtc")},
    "noise_model": {"constant": {"noise_model": "constant"}},
    "refine_basis": {"False": {"refine_basis": False}},
    "rounds": {"2": {"rounds": 2}, "3": {"rounds": 3}},
    "max_iter": {"35": {"max_iter": 35}, "140": {"max_iter": 140}},
    "guard": {name: {"guard": float(name)} for name in ("0", "0.05", "0.2", "0.5")},
}
METRICS = {"nlpd": ("NLPD", 3), "nmse": ("NMSE", 4), "coverage_95": ("95 % coverage", 3)}


def make_task(name: str, title: str, rows: int) -> Task:
    """Sizes of the partition's two parts, and of the basis."""
    n_train = min(MOST_ROWS, int(0.8 * rows))
    n_test = min(MOST_ROWS, rows - n_train)
    basis = min(MOST_BASIS, n_train // 10)
    return Task(name, title, {"n_train": n_train, "n_test": n_test, "basis": basis})


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Fit a variant, and measure its prediction."""
    from greedygp import SparseGPRegressor

    data = problem(task, partition)
    model = SparseGPRegressor(
        max_basis=task.parameters["basis"], random_state=partition, **method.parameters
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.y)
    seconds = time.process_time() - start
    mean, std = model.predict(data.X_test, return_std=True)
    y = (data.y_test - data.y_mean) / data.y_scale
    return {
        "metrics": {
            "nlpd": nlpd(y, mean, std),
            "nmse": nmse(y, mean),
            "coverage_95": coverage(y, mean, std, 0.95),
            "fit_cpu_seconds": seconds,
            "basis": int(model.n_basis_),
        }
    }


# Page --------------------------------------------------------------------------------------------


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: what each change does on average, then every set."""
    lines = [
        f"# {suite.title}",
        "",
        "`SparseGPRegressor` with one parameter at a time changed from its default; the other "
        "parameters as they come. The same partitions and the same `max_basis` "
        f"({MOST_BASIS}, or a tenth of the rows) for all.",
        "",
        pages.partitions_line(suite, records),
        "",
        "## On average",
        "",
        "Difference to the default over all sets and partitions: the mean of the NLPD in nats a "
        "row (positive: worse than the default) with the two-sided p-value of Wilcoxon's test on "
        "the pairs, on how many pairs the default is better; the mean ratio of NMSE and of "
        "processor time.",
        "",
        *_summary(suite, records),
    ]
    for metric, (title, digits) in METRICS.items():
        lines += [f"## {title}", "", *_by_set(suite, records, metric, digits)]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def _values(suite: Suite, records: list[Record], method: str, metric: str) -> dict:
    """(task, partition) -> value."""

    def value(record: Record) -> float:
        return record["metrics"][metric]

    return {
        (task.name, partition): v
        for task in suite.tasks
        for partition, v in pages.by_partition(records, task.name, method, value).items()
    }


def _pairs(
    suite: Suite, records: list[Record], method: str, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """The variant's values and the default's on the partitions that both have."""
    ours = _values(suite, records, "default", metric)
    theirs = _values(suite, records, method, metric)
    keys = [key for key in ours if key in theirs]
    return np.array([theirs[k] for k in keys]), np.array([ours[k] for k in keys])


def _summary(suite: Suite, records: list[Record]) -> list[str]:
    rows = []
    for method in suite.methods:
        if method.name == "default":
            continue
        variant, default = _pairs(suite, records, method.name, "nlpd")
        if len(variant) < 2:
            continue
        difference = variant - default
        p = wilcoxon(difference).pvalue if np.any(difference) else 1.0
        better = int(np.sum(difference > 0))
        rows.append(
            [
                method.title,
                f"{np.mean(difference):+.3f}",
                f"{p:.3f}",
                f"{better} of {len(difference)}",
                _ratio(*_pairs(suite, records, method.name, "nmse")),
                _ratio(*_pairs(suite, records, method.name, "fit_cpu_seconds")),
            ]
        )
    header = ["change", "NLPD", "p", "default better", "NMSE ratio", "time ratio"]
    return pages.table(header, rows)


def _ratio(variant: np.ndarray, default: np.ndarray) -> str:
    return f"{np.exp(np.mean(np.log(variant / default))):.3f}"


def _by_set(suite: Suite, records: list[Record], metric: str, digits: int) -> list[str]:
    def value(record: Record) -> float:
        return record["metrics"][metric]

    rows = []
    for method in suite.methods:
        cells = [
            pages.mean_and_deviation(
                list(pages.by_partition(records, task.name, method.name, value).values()), digits
            )
            for task in suite.tasks
        ]
        rows.append([method.title, *cells])
    return pages.table(["variant", *(task.title for task in suite.tasks)], rows)


def _methods() -> list[Method]:
    methods = [Method("default", "default")]
    for factor, variants in VARIANTS.items():
        for value, parameters in variants.items():
            name = f"{factor}-{value}".replace(" ", "").replace("(", "_").replace(")", "")
            methods.append(Method(name, f"{factor} = {value}", parameters))
    return methods


SUITE = Suite(
    name="ablation",
    title="Ablation: the defaults, one factor at a time",
    tasks=[make_task(name, *described) for name, described in ROWS.items()],
    methods=_methods(),
    metrics=["nlpd", "nmse", "coverage_95", "fit_cpu_seconds", "basis"],
    repeats=3,
    run=run,
    render=render,
)
