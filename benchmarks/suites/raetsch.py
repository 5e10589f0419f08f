"""The classification problems of the suites: Raetsch's sets, their partitions and measures.

A set's stored partitions come first; where they end (or where there are none) random splits of the
same sizes follow, seeded by the partition's number. Inputs are standardised on the training part;
labels are +1 and -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.frame import Task
from greedygp import datasets

BINS = 10
SMALLEST = 1e-12  # the least probability that a measure takes a model at its word for

# Title, training and test rows as in the collection.
SETS = {
    "thyroid": ("Thyroid", 140, 75),
    "titanic": ("Titanic", 150, 2051),
    "breast_cancer": ("Breast cancer", 200, 77),
    "banana": ("Banana", 400, 4900),
    "waveform": ("Waveform", 400, 4600),
    "twonorm": ("Twonorm", 400, 7000),
    "ringnorm": ("Ringnorm", 400, 7000),
    "flare_solar": ("Flare solar", 666, 400),
    "splice": ("Splice", 1000, 2175),
    "image": ("Image", 1300, 1010),
}


@dataclass(frozen=True)
class Problem:
    """One partition; labels are +1 and -1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def problem(task: Task, partition: int) -> Problem:
    """Training and test part of a partition.

    Task parameters: ``n_train``, ``n_test`` (sizes in the collection), and optionally ``moved``,
    how many of the first test rows go over to the training part.
    """
    sizes = task.parameters["n_train"], task.parameters["n_test"]
    data = datasets.load(task.name)
    train, test = rows_of(data, partition, *sizes)
    moved = task.parameters.get("moved", 0)
    train, test = np.concatenate([train, test[:moved]]), test[moved:]
    X, y = data.X, np.where(np.asarray(data.y) > 0, 1.0, -1.0)
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0] = 1.0
    return Problem((X[train] - centre) / scale, y[train], (X[test] - centre) / scale, y[test])


def rows_of(
    data: datasets.Dataset, partition: int, n_train: int, n_test: int
) -> tuple[np.ndarray, np.ndarray]:
    """The stored partition of this number, or a random one."""
    stored = data.partitions or []
    if partition < len(stored):
        return stored[partition]
    return datasets.random_partition(len(data.X), n_train, n_test, seed=partition)


# Measures ----------------------------------------------------------------------------------------


def error(y: np.ndarray, label: np.ndarray) -> float:
    """Share of the rows whose predicted label is wrong."""
    return float(np.mean(np.sign(y) != np.sign(label)))


def nlp(y: np.ndarray, probability: np.ndarray) -> float:
    """Mean of the negative log probability of the labels; ``probability`` is that of +1."""
    if not np.all((probability >= 0) & (probability <= 1)):
        raise ValueError("probability holds NaN, or values outside of [0, 1].")
    of_label = np.where(y > 0, probability, 1.0 - probability)
    return float(-np.mean(np.log(np.maximum(of_label, SMALLEST))))


def reliability(y: np.ndarray, probability: np.ndarray) -> dict[str, list[Any]]:
    """Rows, mean probability of +1 and share of +1 in equal bins of the probability."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    each = np.maximum(count, 1)
    return {
        "count": count.tolist(),
        "probability": (np.bincount(place, probability, BINS) / each).tolist(),
        "share": (np.bincount(place, y > 0, BINS) / each).tolist(),
    }


def calibration_error(y: np.ndarray, probability: np.ndarray) -> float:
    """Expected calibration error: mean distance of probability and share over the bins' rows."""
    bins = reliability(y, probability)
    gap = np.abs(np.array(bins["probability"]) - np.array(bins["share"]))
    return float(np.dot(gap, bins["count"]) / len(y))
