"""The command `greedygp`: from a file of data to a model, predictions and a report.

Only light modules are imported here; a command imports what it needs when it runs, so that
`greedygp --help` answers at once. Click was taken rather than Typer: it starts faster, has fewer
dependencies, and the commands need nothing that Typer adds to it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code; never shows a traceback, except to --debug.

    Parameters
    ----------
    arguments : sequence of str, optional
        None: those of the process.
    """
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        sys.stderr.write("The command line needs more packages: pip install 'greedygp[cli]'\n")
        sys.exit(8)
    from greedygp.cli.commands import run

    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))
