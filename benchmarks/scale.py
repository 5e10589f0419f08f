"""Rows beyond the memory and beyond one process: time, peak of memory, error.

    python -m benchmarks.scale make                 # 10,000,000 rows x 10 features in Parquet files
    python -m benchmarks.scale run [TASK ...]       # measure what has no result yet
    python -m benchmarks.scale show [--write]       # the tables (to docs/results/scale.md, too)

Each task has a process of its own, and its result is kept in `benchmarks/results/scale/`.

files          a fit by file with 200 basis vectors, beside a bare pass over the files
mapped         2,000,000 rows x 6 in a memory map, 100 basis vectors, 10 iterations
rows-N         a fit to the first N rows: the error against the true function
workers        one value and gradient of 1,000,000 rows by one and by two Dask workers, beside bare
               products of the same sizes
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from benchmarks import frame
from benchmarks.printed_page import also_on_a_page
from greedygp import RowSource, SparseGPRegressor
from greedygp.kernels import Gaussian

FOLDER = Path(os.environ.get("GREEDYGP_SCALE", Path(tempfile.gettempdir()) / "greedygp-scale"))
RESULTS = frame.RESULTS / "scale"
FILES, FILE_ROWS, FEATURES, NOISE = 10, 1_000_000, 10, 3.0
CHUNK = 8192
ITERATIONS, MAPPED_ITERATIONS = 30, 10
MAPPED_ROWS = 2_000_000
ROWS = (10_000, 100_000, 1_000_000)
WORKER_ROWS, WORKER_CHUNKS, REPEATS = 1_000_000, 16, 3
TASKS = (*(f"rows-{rows}" for rows in ROWS), "mapped", "workers", "files")


def truth(X: np.ndarray) -> np.ndarray:
    """Friedman's first function; the last five features mean nothing."""
    return (
        10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20.0 * (X[:, 2] - 0.5) ** 2
        + 10.0 * X[:, 3]
        + 5.0 * X[:, 4]
    )


