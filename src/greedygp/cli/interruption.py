"""Whether the user, or the system, asked to stop, and by which signal: the exit code tells it.

The exception alone does not: a fit that keeps its model raises one of its own.
"""

from __future__ import annotations

from greedygp.cli.codes import Code

__all__ = ["Interrupted", "code", "forget", "remember"]

_asked: list[Code] = []


class Interrupted(KeyboardInterrupt):
    """The user, or the system, asked to stop."""


def remember(code: Code) -> None:
    """Note that the user asked to stop."""
    _asked.append(code)


def forget() -> None:
    """Forget earlier requests."""
    _asked.clear()


def code() -> Code:
    """Return the exit code of what was asked for first."""
    return _asked[0] if _asked else Code.INTERRUPTED
