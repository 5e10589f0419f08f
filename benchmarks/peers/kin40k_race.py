"""GPflow's SGPR and ours on kin40k's own partition, 500 basis vectors, all cores.

    python -m benchmarks.peers.kin40k_race [gpflow] [ours] [gradient]

does the parts named, all by default, in this order: ``gpflow``, a fit of 100 L-BFGS iterations;
``ours``, the default estimator with several limits of time, as shares of GPflow's seconds, and to
its end; ``gradient``, one value and gradient of GPflow's bound and of our leave-one-out objective,
in turns, beside the bare matrix products that ours needs. Each part is stored in
``benchmarks/results/kin40k_race.json`` when it is done, and ``docs/results/kin40k_race.md`` is
written from that file. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, dsyrk, dtrmm, dtrsm

from benchmarks.frame import DOCS, RESULTS, machine, plain, versions, write_atomically
from benchmarks.pages import table
from benchmarks.peers.exchange import Request, starting_centres
from benchmarks.peers.scripted import call
from greedygp import datasets
from greedygp.metrics import coverage, nlpd, nmse

BASIS, ITERATIONS, NOISE = 500, 100, 0.1
SHARES = (1 / 10, 1 / 5, 0.35)
REPEATS, TURNS = 10, 3
SCRIPTS = "benchmarks.peers.scripts"
# Of one value and gradient of ours: each is m x m against m x n, or m x n against n x m.
PRODUCTS = {
    "triangular solve": 1,
    "product with a triangle": 3,
    "symmetric product": 3,
    "full product": 1,
}

Result = dict[str, Any]


def own_partition() -> tuple[Request, np.ndarray]:
    """The set's own 10000 training rows and 30000 test rows, standardised on the former."""
    data = datasets.load("kin40k")
    assert data.partitions is not None
    train, test = data.partitions[0]
    X, y = data.X, np.asarray(data.y, dtype=float)
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    y = (y - y[train].mean()) / y[train].std()
    options = {
        "basis": BASIS,
        "iterations": ITERATIONS,
        "repeats": REPEATS,
        "seed": 0,
        "threads": os.cpu_count(),
    }
    return Request(X[train], y[train], X[test], options), y[test]


def measured(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> Result:
    return {
        "nmse": nmse(y, mean),
        "nlpd": nlpd(y, mean, std),
        "coverage_95": coverage(y, mean, std),
    }


# The fits ----------------------------------------------------------------------------------------


def race_gpflow(results: Result) -> Result:
    """GPflow's fit, with the versions of its environment."""
    request, y = own_partition()
    answer = call("gpflow", f"{SCRIPTS}.gpflow_sgpr", request)
    facts = {"seconds": answer.facts["fit_seconds"], "versions": answer.facts["versions"]}
    return {**facts, "basis": BASIS, **measured(y, answer.mean, answer.std)}


def race_ours(results: Result) -> list[Result]:
    """Our fits, from the shortest limit of time to none."""
    if "gpflow" not in results:
        raise SystemExit("GPflow's seconds are needed for the limits: run the part gpflow first.")
    request, y = own_partition()
    limits = [share * results["gpflow"]["seconds"] for share in SHARES]
    return [our_fit(request, y, limit) for limit in (*limits, None)]


def our_fit(request: Request, y: np.ndarray, limit: float | None) -> Result:
    from greedygp import SparseGPRegressor

    given = {} if limit is None else {"time_limit": limit}
    model = SparseGPRegressor(max_basis=request.options["basis"], random_state=0, **given)
    start = time.perf_counter()
    model.fit(request.X, request.y)
    seconds = time.perf_counter() - start
    mean, std = model.predict(request.X_test, return_std=True)
    basis = int(model.n_basis_)
    return {"limit": limit, "seconds": seconds, "basis": basis, **measured(y, mean, std)}


# One gradient ------------------------------------------------------------------------------------


def race_gradient(results: Result) -> Result:
    """Seconds of one value and gradient, both in turns, and of the bare products."""
    request, _ = own_partition()
    turns: dict[str, list[float]] = {"gpflow": [], "greedygp": []}
    floors: dict[str, list[float]] = {name: [] for name in PRODUCTS}
    for _ in range(TURNS):
        theirs = call("gpflow", f"{SCRIPTS}.gpflow_gradient", request).facts["seconds"]
        turns["gpflow"].append(float(np.median(theirs)))
        turns["greedygp"].append(our_gradient_seconds(request))
        for name, seconds in product_seconds(len(request.X), BASIS, REPEATS).items():
            floors[name].append(seconds)
    medians = {name: float(np.median(v)) for name, v in {**turns, **floors}.items()}
    products = sum(count * medians[name] for name, count in PRODUCTS.items())
    return {"turns": turns, "floors": floors, "medians": medians, "products": products}


def our_gradient_seconds(request: Request) -> float:
    """Median seconds of our objective, at the values that GPflow starts from."""
    from greedygp.kernels import Gaussian
    from greedygp.sparse.objectives import SparseObjective

    options, d = request.options, request.X.shape[1]
    basis = starting_centres(request.X, options["basis"], options["seed"])
    objective = SparseObjective(
        "nlgpp",
        request.X,
        request.y[None, :],
        None,
        approximation="dtc",
        capacity=options["basis"],
    )
    kernel = Gaussian(1.0, [float(np.sqrt(d))] * d)
    with objective.backend.threads_over_blocks():
        return _median_seconds(lambda: objective(kernel, NOISE, basis), options["repeats"])


def product_seconds(n: int, m: int, repeats: int) -> dict[str, float]:
    """Median seconds of one product of each kind, in the faster of its two orientations."""
    rng = np.random.default_rng(0)
    # Close to the identity: the solves, in place, neither grow nor vanish.
    L = np.asfortranarray(np.eye(m) + np.tril(rng.standard_normal((m, m)), -1) / (10 * m))
    wide = np.asfortranarray(rng.standard_normal((m, n)))
    tall = np.asfortranarray(wide.T)
    out_wide, out_tall = np.empty_like(wide, order="F"), np.empty_like(tall, order="F")
    kinds: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "triangular solve": (
            lambda: dtrsm(1.0, L, out_wide, side=0, lower=1, overwrite_b=1),
            lambda: dtrsm(1.0, L, out_tall, side=1, lower=1, overwrite_b=1),
        ),
        "product with a triangle": (
            lambda: dtrmm(1.0, L, out_wide, side=0, lower=1, overwrite_b=1),
            lambda: dtrmm(1.0, L, out_tall, side=1, lower=1, overwrite_b=1),
        ),
        "symmetric product": (
            lambda: dsyrk(1.0, wide, trans=0),
            lambda: dsyrk(1.0, tall, trans=1),
        ),
        "full product": (
            lambda: dgemm(1.0, L, wide, c=out_wide, overwrite_c=1),
            lambda: dgemm(1.0, tall, L, c=out_tall, overwrite_c=1),
        ),
    }
    out_wide[...], out_tall[...] = wide, tall
    return {
        name: min(_median_seconds(product, repeats) for product in pair)
        for name, pair in kinds.items()
    }


