"""Small tables: our regressors beside scikit-learn's exact GP, in turns in one process.

    python -m benchmarks.speed_small            # 404 x 13 and 2000 x 10
    python -m benchmarks.speed_small --write    # to docs/results/speed_small.md, too

The data are Friedman's first function with columns of noise beside it. scikit-learn's exact GP has
an ARD Gaussian kernel and learns its noise, from one start. Seconds are the processor's, the
smallest of the turns; the exact GP of 2000 rows has one turn, because it takes minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from benchmarks.printed_page import also_on_a_page
from greedygp import AutoGPRegressor, SparseGPRegressor
from greedygp.metrics import nlpd

SIZES = {(404, 13): 0.5, (2000, 10): 2.0}  # rows and columns: seconds wanted of the sparse GP
TEST, MOST_ROWS_IN_TURNS = 2000, 1000


def exact(columns: int) -> GaussianProcessRegressor:
    """scikit-learn's GP."""
    kernel = ConstantKernel() * RBF(np.ones(columns)) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


def models(columns: int) -> dict[str, Callable[[], Any]]:
    """What is compared."""
    return {
        "`SparseGPRegressor()`": lambda: SparseGPRegressor(random_state=0),
        "`AutoGPRegressor()`": lambda: AutoGPRegressor(random_state=0),
        "scikit-learn's exact GP": lambda: exact(columns),
    }


def measured(rows: int, columns: int, turns: int) -> dict[str, tuple[float, float]]:
    """Return seconds of a fit and negative log density of new rows, by model."""
    X, y = make_friedman1(rows + TEST, n_features=columns, noise=1.0, random_state=0)
    found: dict[str, tuple[float, float]] = {}
    for turn in range(turns):
        for name, make in models(columns).items():
            if turn and name.startswith("scikit") and rows > MOST_ROWS_IN_TURNS:
                continue
            begin = time.process_time()
            model = make().fit(X[:rows], y[:rows])
            seconds = time.process_time() - begin
            mean, std = model.predict(X[rows:], return_std=True)
            least = min(seconds, found[name][0]) if name in found else seconds
            found[name] = least, nlpd(y[rows:], mean, std)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--write", action="store_true", help="write the page of the docs, too")
    options = parser.parse_args(arguments)
    sizes: dict[tuple[int, int], float] = {(60, 5): 0.5} if options.quick else SIZES
    with also_on_a_page("speed_small", "Small tables", options.write), threadpool_limits(1):
        print(
            "Friedman's first function with columns of noise, one thread, in turns in one process. "
            "Seconds of the processor for a fit; negative log density of new rows, in nats.\n"
        )
        print(
            "| rows x columns | model | seconds | wanted: at most | NLPD |\n|---|---|--:|--:|--:|"
        )
        for (rows, columns), wanted in sizes.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = measured(rows, columns, options.turns)
            for name, (seconds, loss) in found.items():
                goal = wanted if name.startswith("`Sparse") else ""
                print(f"| {rows} x {columns} | {name} | {seconds:.2f} | {goal} | {loss:.3f} |")


if __name__ == "__main__":
    main()
