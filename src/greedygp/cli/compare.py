"""`greedygp compare`: greedygp's families and scikit-learn's baselines by cross-validation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import click

from greedygp.cli import interruption
from greedygp.cli.fit import PERCENT
from greedygp.cli.options import common, learning, reading, table_and_recipe
from greedygp.cli.screen import Screen, number

__all__ = ["compare"]

COLUMNS = {
    "regression": {"nmse": "NMSE", "nlpd": "NLPD", "coverage_95": "95 % covers"},
    "classification": {"error": "error", "log_loss": "log loss", "calibration_error": "cal. error"},
}


@click.command(
    short_help="Compare models by cross-validation.",
    epilog="\b\nExamples:\n"
    "  greedygp compare houses.csv --target price\n"
    "  greedygp compare houses.csv --target price --folds 10 --only sparsegp --only ridge\n"
    "  greedygp compare houses.csv --target price --slow --per-model 300",
)
@click.argument("data")
@learning
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@click.option("--only", multiple=True, metavar="NAME", help="Only this model. Repeatable.")
@click.option(
    "--per-model",
    type=click.FloatRange(0),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for a model of greedygp, all folds together; its fits end with what they have. "
    "0: no limit. --time-limit is for each fit instead.",
)
@click.option("--slow", is_flag=True, help="Also models that are slow on so many rows.")
@reading
@common
def compare(screen: Screen, data: str, **options: Any) -> None:
    """Compare all families and a few of scikit-learn's models on DATA by cross-validation.

    Each model sees the same folds; columns are encoded on the training part of each. Scores are
    means over the folds, the best model is first. Ctrl-C prints what is there.
    """
    from greedygp.tables.comparison import candidates
    from greedygp.tables.training import prepare

    table, _, recipe = table_and_recipe(data, options, strict=False, test=0.0)
    screen.read(table, data)
    ready = prepare(table, recipe)
    _check_folds(ready, options["folds"])
    for sentence in (*ready.target.assumptions, *ready.encoder.assumptions_):
        screen.note(f"Assumed: {sentence}")
    models = candidates(ready.target.task, recipe)
    chosen, slow = _chosen(models, ready, options)
    if slow:
        screen.note(
            f"Left out: {', '.join(slow)}; slow on {len(ready.rows)} rows. --slow compares them, "
            "too."
        )
    lines: list[Any] = []
    stopped = False
    try:
        _judge(screen, {name: models[name] for name in chosen}, ready, recipe, options, lines)
    except KeyboardInterrupt:
        stopped = True
    if lines:
        _show(screen, lines, ready, recipe, options["folds"])
    code = int(interruption.code()) if stopped else 0
    if stopped:
        done = "no model was" if not lines else f"{len(lines)} of {len(chosen)} models were"
        click.echo(f"Interrupted; {done} compared.", err=True)
    told = {"task": ready.target.task, "folds": options["folds"], "left_out": slow}
    told |= {"interrupted": True, "exit_code": code} if stopped else {}
    screen.result(told | {"models": [dataclasses.asdict(line) for line in lines]})
    if stopped:
        raise click.exceptions.Exit(code)


def _check_folds(ready: Any, folds: int) -> None:
    """Raise unless every fold has rows enough for a score."""
    from greedygp.tables.problems import DataProblem

    rows = len(ready.rows)
    if rows < 2 * folds:
        raise DataProblem(
            f"{rows} rows make {folds} folds of a single row, which no score can be made of; give "
            f"--folds {rows // 2} or fewer."
        )


def _chosen(
    models: dict[str, Any], ready: Any, options: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the names of the models to compare, and of those that are left out as too slow."""
    from greedygp.tables.comparison import CHOOSES, slow_ones

    if options["only"]:
        return list(dict.fromkeys(_named(name, models) for name in options["only"])), []
    names = [name for name in models if name != CHOOSES]
    rows = int(len(ready.rows) * (1.0 - 1.0 / options["folds"]))
    slow = [] if options["slow"] else slow_ones(names, rows)
    return [name for name in names if name not in slow], slow


def _named(name: str, models: Iterable[str]) -> str:
    """Return the model that is meant by its name, a word of it, or the name of its class."""
    from greedygp.tables.families import short_name
    from greedygp.tables.problems import DataProblem, did_you_mean

    wanted = short_name(name).replace("-", " ").replace("_", " ")
    for model in models:
        if wanted in (model, *model.split()):
            return model
    hint = did_you_mean(name, list(models)).replace("its columns", "the models")
    raise DataProblem(f"There is no model {name!r} to compare; {hint}")


def _judge(
    screen: Screen,
    models: dict[str, Any],
    ready: Any,
    recipe: Any,
    options: dict[str, Any],
    lines: list[Any],
) -> None:
    """Cross-validate the models one after the other; what is done is appended to `lines`."""
    from greedygp.tables.comparison import cross_validated

    folds, seconds = options["folds"], options["per_model"] or None
    first = next(iter(COLUMNS[ready.target.task]))
    with screen.tasks("Comparing", len(models) * folds) as show:
        for place, (name, estimator) in enumerate(models.items()):

            def watch(done: int, name: str = name, before: int = place * folds) -> None:
                show(before + done, f"{name}: {done} of {folds} folds")

            show(place * folds, f"{name}: 0 of {folds} folds")
            line = cross_validated(name, estimator, ready, recipe, folds, seconds, watch)
            lines.append(line)
            title = COLUMNS[ready.target.task][first]
            found = "failed" if line.failed else f"{title} {number(line.scores.get(first))}"
            screen.note(f"{name}: {found}, {line.seconds:.1f} s")


def _show(screen: Screen, lines: list[Any], ready: Any, recipe: Any, folds: int) -> None:
    """Print the table, best first, and what is to be said of some of its lines."""
    columns = COLUMNS[ready.target.task]
    first = next(iter(columns))
    lines.sort(key=lambda line: line.scores.get(first, float("inf")))
    cells = [
        [line.model + " *" * bool(line.cut_short), *_cells(line, columns), f"{line.seconds:.1f}"]
        for line in lines
    ]
    screen.table(
        f"{recipe.target}: {folds}-fold cross-validation on {len(ready.rows)} rows",
        ["model", *columns.values(), "seconds"],
        cells,
    )
    short = [line.model for line in lines if line.cut_short]
    if short:
        screen.note(
            f"* Fits of {', '.join(short)} were ended by the time for a model; --per-model gives "
            "more."
        )
    for line in lines:
        if line.failed:
            screen.note(f"{line.model} failed: {line.failed}")


def _cells(line: Any, columns: dict[str, str]) -> list[str]:
    values = [(name, line.scores.get(name)) for name in columns]
    return [
        f"{value:.1%}" if name in PERCENT and value is not None else number(value)
        for name, value in values
    ]
