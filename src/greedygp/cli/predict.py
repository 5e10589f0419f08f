"""`greedygp predict`: a model and new rows in, predictions out, one chunk of rows at a time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedygp.cli.errors import OutputProblem
from greedygp.cli.options import check_writable, common, reading, source_of
from greedygp.cli.screen import Screen
from greedygp.cli.streaming import files_at

if TYPE_CHECKING:
    import pandas

__all__ = ["loaded", "predict", "source_for"]

MOST_NOTES = 8


@click.command(
    short_help="Predict new rows, with error bars.",
    epilog="\b\nExamples:\n"
    "  greedygp predict model.skops new.csv --out predictions.csv\n"
    "  greedygp predict model.skops new.parquet --interval 0.8 --keep id --out out.parquet\n"
    "  greedygp predict model.skops 'new/*.parquet' --out predictions.parquet\n"
    "  cat new.csv | greedygp predict model.skops - | head",
)
@click.argument("model")
@click.argument("data")
@click.option(
    "--out", default="-", metavar="FILE", help="A CSV, TSV or Parquet file; - prints to the screen."
)
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability that the value lies between lower and upper.",
)
@click.option(
    "--method",
    type=click.Choice(["gaussian", "jackknife+"]),
    default="gaussian",
    show_default=True,
    help="Where lower and upper come from: the Gaussian, or the errors of left-out training rows.",
)
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy a column of DATA. Repeatable.")
@click.option(
    "--chunk", type=click.IntRange(1), default=20_000, show_default=True, help="Rows at a time."
)
@reading
@common
def predict(
    screen: Screen, model: str, data: str, out: str, interval: float, **options: Any
) -> None:
    """Predict the rows of DATA with the MODEL that `greedygp fit` wrote.

    The result has one line per row: the mean, lower and upper; for classes, the likeliest one
    and the probability of each. Files of any size are worked through in chunks; `-` is the standard
    input. DATA may be a folder, or a pattern such as 'data/*.parquet' (in quotes): the rows of
    its files follow each other, the files in the order of their names.
    """
    if out == "-" and screen.as_json:
        raise click.UsageError("--json needs --out FILE: the predictions would mix with it.")
    files = files_at(data)
    check_writable(out, *files, model)
    table_model = loaded(model)
    notes: dict[str, int] = {}
    done = 0
    with _writer(out) as write, screen.counter("Predicting") as advance:
        for name, first, rows in _tables(table_model, data, files, options):
            if first == 1:
                table_model.encoder.check_columns(rows, name)
                kept = _kept(rows, options["keep"], name)
            if len(rows):
                with _of_file(name, len(files)):
                    part = table_model.table_of_predictions(
                        rows, interval, notes, first, options["method"]
                    )
                write(_with_kept(rows, kept, part))
            done += len(rows)
            advance(len(rows))
        if done == 0:
            raise _no_rows(name)
    for what, times in list(notes.items())[:MOST_NOTES]:
        screen.note(f"Note: {what} ({times} row{'s' * (times > 1)}).")
    if len(notes) > MOST_NOTES:
        screen.note(f"Note: {len(notes) - MOST_NOTES} more remarks like these.")
    if out != "-":
        screen.note(f"Wrote {done} prediction{'s' * (done > 1)} to {out}.")
    screen.result({"rows": done, "written": out, "interval": interval, "notes": notes})


def loaded(path: str) -> Any:
    """Return the table model in a file, or raise a sentence."""
    from greedygp.persistence import ModelFileError, load
    from greedygp.tables.model import TableModel

    try:
        model = load(path)
    except FileNotFoundError as error:
        raise ModelFileError(str(error)) from error
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__} without its columns; it can be used in Python "
            "with greedygp.load, and `greedygp fit` makes models for the command line."
        )
    return model


def _tables(
    model: Any, data: str, files: list[str], options: dict[str, Any]
) -> Iterator[tuple[str, int, pandas.DataFrame]]:
    """Yield the rows of the files in chunks: what the file is called, the first row's number."""
    from greedygp.tables.problems import FileProblem
    from greedygp.tables.reading import chunks

    if not files:
        raise FileProblem(f"No file matches {data!r}.")
    for path in files:
        source, first = source_for(model, path, options), 1
        for rows in chunks(source, options["chunk"]):
            yield source.name, first, rows
            first += len(rows)


@contextlib.contextmanager
def _of_file(name: str, count: int) -> Iterator[None]:
    """Say which of several files a problem with a row is in."""
    from greedygp.tables.problems import TableProblem

    try:
        yield
    except TableProblem as error:
        if count == 1:
            raise
        raise type(error)(f"{name}: {error}") from error


def source_for(model: Any, data: str, options: dict[str, Any]) -> Any:
    """Return the source of new rows for a model: its words are text, also where all are digits."""
    words = tuple(c.name for c in model.encoder.columns_ if c.kind == "category")
    return source_of(data, options, words, tuple(model.facts.get("missing_words", ())))


def _no_rows(name: str) -> Exception:
    from greedygp.tables.problems import FileProblem

    return FileProblem(f"{name} has column names but no rows.")


def _kept(rows: pandas.DataFrame, names: tuple[str, ...], where: str) -> list[str]:
    from greedygp.tables.problems import ColumnProblem, did_you_mean

    for name in names:
        if name not in rows.columns:
            hint = did_you_mean(name, list(rows.columns))
            raise ColumnProblem(f"{where} has no column {name!r} to keep; {hint}")
    return list(names)


def _with_kept(rows: pandas.DataFrame, kept: list[str], part: Any) -> pandas.DataFrame:
    for place, name in enumerate(kept):
        label = name if name not in part.columns else f"{name}_given"
        part.insert(place, label, rows[name].to_numpy())
    return part


@contextlib.contextmanager
def _writer(out: str) -> Iterator[Any]:
    """Give a function that writes the predictions, part by part."""
    from greedygp.persistence import replacing

    suffix = Path(out).suffix.lower()
    if out == "-":
        yield _TextWriter(sys.stdout, ",")
    elif suffix in (".csv", ".tsv", ".txt"):
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            yield _TextWriter(file, "\t" if suffix == ".tsv" else ",")
    elif suffix in (".parquet", ".pq"):
        with replacing(out) as temporary, _ParquetWriter(temporary) as write:
            yield write
    else:
        raise OutputProblem(f"Predictions can be written to .csv, .tsv or .parquet, not to {out}.")


class _TextWriter:
    """Writes parts below one heading."""

    def __init__(self, file: Any, separator: str):
        self.file, self.separator, self.begun = file, separator, False

    def __call__(self, part: pandas.DataFrame) -> None:
        part.to_csv(self.file, index=False, sep=self.separator, header=not self.begun)
        self.begun = True


class _ParquetWriter:
    """Writes parts as groups of rows."""

    def __init__(self, path: Path):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError("Parquet files need pyarrow: pip install pyarrow.") from error
        self.path, self.arrow = path, pyarrow
        self.writer: Any = None

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.writer is not None:
            self.writer.close()

    def __call__(self, part: pandas.DataFrame) -> None:
        schema = None if self.writer is None else self.writer.schema
        table = self.arrow.Table.from_pandas(part, schema=schema, preserve_index=False)
        if self.writer is None:
            self.writer = self.arrow.parquet.ParquetWriter(self.path, table.schema)
        self.writer.write_table(table)
