"""A suite that needs no data and no estimator, with calls counted in files."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from benchmarks import pages
from benchmarks.frame import Method, Suite, Task


def count(kind):
    """Add to, or read, the number of calls; files, because workers are other processes."""
    with (Path(os.environ["MADE_UP_COUNTS"]) / kind).open("a") as stream:
        stream.write(".")


def prepare(task, partition):
    count("prepare")
    if task.parameters.get("cannot_prepare"):
        raise FileNotFoundError("no such data; set GREEDYGP_DATA")
    return {"shift": 10 * partition}


def run(task, method, partition, prepared):
    count("run")
    if method.parameters.get("fails"):
        raise RuntimeError("the model did not fit")
    if method.parameters.get("takes_interrupts"):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    if method.parameters.get("dies"):
        os._exit(1)
    value = task.parameters["level"] + method.parameters.get("offset", 0) + prepared["shift"]
    return {"metrics": {"error": float(value)}, "curves": {"size": [1, 2], "error": [2.0, 1.0]}}


def render(suite, records, folder):
    lines = [f"# {suite.title}", "", pages.partitions_line(suite, records), ""]
    return pages.write_page(folder, suite, [*lines, *pages.provenance(suite, records)])


def make_suite(tasks=None, methods=None, **changes):
    parts = {
        "name": "made_up",
        "title": "Made up",
        "tasks": tasks or [Task("a", "Set A", {"level": 1}), Task("b", "Set B", {"level": 2})],
        "methods": methods or [Method("x", "X"), Method("y", "Y", {"offset": 0.5})],
        "metrics": ["error"],
        "repeats": 2,
        "run": run,
        "render": render,
        "prepare": prepare,
    }
    return Suite(**{**parts, **changes})
