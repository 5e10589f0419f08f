"""What goes between us and a peer's script: one archive of arrays each way.

To the script: ``X`` (n, d), ``y`` (n,), ``X_test`` (n_test, d), standardised, and ``options``, a
JSON object. Test targets never go out. From the script: ``mean`` and ``std`` (noise included) on
the test rows, and ``facts``, a JSON object with ``fit_seconds``, ``predict_seconds`` (both without
imports, with compilation), the same of the processor (``fit_cpu_seconds``, ...), which other
programs on the machine disturb less, and ``versions``.

This module is imported in the peers' environments: NumPy and scikit-learn are all it may need.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

TILE = 1000


@dataclass(frozen=True)
class Request:
    """A fit that is asked for."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    options: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A prediction of the test rows, with what is to be known about its making."""

    mean: np.ndarray
    std: np.ndarray
    facts: dict[str, Any]


def write_request(path: Path, request: Request) -> None:
    np.savez(
        path,
        X=request.X,
        y=request.y,
        X_test=request.X_test,
        options=json.dumps(request.options),
    )


def read_request(path: Path) -> Request:
    with np.load(path, allow_pickle=False) as archive:
        options = json.loads(str(archive["options"]))
        return Request(archive["X"], archive["y"], archive["X_test"], options)


def write_answer(path: Path, answer: Answer) -> None:
    np.savez(path, mean=answer.mean, std=answer.std, facts=json.dumps(answer.facts))


def read_answer(path: Path) -> Answer:
    with np.load(path, allow_pickle=False) as archive:
        return Answer(archive["mean"], archive["std"], json.loads(str(archive["facts"])))


Predict = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def timed_answer(request: Request, fit: Callable[[Request], Predict], **facts: Any) -> Answer:
    """Fit and predict the test rows in tiles, with the seconds of both."""
    start = _clocks()
    predict = fit(request)
    fitted = _clocks()
    tiles = [predict(request.X_test[k : k + TILE]) for k in range(0, len(request.X_test), TILE)]
    done = _clocks()
    mean, std = (np.concatenate([np.ravel(part) for part in parts]) for parts in zip(*tiles))
    seconds = {}
    for part, begin, end in (("fit", start, fitted), ("predict", fitted, done)):
        seconds[f"{part}_seconds"] = end[0] - begin[0]
        seconds[f"{part}_cpu_seconds"] = end[1] - begin[1]
    return Answer(mean, std, {**seconds, **facts})


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def serve(fit: Callable[[Request], Predict], packages: Sequence[str]) -> None:
    """A script's whole main: ``script request.npz answer.npz``."""
    request = read_request(Path(sys.argv[1]))
    versions = {package: metadata.version(package) for package in packages}
    write_answer(Path(sys.argv[2]), timed_answer(request, fit, versions=versions))


def without_a_tenth(request: Request) -> list[np.ndarray]:
    """``X, X_held, y, y_held``: the training rows, a tenth of them held out for early stopping."""
    from sklearn.model_selection import train_test_split

    seed = request.options["seed"]
    return train_test_split(request.X, request.y, test_size=0.1, random_state=seed)


def starting_centres(X: np.ndarray, count: int, seed: int) -> np.ndarray:
    """K-means centres to start inducing inputs from; a random subset where rows are too few."""
    from sklearn.cluster import MiniBatchKMeans

    distinct = np.unique(X, axis=0)
    if len(distinct) <= count:
        rows = np.random.default_rng(seed).permutation(len(X))[:count]
        return X[rows].copy()
    means = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=1024).fit(X)
    return means.cluster_centers_
