"""What the suites of "Predictive approaches for sparse GP regression" have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.frame import Task
from benchmarks.suites import learning
from benchmarks.suites.problems import Problem
from greedygp.metrics import nlpd, nmse

WORKING_SET = 59

PAPER = (
    "S. Sundararajan, S. S. Keerthi, S. Shevade, "
    "*Predictive approaches for sparse Gaussian process regression*"
)

TITLES = {
    "nlpp": "NLPP",
    "nlml": "NLML",
    "loo_cve": "LOO-CVE",
    "nlgpp": "NLGPP",
    "gpe": "GPE",
}


def task(name: str, title: str, n_train: int, n_test: int, subset: int, **more: object) -> Task:
    """A data set with its sizes and the rows that the hyperparameters are learnt from."""
    sizes = {"n_train": n_train, "n_test": n_test, "subset": subset}
    return Task(name, title, {**sizes, **more})


# In the order of the paper's Tables 2 and 3. `max_basis` is NLPP's fixed size. It is also the
# limit of the others, except on Friedman2 and 3: the paper's GPE there has 74.7 +- 11.6 basis
# vectors (Table 5), which no limit of 75 allows; 100 is used.
TASKS = (
    task("boston", "Boston housing", 481, 25, 200, max_basis=200, limit=200, patience=50),
    task("abalone", "Abalone", 3000, 1177, 750, max_basis=200, limit=200, patience=50),
    task("bank8FM", "bank8FM", 4500, 3692, 1000, max_basis=500, limit=500, patience=50),
    task("cpu_small", "cpusmall", 4500, 3692, 1000, max_basis=500, limit=500, patience=50),
    task(
        "friedman2", "Friedman2", 200, 5000, 100, max_basis=75, limit=100, patience=25, friedman=2
    ),
    task(
        "friedman3", "Friedman3", 200, 5000, 100, max_basis=75, limit=100, patience=25, friedman=3
    ),
    task("bank32NH", "bank32NH", 4500, 3692, 1000, max_basis=500, limit=500, patience=50),
    task("cpu_act", "cpuact", 4500, 3692, 1000, max_basis=500, limit=500, patience=50),
)

# Sets whose printed NPDL can only be of the standardised target: Abalone's 1.00 at an NMSE of 0.42
# (rings have a deviation of 3.2, which would add 1.17), and Friedman3's 0.71 at an NMSE of 0.12
# (the usual target has a deviation of 0.33).
STANDARDISED_NPDL = ("abalone", "friedman3")

# Tables 4 and 5, where hyperparameters are learnt too: six of the sets, in the paper's order, two
# of them with fewer training rows "due to excess computational time".
_FEWER_ROWS = {"n_train": 2048, "n_test": 6144}
LEARNING_TASKS = tuple(
    Task(t.name, t.title, t.parameters | (_FEWER_ROWS if t.parameters["n_train"] == 4500 else {}))
    for t in TASKS
    if t.name not in ("bank32NH", "cpu_act")
)


def selection(task: Task, criterion: str, cache_size: int = 0) -> dict[str, Any]:
    """The estimator's parameters of the selection: NLPP has a fixed size, the others stop."""
    fixed_size = criterion == "nlpp"
    return {
        "criterion": criterion,
        "max_basis": task.parameters["max_basis" if fixed_size else "limit"],
        "working_set": WORKING_SET,
        "cache_size": cache_size,
        "patience": None if fixed_size else task.parameters["patience"],
    }


def measured(model: Any, data: Problem) -> dict[str, float]:
    """What the tables report of a fitted model."""
    mean, std = data.in_units_of_y(*learning.predicted(model, data.X_test))
    density = nlpd(data.y_test, mean, std)
    return {
        "nmse": nmse(data.y_test, mean),
        "npdl": density,
        "npdl_standardised": density - np.log(data.y_scale),
        "basis": int(model.n_basis_),
        "steps": len(model.path_),
    }
