"""Hyperparameters learnt by the evidence, in turns with the choice of a basis, as the papers do it.

A round chooses a basis afresh and then takes a few steps along the evidence of the sparse model
with that basis; of all rounds the model with the best evidence is kept. The estimator makes no more
rounds after one that gained next to nothing. The papers know neither noise that varies with the
input nor wider error bars for what learning has spent, so both are left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import pages
from benchmarks.frame import Record, Task
from benchmarks.suites.problems import Problem
from greedygp.hyperparameters import Point, rescaled
from greedygp.kernels import Kernel

FIELDS = ("n_basis", "value_before", "value", "n_iter", "seconds")


def interleaved(rounds: int, max_iter: int) -> dict[str, Any]:
    """The estimator's parameters of the learning: kernel and noise by the DTC evidence."""
    return {
        "objective": "nlml",
        "noise_variance": None,
        "noise_model": "constant",
        "rounds": rounds,
        "max_iter": max_iter,
        "refine_basis": False,
    }


def fit(model: Any, data: Problem) -> float:
    """Fit, and return the seconds; that the short searches do not converge is no news."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.y)
    return time.perf_counter() - start


def hyperparameters(model: Any) -> tuple[Kernel, float]:
    """Kernel and noise variance as they were learnt, before the widening."""
    point = Point(model.kernel_, float(model.noise_variance_))
    if model.widening_ != 1.0:
        narrower = rescaled(point, 1.0 / model.widening_)
        assert narrower is not None
        point = narrower
    return point.kernel, point.noise_variance


def predicted(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation by the hyperparameters as they were learnt."""
    mean, std = model.predict(X, return_std=True)
    return mean, std / np.sqrt(model.widening_)


def rounds_of(model: Any) -> dict[str, list[float]]:
    """The rounds as curves of a record."""
    return {
        f"round_{name}": [float(f"{v:.8g}") for v in np.asarray(model.rounds_[name], dtype=float)]
        for name in FIELDS
    }


def gains(records: Iterable[Record], task: str, method: str) -> tuple[list[float], list[int]]:
    """Of each run, by how much learning lowered the negative log evidence, and the round kept."""
    falls, kept = [], []
    for record in records:
        values = record["curves"].get("round_value")
        if values and (record["task"], record["method"]) == (task, method):
            falls.append(record["curves"]["round_value_before"][0] - min(values))
            kept.append(int(np.argmin(values)) + 1)
    return falls, kept


def gains_table(
    records: Iterable[Record], tasks: Iterable[Task], methods: dict[str, str]
) -> list[str]:
    """What the rounds gained, in words and as a table; ``methods`` maps names to headings."""
    rows = []
    for task in tasks:
        row = [task.title]
        for method in methods:
            falls, kept = gains(records, task.name, method)
            if falls:
                gain = np.mean(falls) / task.parameters["n_train"]
                row.append(f"{gain:.3f} ({np.mean(kept):.1f})")
            else:
                row.append(pages.MISSING)
        rows.append(row)
    return [
        "What the rounds gained: the fall of the negative log evidence from the first selection "
        "to the kept model, in nats a row, and (in brackets) the round that was kept, on average.",
        "",
        *pages.table(["data set", *methods.values()], rows),
    ]
