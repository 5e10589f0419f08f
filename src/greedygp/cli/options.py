"""Options that several commands share, and checks of where results go."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from greedygp.cli.errors import OutputProblem
from greedygp.cli.screen import Screen

__all__ = ["check_writable", "common", "learning", "reading", "recipe_of", "source_of"]


def common(function: Callable) -> Callable:
    """Add --json, --quiet and --debug; the command gets a `screen`."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
    @click.option("--quiet", is_flag=True, help="No remarks, warnings or progress bar.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(function)
    def command(*arguments: Any, as_json: bool, quiet: bool, debug: bool, **options: Any) -> Any:
        screen = Screen(as_json, quiet)
        with screen.warnings_shown():
            return function(*arguments, screen=screen, **options)

    return command


def reading(function: Callable) -> Callable:
    """Add the options that say how a data file is written."""
    formats = click.Choice(["csv", "tsv", "parquet", "feather", "npz"])
    for option in (
        click.option("--decimal", default=".", help="Decimal mark of a text file.", metavar="MARK"),
        click.option("--separator", help="Between the fields of a text file.", metavar="MARK"),
        click.option("--format", type=formats, help="Default: by the file's name; a pipe is CSV."),
    ):
        function = option(function)
    return function


def learning(function: Callable) -> Callable:
    """Add the options that say what is learnt from a table, and how."""
    tasks = click.Choice(["auto", "regression", "classification"])
    for option in (
        click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Any parameter of the model, e.g. --set criterion=nlgpp. Repeatable.",
        ),
        click.option(
            "--time-limit",
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            help="End each fit after this time with what it has.",
        ),
        click.option("--max-basis", type=click.IntRange(1), help="The most basis vectors."),
        click.option(
            "--max-categories",
            type=click.IntRange(2),
            default=50,
            show_default=True,
            help="The most different words a column may have.",
        ),
        click.option(
            "--categorical", multiple=True, metavar="COLUMN", help="Numbers that are names."
        ),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out."),
        click.option("--task", type=tasks, default="auto", show_default=True),
        click.option("--target", required=True, metavar="COLUMN", help="What to predict."),
    ):
        function = option(function)
    return function


def source_of(path: str, options: dict[str, Any], text_columns: tuple = ()) -> Any:
    """Return the source of a table from the options of `reading`."""
    from greedygp.tables.reading import Source

    return Source(
        path,
        options["format"],
        options["separator"],
        options["decimal"],
        tuple(text_columns),
    )


def recipe_of(options: dict[str, Any], *, strict: bool, **more: Any) -> Any:
    """Return the recipe from the options of `learning`.

    With `strict`, a model that has no --max-basis or --time-limit is refused where one is given.
    """
    from greedygp.tables.families import parsed_settings
    from greedygp.tables.training import Recipe

    named = ("max_basis", "time_limit")
    limits = {name: options[name] for name in named if options[name] is not None}
    settings = parsed_settings(options["settings"])
    return Recipe(
        target=options["target"],
        task=options["task"],
        settings=(limits if strict else {}) | settings,
        offered=limits,
        drop=list(options["drop"]),
        categories=list(options["categorical"]),
        most_words=options["max_categories"],
        seed=options["seed"],
        **more,
    )


def check_writable(path: str | None, *inputs: str) -> None:
    """Raise unless a file can be written at the path, before any work is done."""
    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OutputProblem(f"{path} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise OutputProblem(f"There is no folder {target.parent} to write {target.name} to.")
    if not os.access(target.parent, os.W_OK):
        raise OutputProblem(f"The folder {target.parent} may not be written to.")
    for other in inputs:
        if target.exists() and Path(other).exists() and target.samefile(other):
            raise OutputProblem(f"{path} is the input; write the result to another file.")
