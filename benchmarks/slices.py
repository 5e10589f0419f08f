"""Many short runs in processes of their own: results are lines of JSON, and a run is done once.

A program gives a list of runs (dictionaries of plain values) and a function that does one of them.
Every result is written at once, as a line with the run's own entries before what came out. Started
again on the same file, the program goes on with what is missing; a failed run is tried again. Work
may be shared by any number of processes (``--jobs``), and broken off after some seconds.

Nothing is imported but NumPy, SciPy and scikit-learn (any version since 1.6): the runs can be made
on a machine where nothing can be installed. What greedygp needs besides has a stand-in in
:func:`bare_machine`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

Run = dict[str, Any]
Work = Callable[[Run], Run]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def arguments(description: str, path: Path) -> argparse.ArgumentParser:
    """A parser with what all such programs know."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--results", type=Path, default=path, metavar="FILE", help="lines of JSON")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no further run after so many"
    )
    parser.add_argument("--report", action="store_true", help="only show what is there")
    parser.add_argument("--write", action="store_true", help="write the page of the docs, too")
    return parser


def show(
    report: Callable[[list[Run]], bool], options: argparse.Namespace, name: str, title: str
) -> None:
    """Print the report of what is there; write it to the page of this name if asked to."""
    results = read(options.results)
    if not options.write:
        report(results)
        return
    from benchmarks.printed_page import also_on_a_page  # needs more than a bare machine has

    with also_on_a_page(name, title, True, arguments="--report", verbatim=True):
        report(results)


def read(path: Path) -> list[Run]:
    """The results so far; a line that was broken off is passed over."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def missing(runs: Iterable[Run], results: Sequence[Run]) -> list[Run]:
    """Those of the runs that no good result is of."""
    good = [result for result in results if "error" not in result]
    return [run for run in runs if not any(run.items() <= result.items() for result in good)]


def do(
    runs: Sequence[Run],
    work: Work,
    path: Path,
    *,
    jobs: int = 1,
    seconds: float = float("inf"),
) -> int:
    """Do the runs that are missing; returns how many are still missing afterwards."""
    todo = missing(runs, read(path))
    print(f"{len(runs)} runs, {len(runs) - len(todo)} recorded, {len(todo)} to do", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    for result in (_in_turn if jobs == 1 else _side_by_side)(todo, work, jobs, end):
        line = json.dumps(result)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)
    return len(missing(runs, read(path)))


def _in_turn(todo: list[Run], work: Work, jobs: int, end: float) -> Iterator[Run]:
    """Results of this process."""
    bare_machine()
    with threadpool_limits(1):
        for run in todo:
            if time.monotonic() >= end:
                return
            yield _done(work, run)


def _side_by_side(todo: list[Run], work: Work, jobs: int, end: float) -> Iterator[Run]:
    """Results of several processes, as they come."""
    for variable in THREAD_VARIABLES:  # the processes inherit them, before they load a BLAS
        os.environ[variable] = "1"
    left, running = list(todo), set()
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=bare_machine) as pool:
        while left or running:
            while left and len(running) < jobs and time.monotonic() < end:
                running.add(pool.submit(_done, work, left.pop(0)))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


def _done(work: Work, run: Run) -> Run:
    """The run with what came out of it; an error is a result, too."""
    begin = time.perf_counter()
    try:
        result = work(run)
    except Exception:
        result = {"error": traceback.format_exc()}
    return {**run, **result, "seconds": round(time.perf_counter() - begin, 3)}


# A machine where nothing can be installed ---------------------------------------------------------


def bare_machine() -> None:
    """Make greedygp importable with NumPy, SciPy and scikit-learn alone.

    The array API's layer is taken from the copy inside scikit-learn, where it is not installed.
    """
    if importlib.util.find_spec("array_api_compat") is None:
        from sklearn.externals import array_api_compat

        sys.modules["array_api_compat"] = array_api_compat
