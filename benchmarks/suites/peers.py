"""Our default estimator against other libraries' models, on the same partitions.

Every method gets the same rows, standardised on the training part, one thread and, where it is
sparse, the same basis size. Measures are in units of the standardised target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.frame import Method, Suite, Task
from benchmarks.peers import in_process, page
from benchmarks.peers.comparison import EARLIER, OURS
from benchmarks.peers.exchange import Answer, Request
from benchmarks.peers.scripted import call
from benchmarks.peers.sets import CHOSEN_ON, REPORTED_ON, ROWS
from benchmarks.suites.problems import problem
from greedygp.metrics import coverage, crps, nlpd, nmse, pit

__all__ = ["CHOSEN_ON", "REPORTED_ON", "SUITE"]

MOST_ROWS, EXACT_ROWS, BINS = 10_000, 1500, 10


def make_task(name: str, title: str, rows: int) -> Task:
    """Sizes of the partition's two parts, and of the basis."""
    n_train = min(MOST_ROWS, int(0.8 * rows))
    n_test = min(MOST_ROWS, rows - n_train)
    basis = 200 if n_train >= 2000 else n_train // 10
    return Task(name, title, {"n_train": n_train, "n_test": n_test, "basis": basis})


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Have the method predict the test rows, and measure the prediction."""
    data = problem(task, partition)
    options = {"basis": task.parameters["basis"], "seed": partition, "threads": 1}
    request = Request(data.X, data.y, data.X_test, {**options, **method.parameters})
    answer = answer_of(method, request)
    y = (data.y_test - data.y_mean) / data.y_scale
    facts = dict(answer.facts)
    versions = facts.pop("versions", {})
    histogram, _ = np.histogram(pit(y, answer.mean, answer.std), bins=BINS, range=(0.0, 1.0))
    return {
        "metrics": {
            "nlpd": nlpd(y, answer.mean, answer.std),
            "nmse": nmse(y, answer.mean),
            "crps": crps(y, answer.mean, answer.std),
            **{
                f"coverage_{p}": coverage(y, answer.mean, answer.std, p / 100) for p in (50, 80, 95)
            },
            **facts,
        },
        "curves": {"pit": histogram / len(y)},
        "peer_versions": versions,
    }


def answer_of(method: Method, request: Request) -> Answer:
    """The method's prediction: from its own environment, or from this process, one thread."""
    if method.name in SCRIPTS:
        environment, script = SCRIPTS[method.name]
        return call(environment, script, request)
    with threadpool_limits(request.options["threads"]):
        return getattr(in_process, method.name)(request)


def applies(task: Task, method: Method) -> bool:
    """Whether a method can be run on a set: an exact GP is for few rows, an old default stored."""
    if method.name == EARLIER:
        return False
    return method.name != "sklearn_gp" or task.parameters["n_train"] <= EXACT_ROWS


SCRIPTS = {
    "gpflow_sgpr": ("gpflow", "benchmarks.peers.scripts.gpflow_sgpr"),
    "gpflow_fitc": ("gpflow", "benchmarks.peers.scripts.gpflow_fitc"),
    "gpflow_heteroscedastic": ("gpflow", "benchmarks.peers.scripts.gpflow_heteroscedastic"),
    "gpytorch_sgpr": ("gpytorch", "benchmarks.peers.scripts.gpytorch_sgpr"),
    "gpytorch_svgp": ("gpytorch", "benchmarks.peers.scripts.gpytorch_svgp"),
    "catboost": ("catboost", "benchmarks.peers.scripts.catboost_uncertainty"),
    "ngboost": ("ngboost", "benchmarks.peers.scripts.ngboost_normal"),
}
METHODS = [
    Method(OURS, "greedygp"),
    Method(EARLIER, "greedygp 0.1.0"),
    Method("gpflow_sgpr", "GPflow SGPR", {"iterations": 100}),
    Method("gpflow_fitc", "GPflow FITC", {"iterations": 100}),
    Method(
        "gpflow_heteroscedastic",
        "GPflow heteroscedastic SVGP",
        {"batch": 512, "steps": 1500, "learning_rate": 0.01, "gamma": 0.1},
    ),
    Method("gpytorch_sgpr", "GPyTorch SGPR", {"iterations": 100, "learning_rate": 0.05}),
    Method(
        "gpytorch_svgp",
        "GPyTorch SVGP",
        {"batch": 512, "steps": 1500, "learning_rate": 0.01},
    ),
    Method("sklearn_gp", "exact GP"),
    Method("trees", "boosted trees"),
    Method("catboost", "CatBoost", {"iterations": 5000, "patience": 50}),
    Method("ngboost", "NGBoost", {"iterations": 2000, "patience": 50}),
    Method("svr", "SVR", {"grid_rows": 2000}),
]

SUITE = Suite(
    name="peers",
    title="Against other libraries",
    tasks=[make_task(name, *described) for name, described in ROWS.items()],
    methods=METHODS,
    metrics=[  # not crps, which runs before it was recorded lack: they need not be done again
        "nlpd",
        "nmse",
        "coverage_50",
        "coverage_80",
        "coverage_95",
        "fit_seconds",
        "predict_seconds",
        "fit_cpu_seconds",
        "predict_cpu_seconds",
    ],
    repeats=5,
    run=run,
    render=page.render,
    applies=applies,
)
