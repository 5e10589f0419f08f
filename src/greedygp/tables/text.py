"""Reading text: CSV, TSV and the like, plain or compressed by gzip."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import sys
import warnings
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from greedygp.tables.names import checked_names, is_number
from greedygp.tables.problems import FileProblem
from greedygp.tables.source import BLANKS, LONGEST_SIGNATURE, Source, format_of, kind_of_bytes
from greedygp.tables.values import BEHIND, CURRENCY
from greedygp.versions import exact_numbers

if TYPE_CHECKING:
    import pandas

__all__ = ["read_text"]

MOST_PREAMBLE = 1000  # lines
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # Excel's first line, which tells it
# 1.234,5, also with a currency or a unit
DOTTED = rf"([-+(]?\s*{CURRENCY}?\s*[-+]?)((?:\d{{1,3}}(?:\.\d{{3}})+|\d+)(?:,\d*)?){BEHIND}"


def read_text(file: IO[bytes], source: Source, rows: int | None) -> Iterator[pandas.DataFrame]:
    """Yield the rows of a text file, `rows` at a time (None: all at once)."""
    import pandas

    text = _decoded(file, source)
    first, names, separator = _heading(text, source)
    text_columns = [name for name in source.text_columns if name in names]
    options: dict[str, Any] = {
        "sep": separator,
        "decimal": source.decimal,
        "header": None,
        "names": names,
        "index_col": False,
        "dtype": dict.fromkeys(text_columns, str),
        "na_values": [*source.missing, *BLANKS],
        "low_memory": False,
        "skipinitialspace": True,
        "chunksize": rows or sys.maxsize,
    }
    empty = True
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            for part in pandas.read_csv(_Joined(first, text), **options, **exact_numbers(pandas)):
                empty = False
                yield part if source.decimal != "," else _without_dots(part)
        except pandas.errors.EmptyDataError:
            pass
        except pandas.errors.ParserWarning as warning:
            raise FileProblem(
                f"{source.name} has lines with more fields than the {len(names)} column names. "
                "Lines before the names must begin with #."
            ) from warning
        except pandas.errors.ParserError as error:
            raise _unreadable(error, source, len(names), separator) from error
    if empty:
        yield pandas.DataFrame(columns=names)


def _unreadable(error: Exception, source: Source, columns: int, separator: str) -> Exception:
    """Return what pandas says of a line, in our words; else its own error."""
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
        mark = "a tab" if separator == "\t" else repr(separator)
        return FileProblem(
            f"{source.name}: line {found[2]} below the column names has {found[3]} fields, but "
            f"there are {columns} columns. Correct it; a field that has {mark} in it must be in "
            "quotes."
        )
    if found := re.search(r"EOF inside string starting at row (\d+)", str(error)):
        return FileProblem(
            f"{source.name}: a quotation mark opens near line {int(found[1]) + 1} below the column "
            "names and is never closed. Close it, or write it twice where it is part of the text."
        )
    return error


def _without_dots(part: pandas.DataFrame) -> pandas.DataFrame:
    """Return a table in which 1.234 and 1.234,5 are numbers, where the decimal mark is a comma."""
    for name in part.columns:
        values = part[name]
        if values.dtype.kind in "biuf" or not values.notna().any():
            continue
        words = values.dropna().astype(str).str.strip()
        if words.str.fullmatch(DOTTED).all():
            plain = words.str.replace(DOTTED, _with_a_point, regex=True)
            if not words.str.contains(r"[^-+\d.,]").any():
                plain = plain.astype(float)
            part = part.assign(**{name: plain.reindex(values.index)})
    return part


def _with_a_point(found: re.Match[str]) -> str:
    """Return 1.234,5 as 1234.5, with what stands around it."""
    return found[1] + found[2].replace(".", "").replace(",", ".") + found[3]


def _decoded(file: IO[bytes], source: Source) -> io.TextIOWrapper:
    """Return the text in a stream of bytes; raise if it is no text."""
    start = file.read(LONGEST_SIGNATURE)
    stream: Any = _JoinedBytes(start, file)
    if start.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=stream)
    kind = kind_of_bytes(start)
    if kind is not None:
        raise FileProblem(f"{source.name} is not a text table. It is {kind}.")
    encoding = source.encoding or "utf-8-sig"
    if source.encoding is None and start[:2] not in UTF_16_MARKS and b"\x00" in start[:2]:
        likely = "utf-16-be" if start.startswith(b"\x00") else "utf-16-le"
        raise FileProblem(
            f"{source.name} is not text in UTF-8: every other byte is zero. Give --encoding "
            f"{likely}."
        )
    try:
        return io.TextIOWrapper(stream, encoding=encoding, newline="")
    except LookupError as error:
        raise FileProblem(
            f"There is no encoding {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252."
        ) from error


# -------------------------------------------------------------------------------- heading


def _heading(text: io.TextIOWrapper, source: Source) -> tuple[str, list[str], str]:
    """Read up to the first row; return what was read of that, the names and the separator.

    Blank lines, lines that begin with # and Excel's `sep=;` before the names are passed over. If a
    line with # is followed by numbers and has as many fields, it holds the names itself.
    """
    line, commented, told = text.readline(), "", None
    for _ in range(MOST_PREAMBLE):
        mark = SEPARATOR_LINE.fullmatch(line.rstrip("\r\n"))
        if mark is not None:
            told = mark[1]
        elif line.strip() and not line.lstrip().startswith("#"):
            break
        line, commented = text.readline(), line
    if not line.strip():
        raise FileProblem(f"{source.name} is empty.")
    usual = "\t" if format_of(source) == "tsv" else _separator(line)
    separator = source.separator or told or usual
    if separator == " ":  # one or more of them
        return "", checked_names(line.split(), source), r"\s+"
    lines = itertools.chain([line], iter(text.readline, ""))
    fields = next(csv.reader(lines, delimiter=separator))  # a quoted name may go over lines
    if commented and all(is_number(field.strip()) for field in fields):
        named = next(csv.reader([commented.lstrip().lstrip("#").strip()], delimiter=separator))
        if len(named) == len(fields):
            return line, checked_names(named, source), separator
    while len(fields) > 1 and not fields[-1].strip():  # every line ends with a separator
        fields.pop()
    return "", checked_names(fields, source), separator


def _separator(line: str) -> str:
    """Return the separator that the line has most of; a comma where it has none."""
    return max(",;\t|", key=line.count)


# --------------------------------------------------------------------------------- streams


class _Joined:
    """Text with a line put back that was read from it."""

    def __init__(self, start: str, rest: io.TextIOWrapper):
        self._start, self._rest = start, rest

    def read(self, size: int = -1) -> str:
        start, self._start = self._start, ""
        return start or self._rest.read(size)

    def __iter__(self) -> Iterator[str]:
        return iter(self.read, "")


class _JoinedBytes(io.RawIOBase):
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
