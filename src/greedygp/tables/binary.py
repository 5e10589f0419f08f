"""Reading files that are not text: Parquet, Feather, `.npz` and spreadsheets."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.names import UNNAMED, checked_names
from greedygp.tables.problems import FileProblem, MissingPackage, did_you_mean
from greedygp.tables.source import BLANKS, Source
from greedygp.tables.values import MISSING, to_words

if TYPE_CHECKING:
    import pandas

__all__ = ["read_feather", "read_npz", "read_parquet", "read_spreadsheet"]

READ_BYTES = 2**20  # of a column at a time
MOST_EMPTY = 100  # rows above the names in a sheet
INDEX = "__index_level_0__"  # how pandas names the column of an index without a name


def _arrow() -> Any:
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackage(
            "Parquet and Feather files need pyarrow: pip install pyarrow."
        ) from error
    return pyarrow


def read_parquet(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield the rows of a Parquet file, at most `rows` at a time."""
    # Else pyarrow holds a whole group of rows, which may be the whole file.
    reading = {"buffer_size": READ_BYTES, "pre_buffer": False}
    table = _arrow().parquet.ParquetFile(_seekable(file), **reading)
    names = checked_names(_as_columns(table.schema_arrow.names), source)
    return _tables(table.iter_batches(batch_size=rows or 65_536), names)


def read_feather(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield the rows of a Feather file, at most `rows` at a time."""
    table = _arrow().ipc.open_file(_seekable(file))
    names = checked_names(_as_columns(table.schema.names), source)
    batches = (table.get_batch(k) for k in range(table.num_record_batches))
    parts = (
        batch.slice(start, rows or batch.num_rows)
        for batch in batches
        for start in range(0, batch.num_rows, rows or max(1, batch.num_rows))
    )
    return _tables(parts, names)


def _tables(batches: Iterable[Any], names: list[str]) -> Iterator[pandas.DataFrame]:
    """Yield batches of Arrow as tables; an index that pandas stored is a column, where it lies."""
    import pandas

    empty = True
    for batch in batches:
        empty = False
        yield batch.to_pandas(ignore_metadata=True).set_axis(names, axis=1)
    if empty:
        yield pandas.DataFrame(columns=names)


def _as_columns(names: list[str]) -> list[str]:
    """Return names of columns, with that of an index without a name as a CSV file would have it."""
    return [UNNAMED if name == INDEX else name for name in names]


def read_npz(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield the rows of `X` and `y` (with `feature_names`), or of one array per column."""
    import pandas

    with np.load(_seekable(file), allow_pickle=False) as archive:
        if "X" in archive:
            X = archive["X"]
            if X.ndim != 2:
                raise FileProblem(f"{source.name}: X must have two dimensions; it has {X.ndim}.")
            names = archive.get("feature_names", np.array([f"x{k}" for k in range(X.shape[1])]))
            columns = dict(zip((str(name) for name in names), X.T, strict=True))
            if "y" in archive and archive["y"].ndim == 1:
                target = str(archive["target_name"]) if "target_name" in archive else "y"
                columns[target] = archive["y"]
        else:
            columns = {name: archive[name] for name in archive.files}
    sizes = {np.shape(column) for column in columns.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise FileProblem(
            f"{source.name}: give X (rows, columns) and y (rows,), or one array per column, all of "
            "one length."
        )
    return _parts(pandas.DataFrame(columns), source, rows)


def read_spreadsheet(
    file: IO[bytes], source: Source, rows: int | None
) -> Iterator[pandas.DataFrame]:
    """Yield the rows of a sheet of a workbook, the first one unless another is named.

    The first row that is not empty has the names.
    """
    import pandas

    try:
        book = pandas.ExcelFile(_seekable(file))
    except ImportError as error:
        raise MissingPackage(
            "Excel files need a reader: pip install openpyxl, or save the sheet as CSV."
        ) from error
    sheets = [str(name) for name in book.sheet_names]
    sheet = sheets[0] if source.sheet is None else source.sheet
    if sheet not in sheets:
        raise FileProblem(
            f"{source.name} has no sheet {sheet!r}; "
            + did_you_mean(sheet, sheets).replace("its columns", "its sheets")
        )
    top = pandas.read_excel(book, sheet_name=sheet, header=None, nrows=MOST_EMPTY)
    filled = np.flatnonzero(top.notna().any(axis=1).to_numpy())
    if not len(filled):
        raise FileProblem(f"{source.name}: the sheet {sheet!r} has no table.")
    first = int(filled[0])
    names = ["" if word == MISSING else word for word in to_words(top.iloc[first])]
    blanks = [*source.missing, *BLANKS]
    table = pandas.read_excel(
        book, sheet_name=sheet, header=None, skiprows=first + 1, na_values=blanks
    )
    table = table.reindex(columns=range(max(len(names), table.shape[1])))
    names += [""] * (table.shape[1] - len(names))
    parts = _parts(table.set_axis(names, axis=1), source, rows)
    for part in parts:
        part.attrs["other sheets"] = [name for name in sheets if name != sheet]
        yield part


def _parts(table: pandas.DataFrame, source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield a table that is in memory, `rows` rows at a time."""
    table = table.set_axis(checked_names(table.columns, source), axis=1)
    step = rows or max(1, len(table))
    for start in range(0, max(1, len(table)), step):
        yield table.iloc[start : start + step]


def _seekable(file: IO[bytes]) -> IO[bytes]:
    return file if file.seekable() else io.BytesIO(file.read())
