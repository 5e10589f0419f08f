"""`greedygp bench`: the papers' experiments, which live beside the package in a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from greedygp.cli.errors import Unavailable
from greedygp.cli.options import common
from greedygp.cli.screen import Screen

__all__ = ["bench", "checkout"]


@click.command(
    short_help="Run the papers' experiments.",
    context_settings={"ignore_unknown_options": True},
    epilog="\b\nExamples:\n"
    "  greedygp bench\n"
    "  greedygp bench predictive_fixed --only boston --repeats 3",
)
@click.argument("suite", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@common
def bench(screen: Screen, suite: str | None, arguments: tuple[str, ...]) -> None:
    """Run a SUITE of the papers' experiments; without a name, list them.

    The suites are part of the repository, not of the installed package: run this inside a
    checkout. Further ARGUMENTS go to the suite.
    """
    root = checkout(Path.cwd())
    if root is None:
        raise Unavailable(
            "The suites are in the folder benchmarks/ of greedygp's repository, and this is not a "
            "checkout of it: get the source (the repository, or the source distribution of this "
            "version), and run the command in its folder."
        )
    what = ["list"] if suite is None else ["run", suite, *arguments]
    done = subprocess.run([sys.executable, "-m", "benchmarks", *what], cwd=root, check=False)
    screen.result({"suite": suite, "exit_code": done.returncode})
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)


def checkout(start: Path) -> Path | None:
    """Return the folder above `start`, or itself, that holds greedygp's suites; None: none does."""
    for folder in (start, *start.parents):
        if (folder / "benchmarks" / "suites").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    return None
