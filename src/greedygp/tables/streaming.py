"""Tables in files that need not fit into the memory: a look at all rows, and rows to learn from.

Every row gets a random key, made from the seed and the number of its file. So whoever goes over a
file, in chunks of any size, gives its rows the same keys. Rows of the smallest keys are a random
sample, by which the columns are encoded. Rows of the largest keys are held out. A word or a hole
that the sample lacks is brought in by a witness: the first row that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.arrays import Backend
from greedygp.rows import Chunk, RowStore
from greedygp.tables.plans import infinite_values, not_numbers
from greedygp.tables.problems import ColumnProblem, DataProblem, FileProblem
from greedygp.tables.reading import chunks
from greedygp.tables.source import Source
from greedygp.tables.values import to_numbers

if TYPE_CHECKING:
    import pandas

    from greedygp.tables.encoder import TableEncoder

__all__ = ["FileRows", "Look", "columns_of", "look_at", "look_at_file"]

KEY = "\0key"  # a column beside those of the table
MOST_WITNESSED = 1000  # different words of a column, beyond which it is free text anyway

Watch = Callable[[int], None]


@dataclass
class Look:
    """What is known of some files; `+` of two gives that of both.

    Attributes
    ----------
    columns : list of str
    n_rows, n_known : int
        All rows, and those with a target.
    sample, held_out : DataFrame
        Rows of the smallest and of the largest keys, with their keys.
    witnesses : dict
        The first row that has a word, or a hole, by column and word.
    are_numbers : dict of str to set of bool
        How chunks of each column were read.
    """

    columns: list[str]
    n_rows: int
    n_known: int
    sample: pandas.DataFrame
    held_out: pandas.DataFrame
    witnesses: dict[tuple[str, Any], pandas.DataFrame] = field(default_factory=dict)
    are_numbers: dict[str, set[bool]] = field(default_factory=dict)
    most: tuple[int, int] = (0, 0)  # rows of the sample, and held out
    name: str = ""  # of the first file

    def __add__(self, other: Look) -> Look:
        if set(other.columns) != set(self.columns):
            lacking = [name for name in self.columns if name not in other.columns]
            more = [name for name in other.columns if name not in self.columns]
            what = f"lacks {', '.join(map(repr, lacking))}"
            if not lacking:
                what = f"has {', '.join(map(repr, more))}, which {self.name} has not"
            raise FileProblem(f"The files must have the same columns; {other.name} {what}.")
        kinds = {
            name: self.are_numbers.get(name, set()) | other.are_numbers.get(name, set())
            for name in self.columns
        }
        return Look(
            self.columns,
            self.n_rows + other.n_rows,
            self.n_known + other.n_known,
            _smallest(_joined([self.sample, other.sample]), self.most[0]),
            _largest(_joined([self.held_out, other.held_out]), self.most[1]),
            other.witnesses | self.witnesses,
            kinds,
            self.most,
            self.name,
        )

    @property
    def mixed(self) -> list[str]:
        """Columns that look like numbers in some chunks only, and must be read as text."""
        return [name for name, kinds in self.are_numbers.items() if len(kinds) > 1]

    def to_decide_by(self) -> pandas.DataFrame:
        """Return the sample and the witnesses that it needs, with keys."""
        return _joined([self.sample, *self.witnesses.values()]).drop_duplicates(KEY)


def look_at(
    sources: list[Source], target: str, seed: int, most: tuple[int, int], watch: Watch | None = None
) -> Look:
    """Look at all rows of files, here."""
    looks = (look_at_file(s, target, seed, number, most, watch) for number, s in enumerate(sources))
    total = next(looks)
    for look in looks:
        total = total + look
    return total


def look_at_file(
    source: Source,
    target: str,
    seed: int,
    number: int,
    most: tuple[int, int],
    watch: Watch | None = None,
) -> Look:
    """Look at all rows of one file."""
    total: Look | None = None
    for table, keys in keyed(source, seed, number):
        table = table.assign(**{KEY: keys})
        known = table if target not in table else table[table[target].notna()]
        columns = [str(name) for name in table.columns if name != KEY]
        look = Look(
            columns,
            len(table),
            len(known),
            _smallest(known, most[0]),
            _largest(known, most[1]),
            _witnesses(known, [name for name in columns if name != target]),
            {name: {_is_number(table[name])} for name in columns if table[name].notna().any()},
            most,
            source.name,
        )
        total = look if total is None else total + look
        if watch is not None:
            watch(len(table))
    assert total is not None
    return total


def columns_of(source: Source) -> list[str]:
    """Return the names of a file's columns."""
    return [str(name) for name in next(iter(chunks(source, 10))).columns]


