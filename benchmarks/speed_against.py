"""Is this version as fast as another one? Both take turns at the same work, in one run.

    git worktree add ../before v0.1.0
    python -m benchmarks.speed_against ../before            # all work
    python -m benchmarks.speed_against ../before gradient   # work whose name contains a word
    python -m benchmarks.speed_against ../before --repeats 15 --threads 2

Three processes do each piece of work in turn: the other version, this one, and the other version
again. The second ratio, other against other, says how much of the first is chance. Each process
holds its data, and its first turn is not counted. Times are of the processor, with `--clock` those
of the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Any]

REPEATS = 9


def _data(rows: int, features: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    y = np.sin(X[:, 0]) * X[:, 1] + np.cos(X[:, 2]) + 0.1 * rng.normal(size=rows)
    return X, y


def _selection(criterion: str, rows: int = 4000, **options: Any) -> Work:
    from greedygp import SparseGPRegressor
    from greedygp.kernels import Gaussian

    X, y = _data(rows)
    options = {"max_basis": 120, "approximation": "dtc"} | options
    model = SparseGPRegressor(
        kernel=Gaussian(1.0, 3.0),
        noise_variance=0.02,
        criterion=criterion,
        objective=None,
        refine_basis=False,
        random_state=0,
        **options,
    )
    return lambda: model.fit(X, y)


def _gradient(approximation: str, rows: int = 5000, basis: int = 250) -> Work:
    from greedygp.kernels import Gaussian
    from greedygp.sparse.objectives import SparseObjective

    X, y = _data(rows)
    objective = SparseObjective(
        "nlgpp", X, y[None, :], None, approximation=approximation, capacity=basis, guard=0.1
    )
    kernel = Gaussian(1.0, np.full(X.shape[1], 3.0))
    return lambda: objective(kernel, 0.02, X[:basis])


def _dense(solver: str, rows: int = 2500) -> Work:
    from greedygp import GPRegressor
    from greedygp.kernels import Gaussian

    X, y = _data(rows)
    model = GPRegressor(
        kernel=Gaussian(1.0, 3.0),
        noise_variance=0.02,
        objective=None,
        solver=solver,
        random_state=0,
    )
    return lambda: model.fit(X, y)


def _linear(name: str, rows: int, **options: Any) -> Work:
    import greedygp

    X, y = _data(rows)
    kernel = greedygp.kernels.Gaussian(1.0, 3.0)
    model = getattr(greedygp, name)(kernel=kernel, random_state=0, **options)
    target = (y > 0).astype(int) if name.endswith("Classifier") else y
    return lambda: model.fit(X, target)


def _classification(rows: int, **options: Any) -> Work:
    from greedygp import SparseGPClassifier

    X, y = _data(rows, 4)
    model = SparseGPClassifier(random_state=0, **options)
    return lambda: model.fit(X, y > 0)


def _learnt(name: str, rows: int) -> Work:
    import greedygp

    X, y = _data(rows, 5)
    model = getattr(greedygp, name)(random_state=0)
    return lambda: model.fit(X, y)


def _fixed_kernel() -> dict[str, Any]:
    from greedygp.kernels import Gaussian

    return {"kernel": Gaussian(4.0, 2.0), "objective": None}


WORKS: dict[str, Callable[[], Work]] = {
    "selection nlml": lambda: _selection("nlml"),
    "selection loo_cve": lambda: _selection("loo_cve"),
    "selection nlgpp": lambda: _selection("nlgpp"),
    "selection gpe": lambda: _selection("gpe"),
    "selection nlgpp, cache": lambda: _selection("nlgpp", cache_size=100),
    "selection matching_pursuit": lambda: _selection("matching_pursuit", cache_size=120),
    "selection info_gain": lambda: _selection("info_gain"),
    "selection fitc": lambda: _selection("nlgpp", 1000, approximation="fitc", max_basis=20),
    "gradient dtc": lambda: _gradient("dtc"),
    "gradient fitc": lambda: _gradient("fitc"),
    "gradient small": lambda: _gradient("fitc", 400, 60),
    "dense cholesky": lambda: _dense("cholesky"),
    "dense pcg": lambda: _dense("pcg"),
    "dense gbcd": lambda: _dense("gbcd"),
    "dense auto, 300 rows": lambda: _dense("auto", 300),
    "linear FastGCV, 300 rows": lambda: _linear("FastGCVRegressor", 300),
    "linear FastGCV, 1500 rows": lambda: _linear("FastGCVRegressor", 1500),
    "linear FastRVM, 300 rows": lambda: _linear("FastRVMRegressor", 300),
    "linear FastRVM, 1500 rows": lambda: _linear("FastRVMRegressor", 1500),
    "linear OLS": lambda: _linear("OLSRegressor", 600),
    "linear RFS": lambda: _linear("RFSRegressor", 600),
    "linear LocalRidge": lambda: _linear("LocalRidgeRegressor", 150),
    "linear FastRVMClassifier": lambda: _linear("FastRVMClassifier", 300),
    "classification adaptive": lambda: _classification(3000, **_fixed_kernel(), max_basis=80),
    "classification validation": lambda: _classification(
        1500, **_fixed_kernel(), max_basis=60, criterion="validation"
    ),
    "classification learnt": lambda: _classification(200),
    "learnt SparseGPRegressor": lambda: _learnt("SparseGPRegressor", 400),
    "learnt GPRegressor": lambda: _learnt("GPRegressor", 300),
}


def serve() -> None:
    """Read names of work from standard input; do each, and print its seconds."""
    warnings.simplefilter("ignore")
    made: dict[str, Work] = {}
    for line in sys.stdin:
        name, clock = json.loads(line)
        if name not in made:
            made.clear()
            made[name] = WORKS[name]()
        read = time.perf_counter if clock else time.process_time
        begin = read()
        made[name]()
        print(json.dumps(read() - begin), flush=True)


class Version:
    """A process that works with the sources of one version."""

    def __init__(self, root: Path, threads: int):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        here = Path(__file__).resolve().parents[1]
        environment = os.environ | dict.fromkeys(names, str(threads))
        environment |= {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(here)])}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed_against", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def seconds(self, name: str, clock: bool) -> float:
        """Do the work once and return how long it took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, clock]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that did {name!r} ended; its message is above")
        return float(json.loads(answer))


