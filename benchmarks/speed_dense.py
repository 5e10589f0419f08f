"""Speed and memory of full GP regression: the solvers side by side, each in a process of its own.

    python -m benchmarks.speed_dense                     # 10,000 rows: Friedman1, kin40k
    python -m benchmarks.speed_dense --grid              # and "auto" beside the fixed choices
    python -m benchmarks.speed_dense --large             # instead: Friedman1 100,000, kin40k 30,000
    python -m benchmarks.speed_dense --write             # to docs/results/speed_dense.md, too
                                                         # (--large: speed_dense_large.md)

Hyperparameters are those of the suites `full_gp_*` (learnt at the first use, and kept). Prints
seconds by the clock and of the processor (of up to 6000 rows: the fastest of three), kernel passes
(entries evaluated, over n^2), steps, the norm of the gradient that was reached, the test error and
the peak of memory; then the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks import frame
from benchmarks.printed_page import also_on_a_page
from benchmarks.suites import full_gp, full_gp_solvers
from greedygp import datasets
from greedygp.kernels import Matern

KIN40K_LARGE = 30_000
HELD = 2.0**40  # a limit that any matrix keeps to
# Another kernel, whose parameters are learnt first; the noise is given: kin40k has hardly any.
ROUGH = {"objective": "nlml", "noise_variance": 1e-3}
GRID_ROWS = (1000, 3000, 6000, 10_000)
SMALL_ROWS, SMALL_REPEATS = 6000, 3  # so many rows take seconds: the fastest of several is printed
HEADER = "| | seconds | cpu | kernel passes | steps | norm | RMSE | peak GiB |"


def hyperparameters(name: str, results: Path) -> dict[str, Any]:
    """Those of the suites' first partition; learnt and kept where they are not there."""
    suite = full_gp_solvers.SUITE
    task = next(task for task in suite.tasks if task.name == name)
    run = frame.Run(suite, task, suite.methods[0], 0)
    path = frame.prepared_path(run, results)
    if not path.exists():
        print(f"learning the hyperparameters of {task.title}", flush=True)
        error = frame.prepare_run(run, results)
        if error is not None:
            raise RuntimeError(error)
    return json.loads(path.read_text())["content"]


def measure(request: dict[str, Any]) -> dict[str, float]:
    """Fit once, in this process."""
    task = next(task for task in full_gp.TASKS if task.name == request["task"])
    data = full_gp.problem(task, 0, request["rows"])
    parameters = request["parameters"]
    if parameters.pop("rough", False):
        parameters |= ROUGH | {"kernel": Matern(nu=2.5, length_scale=[3.0] * data.X.shape[1])}
    model = full_gp.dense_model(request["prepared"], 0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begin, cpu = time.perf_counter(), time.process_time()
        model.fit(data.X, data.y)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        begin = time.perf_counter()
        if request["variances"]:
            model.predict(data.X_test[: request["variances"]], return_std=True)
        variances = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "seconds": seconds,
        "cpu": cpu,
        "passes": float(model.kernel_passes_),
        "steps": int(model.n_iter_),
        "norm": float(model.gradient_norm_),
        "converged": bool(model.converged_),
        "rmse": full_gp.rmse(data, model.predict(data.X_test)),
        "variance_seconds": variances,
        "peak": peak,
    }


class Table:
    """Measurements of one problem, printed as they are made."""

    def __init__(self, task: str, rows: int, options: argparse.Namespace):
        self.task, self.rows, self.options = task, rows, options
        self.prepared = hyperparameters(task, options.results)
        title = next(t.title for t in full_gp.TASKS if t.name == task)
        noise = self.prepared["noise_variance"]
        print(f"\n## {title}, {rows:,} rows, noise variance {noise:.2g}\n\n{HEADER}")
        print("|---" + "|--:" * (HEADER.count("|") - 2) + "|", flush=True)

    def add(self, label: str, variances: int = 0, **parameters: Any) -> dict[str, float]:
        """Measure in a process of its own, and print the line."""
        limit = {} if parameters["solver"] == "cholesky" else {"time_limit": self.options.limit}
        request = {
            "task": self.task,
            "rows": self.rows,
            "prepared": self.prepared,
            "parameters": {**parameters, **limit},
            "variances": variances,
        }
        repeats = max(self.options.repeats, SMALL_REPEATS if self.rows <= SMALL_ROWS else 1)
        done = [_in_process(request, self.options.threads) for _ in range(repeats)]
        best = min(done, key=lambda found: found["seconds"])
        note = "" if best["converged"] else " (not converged)"
        print(
            f"| {label}{note} | {best['seconds']:.2f} | {best['cpu']:.2f} | {best['passes']:.2f} | "
            f"{best['steps']:.0f} | {best['norm']:.1e} | {best['rmse']:.4f} | {best['peak']:.2f} |",
            flush=True,
        )
        return best


