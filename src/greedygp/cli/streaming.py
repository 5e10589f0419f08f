"""Fits to files that are larger than the memory may be: options, the decision, progress."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedygp.cli.options import recipe_of, source_of
from greedygp.cli.screen import FitBars, Screen

if TYPE_CHECKING:
    from greedygp.tables.streamed_training import Means
    from greedygp.tables.training import Trained

__all__ = ["files_at", "is_streamed", "streaming", "trained_from_files"]

# How many times its size on the disk a table takes in memory, about, while it is learnt from.
TIMES = {".parquet": 8.0, ".pq": 8.0, ".feather": 6.0, ".gz": 20.0}
LEAST_MEMORY = 2.0**29
PROGRAM = 2.0**28  # bytes that Python and the libraries take before a row is read, about
UNITS = {"": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}


class Size(click.ParamType):
    """A number of bytes: 800MB, 2G, 1.5GiB."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)i?b?\s*", str(value), re.IGNORECASE)
        if match is None or match[1].count(".") > 1 or match[1] == ".":
            self.fail(f"{value!r} is not a size; write 2GB, or 800MB.", param, ctx)
        size = float(match[1]) * UNITS[match[2].casefold()]
        if size < LEAST_MEMORY:
            self.fail(f"{value!r} is too little: at least 0.5GB are needed.", param, ctx)
        return size


def streaming(function: Callable) -> Callable:
    """Add the options of fits to many rows."""
    for option in (
        click.option(
            "--dask",
            metavar="ADDRESS",
            help="A Dask scheduler, e.g. tcp://host:8786, whose workers read the files.",
        ),
        click.option(
            "--memory",
            type=Size(),
            metavar="SIZE",
            help="What the program may take, e.g. 2GB. Larger files are read in chunks. "
            "Default: half of the machine's memory.",
        ),
    ):
        function = option(function)
    return function


def files_at(data: str) -> list[str]:
    """Return the files that a path, a pattern or a folder means."""
    path = Path(data)
    if path.is_dir():
        return sorted(str(each) for each in path.iterdir() if each.is_file())
    if glob.has_magic(data) and not path.exists():
        return sorted(each for each in glob.glob(data) if Path(each).is_file())
    return [data]


def is_streamed(data: str, options: dict[str, Any]) -> bool:
    """Tell whether files are gone over in chunks: several of them, or too large for the memory."""
    if data == "-":
        return False
    files = files_at(data)
    if options["dask"] or files != [data]:
        return True
    if not Path(data).is_file():
        return False
    return _bytes_in_memory(files) > _memory_for_rows(options)


def _bytes_in_memory(files: list[str]) -> float:
    return sum(Path(f).stat().st_size * TIMES.get(Path(f).suffix.lower(), 3.0) for f in files)


def _memory(options: dict[str, Any]) -> float:
    if options["memory"] is not None:
        return options["memory"]
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # not told by this system
        return 2.0**32


def _memory_for_rows(options: dict[str, Any]) -> float:
    memory = _memory(options)
    return max(memory - PROGRAM, 0.25 * memory)


def trained_from_files(
    screen: Screen, data: str, options: dict[str, Any], known: dict[str, Any]
) -> Trained:
    """Fit a model to files, in chunks."""
    from greedygp.tables.problems import FileProblem
    from greedygp.tables.streamed_training import Means, train_from_files
    from greedygp.tables.streaming import columns_of

    files = files_at(data)
    if not files:
        raise FileProblem(f"No file matches {data!r}.")
    sources = [source_of(path, options) for path in files]
    recipe = recipe_of(
        options, columns_of(sources[0]), True, model=options["model"], test=options["test"]
    )
    size = sum(Path(path).stat().st_size for path in files)
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    screen.note(f"Reading {count} of {size / 2**20:,.0f} MiB in chunks.")
    data_known = {"name": Path(data).name, "sha256": _digest(files), "files": len(files)}
    with _client(options["dask"]) as client, _progress(screen) as (callbacks, watch):
        means: Means = Means(_memory_for_rows(options), client, watch)
        return train_from_files(sources, recipe, means, callbacks, known | {"data": data_known})


def _digest(files: list[str]) -> str:
    """Return the SHA-256 of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def _client(address: str | None) -> Iterator[Any]:
    """Give a client of the cluster at an address; None: there is none."""
    if address is None:
        yield None
        return
    from greedygp.exceptions import ClusterError
    from greedygp.tables.problems import MissingPackage

    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPackage("--dask needs Dask: pip install 'greedygp[dask]'.") from error
    try:
        client = Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"There is no Dask scheduler at {address}: {error}.") from error
    with client:
        yield client


@contextlib.contextmanager
def _progress(screen: Screen) -> Iterator[tuple[tuple, Callable[[int], None] | None]]:
    """Give callbacks of a fit and a counter of rows, both drawn if there is a terminal."""
    if screen.quiet or screen.as_json or not screen.err.is_terminal:
        yield (), None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    begin, done = time.perf_counter(), 0
    with Progress(*columns, console=screen.err, transient=True) as bars:
        bar = bars.add_task("rows", total=None)

        def watch(rows: int) -> None:
            nonlocal done
            done += rows
            rate = done / max(time.perf_counter() - begin, 1e-9)
            bars.update(bar, description=f"{done:,} rows read, {rate:,.0f} a second")

        yield (FitBars(bars),), watch
