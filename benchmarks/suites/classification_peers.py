"""Our default classifier against other models, on the partitions of Raetsch's ten sets.

Every method gets the same rows, standardised on the training part, one thread and, where it is
sparse, the same basis size: the one that our default has.
"""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.frame import Method, Suite, Task
from benchmarks.peers import classifiers
from benchmarks.peers.exchange import Answer, Request
from benchmarks.peers.scripted import call
from benchmarks.suites import classification_peers_page as page
from benchmarks.suites.raetsch import SETS, calibration_error, error, nlp, problem, reliability

EXACT_ROWS = 700
MOST_BASIS = 500  # the default of SparseGPClassifier for fewer than 2500 rows


def make_task(name: str, title: str, n_train: int, n_test: int) -> Task:
    basis = min(n_train, MOST_BASIS)
    return Task(name, title, {"n_train": n_train, "n_test": n_test, "basis": basis})


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Have the method predict the test rows, and measure the prediction."""
    data = problem(task, partition)
    options = {"basis": task.parameters["basis"], "seed": partition, "threads": 1}
    request = Request(data.X, data.y, data.X_test, {**options, **method.parameters})
    answer = answer_of(method, request)
    probability, label = answer.mean, answer.std
    facts = dict(answer.facts)
    versions = facts.pop("versions", {})
    return {
        "metrics": {
            "error": error(data.y_test, label),
            "nlp": nlp(data.y_test, probability),
            "calibration_error": calibration_error(data.y_test, probability),
            **facts,
        },
        "curves": {"reliability": reliability(data.y_test, probability)},
        "peer_versions": versions,
    }


def answer_of(method: Method, request: Request) -> Answer:
    """The method's prediction: from its own environment, or from this process, one thread."""
    if method.name in SCRIPTS:
        environment, script = SCRIPTS[method.name]
        return call(environment, script, request)
    with threadpool_limits(request.options["threads"]):
        return getattr(classifiers, method.name)(request)


def applies(task: Task, method: Method) -> bool:
    """Whether a method can be run on a set: an exact GP is for few rows only."""
    return method.name != "exact_gpc" or task.parameters["n_train"] <= EXACT_ROWS


SCRIPTS = {"gpytorch_svgp": ("gpytorch", "benchmarks.peers.scripts.gpytorch_svgp_classifier")}
METHODS = [
    Method("greedygp", "greedygp"),
    Method("ivm", "IVM"),
    Method(
        "gpytorch_svgp",
        "GPyTorch SVGP",
        {"batch": 512, "steps": 500, "learning_rate": 0.03},
    ),
    Method("svc", "SVC"),
    Method("exact_gpc", "exact GPC"),
    Method("logistic", "logistic regression"),
    Method("trees", "boosted trees"),
]

SUITE = Suite(
    name="classification_peers",
    title="Classifiers of other libraries",
    tasks=[make_task(name, *described) for name, described in SETS.items()],
    methods=METHODS,
    metrics=[
        "error",
        "nlp",
        "calibration_error",
        "fit_seconds",
        "predict_seconds",
        "fit_cpu_seconds",
        "predict_cpu_seconds",
    ],
    repeats=10,
    run=run,
    render=page.render,
    applies=applies,
)
