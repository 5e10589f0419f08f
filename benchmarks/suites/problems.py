"""The regression problems of the suites: partitions, standardisation, shared hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.frame import Task
from benchmarks.hyperparameters import Hyperparameters, full_gp_on_subset
from greedygp import datasets


@dataclass(frozen=True)
class Problem:
    """One partition. Inputs and training targets are standardised on the training part."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    y_mean: float
    y_scale: float

    def in_units_of_y(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A prediction of the standardised target, in the target's own units."""
        return self.y_mean + self.y_scale * mean, self.y_scale * std


def problem(task: Task, partition: int) -> Problem:
    """Training and test part of a partition; the partition's number is the seed.

    Task parameters: ``n_train``, ``n_test``, and ``friedman`` (2 or 3) for a generated set.
    """
    n_train, n_test = task.parameters["n_train"], task.parameters["n_test"]
    if "friedman" in task.parameters:
        data = datasets.make_friedman(
            task.parameters["friedman"], n_train + n_test, random_state=partition
        )
        train, test = np.arange(n_train), np.arange(n_train, n_train + n_test)
    else:
        data = datasets.load(task.name)
        train, test = datasets.random_partition(len(data.X), n_train, n_test, seed=partition)
    X, y = data.X, np.asarray(data.y, dtype=float)
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0] = 1.0
    y_mean, y_scale = float(y[train].mean()), float(y[train].std())
    return Problem(
        X=(X[train] - centre) / scale,
        y=(y[train] - y_mean) / y_scale,
        X_test=(X[test] - centre) / scale,
        y_test=y[test],
        y_mean=y_mean,
        y_scale=y_scale,
    )


def prepare(task: Task, partition: int) -> dict[str, Any]:
    """Hyperparameters from the evidence of a full GP on ``subset`` rows of the training part.

    Further task parameters: ``bias`` for a kernel with a constant, ``subset_steps`` for the most
    iterations of the optimiser.
    """
    data = problem(task, partition)
    rows, bias = task.parameters["subset"], task.parameters.get("bias", False)
    steps = task.parameters.get("subset_steps", 200)
    found = full_gp_on_subset(data.X, data.y, rows, seed=partition, bias=bias, max_iter=steps)
    return found.as_dict()


def sparse_model(prepared: dict[str, Any], seed: int, **parameters: Any) -> Any:
    """An unfitted ``SparseGPRegressor`` (DTC) with the prepared hyperparameters.

    They are held fixed unless ``parameters`` say otherwise.
    """
    from greedygp import SparseGPRegressor

    fixed = Hyperparameters(**prepared)
    settings = {
        "kernel": fixed.kernel(),
        "noise_variance": fixed.noise_variance,
        "approximation": "dtc",
        "objective": None,
        "normalize_y": False,
        "random_state": seed,
    }
    return SparseGPRegressor(**settings | parameters)
