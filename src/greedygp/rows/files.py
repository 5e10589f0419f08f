"""Rows in Parquet and CSV files: read in chunks, as often as a fit goes over them."""

from __future__ import annotations

import glob
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from greedygp.arrays import Backend
from greedygp.messages import shown
from greedygp.rows.store import READ_ROWS, Chunk, RowStore
from greedygp.versions import exact_numbers

__all__ = ["RowSource", "files_of"]

PARQUET = (".parquet", ".pq")
READ_BYTES = 2**20  # of a column of a Parquet file at a time
TEXT = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}


class RowSource(RowStore):
    """Rows in files that need not fit into the memory: Parquet, or text with column names.

    `SparseGPRegressor.fit`, `predict` and `loo_predict` take it in the place of X and y. All
    columns must hold numbers; the command `greedygp fit` encodes tables with words and dates.

    Parameters
    ----------
    paths : path, pattern, or list of these
        Files in the order of their rows; those of a pattern, such as `"data/*.parquet"`, are
        sorted by name.
    target : str, list of str or None
        The column, or columns, to learn; None: the rows are only to be predicted.
    features : str, list of str or None
        The columns to learn from; None: all but target, weight and an index that pandas stored.
    weight : str or None
        A column of weights: a weight of w means the row w times.
    separator : str or None
        Between the fields of a text file; None: by the file's name, a comma or a tab.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from greedygp import RowSource, SparseGPRegressor
    >>> x = np.linspace(0, 6, 400)
    >>> folder = TemporaryDirectory()
    >>> table = pd.DataFrame({"x": x, "y": np.sin(x)})
    >>> table[:200].to_parquet(Path(folder.name) / "a.parquet")
    >>> table[200:].to_parquet(Path(folder.name) / "b.parquet")
    >>> source = RowSource(f"{folder.name}/*.parquet", target="y")
    >>> model = SparseGPRegressor(max_basis=10, max_iter=5, random_state=0).fit(source)
    >>> model.predict(source).shape
    (400,)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: str | os.PathLike | Iterable[str | os.PathLike],
        target: str | Sequence[str] | None = None,
        *,
        features: str | Sequence[str] | None = None,
        weight: str | None = None,
        separator: str | None = None,
    ):
        self.paths, self.separator = files_of(paths), separator
        self.target, self.weight = target, weight
        self.targets = [target] if isinstance(target, str) else list(target or ())
        named = [*self.targets, *([weight] if weight else [])]
        columns = self.columns_of(self.paths[0])
        if features is None:
            index = _index_of(self.paths[0])
            features = [name for name in columns if name not in (*named, *index)]
        self.feature_names = [features] if isinstance(features, str) else list(features)
        _check_features(self.feature_names, self.targets, weight)
        _check_columns(self.paths[0], columns, [*self.feature_names, *named])
        if not self.feature_names:
            raise ValueError(f"{self.paths[0]} has no column to learn from.")
        self.n_features = len(self.feature_names)
        self.needed = list(dict.fromkeys([*self.feature_names, *named]))
        self.backend = Backend(np.empty(0))

    def check(self) -> tuple[int, ...] | None:
        if self.target is None:
            return None
        return () if isinstance(self.target, str) else (len(self.targets),)

    def chunks(self) -> Iterator[Chunk]:
        start = 0
        for path in self.paths:
            first = 0
            for columns in self.read(path):
                chunk = self._chunk(columns, start, path, first)
                yield chunk
                start, first = start + len(chunk), first + len(chunk)

    def _chunk(self, columns: dict[str, np.ndarray], start: int, path: str, first: int) -> Chunk:
        names = self.feature_names
        assert names is not None
        y = weights = None
        if self.target is not None:
            y = np.column_stack([columns[name] for name in self.targets])
            y = y[:, 0] if isinstance(self.target, str) else y
        if self.weight is not None:
            weights = columns[self.weight]
        X = np.column_stack([columns[name] for name in names])
        return Chunk(X, y, weights, start, path, first, tuple(names))

    # --- reading -------------------------------------------------------------------------------

    def columns_of(self, path: str) -> list[str]:
        """Return the names of a file's columns."""
        with _named(path):
            if _is_parquet(path):
                return list(_parquet().ParquetFile(path).schema_arrow.names)
            for table in self._text(path, 1):
                return [str(name) for name in table.columns]
            return []

    def read(self, path: str) -> Iterator[dict[str, np.ndarray]]:
        """Yield a file's columns as float64 arrays, some rows at a time."""
        _check_columns(path, self.columns_of(path), self.needed)
        tables = self._read_parquet(path) if _is_parquet(path) else self._read_text(path)
        while True:
            with _named(path):
                columns = next(tables, None)
            if columns is None:
                return
            yield columns

    def _read_parquet(self, path: str) -> Iterator[dict[str, np.ndarray]]:
        # Else pyarrow holds a whole group of rows, which may be the whole file.
        file = _parquet().ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False)
        for name in self.needed:
            kind = str(file.schema_arrow.field(name).type)
            if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "dec")):
                raise _ColumnsError(_not_numbers(name, path, f"it holds {kind}"))
        for batch in file.iter_batches(batch_size=READ_ROWS, columns=self.needed):
            columns = (batch.column(name) for name in self.needed)
            yield {
                name: np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
                for name, column in zip(self.needed, columns, strict=True)
            }

    def _read_text(self, path: str) -> Iterator[dict[str, np.ndarray]]:
        first = 0
        for table in self._text(path, READ_ROWS):
            yield {name: _numbers(table[name], path, first) for name in self.needed}
            first += len(table)

    def _text(self, path: str, rows: int) -> Iterator[Any]:
        """Yield the rows of a text file as tables, with all columns, so that fields are counted."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Reading CSV files needs pandas: pip install pandas.") from error
        separator = self.separator or TEXT.get(_suffix(path), ",")
        with pandas.read_csv(
            path,
            sep=separator,
            chunksize=rows,
            low_memory=False,
            skipinitialspace=True,
            **exact_numbers(pandas),
        ) as tables:
            for table in tables:
                if not isinstance(table.index, pandas.RangeIndex):
                    raise _ColumnsError(
                        f"{path} has lines with more fields than the {len(table.columns)} column "
                        "names; give each column a name."
                    )
                yield table


class _ColumnsError(ValueError):
    """A sentence about columns, which names the file."""


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Whatever goes wrong while a file is read is a ValueError that names it."""
    try:
        yield
    except _ColumnsError as error:
        raise ValueError(str(error)) from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        what = " ".join(str(error).split())[:200].rstrip(".")
        raise ValueError(f"{path} cannot be read: {what}.") from error


