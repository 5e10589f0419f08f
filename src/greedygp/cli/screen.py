"""What the user sees: tables on the standard output; notes, warnings and progress on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Screen", "number", "printable"]

UNITS = ("row", "column")


def number(value: float | int | None, digits: int = 4) -> str:
    """Return a number as it is shown; a dash for None.

    Examples
    --------
    >>> from greedygp.cli.screen import number
    >>> number(0.123456), number(24063.7), number(12), number(None)
    ('0.1235', '24,060', '12', '-')
    """
    from greedygp.report.numbers import LARGEST, SMALLEST, plain

    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    # Terminals may lack raised digits.
    return plain(value, digits) if SMALLEST <= abs(value) < LARGEST else f"{value:.{digits}g}"


class Screen:
    """Prints for people, or one JSON object for scripts.

    Parameters
    ----------
    as_json : bool
        Only `result` prints, to the standard output.
    quiet : bool
        No notes, no warnings and no progress.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False):
        self.as_json, self.quiet = as_json, quiet
        self.out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)
        self.warned: list[str] = []

    def read(self, table: Any, data: str) -> None:
        """Say how much was read, and from where."""
        where = "the standard input" if data == "-" else data
        rows, columns = (f"{n} {what}{'s' * (n != 1)}" for n, what in zip(table.shape, UNITS))
        self.note(f"Read {rows} and {columns} from {where}.")

    def note(self, text: str) -> None:
        """Print a remark."""
        if not (self.quiet or self.as_json):
            self.err.print(printable(text), markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning, the first time that it comes; a JSON object lists it, too."""
        if text not in self.warned:
            self.warned.append(text)
            self.note(f"Warning: {text}")

    @contextlib.contextmanager
    def warnings_shown(self) -> Iterator[None]:
        """Print the warnings of greedygp and scikit-learn; those of other packages are hidden."""

        def show(message: Any, category: type, *_: Any, **__: Any) -> None:
            if category.__module__.partition(".")[0] in ("greedygp", "sklearn"):
                self.warn(" ".join(str(message).split()))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            yield

    def facts(self, title: str, lines: Iterable[tuple[str, str]]) -> None:
        """Print names and values in two columns."""
        if self.as_json:
            return
        table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in lines:
            table.add_row(_plain(name), _plain(value))
        self.out.print(table)

    def table(self, title: str, names: list[str], lines: Iterable[Iterable[str]]) -> None:
        """Print a table with a heading for each column."""
        if self.as_json:
            return
        table = Table(title=title, title_justify="left", title_style="bold")
        for k, name in enumerate(names):
            table.add_column(name, justify="left" if k == 0 else "right", overflow="fold")
        for line in lines:
            table.add_row(*(_plain(cell) for cell in line))
        self.out.print(table)

    def result(self, value: dict[str, Any]) -> None:
        """Print the result for scripts, with the warnings if there were any."""
        if self.as_json:
            told = value | ({"warnings": self.warned} if self.warned else {})
            sys.stdout.write(json.dumps(told, default=str) + "\n")

    @contextlib.contextmanager
    def progress(self) -> Iterator[tuple]:
        """Give callbacks that draw the progress of a fit, if there is a terminal."""
        if self.quiet or self.as_json or not self.err.is_terminal:
            yield ()
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, TimeElapsedColumn(), console=self.err, transient=True) as bars:
            yield (FitBars(bars),)

    @contextlib.contextmanager
    def tasks(self, what: str, total: int) -> Iterator[Any]:
        """Give a function to call with how many of `total` tasks are done, and the present one."""
        if self.quiet or self.as_json or not self.err.is_terminal:
            yield lambda done, task: None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with Progress(*columns, console=self.err, transient=True) as bars:
            bar = bars.add_task(what, total=total)
            yield lambda done, task: bars.update(bar, completed=done, description=f"{what} {task}")

    @contextlib.contextmanager
    def counter(self, what: str) -> Iterator[Any]:
        """Give a function to call with the number of further rows that are done."""
        if self.quiet or self.as_json or not self.err.is_terminal:
            yield lambda rows: None
            return
        begin, done = time.perf_counter(), 0
        with self.err.status(what) as status:

            def advance(rows: int) -> None:
                nonlocal done
                done += rows
                rate = done / max(time.perf_counter() - begin, 1e-9)
                status.update(f"{what}: {done:,} rows, {rate:,.0f} a second")

            yield advance


class FitBars:
    """A callback of scikit-learn's protocol: one bar for each stage of a fit."""

    def __init__(self, bars: Any):
        self.bars = bars
        self.known: dict[Any, Any] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Draw a bar for a task that is made of steps."""
        if context.parent is not None and context.max_subtasks:
            name = f"{context.task_name}"
            self.known[id(context)] = self.bars.add_task(name, total=context.max_subtasks)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Advance the bar of the stage that a finished step belongs to; close that of a stage."""
        if id(context) in self.known:
            bar = self.known.pop(id(context))
            self.bars.update(bar, total=max(1, self.bars.tasks[bar].completed))
            self.bars.stop_task(bar)
        elif id(context.parent) in self.known:
            self.bars.advance(self.known[id(context.parent)])


def printable(text: str) -> str:
    r"""Return text without the characters that would steer a terminal.

    Examples
    --------
    >>> from greedygp.cli.screen import printable
    >>> printable("a\x1b[31mb")
    'a?[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _plain(text: str) -> str:
    """Return text in which rich sees no markup."""
    from rich.markup import escape

    return escape(printable(text))
