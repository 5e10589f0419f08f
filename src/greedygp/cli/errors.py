"""The sentence and the exit code of every error."""

from __future__ import annotations

from greedygp.cli import interruption
from greedygp.cli.codes import Code
from greedygp.exceptions import ClusterError

__all__ = ["OutputProblem", "Unavailable", "describe"]


class OutputProblem(Exception):
    """A result cannot be written."""


class Unavailable(Exception):
    """Something optional is not installed or cannot be reached."""


def describe(error: BaseException) -> tuple[Code, str]:
    """Return the exit code of an error, and one sentence for the user."""
    import click

    if isinstance(error, KeyboardInterrupt | click.Abort):
        return interruption.code(), "Interrupted; no file was written."
    if isinstance(error, click.ClickException):
        return Code.USAGE, error.format_message()
    if isinstance(error, OutputProblem):
        return Code.OUTPUT, str(error)
    if isinstance(error, Unavailable | ImportError | ClusterError):
        return Code.UNAVAILABLE, str(error)
    if isinstance(error, MemoryError):
        return Code.MEMORY, "There is not enough memory; use fewer rows, or a smaller --max-basis."
    return _describe_known(error)


def _describe_known(error: BaseException) -> tuple[Code, str]:
    from greedygp.persistence import ModelFileError
    from greedygp.tables import problems

    kinds = {
        ModelFileError: Code.MODEL,
        problems.FileProblem: Code.FILE,
        problems.DataProblem: Code.DATA,
        problems.ColumnProblem: Code.COLUMNS,
        problems.MissingPackage: Code.UNAVAILABLE,
    }
    for kind, code in kinds.items():
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, OSError) and error.filename:
        return Code.OUTPUT, f"{error.filename}: {error.strerror}."
    if isinstance(error, OSError) and error.errno == 28:
        return Code.OUTPUT, "The disk is full."
    return (
        Code.UNEXPECTED,
        f"Unexpected {type(error).__name__}: {error}. This is an error in greedygp; run the "
        "command again with --debug to see where.",
    )