def files_of(paths: str | os.PathLike | Iterable[str | os.PathLike]) -> list[str]:
    """Return the files that paths and patterns mean; raise a sentence where there are none."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[str] = []
    for path in (str(os.fspath(each)) for each in given):
        if glob.has_magic(path) and not Path(path).exists():
            matches = sorted(name for name in glob.glob(path) if Path(name).is_file())
            if not matches:
                raise FileNotFoundError(f"No file matches {path!r}.")
            found += matches
        elif Path(path).is_dir():
            inside = sorted(str(p) for p in Path(path).iterdir() if _suffix(p) in (*PARQUET, *TEXT))
            if not inside:
                raise FileNotFoundError(f"The folder {path} has no Parquet or CSV file.")
            found += inside
        elif not Path(path).exists():
            raise FileNotFoundError(f"There is no file {path}.")
        else:
            found.append(path)
    if not found:
        raise ValueError("paths is empty; name at least one file.")
    for path in found:
        if _suffix(path) not in (*PARQUET, *TEXT):
            raise ValueError(
                f"{path} is neither Parquet nor text by its name; it should end in "
                f"{', '.join((*PARQUET, *TEXT))}."
            )
    return found


def _suffix(path: str | Path) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".xz", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _is_parquet(path: str) -> bool:
    return _suffix(path) in PARQUET


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Reading Parquet files needs pyarrow: pip install pyarrow.") from error
    return pyarrow.parquet


def _index_of(path: str) -> list[str]:
    """Return the names of columns that are the index of a table of pandas."""
    if not _is_parquet(path):
        return []
    about = _parquet().ParquetFile(path).schema_arrow.pandas_metadata or {}
    return [name for name in about.get("index_columns", ()) if isinstance(name, str)]


def _check_features(features: list[str], targets: list[str], weight: str | None) -> None:
    for name in features:
        if name in targets or name == weight:
            what = "the target" if name in targets else "the weight"
            raise ValueError(f"features has {name!r}, which is {what}; leave it out.")


def _check_columns(path: str, columns: list[str], needed: list[str]) -> None:
    twice = [name for name in needed if columns.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has the column {twice[0]!r} more than once; rename one of them.")
    missing = [name for name in needed if name not in columns]
    if missing:
        raise ValueError(
            f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}; "
            f"its columns are {', '.join(map(repr, columns[:12]))}"
            f"{' and more' if len(columns) > 12 else ''}."
        )


def _numbers(values: Any, path: str, first: int) -> np.ndarray:
    """Return a column of a text file as numbers."""
    if values.dtype.kind in "biuf":
        return values.to_numpy(dtype=np.float64)
    import pandas

    numbers = pandas.to_numeric(values, errors="coerce")
    wrong = np.flatnonzero(numbers.isna().to_numpy() & values.notna().to_numpy())
    if len(wrong):
        place = int(wrong[0])
        what = f"row {first + place} (counted from 0) has {shown(values.iloc[place])}"
        raise _ColumnsError(_not_numbers(str(values.name), path, what))
    return numbers.to_numpy(dtype=np.float64)


def _not_numbers(name: str, path: str, what: str) -> str:
    return (
        f"Column {name!r} of {path} must hold numbers; {what}. Name the columns to learn from by "
        "`features`, or let `greedygp fit` encode the table."
    )
