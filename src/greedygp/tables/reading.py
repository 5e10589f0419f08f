"""Reading tables: CSV, TSV, Parquet, Feather and `.npz`, whole or in chunks, files or a pipe.

Chunks hold a fixed number of rows, so that a file of any size can be worked through. Whatever is
wrong with a file is told in one sentence (`FileProblem`).
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.problems import FileProblem, MissingPackage

if TYPE_CHECKING:
    import pandas

__all__ = ["FORMATS", "Source", "chunks", "format_of", "read"]

FORMATS = ("csv", "tsv", "parquet", "feather", "npz")
CHUNK_ROWS = 20_000
_SUFFIXES = {f".{name}": name for name in FORMATS}
_SUFFIXES |= {".txt": "csv", ".tab": "tsv", ".pq": "parquet", ".arrow": "feather"}


@dataclass
class Source:
    """Where a table is and how it is written.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for the standard input.
    format : str, optional
        One of `FORMATS`; None: by the file's name, CSV for the standard input.
    separator, decimal : str, optional
        Of a text file; None: comma or semicolon or tab, whichever the first line has more of,
        and a point.
    text_columns : iterable of str
        Columns to read as text even where they look like numbers.
    """

    path: str
    format: str | None = None
    separator: str | None = None
    decimal: str = "."
    text_columns: Iterable[str] = field(default=())

    @property
    def is_pipe(self) -> bool:
        """Whether the table comes from the standard input."""
        return self.path == "-"

    @property
    def name(self) -> str:
        """What the source is called in messages."""
        return "the standard input" if self.is_pipe else self.path


def format_of(source: Source) -> str:
    """Return the format of a source, or raise a sentence."""
    if source.format is not None:
        return source.format
    if source.is_pipe:
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(source.path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _SUFFIXES:
        raise FileProblem(
            f"The format of {source.path} cannot be told from its name; rename it to end in "
            f"{', '.join('.' + name for name in FORMATS)}, or give --format."
        )
    return _SUFFIXES[suffixes[-1]]


def read(source: Source | str | Path) -> tuple[pandas.DataFrame, str]:
    """Read a whole table.

    Parameters
    ----------
    source : Source, str or Path

    Returns
    -------
    table : pandas.DataFrame
    digest : str
        SHA-256 of the bytes that were read, to know the same data again.
    """
    source = _as_source(source)
    with _opened(source) as file:
        content = file.read()
    if not content:
        raise FileProblem(f"{source.name} is empty.")
    parts = list(_parse(io.BytesIO(content), source, None))
    table = parts[0] if len(parts) == 1 else _pandas().concat(parts, ignore_index=True)
    if len(table) == 0:
        raise FileProblem(f"{source.name} has column names but no rows.")
    return table, hashlib.sha256(content).hexdigest()


def chunks(source: Source | str | Path, rows: int = CHUNK_ROWS) -> Iterator[pandas.DataFrame]:
    """Read a table a number of rows at a time.

    Parameters
    ----------
    source : Source, str or Path
    rows : int

    Yields
    ------
    pandas.DataFrame
        At least one, which may be without rows.
    """
    source = _as_source(source)
    with _opened(source) as file:
        yield from _parse(file, source, rows)


def _as_source(source: Source | str | Path) -> Source:
    return source if isinstance(source, Source) else Source(str(source))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingPackage("Reading tables needs pandas: pip install 'greedygp[cli]'.") from error
    return pandas


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    if source.is_pipe:
        if sys.stdin is None or sys.stdin.isatty():
            raise FileProblem("The input is '-', the standard input, but nothing is piped into it.")
        yield sys.stdin.buffer
        return
    path = Path(source.path)
    if not path.exists():
        raise FileProblem(f"There is no file {path}.")
    if path.is_dir():
        raise FileProblem(f"{path} is a folder, not a file.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileProblem(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield file


def _parse(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    kind = format_of(source)
    parse = {"parquet": _parquet, "feather": _feather, "npz": _npz}.get(kind, _delimited)
    try:
        yield from parse(file, source, rows)
    except (FileProblem, MissingPackage):
        raise
    except UnicodeDecodeError as error:
        raise FileProblem(
            f"{source.name} is not text in UTF-8 (byte {error.object[error.start]:#04x} at "
            f"{error.start}); save it as UTF-8."
        ) from error
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        what = " ".join(str(error).split())[:200].rstrip(".")
        raise FileProblem(f"{source.name} cannot be read as {kind}: {what}.") from error


# ------------------------------------------------------------------------------------ text


def _delimited(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    pandas = _pandas()
    start = file.read(2) if not isinstance(file, io.BytesIO) else file.getvalue()[:2]
    joined: Any = file if isinstance(file, io.BytesIO) else _Joined(start, file)
    if start == b"\x1f\x8b":
        joined = gzip.GzipFile(fileobj=joined)
    elif start in (b"PK", b"PA", b"AR"):
        raise FileProblem(
            f"{source.name} is not text; give --format parquet, feather or npz if it is one of "
            "these."
        )
    text = io.TextIOWrapper(joined, encoding="utf-8-sig", newline="")
    first = text.readline()
    if not first.strip():
        raise FileProblem(f"{source.name} is empty, or its first line is: column names go there.")
    separator = source.separator or ("\t" if format_of(source) == "tsv" else _separator(first))
    names = _checked_names(next(csv.reader([first], delimiter=separator)), source)
    text_columns = [name for name in source.text_columns if name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        reader = pandas.read_csv(
            text,
            sep=separator,
            decimal=source.decimal,
            header=None,
            names=names,
            index_col=False,
            dtype=dict.fromkeys(text_columns, str),
            low_memory=False,
            skipinitialspace=True,
            chunksize=rows or sys.maxsize,
        )
        empty = True
        try:
            for part in reader:
                empty = False
                yield part
        except pandas.errors.EmptyDataError:
            pass
        except pandas.errors.ParserWarning as warning:
            raise FileProblem(
                f"{source.name} has lines with more fields than the {len(names)} column names."
            ) from warning
    if empty:
        yield pandas.DataFrame(columns=names)


class _Joined(io.RawIOBase):
    """A stream with the bytes put back that were read from it to look at them."""

    def __init__(self, start: bytes, rest: IO[bytes]):
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._start or self._rest.read(len(buffer))
        taken, self._start = content[: len(buffer)], content[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _separator(line: str) -> str:
    return max(",;\t", key=line.count) if any(mark in line for mark in ",;\t") else ","


def _checked_names(names: Iterable[str], source: Source) -> list[str]:
    names = [str(name).strip() for name in names]
    unnamed = [str(k + 1) for k, name in enumerate(names) if not name]
    if unnamed:
        raise FileProblem(f"{source.name}: column {', '.join(unnamed)} has no name.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileProblem(
            f"{source.name}: the column name {', '.join(map(repr, twice))} is there more than once."
        )
    if all(_is_number(name) for name in names):
        raise FileProblem(
            f"{source.name}: the first line holds only numbers; column names must go there."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------------------- binary


def _arrow() -> Any:
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackage(
            "Parquet and Feather files need pyarrow: pip install pyarrow."
        ) from error
    return pyarrow


def _parquet(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    arrow = _arrow()
    table = arrow.parquet.ParquetFile(_seekable(file))
    names = _checked_names(table.schema_arrow.names, source)
    empty = True
    for batch in table.iter_batches(batch_size=rows or CHUNK_ROWS):
        empty = False
        yield _named(batch.to_pandas(), names)
    if empty:
        yield _pandas().DataFrame(columns=names)


def _feather(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    arrow = _arrow()
    table = arrow.ipc.open_file(_seekable(file))
    names = _checked_names(table.schema.names, source)
    empty = True
    for k in range(table.num_record_batches):
        batch = table.get_batch(k)
        step = rows or max(1, batch.num_rows)
        for start in range(0, batch.num_rows, step):
            empty = False
            yield _named(batch.slice(start, step).to_pandas(), names)
    if empty:
        yield _pandas().DataFrame(columns=names)


def _named(table: pandas.DataFrame, names: list[str]) -> pandas.DataFrame:
    """Return the table with the checked names; an index that pandas stored is a column again."""
    if len(table.columns) != len(names):
        table = table.reset_index()
    return table.set_axis(names, axis=1)


def _seekable(file: IO[bytes]) -> IO[bytes]:
    return file if file.seekable() else io.BytesIO(file.read())


def _npz(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Read `X`, with `feature_names` and the target `y`, or else one array a column."""
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
            f"{source.name}: give X (rows, columns) and y (rows,), or one array a column, all of "
            "one length."
        )
    table = _pandas().DataFrame(columns)
    _checked_names(table.columns, source)
    step = rows or max(1, len(table))
    for start in range(0, max(1, len(table)), step):
        yield table.iloc[start : start + step]
