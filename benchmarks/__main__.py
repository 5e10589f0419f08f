"""Command line: ``python -m benchmarks run|render SUITE|all``, ``index``, ``list``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import frame, paper_index
from benchmarks.suites import SUITES
from greedygp import datasets


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="suites, their data sets, methods and state")
    run = commands.add_parser("run", help="do the runs that are not recorded yet")
    run.add_argument("suite", choices=[*SUITES, "all"])
    run.add_argument("--repeats", type=int, help="partitions of each data set")
    run.add_argument("--only", nargs="+", metavar="DATASET", help="these data sets only")
    run.add_argument("--methods", nargs="+", metavar="METHOD", help="these methods only")
    run.add_argument("--jobs", type=int, default=1, help="processes at a time (1: measure times)")
    render = commands.add_parser("render", help="write docs/results from the records")
    render.add_argument("suite", choices=[*SUITES, "all"])
    index = commands.add_parser("index", help="write the list of the papers' tables and figures")
    for command in (run, render):
        command.add_argument("--results", type=Path, default=frame.RESULTS, help="records' folder")
    for command in (render, index):
        command.add_argument("--docs", type=Path, default=frame.DOCS, help="folder of the pages")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "list":
        return list_suites()
    if options.command == "index":
        print(paper_index.write_index(options.docs))
        return 0
    names = list(SUITES) if options.suite == "all" else [options.suite]
    if options.command == "run":
        return run(names, options)
    for name in names:
        render(SUITES[name], options)
    paper_index.write_index(options.docs)
    return 0


def render(suite: frame.Suite, options: argparse.Namespace) -> None:
    """Write a suite's page; successes that lack a metric are of an older suite and left out."""
    records = [
        record
        for record in frame.read_records(suite, options.results)
        if record["status"] != "ok" or frame.is_complete(suite, record)
    ]
    if any(record["status"] == "ok" for record in records):
        print(suite.render(suite, records, options.docs))
    else:
        print(f"{suite.name}: nothing recorded yet; run it first")


def run(names: Sequence[str], options: argparse.Namespace) -> int:
    failed = 0
    for name in names:
        for task in SUITES[name].tasks:
            if task.name in datasets.SUPPLIED and task.name not in datasets.available():
                print(f"no data for {task.title}. {datasets.SUPPLIED[task.name].source}")
        try:
            failed += frame.run_suite(
                SUITES[name],
                repeats=options.repeats,
                only=options.only,
                methods=options.methods,
                jobs=options.jobs,
                results=options.results,
                report=lambda line: print(line, flush=True),
            )
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
    if failed:
        print(f"{failed} runs failed; their records say why", file=sys.stderr)
    return 1 if failed else 0


def list_suites() -> int:
    for suite in SUITES.values():
        records = frame.read_records(suite)
        done = sum(record["status"] == "ok" for record in records)
        print(f"{suite.name}: {suite.title}")
        print(f"  data sets  {', '.join(task.name for task in suite.tasks)}")
        print(f"  methods    {', '.join(method.name for method in suite.methods)}")
        print(f"  partitions {suite.repeats}; recorded {done} runs, {len(records) - done} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
