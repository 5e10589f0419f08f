"""Where a table is, and how it is written."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from greedygp.tables.problems import FileProblem

__all__ = ["BLANKS", "FORMATS", "Source", "format_of", "kind_of_bytes", "opened"]

FORMATS = ("csv", "tsv", "parquet", "feather", "npz", "xlsx")
SUFFIXES = {f".{name}": name for name in FORMATS}
SUFFIXES |= {".txt": "csv", ".tab": "tsv", ".pq": "parquet", ".arrow": "feather"}
SUFFIXES |= {".xlsm": "xlsx", ".ods": "xlsx", ".xls": "xlsx"}

# Cells in quotes, or with spaces that are none to pandas, in which there is nothing.
BLANKS = [space * k for space in (" ", "\t", "\u00a0", "\u202f", "\u3000") for k in range(1, 17)]
PICTURE = "a picture"
WEB_PAGE = "a web page: download the table itself"
ARFF = "an ARFF file: save the table as CSV"
JSON = "JSON: save the table as CSV"
PACKED = (".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz")

# How files begin that are not text tables, and what they then are.
SIGNATURES = {
    b"PK\x03\x04": "a zip archive: unpack it, or give --format npz or xlsx if it is one of these",
    b"PAR1": "a Parquet file: give --format parquet",
    b"ARROW1": "a Feather file: give --format feather",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Excel file: give --format xlsx",
    b"\x93NUMPY": "a NumPy array: save it with numpy.savez, as .npz",
    b"SQLite format 3\x00": "a database: save the table as CSV",
    b"BZh91AY": "compressed by bzip2: unpack it first",
    b"@relation": ARFF,
    b"@RELATION": ARFF,
    b"%PDF-": "a PDF: save the table as CSV",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file: save the table as CSV or Parquet",
    b"\xfd7zXZ\x00": "compressed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it first",
    b"Rar!\x1a\x07": "a RAR archive: unpack it first",
    b"\x89PNG\r\n\x1a\n": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"GIF87a": PICTURE,
    b"GIF89a": PICTURE,
    b"<!DOCTYPE": WEB_PAGE,
    b"<!doctype": WEB_PAGE,
    b"<html": WEB_PAGE,
    b"<?xml": "XML: save the table as CSV",
    b"[{": JSON,
    b'{"': JSON,
}
LONGEST_SIGNATURE = max(map(len, SIGNATURES))


@dataclass
class Source:
    r"""Where a table is and how it is written.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for the standard input.
    format : str, optional
        One of `FORMATS`; None: by the file's name, CSV for the standard input.
    separator : str, optional
        Between the fields of a text file; None: comma, semicolon or tab, whichever the first line
        has most of.
    decimal : str
        The decimal mark of a text file.
    encoding : str, optional
        Of a text file; None: UTF-8.
    missing : tuple of str
        Words that mean that a value is missing, besides the usual ones (empty, NA, nan, ...).
    sheet : str, optional
        Of a workbook; None: the first one.
    text_columns : tuple of str
        Columns to read as text even where they look like numbers.
    """

    path: str
    format: str | None = None
    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    sheet: str | None = None

    @property
    def is_pipe(self) -> bool:
        """Whether the table comes from the standard input."""
        return self.path == "-"

    @property
    def name(self) -> str:
        """What the source is called in messages."""
        return "the standard input" if self.is_pipe else self.path


def format_of(source: Source) -> str:
    """Return the format of a source, or raise a FileProblem."""
    if source.format is not None:
        return source.format
    if source.is_pipe:
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(source.path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in PACKED:
        raise FileProblem(f"{source.path} is compressed: unpack it first.")
    if not suffixes or suffixes[-1] not in SUFFIXES:
        raise FileProblem(
            f"The format of {source.path} cannot be told from its name; rename it to end in "
            f"{', '.join('.' + name for name in FORMATS)}, or give --format."
        )
    return SUFFIXES[suffixes[-1]]


def kind_of_bytes(start: bytes) -> str | None:
    """Return what a file is that is no text table, by how it begins; None: it may be one.

    Examples
    --------
    >>> from greedygp.tables.source import kind_of_bytes
    >>> kind_of_bytes(b"PAR1....")
    'a Parquet file: give --format parquet'
    >>> kind_of_bytes(b"PATIENT_ID,age") is None
    True
    """
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature):
            return kind
    return None


@contextlib.contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """Give the bytes of a source as a stream, or raise a FileProblem."""
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
