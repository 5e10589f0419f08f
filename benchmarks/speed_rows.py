"""Time and memory of the default regressor by the number of rows.

    python -m benchmarks.speed_rows                      # 1,000 to 100,000 rows
    python -m benchmarks.speed_rows --rows 1000 10000
    python -m benchmarks.speed_rows --write              # to docs/results/, too

Each fit of `AutoGPRegressor()` has a process of its own and one thread; seconds are those of the
processor. The data are Friedman's first function: ten columns, of which five matter. Memory is the
most that the process had, above what it had before the fit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.printed_page import also_on_a_page

ROWS = (1000, 3000, 10_000, 30_000, 100_000)
TEST = 10_000
FIT, PREDICT = "fit, seconds", f"predict {TEST:,} rows"
BEST_R2 = "best possible R2"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HEADER = (
    "rows",
    "model",
    FIT,
    PREDICT,
    "memory, MB",
    "R2",
    BEST_R2,
)


def memory() -> float:
    """The most memory that this process has had, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def measured(n: int) -> dict[str, object]:
    """Fit to so many rows and predict others."""
    from sklearn.datasets import make_friedman1

    from greedygp import AutoGPRegressor

    X, y = make_friedman1(n + TEST, n_features=10, noise=1.0, random_state=0)
    before = memory()
    begin = time.process_time()
    model = AutoGPRegressor(random_state=0).fit(X[:n], y[:n])
    fit = time.process_time() - begin
    begin = time.process_time()
    model.predict(X[n:], return_std=True)
    predict = time.process_time() - begin
    basis = getattr(model.model_, "n_basis_", None)
    truth = make_friedman1(n + TEST, n_features=10, noise=0.0, random_state=0)[1]
    spread = ((y[n:] - y[n:].mean()) ** 2).sum()
    return {
        "rows": f"{n:,}",
        "model": "full GP" if basis is None else f"sparse GP, {basis} basis vectors",
        FIT: f"{fit:.0f}" if fit >= 10 else f"{fit:.1f}",
        PREDICT: f"{predict:.1f}",
        "memory, MB": f"{memory() - before:.0f}",
        "R2": f"{model.score(X[n:], y[n:]):.3f}",
        BEST_R2: f"{1 - ((y[n:] - truth[n:]) ** 2).sum() / spread:.3f}",
    }


def in_a_process(n: int) -> dict[str, str]:
    """The same, in a process with one thread."""
    command = [sys.executable, "-m", "benchmarks.speed_rows", "--one", str(n)]
    done = subprocess.run(
        command,
        env=os.environ | dict.fromkeys(THREADS, "1"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--write", action="store_true", help="write the page of the docs, too")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measured(options.one)))
        return 0
    given = "" if options.rows == list(ROWS) else f"--rows {' '.join(map(str, options.rows))}"
    title = "Time and memory by the number of rows"
    with also_on_a_page("speed_rows", title, options.write, arguments=given):
        print(
            "`AutoGPRegressor(random_state=0)` on Friedman's first function (ten columns, of which "
            "five matter), each fit in a process of its own with one thread. Seconds are the "
            "processor's, with standard deviations in the prediction. Memory: the most that the "
            "process had, above what it had before the fit.\n"
        )
        print("|", " | ".join(HEADER), "|")
        print("|--:|---|" + "--:|" * (len(HEADER) - 2))
        for n in options.rows:
            found = in_a_process(n)
            print("|", " | ".join(found[name] for name in HEADER), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
