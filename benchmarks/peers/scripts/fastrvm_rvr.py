"""The package fastrvm's relevance vector machine, the width of its Gaussian kernel by folds.

Options: ``widths``, length scales to try (then the best one's neighbours by a factor of the root
of 2), ``folds``, ``search_rows`` (the most rows that take part), ``seed``, ``threads``. Among the
facts are ``basis``, the number of relevance vectors, ``length_scale`` and ``search_cpu_seconds``.
"""

from __future__ import annotations

import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from fastrvm import RVR
from sklearn.model_selection import KFold

from benchmarks.peers.exchange import Predict, Request, read_request, timed_answer, write_answer


def machine(width: float) -> RVR:
    return RVR(kernel="rbf", gamma=float(0.5 / width**2), fit_intercept=True)


def error_of(width: float, X: np.ndarray, y: np.ndarray, folds: KFold) -> float:
    """The squared error of all folds; infinite where a machine is left with no vector at all."""
    total = 0.0
    for train, test in folds.split(X):
        model = machine(width).fit(X[train], y[train])
        if not model.n_relevance_:
            return np.inf
        total += float(np.sum((y[test] - model.predict(X[test])) ** 2))
    return total


def best_width(request: Request) -> float:
    options = request.options
    rows = np.random.default_rng(options["seed"]).permutation(len(request.X))
    rows = rows[: options["search_rows"]]
    X, y = request.X[rows], request.y[rows]
    folds = KFold(options["folds"], shuffle=True, random_state=options["seed"])
    errors = {width: error_of(width, X, y, folds) for width in options["widths"]}
    best = min(errors, key=lambda width: errors[width])
    for width in (best / np.sqrt(2.0), best * np.sqrt(2.0)):
        errors[width] = error_of(width, X, y, folds)
    return min(errors, key=lambda width: errors[width])


def main(asked: Path, answered: Path) -> None:
    request = read_request(asked)
    start = time.process_time()
    width = best_width(request)
    search = time.process_time() - start
    model = machine(width)

    def fit(request: Request) -> Predict:
        model.fit(request.X, request.y)
        return lambda X: model.predict(X, return_std=True)

    versions = {package: metadata.version(package) for package in ("fastrvm", "numpy")}
    answer = timed_answer(request, fit, versions=versions)
    answer.facts.update(
        basis=int(model.n_relevance_), length_scale=float(width), search_cpu_seconds=search
    )
    write_answer(answered, answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