def _median_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Median of the seconds, after a first call that does not count."""
    seconds = []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))


# The page ----------------------------------------------------------------------------------------


def page(results: Result) -> list[str]:
    """The page's lines, of the parts that are there."""
    lines = [
        "# kin40k: the race with GPflow",
        "",
        "Made by `python -m benchmarks.peers.kin40k_race`, after "
        "`python -m benchmarks.peers.environments gpflow`.",
        "",
        f"kin40k's own partition (10000 training rows, 30000 test rows), {BASIS} basis vectors, "
        "all cores, standardised inputs and target. Seconds without imports, with compilation.",
        "",
    ]
    if "gpflow" in results:
        lines += ["## Fits", "", *fits_table(results)]
    if "gradient" in results:
        lines += ["## One value and gradient", "", *gradient_lines(results["gradient"])]
    return [*lines, *made_with(results)]


def fits_table(results: Result) -> list[str]:
    theirs = results["gpflow"]
    runs = [(f"GPflow SGPR, {ITERATIONS} L-BFGS iterations", theirs)]
    for ours in results.get("ours", []):
        limit = ours["limit"]
        runs.append(("greedygp" + ("" if limit is None else f", time_limit={limit:.1f}"), ours))
    rows = [
        [
            title,
            f"{run['seconds']:.1f}",
            f"{run['seconds'] / theirs['seconds']:.2f}",
            run["basis"],
            f"{100 * run['nmse']:.3f}",
            f"{run['nlpd']:.4f}",
            f"{100 * run['coverage_95']:.1f}",
        ]
        for title, run in runs
    ]
    header = ["", "seconds", "of GPflow's", "basis", "NMSE x 10^-2", "NLPD", "95 % interval covers"]
    return table(header, rows)


def gradient_lines(gradient: Result) -> list[str]:
    medians, products = gradient["medians"], gradient["products"]
    theirs, ours = medians["gpflow"], medians["greedygp"]
    rows = [
        ["GPflow SGPR, the bound", f"{theirs:.3f}", f"{theirs / ours:.2f}", ""],
        ["greedygp, NLGPP (DTC)", f"{ours:.3f}", "1.00", f"{ours / products:.2f}"],
        ["bare matrix products of ours", f"{products:.3f}", f"{products / ours:.2f}", "1.00"],
    ]
    parts = ", ".join(f"{n} of {medians[name]:.3f} s ({name})" for name, n in PRODUCTS.items())
    return [
        f"By all hyperparameters and basis inputs; median of {REPEATS} calls after a first one, "
        f"then of {len(gradient['turns']['gpflow'])} turns of both. Bare products: {parts}, each "
        "in the faster of its two BLAS orientations.",
        "",
        *table(["", "seconds", "over greedygp's", "over the products"], rows),
    ]


def made_with(results: Result) -> list[str]:
    facts = {"Machine": results["machine"], "Versions": results["versions"]}
    if "gpflow" in results:
        facts["GPflow's environment"] = results["gpflow"]["versions"]
    return [
        f"{title}: {', '.join(f'{name} {value}' for name, value in kind.items())}.\n"
        for title, kind in facts.items()
    ]


PARTS = {"gpflow": race_gpflow, "ours": race_ours, "gradient": race_gradient}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.kin40k_race")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON file")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    stored = options.results / "kin40k_race.json"
    results = json.loads(stored.read_text()) if stored.exists() else {}
    for name, part in PARTS.items():
        if options.parts and name not in options.parts:
            continue
        results[name] = plain(part(results))
        results.update(versions=versions(), machine=machine())
        write_atomically(stored, json.dumps(results, indent=1) + "\n")
        lines = page(results)
        write_atomically(options.docs / "kin40k_race.md", "\n".join(lines).rstrip() + "\n")
    print("\n".join(page(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
