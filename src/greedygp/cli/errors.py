"""Exit codes, and the sentence and code of every error."""

from __future__ import annotations

import enum

__all__ = ["EXIT_CODES", "Code", "Interrupted", "OutputProblem", "Unavailable", "describe"]


class Code(enum.IntEnum):
    """What the exit code of `greedygp` tells a script."""

    FINE = 0
    UNEXPECTED = 1
    USAGE = 2
    FILE = 3
    DATA = 4
    MODEL = 5
    COLUMNS = 6
    OUTPUT = 7
    UNAVAILABLE = 8
    MEMORY = 9
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_CODES = {
    Code.FINE: "all went well",
    Code.UNEXPECTED: "an error in greedygp; run again with --debug to see where",
    Code.USAGE: "the command line is wrong: an unknown option, a missing argument",
    Code.FILE: "the data file is missing or cannot be read",
    Code.DATA: "the data cannot be learnt from as they are",
    Code.MODEL: "the model file is missing, damaged, too new, or not a model",
    Code.COLUMNS: "the columns are not those that the model was fitted with",
    Code.OUTPUT: "a result cannot be written",
    Code.UNAVAILABLE: "something optional is not installed or cannot be reached",
    Code.MEMORY: "there is not enough memory",
    Code.INTERRUPTED: "interrupted (Ctrl-C); nothing half-written is left",
    Code.TERMINATED: "terminated (SIGTERM); nothing half-written is left",
}


class OutputProblem(Exception):
    """A result cannot be written."""


class Unavailable(Exception):
    """Something optional is not installed or cannot be reached."""


class Interrupted(KeyboardInterrupt):
    """The user, or the system, asked to stop."""


def describe(error: BaseException) -> tuple[Code, str]:
    """Return the exit code of an error, and one sentence for the user."""
    import click

    from greedygp.cli import interruption

    if isinstance(error, KeyboardInterrupt | click.Abort):
        return interruption.code(), "Interrupted; no file was written."
    if isinstance(error, click.ClickException):
        return Code.USAGE, error.format_message()
    if isinstance(error, OutputProblem):
        return Code.OUTPUT, str(error)
    if isinstance(error, Unavailable | ImportError):
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
