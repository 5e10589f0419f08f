"""Speed of sparse GP classification: one selection with fixed hyperparameters.

    python -m benchmarks.speed_classification            # 4,000 rows, then 100,000
    python -m benchmarks.speed_classification --small    # 4,000 rows only
    python -m benchmarks.speed_classification --write    # to docs/results/, too

Prints the time of an adaptive selection with one candidate a step; the time of a `validation`
selection beside its floor (the same matrix products and kernel blocks, and as many evaluations of
`log_ndtr`, with nothing else); and time and peak memory of a large selection.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from scipy.special import log_ndtr

from benchmarks.printed_page import also_on_a_page
from greedygp.classification.criteria import CRITERIA
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.selection import GreedyClassifier, grow
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Stopping
from greedygp.kernels import Gaussian
from greedygp.threads import serial_blas

ROWS, BASIS, WORKING_SET = 4000, 80, 59
LARGE_ROWS, LARGE_BASIS = 100_000, 200


def crescents(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two noisy classes like the banana set."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    angle = rng.uniform(0.0, np.pi, n)
    X = np.stack([np.cos(angle) + 0.5 * (y > 0), y * (np.sin(angle) - 0.25)], axis=1)
    X += 0.25 * rng.normal(size=(n, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def select(X, y, criterion: str, working_set: int, m: int) -> tuple[float, float]:
    """Return the seconds of one selection, by the clock and of the processor."""
    begin, cpu = time.perf_counter(), time.process_time()
    point = LatentPoint(Gaussian(4.0, 0.6), 0.0)
    state = ClassificationState(point, LabelledRows(X, y), capacity=m)
    model = GreedyClassifier(
        state,
        CRITERIA[criterion],
        working_set=working_set,
        optimise=False,
        rng=np.random.default_rng(0),
    )
    grow(model, Stopping(max_size=m))
    return time.perf_counter() - begin, time.process_time() - cpu


def floor(X, working_set: int, m: int) -> tuple[float, float]:
    """Return seconds of the bare kernel blocks and products, and of the bare log_ndtr."""
    n = len(X)
    rng = np.random.default_rng(0)
    kernel = Gaussian(4.0, 0.6)
    cross = kernel.against(X)
    M, block = rng.normal(size=(m, n)), np.empty((working_set, n))
    left = rng.normal(size=(working_set, m))
    begin = time.process_time()
    for step in range(m):
        cross(X[:working_set], out=block)
        if step:
            np.matmul(left[:, :step], M[:step])
    products = time.process_time() - begin
    z = rng.normal(size=16384)
    begin = time.process_time()
    for _ in range(m * working_set * n // len(z)):
        log_ndtr(z, out=block.reshape(-1)[: len(z)])
    return products, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="leave out the large selection")
    parser.add_argument("--repeat", type=int, default=5, help="the best of so many runs is printed")
    parser.add_argument("--write", action="store_true", help="write the page, too")
    arguments = parser.parse_args()
    title = "Speed of selection for classification"
    with also_on_a_page("speed_classification", title, arguments.write, verbatim=True):
        measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    """Print all figures."""
    X, y = crescents(ROWS)
    repeats = range(arguments.repeat)
    print(f"{ROWS} rows, {BASIS} basis vectors: seconds by the clock (of the processor)")
    wall, cpu = best(select(X, y, "adaptive", 1, BASIS) for _ in repeats)
    print(f"adaptive, 1 candidate a step : {wall:7.3f} ({cpu:.3f})  target 0.15")
    wall, cpu = best(select(X, y, "validation", WORKING_SET, BASIS) for _ in repeats)
    with serial_blas(1):  # like the selection
        products, logs = best(floor(X, WORKING_SET, BASIS) for _ in repeats)
    print(f"validation, {WORKING_SET} candidates    : {wall:7.3f} ({cpu:.3f})")
    print(f"  bare products              : {products:7.3f} of the processor")
    print(f"  bare log_ndtr              : {logs:7.3f} of the processor")
    print(f"  target: 2 products + logs  : {2.0 * products + logs:7.3f} of the processor")
    if not arguments.small:
        X, y = crescents(LARGE_ROWS)
        wall, cpu = select(X, y, "adaptive", 2, LARGE_BASIS)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{LARGE_ROWS} rows, {LARGE_BASIS} basis vectors, adaptive, 2 candidates")
        print(f"  {wall:.1f} s ({cpu:.1f}), peak memory {peak:.2f} GiB  targets 60 s, 2 GiB")


def best(runs) -> tuple[float, float]:
    """Return the least of each of two timings."""
    first, second = zip(*runs)
    return min(first), min(second)


if __name__ == "__main__":
    main()
