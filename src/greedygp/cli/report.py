"""`greedygp report`: a page that explains a model on rows with known targets."""

from __future__ import annotations

from typing import Any

import click

from greedygp.cli.options import check_writable, common, reading
from greedygp.cli.predict import loaded, source_for
from greedygp.cli.screen import Screen

__all__ = ["report"]


@click.command(
    short_help="Write a page that explains a model.",
    epilog="\b\nExample:\n  greedygp report model.skops houses.csv --out report.html",
)
@click.argument("model")
@click.argument("data")
@click.option("--out", default="report.html", show_default=True, metavar="FILE")
@reading
@common
def report(screen: Screen, model: str, data: str, out: str, **options: Any) -> None:
    """Write a page about MODEL, judged on DATA, a table with the target.

    If DATA is the file that the model was fitted to, only the rows that were held out then are
    used.
    """
    check_writable(out, model, data)
    table_model = loaded(model)
    from greedygp.report import write_report
    from greedygp.report.rows import judge_again
    from greedygp.tables.reading import read

    table, digest = read(source_for(table_model, data, options))
    table_model.encoder.check_columns(table, data)
    trained, which = judge_again(table_model, table, digest)
    write_report(trained, out, which)
    screen.note(f"Judged on {which}.")
    screen.note(f"Wrote the report to {out}.")
    screen.result({"written": out, "rows": len(trained.rows), "judged_on": which})