def keyed(source: Source, seed: int, number: int) -> Iterator[tuple[pandas.DataFrame, np.ndarray]]:
    """Yield a file's rows, numbered from 0 by their index, with their keys."""
    rng, first = keys_of(seed, number), 0
    for table in chunks(source):
        table.index = range(first, first + len(table))
        yield table, rng.random(len(table))
        first += len(table)


def keys_of(seed: int, number: int) -> np.random.Generator:
    """Return what draws the keys of a file's rows, one after the other."""
    return np.random.default_rng([seed, number])


def files_with(place: int, keys: pandas.Series, sources: list[Source], seed: int) -> list[Source]:
    """Return the files whose row at that place is among rows with these keys."""
    kept = set(keys[keys.index == place])
    return [
        source
        for number, source in enumerate(sources)
        if keys_of(seed, number).random(place + 1)[-1] in kept
    ]


def _joined(parts: list[pandas.DataFrame]) -> pandas.DataFrame:
    """Return tables below each other; those without rows say nothing about types of columns."""
    import pandas

    return pandas.concat([part for part in parts if len(part)] or parts[:1])


def _smallest(rows: pandas.DataFrame, count: int) -> pandas.DataFrame:
    return rows if len(rows) <= count else rows.nsmallest(count, KEY)


def _largest(rows: pandas.DataFrame, count: int) -> pandas.DataFrame:
    return rows if len(rows) <= count else rows.nlargest(count, KEY)


def _is_number(values: pandas.Series) -> bool:
    return values.dtype.kind in "iufb"


def _witnesses(rows: pandas.DataFrame, names: list[str]) -> dict[tuple[str, Any], pandas.DataFrame]:
    found = {}
    for name in names:
        values = rows[name]
        holes = values.isna()
        if holes.any():
            found[name, None] = rows[holes].iloc[:1]
        if not _is_number(values) and values.dtype.kind not in "mM":
            first = values[~holes].drop_duplicates()
            if len(first) <= MOST_WITNESSED:
                found |= {(name, word): rows.loc[[place]] for place, word in first.items()}
    return found


class FileRows(RowStore):
    """Rows of tables in files, encoded as they pass by; those held out are passed over.

    Parameters
    ----------
    sources : list of Source
    encoder : TableEncoder
        Fitted.
    target : str
    grouped : bool
        Whether the target's numbers have commas between thousands and the like.
    seed : int
        Of the keys.
    limit : float
        Rows of this key or a larger one are held out.
    watch : callable, optional
        Is told of how many rows have gone by.
    """

    def __init__(
        self,
        sources: list[Source],
        encoder: TableEncoder,
        target: str,
        grouped: bool,
        seed: int,
        limit: float,
        watch: Watch | None = None,
    ):
        words = tuple(column.name for column in encoder.columns_ if column.kind == "category")
        self.sources = [
            replace(source, text_columns=(*source.text_columns, *words)) for source in sources
        ]
        self.encoder, self.target, self.grouped = encoder, target, grouped
        self.seed, self.limit, self.watch = seed, limit, watch
        self.n_features = len(encoder.feature_names)
        self.backend = Backend(np.empty(0))

    def check(self) -> tuple[int, ...] | None:
        return ()

    def chunks(self) -> Iterator[Chunk]:
        start = 0
        for number in range(len(self.sources)):
            for X, y in self.of_file(number):
                yield Chunk(X, y, None, start, self.sources[number].name)
                start += len(X)

    def of_file(self, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield features and targets of a file's rows, some at a time."""
        source = self.sources[number]
        for table, keys in keyed(source, self.seed, number):
            rows = table[(keys < self.limit) & np.asarray(table[self.target].notna())]
            try:
                X, y = self.encoder.transform(rows), self.numbers(rows)
            except (ColumnProblem, DataProblem) as error:
                raise type(error)(f"{source.name}: {error}") from error
            if self.watch is not None:
                self.watch(len(table))
            yield X, y

    def whole_file(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features and targets of all rows of a file."""
        X, y = zip(*self.of_file(number), strict=True)
        return np.concatenate(X), np.concatenate(y)

    def numbers(self, rows: pandas.DataFrame) -> np.ndarray:
        """Return the targets of rows, or raise a sentence about one that is no number."""
        numbers, wrong = to_numbers(rows[self.target], self.grouped)
        what = f"The target {self.target!r}"
        if len(wrong):
            raise DataProblem(f"{not_numbers(what, rows[self.target], wrong)} Correct it.")
        if np.any(np.isinf(numbers)):
            sentence = infinite_values(self.target, rows[self.target], numbers)
            raise DataProblem(sentence.replace("Column", "The target", 1))
        return numbers
