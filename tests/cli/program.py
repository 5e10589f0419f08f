"""The program, run as a user runs it: in a process of its own, in a folder."""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas

from cli.warm import WarmProgram, is_possible

ENVIRONMENT = os.environ | {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "COLUMNS": "120",
    "PYTHONWARNINGS": "error::RuntimeWarning",
}
QUICK = ["--max-basis", "8", "--set", "max_iter=3"]


@functools.cache
def warm_program():
    """One warm process for all tests of this worker."""
    program = WarmProgram(ENVIRONMENT)
    atexit.register(program.close)
    return program


class Program:
    """Runs `greedygp` in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        installed = Path(sys.executable).with_name("greedygp")
        self.command = (
            [str(installed)] if installed.exists() else [sys.executable, "-m", "greedygp"]
        )

    def __call__(self, *arguments, code=0, stdin=None, environment=None):
        """Run, check the exit code and that no traceback shows; return both outputs."""
        arguments = [str(each) for each in arguments]
        if stdin is None and environment is None and is_possible():
            with tempfile.TemporaryDirectory() as outputs:
                ended, out, err = warm_program().run(arguments, self.folder, Path(outputs))
        else:
            ended, out, err = self.installed(arguments, stdin, environment or {})
        assert ended == code, (ended, out, err)
        if "--debug" not in arguments:
            assert "Traceback" not in out + err
        return out, err

    def installed(self, arguments, stdin=None, environment=None):
        """Run the installed program; return its exit code and both outputs."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env=ENVIRONMENT | (environment or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=120,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def start(self, *arguments, **options):
        """Start without waiting."""
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def json(self, *arguments, **options):
        return json.loads(self(*arguments, "--json", **options)[0])

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


def houses(n=120, seed=0):
    """A table with numbers, words, truth values, and holes."""
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "area": rng.normal(80, 20, n).round(2),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Ulm", "Bonn", "Köln"], n),
            "garden": rng.random(n) < 0.4,
        }
    )
    price = 3.0 * table["area"] + 20.0 * table["rooms"] + 50.0 * (table["town"] == "Bonn")
    table["price"] = (price + rng.normal(0, 5, n)).round(3)
    table.loc[::17, "area"] = np.nan
    table.loc[3::23, "town"] = None
    return table
