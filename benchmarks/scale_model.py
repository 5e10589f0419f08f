"""What passes over many rows cost: seconds and bytes, predicted from a few rates.

    python -m benchmarks.scale_model                                   # the table of the docs
    python -m benchmarks.scale_model --rows 1e9 --workers 100          # one line
    python -m benchmarks.scale_model --write                           # docs/results/scale_model.md

The rates (multiply-adds of products and of triangular solves, exponentials; one thread) are
measured when the program starts. For each row and m basis vectors, a posterior takes m^2 / 2
multiply-adds of either kind, a value and gradient by a leave-one-out measure 1.5 m^2 of solves and
4.5 m^2 of products; see docs/cost_model.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import frame
from benchmarks.printed_page import also_on_a_page
from greedygp.triangular import solve_in_place

PASSES = 3  # of a value and gradient by a leave-one-out measure
SECONDS_A_CHUNK = 3e-3  # of client and scheduler, for a task and its share of the tree
ROWS_AT_ONCE, ARRAYS = 8192, 6
HEADER = (
    "| rows | basis | features | workers | posterior, s | value and gradient, s | GiB a worker "
    "| MB to each | MB from each | workers that help |"
)
CASES = [
    (10**6, 200, 10, 1),
    (10**7, 200, 10, 2),
    (10**8, 200, 10, 16),
    (10**9, 200, 10, 100),
    (10**9, 500, 10, 100),
    (10**9, 200, 10, 1000),
]


@dataclass(frozen=True)
class Rates:
    """What one thread does in a second."""

    products: float  # multiply-adds
    solves: float  # multiply-adds of triangular solves
    exponentials: float

    @classmethod
    def measured(cls) -> Rates:
        rng = np.random.default_rng(0)
        factor, room = (
            np.tril(rng.uniform(size=(200, 200))) + 200 * np.eye(200),
            np.empty((200, ROWS_AT_ONCE)),
        )
        square, V = rng.uniform(size=(200, 200)), rng.uniform(size=(200, ROWS_AT_ONCE))
        with threadpool_limits(limits=1):
            product = _seconds(lambda: square @ V)
            solve = _seconds(lambda: solve_in_place(factor, V, False, room))
            exponential = _seconds(lambda: np.exp(-V))
        return cls(200 * V.size / product, 100 * V.size / solve, V.size / exponential)


def _seconds(work) -> float:
    """Return the processor's seconds of the fastest of several calls."""
    work()
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        for _ in range(4):
            work()
        best = min(best, (time.process_time() - begin) / 4)
    return best


@dataclass(frozen=True)
class Cost:
    """A pass for the posterior, and a value and gradient."""

    rates: Rates
    rows: float
    basis: int
    features: int
    workers: int
    chunk: float = 1e6

    @property
    def posterior(self) -> float:
        return self._seconds(0.5, 0.5, 1)

    @property
    def gradient(self) -> float:
        return self._seconds(1.5, 4.5, PASSES)

    def _seconds(self, solves: float, products: float, passes: int) -> float:
        """Return seconds of so many m^2 multiply-adds a row."""
        kernels = passes * self.basis
        a_row = solves * self.basis**2 / self.rates.solves
        a_row += (products * self.basis**2 + kernels * self.features) / self.rates.products
        a_row += kernels / self.rates.exponentials
        return self.rows * a_row / self.workers + passes * self.chunks * SECONDS_A_CHUNK

    @property
    def chunks(self) -> float:
        return max(1.0, self.rows / self.chunk)

    @property
    def broadcast(self) -> float:
        """Bytes that each worker gets for a value and gradient: G, L_B and its inverse, and H."""
        return 8.0 * (PASSES * 3 + 2) * self.basis**2

    @property
    def reduced(self) -> float:
        """Bytes that each worker hands on at most: V V' of each chunk, then H, then Z kappa Z'."""
        return 8.0 * PASSES * self.basis**2 * self.chunks / self.workers

    @property
    def worker_memory(self) -> float:
        """Bytes of a worker: its share of the rows, and the rows that go through a pass."""
        held = 8.0 * (self.features + 1) * self.rows / self.workers
        return held + 8.0 * ARRAYS * self.basis * ROWS_AT_ONCE

    @property
    def most_workers(self) -> float:
        """Beyond so many workers, handing out tasks takes longer than a posterior's work."""
        work = (self.posterior - self.chunks * SECONDS_A_CHUNK) * self.workers
        return work / (self.chunks * SECONDS_A_CHUNK)


def table(rates: Rates, cases: Sequence[tuple]) -> None:
    print(
        f"One thread, in a second: {rates.products / 1e9:.1f} billion multiply-adds of products, "
        f"{rates.solves / 1e9:.1f} of triangular solves, {rates.exponentials / 1e6:.0f} million "
        f"exponentials. Chunks of a million rows.\n\n{HEADER}\n{'|--:' * (HEADER.count('|') - 1)}|"
    )
    for rows, basis, features, workers in cases:
        cost = Cost(rates, rows, basis, features, workers)
        print(
            f"| {rows:,.0f} | {basis} | {features} | {workers} | {cost.posterior:.1f} | "
            f"{cost.gradient:.1f} | {cost.worker_memory / 2**30:.2f} | "
            f"{cost.broadcast / 1e6:.1f} | {cost.reduced / 1e6:.1f} | {cost.most_workers:.0f} |"
        )


def measured(rates: Rates, folder: Path) -> None:
    """Print what has been measured beside the model."""
    path = folder / "workers.json"
    if path.exists():
        found = json.loads(path.read_text())
        print("\nMeasured by `python -m benchmarks.scale run workers` (200 basis vectors):\n")
        for workers in (1, 2):
            cost = Cost(rates, found["rows"], 200, 10, workers, found["rows"] / 16)
            seconds = min(found["seconds"][f"passes_{workers}"])
            busy = min(found["cpu_seconds_of_the_busiest"][f"passes_{workers}"])
            print(
                f"- {found['rows']:,} rows, {workers} worker{'s' * (workers > 1)}, value and "
                f"gradient: predicted {cost.gradient:.1f} s, measured {seconds:.1f} s by the clock "
                f"and {busy:.1f} s of the processor by the busiest worker."
            )
    path = folder / "files.json"
    if path.exists():
        found = json.loads(path.read_text())
        cost = Cost(rates, found["rows"], 200, 10, 1, np.inf)
        print(
            f"- {found['rows']:,} rows, a bare pass over files: predicted {cost.posterior:.1f} s "
            f"without reading, measured {found['bare_pass']['cpu_seconds']:.1f} s of the processor."
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=float)
    parser.add_argument("--basis", type=int, default=200)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    one = (options.rows, options.basis, options.features, options.workers)
    with also_on_a_page("scale_model", "What many rows cost", options.write):
        rates = Rates.measured()
        table(rates, [one] if options.rows else CASES)
        measured(rates, frame.RESULTS / "scale")


if __name__ == "__main__":
    main()
