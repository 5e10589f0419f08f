"""The relevance vector machine beside the package `fastrvm`, and fast GCV beside both.

The same data and the same kernel matrix for all, no intercept, noise learnt, defaults otherwise.
`fastrvm` runs in an interpreter of its own, given by `--fastrvm`, since it need not be installed
here. Log evidences are comparable: that of `fastrvm` is its last score, which leaves out the
constant `N/2 log 2 pi`. Runs alternate, with `--threads` threads each.

    python -m benchmarks.speed_linear [--rows 4000] [--fastrvm /path/to/python] [--repeats 1]

`--write` writes docs/results/speed_linear.md, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys

from benchmarks.printed_page import also_on_a_page

D = 8
LENGTH_SCALE = 2.5

DATA = f"""
import json, sys, time
import numpy as np
N = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((N, {D}))
y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.3 * X[:, 3] + 0.1 * rng.standard_normal(N)
y -= y.mean()
"""

THEIRS = f"""
from fastrvm import RVR
start = time.perf_counter()
model = RVR(kernel="rbf", gamma=0.5 / {LENGTH_SCALE}**2, fit_intercept=False).fit(X, y)
seconds = time.perf_counter() - start
value = float(model.scores_[-1]) - 0.5 * N * np.log(2 * np.pi)
print(json.dumps([seconds, int(model.n_iter_), int(model.n_relevance_), value]))
"""

OURS = f"""
from greedygp import FastGCVRegressor, FastRVMRegressor
from greedygp.kernels import Gaussian
kind = {{"rvm": FastRVMRegressor, "gcv": FastGCVRegressor}}[sys.argv[2]]
model = kind(kernel=Gaussian(length_scale={LENGTH_SCALE}), fit_intercept=False)
start = time.perf_counter()
model.fit(X, y)
seconds = time.perf_counter() - start
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


def line(name: str, result: list[float]) -> str:
    """Return a line of the table."""
    seconds, steps, size, value = result
    return (
        f"| {name} | {seconds:.2f} | {steps:.0f} | {1e3 * seconds / max(steps, 1):.2f} | "
        f"{size:.0f} | {value:.6g} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--fastrvm", help="an interpreter that has fastrvm")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_linear.md")
    options = parser.parse_args()
    given = "--fastrvm PYTHON" if options.fastrvm else ""
    with also_on_a_page(
        "speed_linear", "Speed of the linear models", options.write, arguments=given
    ):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Print a table for each repetition."""
    print(
        f"{options.rows} rows, 8 features, {options.threads} thread(s), each fit in a process of "
        "its own.\n"
    )
    print("| | seconds | actions | ms an action | basis | log evidence, or GCV |")
    print("|---|---|---|---|---|---|")
    for _ in range(options.repeats):
        rvm = run(sys.executable, OURS, options.threads, str(options.rows), "rvm")
        print(line("FastRVMRegressor", rvm), flush=True)
        gcv = run(sys.executable, OURS, options.threads, str(options.rows), "gcv")
        print(line("FastGCVRegressor", gcv), flush=True)
        theirs = [math.nan] * 4
        if options.fastrvm:
            theirs = run(options.fastrvm, THEIRS, options.threads, str(options.rows))
            print(line("fastrvm", theirs), flush=True)
        per_action = (gcv[0] / gcv[1]) / (rvm[0] / rvm[1])
        print(
            f"fastrvm / FastRVMRegressor: {theirs[0] / rvm[0]:.1f} in time, log evidence "
            f"{rvm[3] - theirs[3]:+.1f}; FastGCVRegressor / FastRVMRegressor an action: "
            f"{per_action:.2f}"
        )


if __name__ == "__main__":
    main()
