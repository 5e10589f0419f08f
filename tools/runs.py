"""Runs of the test suite in other settings: what `everywhere.py` and `versions.py` share."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What does not depend on the last digits of a computation.
NOT_NUMERICAL = (
    "tests/benchmarks",
    "tests/cli",
    "tests/docs",
    "tests/plotting",
    "tests/report",
    "tests/test_datasets.py",
    "tests/test_hostile_models.py",
    "tests/test_packaging.py",
    "tests/test_readme.py",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Result:
    """What came of a run."""

    passed: bool
    summary: str  # the last line of pytest
    failed: list
    seconds: float

    def words(self):
        """The cells of a table: passed, seconds, summary."""
        return "yes" if self.passed else "NO", f"{self.seconds:.0f}", self.summary


def add_options(parser):
    """Give a parser the options of every tool that runs the suite."""
    parser.add_argument("settings", nargs="*", help="names of settings; all by default")
    parser.add_argument("--numerical", action="store_true", help="only tests of the mathematics")
    parser.add_argument("--pytest", default="", help="further arguments of pytest")
    parser.add_argument("--workers", default="2", help="processes of pytest")


def arguments_of(options):
    """The arguments of pytest that the options ask for."""
    ignored = [f"--ignore={ROOT / name}" for name in NOT_NUMERICAL] if options.numerical else []
    return [f"-n{options.workers}", "--dist=worksteal", *options.pytest.split(), *ignored]


def chosen_of(parser, options, settings):
    """The settings that were asked for; a name that there is not ends the program."""
    if unknown := set(options.settings) - {each.name for each in settings}:
        names = ", ".join(each.name for each in settings)
        parser.error(f"no setting {', '.join(sorted(unknown))}; there are {names}")
    return [each for each in settings if not options.settings or each.name in options.settings]


def interpreter(version):
    """A Python of this version: on the path, or one that pyenv or uv has installed."""
    if found := shutil.which(f"python{version}"):
        if subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    homes = (Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python")
    for home in homes:
        for found in sorted(home.glob(f"*{version}*/bin/python{version}")):
            return str(found)
    return None


def logged(log, command, environment=None):
    """Run a command of the project with its output in a file; return its exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as stream:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | (environment or {}),
            stdout=stream,
            stderr=subprocess.STDOUT,
        ).returncode


def outcome(python, arguments, log, environment=None):
    """Run pytest, by default with one thread for a process."""
    begin = time.perf_counter()
    environment = dict.fromkeys(THREADS, "1") | (environment or {})
    code = logged(log, [python, "-m", "pytest", "-q", *arguments], environment)
    lines = log.read_text().strip().splitlines() or ["no output"]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    summary = re.sub(r" in [\d.]+s.*|=+", "", lines[-1]).strip()
    return Result(code == 0, summary, failed, time.perf_counter() - begin)
