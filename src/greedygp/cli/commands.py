"""The group of commands, and what surrounds each run: signals, errors, exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import click

from greedygp import __version__
from greedygp.cli import interruption
from greedygp.cli.bench import bench
from greedygp.cli.codes import EXIT_CODES, Code
from greedygp.cli.compare import compare
from greedygp.cli.datasets import datasets
from greedygp.cli.errors import describe
from greedygp.cli.fit import fit
from greedygp.cli.info import info
from greedygp.cli.interruption import Interrupted
from greedygp.cli.predict import predict
from greedygp.cli.report import report
from greedygp.cli.screen import printable

__all__ = ["group", "run"]

EPILOG = """\b
Examples:
  greedygp fit houses.csv --target price --report report.html
  greedygp predict model.skops new.csv --out predictions.csv
  cat houses.csv | greedygp fit - --target price --json
  greedygp compare houses.csv --target price

\b
Completion of names in the shell:
  eval "$(_GREEDYGP_COMPLETE=bash_source greedygp)"     (or zsh_source, fish_source)

\b
Exit codes:
""" + "\n".join(f"  {int(code):>3}  {text}" for code, text in EXIT_CODES.items())


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="greedygp")
def group() -> None:
    """Gaussian processes that choose their own basis: from a table to predictions with error bars.

    Start with `greedygp fit`.
    """


for command in (fit, predict, report, info, compare, bench, datasets):
    group.add_command(command)


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    try:
        with _signals(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _invoke(arguments)
            sys.stdout.flush()
        return Code.FINE
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as help_text:
        help_text.show()
        return Code.USAGE
    except BrokenPipeError:  # the reader, `head` for instance, has enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Code.FINE
    except BaseException as error:
        return _tell(error, arguments)


def _invoke(arguments: list[str]) -> None:
    if "_GREEDYGP_COMPLETE" in os.environ:
        with contextlib.suppress(SystemExit):
            group.main(arguments, prog_name="greedygp")
        return
    with group.make_context("greedygp", arguments) as context:
        group.invoke(context)


def _tell(error: BaseException, arguments: list[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exception(error)
    code, sentence = describe(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        sys.stderr.write(error.ctx.get_usage() + "\n")
        sentence += f" Try: {error.ctx.command_path} --help"
    sys.stderr.write(f"Error: {printable(sentence)}\n")
    if "--json" in arguments:
        sys.stdout.write(json.dumps({"error": sentence, "exit_code": int(code)}) + "\n")
    return int(code)


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn Ctrl-C and a request to terminate into one exception that is also remembered."""
    interruption.forget()

    def stop(number: int, frame: Any) -> None:
        interruption.remember(Code.TERMINATED if number == signal.SIGTERM else Code.INTERRUPTED)
        raise Interrupted

    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, stop)
    except ValueError:  # not the main thread
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
