"""Coverage of intervals and quantiles: Gaussian, and from left-out rows (the jackknife+).

Ten sets, 600 training rows of each. *Learnt*: kernel, noise and basis come from the rows that are
left out one by one. *Held*: they come from one half of the rows, the other half makes the posterior
and is left out, and then the coverage of the jackknife+ is a theorem.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from greedygp import datasets

TRAIN, TEST, LEVEL = 600, 2000, 0.9
QUANTILES = (0.05, 0.95)
ROWS = {
    "boston": ("Boston", 506),
    "energy": ("Energy", 768),
    "concrete": ("Concrete", 1030),
    "wine_red": ("Wine", 1599),
    "abalone": ("Abalone", 4177),
    "kin8nm": ("kin8nm", 8192),
    "bank8FM": ("bank8FM", 8192),
    "cpu_small": ("cpu_small", 8192),
    "power_plant": ("Power plant", 9568),
    "california_housing": ("California housing", 20640),
}
WAYS = ("gaussian", "jackknife+")
METRICS = [
    f"{what}_{way}" for what in ("inside", "width", "below_low", "below_high") for way in WAYS
]


def make_task(name: str, title: str, rows: int) -> Task:
    """Sizes of the partition's two parts; the first is even."""
    n_train = min(TRAIN, 2 * (int(0.7 * rows) // 2))
    return Task(name, title, {"n_train": n_train, "n_test": min(TEST, rows - n_train)})


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Fit, and count the test targets inside and below."""
    n_train, n_test = task.parameters["n_train"], task.parameters["n_test"]
    data = datasets.load(task.name)
    train, test = datasets.random_partition(len(data.X), n_train, n_test, seed=partition)
    held = method.parameters["held"]
    learn = train[: n_train // 2] if held else train
    centre, spread = data.X[learn].mean(axis=0), data.X[learn].std(axis=0)
    X = (data.X - centre) / np.where(spread > 0, spread, 1.0)
    y = np.asarray(data.y, dtype=float)
    y = (y - y[learn].mean()) / y[learn].std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = first_model(method.parameters["model"], partition).fit(X[learn], y[learn])
    if held:
        model = with_other_rows(model, X[train[n_train // 2 :]], y[train[n_train // 2 :]])
    return {"metrics": measured(model, X[test], y[test])}


def first_model(name: str, seed: int) -> Any:
    """An estimator by name; its targets are standardised already."""
    import greedygp

    return getattr(greedygp, name)(normalize_y=False, random_state=seed)


def with_other_rows(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """The same basis, kernel and noise, with the posterior of other rows."""
    held: dict[str, Any] = {"kernel": model.kernel_, "noise_variance": model.noise_variance_}
    more = {}
    if hasattr(model, "basis_"):
        held |= {"criterion": "random", "patience": None, "max_basis": len(model.basis_)}
        held |= {"approximation": model.approximation_}
        more = {"candidates": model.basis_}
    other = type(model)(objective=None, normalize_y=False, random_state=0, **held)
    return other.fit(X, y, **more)


def measured(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Shares of the targets inside intervals and below quantiles, and the intervals' mean width."""
    found = {}
    for way in WAYS:
        lower, upper = model.predict_interval(X, LEVEL, method=way)
        low, high = model.predict_quantiles(X, QUANTILES, method=way).T
        found |= {
            f"inside_{way}": float(np.mean((lower <= y) & (y <= upper))),
            f"width_{way}": float(np.mean(upper - lower)),
            f"below_low_{way}": float(np.mean(y <= low)),
            f"below_high_{way}": float(np.mean(y <= high)),
        }
    return found


# Page --------------------------------------------------------------------------------------------


def standard_error(task: Task, held: bool, partitions: int, share: float) -> float:
    """Binomial standard error of a share: both test rows and left-out rows are chance."""
    left_out = task.parameters["n_train"] // (2 if held else 1)
    return float(
        np.sqrt(share * (1 - share) * (1 / left_out + 1 / task.parameters["n_test"]) / partitions)
    )


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: a table for each method."""
    lines = [
        f"# {suite.title}",
        "",
        f"At most {TRAIN} training rows of each set. *inside*: the share of test targets inside "
        f"the {100 * LEVEL:g} % interval. *below*: the shares below the quantiles "
        f"{QUANTILES[0]} and {QUANTILES[1]}. *width*: how much wider the interval of the "
        "jackknife+ is than the Gaussian one. Means over the partitions. A star: further than two "
        "binomial standard errors from what it should be, counting the chance of the test rows "
        "and of the rows that are left out.",
        "",
        pages.partitions_line(suite, records),
        "",
    ]
    for method in suite.methods:
        lines += [f"## {method.title}", "", method.parameters["says"], ""]
        lines += _table(suite, records, method)
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def _table(suite: Suite, records: list[Record], method: Method) -> list[str]:
    header = ["data set", "inside: Gaussian", "jackknife+", "width"]
    header += ["below: Gaussian", "jackknife+"]
    rows, within = [], dict.fromkeys(WAYS, 0)
    for task in suite.tasks:
        found = _means(records, task, method)
        if found is None:
            continue
        inside = {way: _marked(found, f"inside_{way}", LEVEL, task, method) for way in WAYS}
        for way, text in inside.items():
            within[way] += "*" not in text
        below = [
            " and ".join(
                _marked(found, f"below_{end}_{way}", share, task, method)
                for end, share in zip(("low", "high"), QUANTILES, strict=True)
            )
            for way in WAYS
        ]
        wider = found["width_jackknife+"] / found["width_gaussian"] - 1.0
        rows.append([task.title, *inside.values(), f"{100 * wider:+.0f} %", *below])
    counts = ", ".join(f"{way} {within[way]} of {len(rows)}" for way in WAYS)
    return [*pages.table(header, rows), f"Sets whose *inside* has no star: {counts}.", ""]


def _means(records: list[Record], task: Task, method: Method) -> dict[str, float] | None:
    """Means over the partitions, and their number; None: nothing has run."""
    good = [
        r["metrics"]
        for r in records
        if (r["task"], r["method"], r["status"]) == (task.name, method.name, "ok")
    ]
    if not good:
        return None
    means = {name: float(np.mean([metrics[name] for metrics in good])) for name in METRICS}
    return means | {"partitions": len(good)}


def _marked(found: dict[str, float], name: str, share: float, task: Task, method: Method) -> str:
    error = standard_error(task, method.parameters["held"], int(found["partitions"]), share)
    star = "\\*" if abs(found[name] - share) > 2 * error else ""
    return f"{found[name]:.3f}{star}"


LEARNT = (
    "Everything is learnt from the rows that are left out: the coverage is what was measured, "
    "not a theorem."
)
HELD = (
    "Learnt from one half of the training rows; the other half makes the posterior and is left "
    "out row by row. The theorem promises at least 80 % inside; about 90 % is what one expects."
)


def _method(name: str, title: str, model: str, held: bool) -> Method:
    return Method(name, title, {"model": model, "held": held, "says": HELD if held else LEARNT})


SUITE = Suite(
    name="intervals",
    title="Coverage of intervals and quantiles",
    tasks=[make_task(name, *described) for name, described in ROWS.items()],
    methods=[
        _method("sparse-learnt", "SparseGPRegressor, learnt", "SparseGPRegressor", False),
        _method("full-learnt", "GPRegressor, learnt", "GPRegressor", False),
        _method("sparse-held", "SparseGPRegressor, held", "SparseGPRegressor", True),
        _method("full-held", "GPRegressor, held", "GPRegressor", True),
    ],
    metrics=METRICS,
    repeats=3,
    run=run,
    render=render,
)
