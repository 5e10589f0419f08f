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

__all__ = [
    "check_new",
    "check_writable",
    "common",
    "learning",
    "reading",
    "recipe_of",
    "source_of",
    "table_and_recipe",
]


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


def _one_mark(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """Return the single character that an option needs; a tab may be spelt out."""
    mark = {"\\t": "\t", "tab": "\t", "space": " "}.get((given or "").lower(), given)
    if mark is not None and len(mark) != 1:
        raise click.BadParameter(f"{given!r} is not a single character.", context, option)
    return mark


def reading(function: Callable) -> Callable:
    """Add the options that say how a data file is written."""
    formats = click.Choice(["csv", "tsv", "parquet", "feather", "npz", "xlsx"])
    for option in (
        click.option(
            "--missing",
            multiple=True,
            metavar="WORD",
            help="A word that means missing, such as '?'. Repeatable.",
        ),
        click.option("--encoding", metavar="NAME", help="Of a text file. Default: UTF-8."),
        click.option(
            "--decimal",
            default=".",
            callback=_one_mark,
            help="Decimal mark of a text file.",
            metavar="MARK",
        ),
        click.option(
            "--separator",
            callback=_one_mark,
            help="Between the fields of a text file; ' ' is any number of spaces.",
            metavar="MARK",
        ),
        click.option("--sheet", metavar="NAME", help="Of a workbook. Default: the first one."),
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
            help="Any parameter of the model, e.g. criterion=nlgpp or 'kernel=Matern(nu=1.5)'. "
            "Repeatable.",
        ),
        click.option(
            "--time-limit",
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            help="End each fit after this time with what it has.",
        ),
        click.option("--max-basis", type=click.IntRange(1), help="Most basis vectors to use."),
        click.option(
            "--max-categories",
            type=click.IntRange(2),
            default=50,
            show_default=True,
            help="Maximum number of different words in a column.",
        ),
        click.option(
            "--numeric",
            multiple=True,
            metavar="COLUMNS",
            help="Columns to treat as numbers, even if they look like identifiers.",
        ),
        click.option(
            "--categorical",
            multiple=True,
            metavar="COLUMNS",
            help="Columns to treat as words, even if they look like numbers.",
        ),
        click.option(
            "--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out: a,b,c."
        ),
        click.option("--task", type=tasks, default="auto", show_default=True),
        click.option("--target", required=True, metavar="COLUMN", help="What to predict."),
    ):
        function = option(function)
    return function


def source_of(
    path: str, options: dict[str, Any], text_columns: tuple = (), missing: tuple = ()
) -> Any:
    """Return the source of a table from the options of `reading`.

    Words that mean missing are those given and those of the options.
    """
    from greedygp.tables.source import Source

    return Source(
        path,
        format=options["format"],
        separator=options["separator"],
        decimal=options["decimal"],
        encoding=options["encoding"],
        missing=(*missing, *options["missing"]),
        text_columns=tuple(text_columns),
        sheet=options["sheet"],
    )


def table_and_recipe(
    path: str, options: dict[str, Any], *, strict: bool, **more: Any
) -> tuple[Any, str, Any]:
    """Read a table; return it, its digest, and the recipe from the options of `learning`.

    With `strict`, a model that has no --max-basis or --time-limit is refused where one is given.
    """
    from greedygp.tables.reading import read

    words = tuple(name for given in options["categorical"] for name in (given, *given.split(",")))
    table, digest = read(source_of(path, options, words))
    return table, digest, recipe_of(options, list(table.columns), strict, **more)


def _columns(given: tuple[str, ...], known: list[str]) -> list[str]:
    """Return the columns that an option names: one, or several with commas between them."""
    names: list[str] = []
    for text in given:
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return list(dict.fromkeys(names))


def recipe_of(options: dict[str, Any], known: list[str], strict: bool, **more: Any) -> Any:
    """Return the recipe from the options of `learning`, for a table with these columns."""
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
        drop=_columns(options["drop"], known),
        categories=_columns(options["categorical"], known),
        numbers=_columns(options["numeric"], known),
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


def check_new(path: str, overwrite: bool) -> None:
    """Raise if a file is there that the user may want to keep."""
    if Path(path).exists() and not overwrite:
        raise OutputProblem(
            f"{path} exists already; name another file with --out, or give --overwrite."
        )
