"""Exit codes."""

from __future__ import annotations

import enum

__all__ = ["EXIT_CODES", "Code"]


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
    Code.INTERRUPTED: "interrupted (Ctrl-C); what `fit` and `compare` had by then is kept",
    Code.TERMINATED: "terminated (SIGTERM); the same",
}
