"""How close a selection run is to its matrix products, in one process, alternating.

For each criterion the time of a whole selection run (fixed hyperparameters) is divided by its
floor: the bare matrix products of the same shapes, each in the faster of its two BLAS
orientations. Times are those of the processor, with one thread. `nlml` needs one product a step
(`K_Jf Z'`), `loo_cve` two (and `z'Z`), `nlgpp` three. `info_gain` is divided by the bare appends of
the basis it chose, `matching_pursuit` (c = max_basis) by `info_gain`; a run with cache is divided
by a run without that scores as many candidates. Memory is the peak of a separate process.

    python -m benchmarks.speed_selection [--quick] [--write]

`--write` puts the table into `docs/results/speed_selection.md`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.frame import machine, versions
from greedygp import SparseGPRegressor, greedy
from greedygp.arrays import Backend
from greedygp.kernels import Gaussian
from greedygp.sparse.candidates import evaluate_one
from greedygp.sparse.state import SparseState

N, D, KAPPA, BASIS = 10_000, 8, 59, 500
PRODUCTS = {"nlml": 1, "loo_cve": 2, "nlgpp": 3}
TARGET = 1.5


def make_data(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and a smooth, noisy target."""
    X = rng.standard_normal((n, D))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.3 * X[:, 3]
    return X, y + 0.1 * rng.standard_normal(n)


def estimator(criterion: str, basis: int, **options) -> SparseGPRegressor:
    """Return a model with fixed hyperparameters that runs to the full basis."""
    return SparseGPRegressor(
        kernel=Gaussian(1.0, [2.5] * D),
        noise_variance=0.02,
        criterion=criterion,
        max_basis=basis,
        patience=None,
        objective=None,
        random_state=0,
        **options,
    )


