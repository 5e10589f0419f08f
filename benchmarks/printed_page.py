"""What a speed benchmark prints, also as a page of the documentation."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

from benchmarks.frame import DOCS, machine, versions, write_atomically

__all__ = ["also_on_a_page"]


class _Both(io.TextIOBase):
    """A stream that goes to the screen and is kept."""

    def __init__(self, screen: TextIO):
        self.screen, self.kept = screen, io.StringIO()

    def write(self, text: str) -> int:
        self.kept.write(text)
        return self.screen.write(text)

    def flush(self) -> None:
        self.screen.flush()


@contextmanager
def also_on_a_page(
    name: str,
    title: str,
    write: bool,
    *,
    arguments: str = "",
    verbatim: bool = False,
    page: str | None = None,
) -> Iterator[None]:
    """Write what is printed meanwhile to a page of `docs/results/`, too, if `write`.

    Parameters
    ----------
    name : str
        Of the program in `benchmarks/`, and of the page, unless `page` is another.
    title : str
    write : bool
    arguments : str
        Other arguments that the program was given.
    verbatim : bool
        Whether the lines are to stand as they are printed; else they are Markdown.
    page : str, optional
    """
    both = _Both(sys.stdout)
    with redirect_stdout(both):
        yield
    if not write:
        return
    text = both.kept.getvalue().strip()
    command = " ".join(f"python -m benchmarks.{name} --write {arguments}".split())
    facts = {"Machine": machine(), "Versions": versions()}
    about = [
        f"{label}: {', '.join(f'{key} {value}' for key, value in fact.items())}."
        for label, fact in facts.items()
    ]
    lines = [
        f"# {title}",
        f"Made by `{command}`, which prints it.",
        f"```text\n{text}\n```" if verbatim else text,
        *about,
    ]
    write_atomically(DOCS / f"{page or name}.md", "\n\n".join(lines) + "\n")
