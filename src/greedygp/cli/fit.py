"""`greedygp fit`: a table in, a model (and a report) out."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from greedygp.cli import interruption
from greedygp.cli.options import (
    check_new,
    check_writable,
    common,
    learning,
    reading,
    table_and_recipe,
)
from greedygp.cli.screen import Screen, number
from greedygp.cli.streaming import is_streamed, streaming, trained_from_files

if TYPE_CHECKING:
    from greedygp.tables.training import Trained

__all__ = ["fit", "summary_lines"]

SCORES = {
    "r2": "R2 (1 perfect, 0 as good as the mean)",
    "nmse": "NMSE (0 perfect, 1 as good as the mean)",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "nlpd": "NLPD (smaller is better)",
    "coverage_95": "inside the 95 % interval",
    "error": "error rate",
    "balanced_error": "error rate, classes weighted equally",
    "log_loss": "log loss (smaller is better)",
    "calibration_error": "calibration error (0 perfect)",
}
PERCENT = ("coverage_95", "error", "balanced_error")


@click.command(
    short_help="Fit a model to a table.",
    epilog="\b\nExamples:\n"
    "  greedygp fit houses.csv --target price\n"
    "  greedygp fit houses.parquet --target price --test 0 --out houses.skops\n"
    "  greedygp fit 'parts/*.parquet' --target price --memory 2GB\n"
    "  greedygp fit houses.csv --target price --drop id --set criterion=nlgpp\n"
    "  zcat houses.csv.gz | greedygp fit - --target price --json",
)
@click.argument("data")
@learning
@click.option(
    "--model",
    metavar="NAME",
    help="The family, e.g. SparseGPRegressor, or sparsegp. Default: by the number of rows.",
)
@click.option(
    "--test",
    type=click.FloatRange(0, 0.9),
    default=0.2,
    show_default=True,
    help="Share of the rows held out to judge the model; 0: leave-one-out instead.",
)
@click.option("--out", default="model.skops", show_default=True, metavar="FILE")
@click.option("--overwrite", is_flag=True, help="Replace a model that is there already.")
@click.option("--report", metavar="FILE", help="Also write a page that explains the model.")
@streaming
@reading
@common
def fit(
    screen: Screen, data: str, out: str, overwrite: bool, report: str | None, **options: Any
) -> None:
    """Fit a model to DATA, a table with column names; `-` is the standard input.

    Numbers are scaled, words become 0/1 features, dates become year, month, day of the week, hour
    and days, missing values are filled and marked. The model remembers all that, so `greedygp
    predict` takes new tables as they are.

    DATA may be a folder, or a pattern such as 'data/*.parquet' (in quotes). Such files, and files
    larger than --memory, are not held: every row passes by in chunks.
    """
    for path in (out, report):
        check_writable(path, data)
    check_new(out, overwrite)
    if "-" in (out, report):
        raise click.BadParameter("a model and a report are written to files, not to '-'.")
    from greedygp.tables.training import TrainingInterrupted, train

    known: dict[str, Any] = {
        "command": shlex.join(["greedygp", *sys.argv[1:]]),
        "missing_words": list(options["missing"]),
    }
    try:
        if is_streamed(data, options):
            trained = trained_from_files(screen, data, options, known)
        else:
            table, digest, recipe = table_and_recipe(
                data, options, strict=True, model=options["model"], test=options["test"]
            )
            screen.read(table, data)
            known["data"] = {"name": Path(data).name, "sha256": digest}
            with screen.progress() as callbacks:
                trained = train(table, recipe, callbacks, known)
    except TrainingInterrupted as stopped:
        _save_interrupted(screen, stopped.trained, out)
    if options["time_limit"] is not None and trained.model.facts["ended_early"]:
        screen.warn(
            f"The fit was ended by --time-limit after {options['time_limit']:g} s; the model is "
            "the best one found by then. More time may give a better one."
        )
    from greedygp.persistence import save

    save(trained.model, out)
    written = {"model": out}
    if report is not None:
        from greedygp.report import write_report

        write_report(trained, report)
        written["report"] = report
    facts = trained.model.facts
    screen.facts(f"{facts['model']} for {facts['target']!r}", summary_lines(facts))
    for sentence in facts["assumptions"]:
        screen.note(f"Assumed: {sentence}")
    for what, path in written.items():
        screen.note(f"Wrote the {what} to {path}.")
    screen.result(facts | {"written": written})


def _save_interrupted(screen: Screen, trained: Trained, out: str) -> NoReturn:
    """Save what an interrupted fit had, say how good it is, and exit."""
    from greedygp.persistence import save

    save(trained.model, out)
    facts = trained.model.facts
    screen.facts(f"{facts['model']} for {facts['target']!r}", summary_lines(facts))
    sentence = f"Interrupted. The best model found until then was saved to {out}"
    if facts["scores"]:
        name, value = next(iter(facts["scores"].items()))
        sentence += (
            f"; its {facts['judged_by']} {SCORES[name].partition(' (')[0]} is {number(value)}"
        )
    click.echo(f"{sentence}. Run the command again to fit it to the end.", err=True)
    screen.result(facts | {"written": {"model": out}, "exit_code": int(interruption.code())})
    raise click.exceptions.Exit(interruption.code())


def summary_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is worth knowing of a model, as names and values."""
    lines = [("task", f"{facts['task']} ({facts['task_because']})")]
    if facts.get("model_because"):
        lines.append(("model", facts["model_because"]))
    if facts["classes"]:
        lines.append(("classes", ", ".join(map(str, facts["classes"]))))
    n_columns = len(facts["columns"])
    lines += [
        ("rows to learn from", f"{facts['rows_train']}"),
        ("rows held out", f"{facts['rows_test']}"),
        ("features", f"{facts['features']} from {n_columns} column{'s' * (n_columns > 1)}"),
    ]
    if facts["rows_without_target"]:
        lines.append(("rows left out", f"{facts['rows_without_target']} without a target"))
    for name, why in facts["left_out"].items():
        lines.append(("column left out", f"{name}: {why}"))
    filled = {c["name"]: c["missing"] for c in facts["columns"] if c["missing"]}
    if filled:
        text = ", ".join(f"{name} ({count})" for name, count in filled.items())
        lines.append(("missing values filled", text))
    if facts["basis"] is not None:
        lines.append(("basis vectors", f"{facts['basis']}"))
    for name, value in (facts["scores"] or {}).items():
        shown = f"{value:.1%}" if name in PERCENT and value is not None else number(value)
        lines.append((f"{facts['judged_by']} {SCORES.get(name, name)}", shown))
    holes = facts.get("where_missing")
    if holes:
        text = f"{holes['coverage_95']:.1%} of {holes['rows']} rows"
        lines.append((f"{facts['judged_by']} inside it, rows with missing values", text))
    if facts["relevance"]:
        best = list(facts["relevance"].items())[:5]
        text = ", ".join(f"{name} ({value:.2f})" for name, value in best)
        lines.append(("most relevant columns", text))
    lines.append(("seconds to fit", f"{facts['seconds_fit']:.2f}"))
    if facts.get("interrupted"):
        lines.append(("ended early", "interrupted; this is the best model found until then"))
    return lines