def run_seconds(model: SparseGPRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """Return the seconds that the selection took: those of the processor, by the loop's clock."""
    with mock.patch.object(greedy, "time", SimpleNamespace(perf_counter=time.process_time)):
        return float(model.fit(X, y).path_["seconds"][-1])


class Floor:
    """The bare products of a run, in both orientations."""

    def __init__(self, n: int, basis: int, rng: np.random.Generator):
        self.Z = rng.standard_normal((basis, n))
        self.K = rng.standard_normal((KAPPA, n))
        self.z = rng.standard_normal((KAPPA, basis))
        self.basis = basis

    def _seconds(self, product) -> float:
        product(self.basis)
        start = time.process_time()
        for m in range(1, self.basis):
            product(m)
        return time.process_time() - start

    def measure(self) -> tuple[float, float]:
        """Return the seconds of all products `K Z'` and of all products `z'Z`."""
        n = self.Z.shape[1]
        onto = min(
            self._seconds(lambda m: np.matmul(self.K, self.Z[:m].T)),
            self._seconds(lambda m: np.matmul(self.Z[:m], self.K.T)),
        )
        out, turned = np.empty((KAPPA, n)), np.empty((n, KAPPA))
        back = min(
            self._seconds(lambda m: np.matmul(self.z[:, :m], self.Z[:m], out=out)),
            self._seconds(lambda m: np.matmul(self.Z[:m].T, self.z[:, :m].T, out=turned)),
        )
        return onto, back

    @staticmethod
    def of(criterion: str, onto: float, back: float) -> float:
        """Return the floor of a criterion."""
        return {"nlml": onto, "loo_cve": onto + back, "nlgpp": onto + 2 * back}[criterion]


def append_seconds(X: np.ndarray, y: np.ndarray, indices: np.ndarray) -> float:
    """Return the seconds of appending a known basis, and nothing else."""
    backend = Backend(X)
    with backend.threads_over_blocks():
        state = SparseState(
            Gaussian(1.0, [2.5] * D),
            0.02,
            X,
            ((y - y.mean()) / y.std())[None, :],
            None,
            approximation="dtc",
            capacity=len(indices),
            backend=backend,
            keep_v=False,
            track_explained=True,
        )
        start = time.process_time()
        for j in indices:
            one = evaluate_one(state, int(j), X[j], from_rows=True)
            state.append(one.column(0))
        return time.process_time() - start


def memory_gib(n: int, basis: int, criterion: str) -> float:
    """Return the peak memory of a run in a process of its own."""
    code = (
        "import resource, numpy as np\n"
        "from benchmarks.speed_selection import estimator, make_data\n"
        f"X, y = make_data({n}, np.random.default_rng(0))\n"
        f"estimator({criterion!r}, {basis}).fit(X, y)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return int(result.stdout.split()[-1]) / 2**20


def floor_rows(X, y, basis: int, repeats: int) -> list[list[str]]:
    """Return table rows of the criteria against their floors, runs and floors alternating."""
    floor = Floor(len(X), basis, np.random.default_rng(1))
    runs: dict[str, list[float]] = {criterion: [] for criterion in PRODUCTS}
    floors: dict[str, list[float]] = {criterion: [] for criterion in PRODUCTS}
    for _ in range(repeats):
        for criterion in PRODUCTS:
            runs[criterion].append(run_seconds(estimator(criterion, basis), X, y))
            floors[criterion].append(Floor.of(criterion, *floor.measure()))
    rows = []
    for criterion in PRODUCTS:
        run, bare = np.median(runs[criterion]), np.median(floors[criterion])
        what = f"`{criterion}` / its {PRODUCTS[criterion]} product(s)"
        rows.append([what, f"{run:.2f}", f"{bare:.2f}", f"{run / bare:.2f}", f"{TARGET}"])
    return rows


def cheap_rows(X, y, basis: int, repeats: int) -> list[list[str]]:
    """Return table rows of information gain, matching pursuit and the cache."""
    seconds: dict[str, list[float]] = {name: [] for name in ("info", "append", "dmax")}
    for _ in range(repeats):
        model = estimator("info_gain", basis)
        seconds["info"].append(run_seconds(model, X, y))
        seconds["append"].append(append_seconds(X, y, model.basis_indices_))
        dmax = estimator("matching_pursuit", basis, cache_size=basis)
        seconds["dmax"].append(run_seconds(dmax, X, y))
    info, append, dmax = (float(np.median(seconds[name])) for name in ("info", "append", "dmax"))
    rows = [
        [
            "`info_gain` / bare appends",
            f"{info:.2f}",
            f"{append:.2f}",
            f"{info / append:.2f}",
            "1.3",
        ],
        [
            "`matching_pursuit` / `info_gain`",
            f"{dmax:.2f}",
            f"{info:.2f}",
            f"{dmax / info:.2f}",
            "3",
        ],
    ]
    for criterion in PRODUCTS:
        cached = run_seconds(estimator(criterion, basis // 2, cache_size=241), X, y)
        fresh = run_seconds(estimator(criterion, basis // 2, working_set=300), X, y)
        rows.append(
            [
                f"`{criterion}`, 59 fresh + 241 cached / 300 fresh ({basis // 2} basis vectors)",
                f"{cached:.2f}",
                f"{fresh:.2f}",
                f"{cached / fresh:.2f}",
                "0.5",
            ]
        )
    return rows


def _listed(facts: dict) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def page(rows: list[list[str]], memory: list[str], n: int, basis: int) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Speed of selection",
        "",
        "Made by `python -m benchmarks.speed_selection --write`.",
        "",
        f"{n} rows, {D} features, {KAPPA} candidates a step, {basis} basis vectors; medians of "
        "alternating runs in one process. A floor is the bare matrix products of the run, each "
        "in its faster BLAS orientation. Seconds of the processor, with one thread.",
        "",
        "| what | seconds | compared with | ratio | target: at most |",
        "|---|---|---|---|---|",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        "| peak memory | GiB | target: under |",
        "|---|---|---|",
        *memory,
        "",
        f"Machine: {_listed(machine())}. Versions: {_listed(versions())}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small problem, to see that it runs")
    parser.add_argument(
        "--write", action="store_true", help="write docs/results/speed_selection.md"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    n, basis = (2_000, 60) if options.quick else (N, BASIS)
    X, y = make_data(n, np.random.default_rng(0))
    with threadpool_limits(1):
        rows = floor_rows(X, y, basis, options.repeats)
        for row in rows:
            print("  ".join(row), flush=True)
        rows += cheap_rows(X, y, basis, options.repeats)
    memory = []
    large = (20_000, 60) if options.quick else (200_000, 300)
    for criterion in ("nlml", "nlgpp"):
        gib = memory_gib(*large, criterion)
        memory.append(
            f"| `{criterion}`, {large[0]} rows, {large[1]} basis vectors | {gib:.2f} | 2.5 |"
        )
    text = page(rows, memory, n, basis)
    print(text)
    if options.write:
        Path("docs/results/speed_selection.md").write_text(text)


if __name__ == "__main__":
    main()
