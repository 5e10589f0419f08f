"""Whether the user asked to stop.

An estimator may answer Ctrl-C by ending its fit with the model it has so far. That is right for
Python users, but a command that was interrupted must not go on to write files: so the request is
remembered here, and `check` raises it again.
"""

from __future__ import annotations

from greedygp.cli.codes import Code

__all__ = ["Interrupted", "check", "code", "forget", "remember"]

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


def check() -> None:
    """Raise if the user has asked to stop."""
    if _asked:
        raise Interrupted
