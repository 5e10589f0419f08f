"""The frame: suites of runs, their records, and the loop that fills in what is missing.

A run is one method on one partition of one data set. It gives one record: metrics, curves,
seconds, parameters, seed, versions, commit and machine. The records of a data set are the lines of
``results/<suite>/<task>.jsonl``; the file is replaced in one step after every run, so that an
interrupted suite keeps what it has and goes on from there. A run that fails leaves a record that
says why, and is tried again the next time.

What several runs share (hyperparameters, for instance) is prepared once for each data set and
partition and kept in ``results/prepared/<group>/``.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import signal
import subprocess
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs" / "results"

Record = dict[str, Any]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """A data set, with what the suite needs to know about it."""

    name: str
    title: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A way to fit a model, with its parameters."""

    name: str
    title: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Tasks x methods x partitions, and the functions that run, prepare and render them.

    Attributes
    ----------
    name, title : str
    tasks, methods : sequences of Task and Method
    metrics : sequence of str
        Names that every record's ``metrics`` must hold.
    repeats : int
        Partitions by default: the paper's number, or what is affordable.
    run : callable ``(task, method, partition, prepared) -> {"metrics": ..., "curves": ...}``
        At module level, so that worker processes can import it.
    render : callable ``(suite, records, folder) -> path of the page``
    prepare : callable ``(task, partition) -> JSON-able``, or None
    prepared_in : str or None
        Group under which preparations are kept; suites of one group share them. None: the
        suite's own name.
    prepare_once : bool
        One preparation for a task, not one for each of its partitions.
    applies : callable ``(task, method) -> bool``, or None
        Which methods are run on which tasks. None: all on all.
    """

    name: str
    title: str
    tasks: Sequence[Task]
    methods: Sequence[Method]
    metrics: Sequence[str]
    repeats: int
    run: Callable[[Task, Method, int, Any], dict[str, Any]]
    render: Callable[[Suite, list[Record], Path], Path]
    prepare: Callable[[Task, int], Any] | None = None
    prepared_in: str | None = None
    prepare_once: bool = False
    applies: Callable[[Task, Method], bool] | None = None


@dataclass(frozen=True)
class Run:
    """One method on one partition of one task."""

    suite: Suite
    task: Task
    method: Method
    partition: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.task.name, self.method.name, self.partition

    @property
    def parameters(self) -> dict[str, Any]:
        """What decides the outcome, as it is stored: a record with other parameters is stale."""
        return plain({"task": self.task.parameters, "method": self.method.parameters})

    def __str__(self) -> str:
        return f"{self.task.name:<12} {self.method.name:<16} partition {self.partition}"


def runs_of(
    suite: Suite,
    repeats: int,
    only: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> list[Run]:
    """All runs of a suite, partition by partition, so that an early stop leaves whole tables."""
    tasks = _chosen(suite.tasks, only, "data set", suite)
    chosen = _chosen(suite.methods, methods, "method", suite)
    applies = suite.applies or (lambda task, method: True)
    pairs = [(t, m) for t in tasks for m in chosen if applies(t, m)]
    return [Run(suite, t, m, p) for p in range(repeats) for t, m in pairs]


def _chosen(parts: Sequence, names: Sequence[str] | None, kind: str, suite: Suite) -> list:
    if not names:
        return list(parts)
    known = {part.name for part in parts}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"Suite {suite.name} has no {kind} {', '.join(unknown)}; "
            f"choose from {', '.join(sorted(known))}."
        )
    return [part for part in parts if part.name in names]


# Storage -----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The value as JSON gives it back: lists for arrays and tuples, Python numbers."""
    return json.loads(json.dumps(value, default=lambda other: other.tolist()))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that readers see the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def records_path(suite: Suite, task: str, results: Path) -> Path:
    return results / suite.name / f"{task}.jsonl"


def read_records(suite: Suite, results: Path = RESULTS) -> list[Record]:
    """All records of the suite's tasks, in the order of the files."""
    return [r for task in suite.tasks for r in _read(records_path(suite, task.name, results))]


def _read(path: Path) -> list[Record]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def key_of(record: Record) -> tuple[str, str, int]:
    return record["task"], record["method"], record["partition"]