def race(name: str, versions: list[Version], repeats: int, clock: bool) -> list[list[float]]:
    """Return the seconds of each version, turn by turn."""
    turns: list[list[float]] = []
    for number in range(repeats + 1):
        order = versions if number % 2 else versions[::-1]
        seconds = {id(version): version.seconds(name, clock) for version in order}
        turns.append([seconds[id(version)] for version in versions])
    return turns[1:]


def _ratio(turns: list[list[float]], number: int) -> float:
    return statistics.median(turn[number] / turn[0] for turn in turns)


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the checkout to compare with")
    parser.add_argument("word", nargs="?", default="", help="only work whose name contains it")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", action="store_true", help="the wall clock, not the processor's")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.other is None or not (options.other / "src" / "greedygp").is_dir():
        parser.error("name a checkout of another version: a folder with src/greedygp")
    here = Path(__file__).resolve().parents[1]
    versions = [Version(root, options.threads) for root in (options.other, here, options.other)]
    print(f"{'work':32}{'other, s':>10}{'this / other':>14}{'other / other':>15}")
    for name in (name for name in WORKS if options.word in name):
        turns = race(name, versions, options.repeats, options.clock)
        least = min(turn[0] for turn in turns)
        print(f"{name:32}{least:10.3f}{_ratio(turns, 1):14.3f}{_ratio(turns, 2):15.3f}", flush=True)


if __name__ == "__main__":
    main()
