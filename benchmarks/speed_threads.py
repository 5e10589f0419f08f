"""What a second thread gives each family, beside what it gives bare products.

    python -m benchmarks.speed_threads [--write] [--quick]

Everything is done on one thread and on two, in turns in one process, and timed by the clock; the
least of several counts. So nothing else should run on the machine, which needs two cores.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.printed_page import also_on_a_page
from benchmarks.speed_classification import crescents
from greedygp import (
    FastGCVRegressor,
    FastRVMRegressor,
    GPRegressor,
    RFSRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
)
from greedygp.kernels import Gaussian

BARE = "bare products"
GOAL = 0.8  # of the speed-up of the bare products


def products() -> Callable[[], object]:
    """Return products of the shapes that an evaluation of a sparse GP has."""
    rng = np.random.default_rng(0)
    rows, basis = rng.normal(size=(300, 5000)), rng.normal(size=(300, 300))

    def repeated() -> None:
        for _ in range(10):
            rows @ rows.T
            basis @ rows

    return repeated


def work(share: float) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name, on a share of the rows."""
    rng = np.random.default_rng(0)
    n = int(10_000 * share)
    X = rng.normal(size=(n, 8))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.2 * rng.normal(size=n)
    points, labels = crescents(int(1000 * share))
    some, basis = n // 5, int(200 * share)
    given = {"kernel": Gaussian(1.0, 2.5), "noise_variance": 0.04, "objective": None}
    selection = {**given, "criterion": "nlgpp", "patience": None}
    return {
        BARE: products(),
        f"sparse GP, fit, {some} rows": lambda: SparseGPRegressor(
            max_basis=basis // 2, random_state=0
        ).fit(X[:some], y[:some]),
        f"sparse GP, fit, {n} rows": lambda: SparseGPRegressor(max_basis=basis, random_state=0).fit(
            X, y
        ),
        f"sparse GP, selection, {n} rows": lambda: SparseGPRegressor(
            max_basis=basis, random_state=0, **selection
        ).fit(X, y),
        f"classification, fit, {len(points)} rows": lambda: SparseGPClassifier(
            max_basis=(3 * basis) // 2, random_state=0
        ).fit(points, labels),
        f"full GP, fit, {some} rows": lambda: GPRegressor(random_state=0).fit(X[:some], y[:some]),
        f"full GP, solve, {some} rows": lambda: GPRegressor(random_state=0, **given).fit(
            X[:some], y[:some]
        ),
        **{
            f"{kind.__name__}, {some // 2} rows": lambda kind=kind: kind(
                kernel=Gaussian(1.0, 2.5)
            ).fit(X[: some // 2], y[: some // 2])
            for kind in (FastGCVRegressor, FastRVMRegressor, RFSRegressor)
        },
    }


def measure(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """Return the least seconds of each on one thread and on two, in turns."""
    least = {(name, threads): np.inf for name in tasks for threads in (1, 2)}
    for _ in range(repeats):
        for name, task in tasks.items():
            for threads in (1, 2):
                with threadpool_limits(threads, user_api="blas"):
                    begin = time.perf_counter()
                    task()
                    seconds = time.perf_counter() - begin
                least[name, threads] = min(least[name, threads], seconds)
    return {name: (least[name, 1], least[name, 2]) for name in tasks}


def report(share: float, repeats: int) -> None:
    """Measure and print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice
        found = measure(work(share), repeats)
    bare = found[BARE][0] / found[BARE][1]
    print(
        f"Seconds by the clock, the least of {repeats} runs in turns; the speed-up by the second "
        f"thread, and its share of that of the bare products (wanted: {GOAL}).\n\n"
        "| | one thread | two threads | speed-up | share |\n|---|--:|--:|--:|--:|"
    )
    for name, (one, two) in found.items():
        print(f"| {name} | {one:.3f} | {two:.3f} | {one / two:.2f} | {one / two / bare:.2f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_threads.md")
    options = parser.parse_args(arguments)
    with also_on_a_page("speed_threads", "Two threads", options.write):
        report(0.05 if options.quick else 1.0, 1 if options.quick else options.repeats)


if __name__ == "__main__":
    main()