def store(suite: Suite, record: Record, results: Path = RESULTS) -> None:
    """Add a record to its file, in place of an older record of the same run."""
    path = records_path(suite, record["task"], results)
    records = [r for r in _read(path) if key_of(r) != key_of(record)]
    order = {method.name: k for k, method in enumerate(suite.methods)}
    records.append(plain(record))
    records.sort(key=lambda r: (r["partition"], order.get(r["method"], len(order)), r["method"]))
    write_atomically(path, "".join(json.dumps(r) + "\n" for r in records))


def is_complete(suite: Suite, record: Record) -> bool:
    """Whether the run succeeded and gave all metrics that the suite asks for now."""
    return record["status"] == "ok" and all(name in record["metrics"] for name in suite.metrics)


def is_done(run: Run, recorded: dict[tuple[str, str, int], Record]) -> bool:
    """Whether the run is recorded, complete, and had the parameters it would have now."""
    record = recorded.get(run.key)
    return (
        record is not None
        and is_complete(run.suite, record)
        and record["parameters"] == run.parameters
    )


def prepared_path(run: Run, results: Path) -> Path:
    group = run.suite.prepared_in or run.suite.name
    part = "" if run.suite.prepare_once else f"-{run.partition}"
    return results / "prepared" / group / f"{run.task.name}{part}.json"


# Running -----------------------------------------------------------------------------------------


def prepare_run(run: Run, results: Path = RESULTS) -> str | None:
    """Make and store what the run's preparation gives; the error as text if it fails."""
    assert run.suite.prepare is not None
    try:
        start = time.perf_counter()
        content = plain(run.suite.prepare(run.task, run.partition))
        content = {"seconds": time.perf_counter() - start, "content": content}
        write_atomically(prepared_path(run, results), json.dumps(content, indent=1) + "\n")
    except Exception:
        return traceback.format_exc()
    return None


def execute(run: Run, results: Path = RESULTS) -> Record:
    """Run once and return the record; a failure is a record too."""
    start = time.perf_counter()
    outcome: dict[str, Any] = {"metrics": {}, "curves": {}}
    status, error = "ok", None
    try:
        prepared = None
        if run.suite.prepare is not None:
            prepared = json.loads(prepared_path(run, results).read_text())["content"]
        outcome.update(run.suite.run(run.task, run.method, run.partition, prepared))
        missing = [name for name in run.suite.metrics if name not in outcome["metrics"]]
        if missing:
            raise KeyError(f"the run gave no {', '.join(missing)}")
    except Exception:
        status, error = "failed", traceback.format_exc()
    return record_of(run, status, error, time.perf_counter() - start, outcome)


def record_of(
    run: Run, status: str, error: str | None, seconds: float, outcome: dict[str, Any]
) -> Record:
    return plain(
        {
            "suite": run.suite.name,
            "task": run.task.name,
            "method": run.method.name,
            "partition": run.partition,
            "seed": run.partition,
            "status": status,
            "error": error,
            "seconds": round(seconds, 4),
            **outcome,
            "parameters": run.parameters,
            "versions": versions(),
            "code": code(),
            "machine": machine(),
        }
    )


def run_suite(
    suite: Suite,
    *,
    repeats: int | None = None,
    only: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
    results: Path = RESULTS,
    report: Callable[[str], None] = print,
) -> int:
    """Do the runs of a suite that are not recorded yet.

    Returns
    -------
    int
        Number of runs that failed.
    """
    runs = runs_of(suite, suite.repeats if repeats is None else repeats, only, methods)
    recorded = {key_of(r): r for r in read_records(suite, results)}
    todo = [run for run in runs if not is_done(run, recorded)]
    report(f"{suite.name}: {len(runs)} runs, {len(runs) - len(todo)} recorded, {len(todo)} to do")
    todo, failed = _prepare_all(todo, jobs, results, report)
    for done, (run, outcome) in enumerate(_each(execute, todo, jobs, results), start=1):
        record = outcome
        if not isinstance(record, dict):
            record = record_of(run, "failed", outcome, 0.0, {"metrics": {}, "curves": {}})
        store(suite, record, results)
        failed += record["status"] != "ok"
        report(f"[{done}/{len(todo)}] {run} {record['seconds']:8.1f} s  {_summary(record)}")
    return failed


def _summary(record: Record) -> str:
    if record["status"] != "ok":
        return "FAILED: " + record["error"].strip().splitlines()[-1]
    return "  ".join(f"{name} {value:.4g}" for name, value in record["metrics"].items())


