"""The relevance vector machine beside the package `fastrvm`, and fast GCV beside both.

The same data and the same kernel matrix for all, no intercept, noise learnt, defaults otherwise.
`fastrvm` runs in an interpreter of its own, given by `--fastrvm`, since it need not be installed
here. Log evidences are comparable: that of `fastrvm` is its last score, which leaves out the
constant `N/2 log 2 pi`. Each fit is the best of some in a process of its own, after a small one
that pays for imports, in seconds of the processor with one thread, and of the clock with more.

    python -m benchmarks.speed_linear [--rows 100 4000] [--fastrvm /path/to/python]

`--write` writes docs/results/speed_linear.md, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from benchmarks.printed_page import also_on_a_page

D = 8
LENGTH_SCALE = 2.5

DATA = f"""
import json, math, os, sys, time
import numpy as np
N = int(sys.argv[1])
clock = time.process_time if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter
rng = np.random.default_rng(0)
X = rng.standard_normal((N, {D}))
y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.3 * X[:, 3] + 0.1 * rng.standard_normal(N)
y -= y.mean()
"""

FIT = """
seconds = math.inf
make().fit(X[:50], y[:50])
for _ in range(5 if N <= 500 else 1):
    start = clock()
    model = make().fit(X, y)
    seconds = min(seconds, clock() - start)
"""

THEIRS = f"""
from fastrvm import RVR
make = lambda: RVR(kernel="rbf", gamma=0.5 / {LENGTH_SCALE}**2, fit_intercept=False)
{FIT}
value = float(model.scores_[-1]) - 0.5 * N * np.log(2 * np.pi)
print(json.dumps([seconds, int(model.n_iter_), int(model.n_relevance_), value]))
"""

OURS = f"""
from greedygp import FastGCVRegressor, FastRVMRegressor, RFSRegressor
from greedygp.kernels import Gaussian
kind = {{"rvm": FastRVMRegressor, "gcv": FastGCVRegressor, "rfs": RFSRegressor}}[sys.argv[2]]
make = lambda: kind(kernel=Gaussian(length_scale={LENGTH_SCALE}), fit_intercept=False)
{FIT}
value = model.log_evidence_ if sys.argv[2] == "rvm" else model.gcv_
print(json.dumps([seconds, model.n_iter_, model.n_basis_, value]))
"""


def run(interpreter: str, script: str, threads: int, *arguments: str) -> list[float]:
    """Return seconds, iterations, basis size and value of a run in a process of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [interpreter, "-c", DATA + script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def line(rows: int, name: str, result: list[float]) -> str:
    """Return a line of the table."""
    seconds, steps, size, value = result
    return (
        f"| {rows} | {name} | {seconds:.4g} | {steps:.0f} | {1e3 * seconds / max(steps, 1):.3f} | "
        f"{size:.0f} | {value:.6g} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 200, 500, 1000, 2000, 4000])
    parser.add_argument("--fastrvm", help="an interpreter that has fastrvm")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_linear.md")
    options = parser.parse_args()
    given = " ".join(["--rows", *map(str, options.rows)])
    given += " --fastrvm PYTHON" if options.fastrvm else ""
    with also_on_a_page(
        "speed_linear", "Speed of the linear models", options.write, arguments=given
    ):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Print a table, and how the relevance vector machine and `fastrvm` compare at each size."""
    clock = "of the processor" if options.threads == 1 else "of the clock"
    print(
        f"8 features, {options.threads} thread(s), seconds {clock}, each fit in a process of its "
        "own. FastGCVRegressor begins with the model of RFSRegressor; its time and its actions are "
        "those of both.\n"
    )
    print("| rows | | seconds | actions | ms an action | basis | log evidence, or GCV |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    kinds = {"rvm": "FastRVMRegressor", "gcv": "FastGCVRegressor", "rfs": "RFSRegressor"}
    compared = []
    for rows in options.rows:
        ours = {}
        for kind, name in kinds.items():
            ours[kind] = run(sys.executable, OURS, options.threads, str(rows), kind)
            print(line(rows, name, ours[kind]), flush=True)
        if options.fastrvm:
            theirs = run(options.fastrvm, THEIRS, options.threads, str(rows))
            print(line(rows, "fastrvm", theirs), flush=True)
            compared.append((rows, ours["rvm"], theirs))
    if compared:
        print("\nFastRVMRegressor over fastrvm:\n")
        print("| rows | time of a fit | time of an action | log evidence, difference |")
        print("|--:|--:|--:|--:|")
    for rows, ours_rvm, theirs in compared:
        action = (ours_rvm[0] / ours_rvm[1]) / (theirs[0] / theirs[1])
        print(
            f"| {rows} | {ours_rvm[0] / theirs[0]:.3g} | {action:.3g} | "
            f"{ours_rvm[3] - theirs[3]:+.1f} |"
        )


if __name__ == "__main__":
    main()
