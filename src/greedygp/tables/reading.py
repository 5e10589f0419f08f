"""Reading tables: CSV, TSV, Parquet, Feather, `.npz` and Excel, whole or in chunks.

A table comes from a file or a pipe. Chunks hold a fixed number of rows, so a file of any size can
be worked through. Whatever is wrong with a file is said in one sentence (`FileProblem`).
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from greedygp.tables.binary import read_feather, read_npz, read_parquet, read_spreadsheet
from greedygp.tables.problems import FileProblem, MissingPackage
from greedygp.tables.source import Source, format_of, opened
from greedygp.tables.text import read_text

if TYPE_CHECKING:
    import pandas

__all__ = ["chunks", "read"]

CHUNK_ROWS = 20_000
READERS = {
    "csv": read_text,
    "tsv": read_text,
    "parquet": read_parquet,
    "feather": read_feather,
    "npz": read_npz,
    "xlsx": read_spreadsheet,
}


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
    with opened(source) as file:
        content = file.read()
    if not content:
        raise FileProblem(f"{source.name} is empty.")
    parts = list(_parse(io.BytesIO(content), source, None))
    if len(parts) > 1:
        import pandas

        parts = [pandas.concat(parts, ignore_index=True)]
    if len(parts[0]) == 0:
        raise FileProblem(f"{source.name} has column names but no rows.")
    return parts[0], hashlib.sha256(content).hexdigest()


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
    with opened(source) as file:
        yield from _parse(file, source, rows)


def _as_source(source: Source | str | Path) -> Source:
    return source if isinstance(source, Source) else Source(str(source))


def _parse(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield the rows of a file; whatever goes wrong becomes a FileProblem."""
    kind = format_of(source)
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingPackage("Reading tables needs pandas: pip install 'greedygp[cli]'.") from error
    try:
        yield from READERS[kind](file, source, rows)
    except (FileProblem, MissingPackage):
        raise
    except UnicodeDecodeError as error:
        raise _undecodable(error, source) from error
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        what = " ".join(str(error).split())[:200].rstrip(".")
        if "allow_pickle" in what:
            what = "it holds Python objects, which are not opened; save numbers or text"
        raise FileProblem(f"{source.name} cannot be read as {kind}: {what}.") from error


def _undecodable(error: UnicodeDecodeError, source: Source) -> FileProblem:
    """Say that a text is not in the encoding that was expected, and which it may be in."""
    start = bytes(error.object[error.start : error.start + 2])
    where = f"byte {start[0]:#04x} at {error.start}"
    if source.encoding is not None:
        return FileProblem(
            f"{source.name} is not text in {source.encoding} ({where}); give another --encoding."
        )
    likely = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
    return FileProblem(
        f"{source.name} is not text in UTF-8 ({where}); save it as UTF-8, or say how it is "
        f"written, for instance with --encoding {likely}."
    )