def _prepare_all(
    todo: list[Run], jobs: int, results: Path, report: Callable[[str], None]
) -> tuple[list[Run], int]:
    """Prepare what is missing; the runs that can go on, and the number that cannot."""
    if not todo or todo[0].suite.prepare is None:
        return todo, 0
    missing = {prepared_path(run, results): run for run in todo}
    missing = {path: run for path, run in missing.items() if not path.exists()}
    errors: dict[Path, str] = {}
    start = time.perf_counter()
    for run, error in _each(prepare_run, list(missing.values()), jobs, results):
        path = prepared_path(run, results)
        if error is not None:
            errors[path] = error
        outcome = "ready" if error is None else "FAILED: " + error.strip().splitlines()[-1]
        elapsed = time.perf_counter() - start
        report(f"prepared {path.parent.name}/{path.stem:<16} {elapsed:8.1f} s so far  {outcome}")
    for run in todo:
        error = errors.get(prepared_path(run, results))
        if error is not None:
            empty: dict[str, Any] = {"metrics": {}, "curves": {}}
            store(run.suite, record_of(run, "failed", error, 0.0, empty), results)
    ready = [run for run in todo if prepared_path(run, results) not in errors]
    return ready, len(todo) - len(ready)


def _each(
    function: Callable[[Run, Path], Any], runs: Iterable[Run], jobs: int, results: Path
) -> Iterator[tuple[Run, Any]]:
    """``(run, function(run, results))`` as they finish, here or in ``jobs`` processes.

    A worker that dies (killed for want of memory, say) gives an error text for the runs that were
    in flight; the others go on in fresh workers.
    """
    waiting = list(runs)
    if jobs <= 1:
        with _interrupt_noted() as interrupted:
            for run in waiting:
                outcome = function(run, results)
                if interrupted.is_set():
                    raise KeyboardInterrupt
                yield run, outcome
        return
    waiting.reverse()
    while waiting:
        with _worker_pool(jobs) as pool:
            flying: dict[Future, Run] = {}
            broken = False
            while flying or (waiting and not broken):
                while waiting and len(flying) < jobs and not broken:
                    try:
                        future = pool.submit(function, waiting[-1], results)
                    except BrokenProcessPool:
                        broken = True
                    else:
                        flying[future] = waiting.pop()
                for future in wait(list(flying), return_when=FIRST_COMPLETED).done:
                    run = flying.pop(future)
                    try:
                        yield run, future.result()
                    except BrokenProcessPool:
                        broken = True
                        yield run, "the worker process died (out of memory?); use fewer --jobs"


@contextmanager
def _interrupt_noted() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, beside raising KeyboardInterrupt.

    A fit may take the exception for itself and return the model it has so far; the run must not
    count then.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def note(number: int, stack_frame: Any) -> None:
        event.set()
        signal.default_int_handler(number, stack_frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _worker_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that share the cores: BLAS reads its number of threads when it is loaded."""
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, threads)
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


# Where it ran ------------------------------------------------------------------------------------


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python, of the packages that decide the numbers, and of the BLAS."""
    found = {"python": platform.python_version()}
    for package in ("greedygp", "numpy", "scipy", "scikit-learn"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    found["blas"] = _blas()
    return found


@functools.cache
def code() -> str | None:
    """The commit, with a plus where the library or the suites differ from it; None: unknown."""
    try:
        commit = _git("rev-parse", "--short=7", "HEAD")
        changed = _git("status", "--porcelain", "--", "../src", "suites")
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def _git(*arguments: str) -> str:
    folder = Path(__file__).parent
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def _blas() -> str:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown"
    import numpy  # noqa: F401  (the library has to be loaded to be seen)

    libraries = [info for info in threadpool_info() if info.get("user_api") == "blas"]
    names = {_name_of(info) for info in libraries}
    return ", ".join(sorted(names)) or "unknown"


def _name_of(library: dict[str, Any]) -> str:
    """Return name and version of a BLAS library, and the processor whose routines it uses."""
    name, processor = f"{library['internal_api']} {library['version']}", library.get("architecture")
    return f"{name} for {processor}" if processor else name


def machine() -> dict[str, Any]:
    """CPU model, cores, BLAS threads asked for, operating system."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "system": platform.system(),
    }
