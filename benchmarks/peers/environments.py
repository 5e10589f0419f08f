"""The peers' environments: one folder for each, from pinned requirements.

    python -m benchmarks.peers.environments [gpflow] [gpytorch] [catboost] [ngboost] [fastrvm]

makes ``benchmarks/peers/.venvs/<name>`` with the interpreter that runs it, where it is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
VENVS = FOLDER / ".venvs"
NAMES = ("gpflow", "gpytorch", "catboost", "ngboost", "fastrvm")


def requirements(name: str) -> Path:
    return FOLDER / f"requirements-{name}.txt"


def python_of(name: str) -> Path:
    """The environment's interpreter.

    Raises
    ------
    FileNotFoundError
        If the environment was not made; the message says how to make it.
    """
    python = VENVS / name / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(
            f"The peers' environment {name!r} is not there ({python}); "
            f"make it with `python -m benchmarks.peers.environments {name}`."
        )
    return python


def make(name: str) -> Path:
    """Make the environment and install its requirements; returns its interpreter."""
    python = VENVS / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENVS / name)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements(name))]
    subprocess.run(install, check=True)
    return python


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.environments")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    names = parser.parse_args(arguments).names or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"no environment {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    for name in names:
        print(make(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