def rows(number: int, count: int = FILE_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a file."""
    rng = np.random.default_rng(number)
    X = rng.uniform(size=(count, FEATURES))
    return X, truth(X) + NOISE * rng.normal(size=count)


def first_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = rows(0)
    return X[:count], y[:count]


def make() -> None:
    """Write the files that are not there yet."""
    import pyarrow
    import pyarrow.parquet

    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        path = FOLDER / f"part-{number:02}.parquet"
        if not path.exists():
            X, y = rows(number)
            columns = {f"x{k}": X[:, k] for k in range(FEATURES)} | {"y": y}
            part = path.with_suffix(".part")
            pyarrow.parquet.write_table(pyarrow.table(columns), part, row_group_size=100_000)
            part.rename(path)
        print(path, f"{path.stat().st_size / 2**20:.0f} MiB", flush=True)


# --- what is measured ----------------------------------------------------------------------------


def files() -> dict[str, Any]:
    make()
    source = RowSource(str(FOLDER / "*.parquet"), target="y")
    model, seconds = timed(lambda: estimator(200, ITERATIONS).fit(source))
    peak = peak_gib()
    with threadpool_limits(limits=1):
        bare, bare_seconds = timed(lambda: bare_pass(source, model))
    return {
        "rows": FILES * FILE_ROWS,
        **seconds,
        "peak_gib": peak,
        "bare_pass": bare_seconds,
        "basis": model.n_basis_,
        "rmse": error(model),
        "bare_rows": bare,
    }


def bare_pass(source: RowSource, model: SparseGPRegressor) -> int:
    """Read the rows, and do what one pass cannot do without, in NumPy: kernel, solve, product.

    In one thread: NumPy's and SciPy's BLAS have threads of their own, which would wait in loops for
    each other.
    """
    basis, scales = model.basis_, model.kernel_.length_scales(FEATURES)
    U = basis / scales
    G = np.linalg.cholesky(model.kernel_(basis) + 1e-8 * np.eye(len(U)))
    total, count = np.zeros((len(U), len(U))), 0
    for chunk in source.chunks():
        for piece in chunk.pieces(CHUNK):
            X = piece.X / scales
            squares = np.sum(U**2, axis=1)[:, None] + np.sum(X**2, axis=1)[None, :]
            V = scipy.linalg.solve_triangular(
                G, np.exp(U @ X.T - 0.5 * squares), lower=True, check_finite=False
            )
            total += V @ V.T
            count += len(piece)
    return count


def mapped() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        path = Path(folder) / "X.npy"
        X = np.lib.format.open_memmap(path, "w+", dtype=np.float64, shape=(MAPPED_ROWS, 6))
        for part in np.array_split(np.arange(len(X)), 20):
            X[part] = rng.uniform(size=(len(part), 6))
        y = truth(X) + NOISE * rng.normal(size=len(X))
        del X
        X = np.load(path, mmap_mode="r")
        model, seconds = timed(lambda: estimator(100, MAPPED_ITERATIONS).fit(X, y))
        return {"rows": len(X), **seconds, "peak_gib": peak_gib(), "basis": model.n_basis_}


def by_rows(count: int) -> dict[str, Any]:
    model, seconds = timed(lambda: estimator(200, ITERATIONS).fit(*first_rows(count)))
    return {
        "rows": count,
        **seconds,
        "peak_gib": peak_gib(),
        "rmse": error(model),
        "basis": model.n_basis_,
    }


def workers(repeats: int = REPEATS) -> dict[str, Any]:
    """Time the passes and bare products on one and on two workers, in turns."""
    from distributed import Client, LocalCluster

    times: dict[str, list[float]] = {}
    busy: dict[str, list[float]] = {}
    for _ in range(repeats):
        for count in (1, 2):
            with (
                LocalCluster(
                    n_workers=count, threads_per_worker=1, dashboard_address=":0"
                ) as cluster,
                Client(cluster) as client,
            ):
                for name, work in (("passes", _objective(client)), ("products", _products(client))):
                    work()  # workers have imported everything and hold the rows
                    before = client.run(time.process_time)
                    _, seconds = timed(work)
                    after = client.run(time.process_time)
                    times.setdefault(f"{name}_{count}", []).append(seconds["seconds"])
                    most = max(after[worker] - before[worker] for worker in after)
                    busy.setdefault(f"{name}_{count}", []).append(most)
    return {
        "rows": WORKER_ROWS,
        "seconds": times,
        "cpu_seconds_of_the_busiest": busy,
    }


def _objective(client: Any) -> Callable[[], Any]:
    """Return one value and gradient by NLGPP of rows on the workers."""
    import dask.array as da

    from greedygp import DaskRows
    from greedygp.data import TargetScale, WholeData
    from greedygp.rows import survey
    from greedygp.sparse.passes import StreamedObjective

    chunk = WORKER_ROWS // WORKER_CHUNKS
    X = da.random.default_rng(0).uniform(size=(WORKER_ROWS, FEATURES), chunks=(chunk, FEATURES))
    y = da.map_blocks(truth, X, dtype=np.float64, drop_axis=1)
    store = DaskRows(X, y, client=client)
    store.check()
    found = survey(store)
    whole = WholeData(store, found, TargetScale.of(found.mean, found.variance))
    objective = StreamedObjective("nlgpp", whole, approximation="fitc", memory_limit=2.0**31)
    basis = np.random.default_rng(1).uniform(size=(200, FEATURES))
    kernel = Gaussian(4.0, [0.5, 0.5, 0.8, 2.0, 3.0, *[10.0] * 5])
    return lambda: objective(kernel, 0.3, basis)


def _products(client: Any) -> Callable[[], Any]:
    """Return bare products, a task for each chunk."""
    chunk = WORKER_ROWS // WORKER_CHUNKS

    def product(number: int) -> float:
        V = np.random.default_rng(number).uniform(size=(200, 8192))
        return sum(float((V @ V.T)[0, 0]) for _ in range(10 * chunk // 8192))

    def work() -> list[float]:
        return client.gather(client.map(product, range(WORKER_CHUNKS), pure=False))

    return work


def estimator(basis: int, iterations: int) -> SparseGPRegressor:
    return SparseGPRegressor(max_basis=basis, max_iter=iterations, random_state=0)


def check_inputs() -> np.ndarray:
    return np.random.default_rng(10_000).uniform(size=(20_000, FEATURES))


def error(model: SparseGPRegressor) -> float:
    """Return the root mean squared error against the true function."""
    X = check_inputs()
    return float(np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2)))


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what it gives, and seconds by the clock and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def peak_gib() -> float:
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(task: str, repeats: int = REPEATS) -> dict[str, Any]:
    if task == "workers":
        return workers(repeats)
    if task.startswith("rows-"):
        return by_rows(int(task.removeprefix("rows-")))
    return {"files": files, "mapped": mapped}[task]()


# --- the command ---------------------------------------------------------------------------------


def run(tasks: Sequence[str], again: bool, repeats: int = REPEATS) -> None:
    """Measure in one process after the other, and keep what they find."""
    for task in tasks:
        path = RESULTS / f"{task}.json"
        if path.exists() and not again:
            continue
        done = subprocess.run(
            [sys.executable, *f"-m benchmarks.scale measure {task} --repeats {repeats}".split()],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1]) | _circumstances()
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_atomically(path, json.dumps(found, indent=1) + "\n")
        print(f"{task}: {found}", flush=True)


def _circumstances() -> dict[str, Any]:
    """Return the processor, and how many programs waited for it on average of a quarter hour."""
    return {"cpu": frame.machine()["cpu"], "load": round(os.getloadavg()[2], 1)}


def show() -> None:
    """Print the tables of what there is."""
    found = {path.stem: json.loads(path.read_text()) for path in RESULTS.glob("*.json")}
    print(
        f"Friedman's first function of {FEATURES} features (five mean nothing), noise with a "
        f"standard deviation of {NOISE:g}. Seconds by the clock, and of the processor in brackets; "
        "the machine may have had other work. Peak: the process' largest resident memory.\n"
    )
    _show_rows(found)
    if "mapped" in found:
        line = found["mapped"]
        print(
            f"\nMemory map of {line['rows']:,} rows x 6, {line['basis']} basis vectors, "
            f"{MAPPED_ITERATIONS} iterations: {_time(line)} s, peak {line['peak_gib']:.2f} GiB."
        )
    if "workers" in found:
        _show_workers(found["workers"])
    by_cpu: dict[str, list[str]] = {}
    for task in filter(found.__contains__, TASKS):
        line = found[task]
        busy = f" (load {line['load']})" if "load" in line else ""
        by_cpu.setdefault(line.get("cpu", "unknown"), []).append(f"`{task}`{busy}")
    recorded = "; ".join(f"{cpu}: {', '.join(tasks)}" for cpu, tasks in by_cpu.items())
    print(f"\nRecorded on {recorded}. The page was printed on the machine below.")


def _show_rows(found: dict[str, Any]) -> None:
    print(
        f"200 basis vectors, {ITERATIONS} iterations on at most 100,000 random rows, the "
        "posterior of all rows:\n\n"
        "| rows | where | RMSE against the truth | seconds | peak GiB |\n|--:|---|--:|--:|--:|"
    )
    for task in (*(f"rows-{rows}" for rows in ROWS), "files"):
        if task in found:
            line, where = found[task], "ten Parquet files" if task == "files" else "arrays"
            print(
                f"| {line['rows']:,} | {where} | {line['rmse']:.4f} | {_time(line)} | "
                f"{line['peak_gib']:.2f} |"
            )
    print(
        f"\nNoise makes at most about {NOISE:g} sqrt(200 / rows) of the error: "
        f"{NOISE * np.sqrt(200 / 1e6):.3f} at a million rows, {NOISE * np.sqrt(200 / 1e7):.3f} at "
        "ten million. The rest is what 200 basis vectors cannot follow."
    )
    if "files" in found:
        bare = found["files"]["bare_pass"]
        print(
            "\nA bare pass over the files in NumPy (read, kernel, triangular solve, product; one "
            f"thread) takes {_time(bare)} s; a fit by file makes three passes, of which one has "
            "the products: it surveys the rows, draws the sample, and makes the posterior."
        )


def _show_workers(line: dict[str, Any]) -> None:
    print(
        f"\nOne value and gradient by NLGPP of {line['rows']:,} rows with 200 basis vectors, and "
        "bare products of the same sizes run the same way, by Dask workers with a thread each "
        f"(best of {len(line['seconds']['passes_1'])}, in turns):\n\n"
        "| what | one worker, s | two workers, s | times as fast |\n|---|--:|--:|--:|"
    )
    how = {
        "seconds": "by the clock",
        "cpu_seconds_of_the_busiest": "of the processor, busiest worker",
    }
    shares = {}
    for kind, words in how.items():
        gains = []
        for work, name in (("passes", "value and gradient"), ("products", "bare products")):
            one, two = (min(line[kind][f"{work}_{workers}"]) for workers in (1, 2))
            print(f"| {name}, {words} | {one:.1f} | {two:.1f} | {one / two:.2f} |")
            gains.append(one / two)
        shares[words] = gains[0] / gains[1]
    said = ", ".join(f"{share:.2f} {words}" for words, share in shares.items())
    print(f"\nSpeed-up of value and gradient as a share of that of bare products: {said}.")
    each = line["cpu_seconds_of_the_busiest"]
    one, two, bare_one, bare_two = (
        np.array(each[f"{work}_{workers}"]) for work in ("passes", "products") for workers in (1, 2)
    )
    ratios = (one / two) / (bare_one / bare_two)
    print(
        f"By the processor, in single repeats: {', '.join(f'{ratio:.2f}' for ratio in ratios)}. "
        "Where other programs have the cores, the clock tells little."
    )


def _time(line: dict[str, Any]) -> str:
    return f"{line['seconds']:.1f} ({line['cpu_seconds']:.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make")
    for name in ("run", "measure"):
        command = commands.add_parser(name)
        command.add_argument("tasks", nargs="*", choices=[*TASKS, []], default=[])
        command.add_argument("--again", action="store_true", help="measure anew")
        command.add_argument("--repeats", type=int, default=REPEATS, help="of `workers`")
    commands.add_parser("show").add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    if options.command == "make":
        make()
    elif options.command == "run":
        run(options.tasks or TASKS, options.again, options.repeats)
    elif options.command == "measure":
        print(json.dumps(measure(options.tasks[0], options.repeats)))
    else:
        with also_on_a_page("scale show", "Many rows", options.write, page="scale"):
            show()


if __name__ == "__main__":
    main()