def _in_process(request: dict[str, Any], threads: int | None) -> dict[str, float]:
    environment = dict(os.environ)
    if threads is not None:
        environment |= dict.fromkeys(frame.THREAD_VARIABLES, str(threads))
    command = [sys.executable, "-m", "benchmarks.speed_dense", "--measure"]
    done = subprocess.run(
        command,
        input=json.dumps(request),
        env=environment,
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def friedman1(options: argparse.Namespace) -> None:
    """K is not stored: gbcd against cg and Cholesky."""
    table = Table("friedman1", options.rows, options)
    gbcd = table.add("gbcd", solver="gbcd")
    paper = table.add("gbcd as in the paper", solver="gbcd", accelerate=False, block_size=500)
    pcg = table.add("pcg", solver="pcg")
    cholesky = table.add("cholesky", solver="cholesky")
    cg = table.add("cg", solver="cg")
    print(f"\ncg / gbcd {ratio(cg, gbcd)} (target: at least 20)")
    print(f"gbcd / cholesky {ratio(gbcd, cholesky)} (target: at most 1)")
    print(f"gbcd / pcg {ratio(gbcd, pcg)}, gbcd as in the paper / gbcd {ratio(paper, gbcd)}")


def kin40k(options: argparse.Namespace) -> None:
    """Low noise: gbcd at several settings against Cholesky and pcg, and the variances."""
    table = Table("kin40k", options.rows, options)
    settings = [
        ("gbcd, K held", {"memory_limit": HELD}, options.variances),
        ("gbcd, K held, blocks of 2000", {"memory_limit": HELD, "block_size": 2000}, 0),
        ("gbcd", {}, 0),
    ]
    tried = {
        label: table.add(label, variances, solver="gbcd", **parameters)
        for label, parameters, variances in settings
    }
    pcg = [
        table.add("pcg, K held", options.variances, solver="pcg", memory_limit=HELD),
        table.add("pcg", solver="pcg"),
    ]
    cholesky = table.add("cholesky", options.variances, solver="cholesky")
    best = min(tried, key=lambda label: tried[label]["seconds"])
    fastest = min(pcg, key=lambda found: found["seconds"])
    print(f"\n{best} / cholesky {ratio(tried[best], cholesky)} (target: at most 2)")
    print(f"{best} / pcg at its best {ratio(tried[best], fastest)} (target: at most 1)")
    for label, found in (
        ("gbcd, K held", tried["gbcd, K held"]),
        ("pcg, K held", pcg[0]),
        ("cholesky", cholesky),
    ):
        print(
            f"{options.variances} variances by {label}: {found['variance_seconds']:.2f} s, "
            f"{found['variance_seconds'] / found['seconds']:.2f} times the mean (target: at most 3)"
        )


def large(options: argparse.Namespace) -> None:
    """Many rows, K never held."""
    table = Table("friedman1", options.large, options)
    for solver in ("gbcd", "pcg"):
        table.add(solver, solver=solver)
    print("\n(target: converges, under 8 GiB)")
    if "kin40k" in datasets.available():
        table = Table("kin40k", min(options.large, KIN40K_LARGE), options)
        for solver in ("gbcd", "pcg"):
            table.add(solver, solver=solver)
        table.add(
            "pcg, Matern 5/2, noise variance 0.001, learning included", solver="pcg", rough=True
        )
        print("\n(target: RMSE at most 0.071)")


def grid(options: argparse.Namespace) -> None:
    """Rows, noise, and whether the matrix may be held: "auto" beside the best fixed choice."""
    worst = 0.0
    for task in ("friedman1", "kin40k") if "kin40k" in datasets.available() else ("friedman1",):
        for rows in GRID_ROWS:
            table = Table(task, rows, options)
            for limit, solvers in ((HELD, ("cholesky", "pcg", "gbcd")), (0.0, ("pcg", "gbcd"))):
                where = "held" if limit else "not held"
                fixed = [
                    table.add(f"{solver}, {where}", solver=solver, memory_limit=limit)
                    for solver in solvers
                ]
                auto = table.add(f"auto, {where}", solver="auto", memory_limit=limit)
                best = min((f["seconds"] for f in fixed if f["converged"]), default=float("nan"))
                worst = max(worst, auto["seconds"] / best)
    print(f"\nauto / best fixed choice: at most {worst:.2f} (target: at most 1.3)")


def ratio(left: dict[str, float], right: dict[str, float]) -> str:
    """How many times the one takes what the other takes; a bound where one has not converged."""
    bound = "" if left["converged"] else "more than "
    bound = bound if right["converged"] else "(not converged) "
    return f"{bound}{left['seconds'] / right['seconds']:.2f}"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    top.add_argument("--rows", type=int, default=10_000)
    top.add_argument("--large", type=int, nargs="?", const=100_000, help="this many rows instead")
    top.add_argument("--grid", action="store_true", help="'auto' beside the fixed choices, too")
    top.add_argument("--write", action="store_true", help="write docs/results/speed_dense.md")
    top.add_argument("--variances", type=int, default=1000)
    top.add_argument("--repeats", type=int, default=1, help="the fastest of so many is printed")
    top.add_argument("--limit", type=float, default=3600.0, help="seconds of a solve")
    top.add_argument("--threads", type=int, help="of a solve; default: those of the environment")
    top.add_argument("--results", type=Path, default=frame.RESULTS, help="of the suites")
    top.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return top


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(json.load(sys.stdin))))
        return
    given = "--large" if options.large else "--grid" if options.grid else ""
    if options.threads is not None:
        given += f" --threads {options.threads}"
    if options.large:
        title = "Speed of full regression: many rows"
        page = {"arguments": given, "page": "speed_dense_large"}
        with also_on_a_page("speed_dense", title, options.write, **page):
            large(options)
        return
    with also_on_a_page("speed_dense", "Speed of full regression", options.write, arguments=given):
        friedman1(options)
        if "kin40k" in datasets.available():
            kin40k(options)
        else:
            print("\nkin40k is absent: set GREEDYGP_DATA to the folder that holds kin40k.npz.")
        if options.grid:
            grid(options)


if __name__ == "__main__":
    main()
