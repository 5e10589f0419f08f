"""A process that has imported everything, and forks a new one for each run of the program.

Most of the time of a short command is spent on importing. The runs are processes of their own, as
from a shell; only their start is quick. Requests and answers are lines of JSON. Where there is no
`fork`, or with `GREEDYGP_REAL_PROGRAM` set, the tests start the installed program instead.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

USED = (
    "pandas",
    "pyarrow.feather",
    "pyarrow.parquet",
    "rich.console",
    "rich.table",
    "skops.io",
    "sklearn.gaussian_process",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "greedygp.cli.commands",
    "greedygp.classification",
    "greedygp.dense",
    "greedygp.linear",
    "greedygp.persistence",
    "greedygp.report",
    "greedygp.sparse",
    "greedygp.tables",
)


def is_possible():
    return hasattr(os, "fork") and not os.environ.get("GREEDYGP_REAL_PROGRAM")


class WarmProgram:
    """Runs the command line in children of a warm process."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments, folder, outputs: Path):
        """Run once; return the exit code and what was written to both outputs."""
        names = [str(outputs / name) for name in ("out", "err")]
        request = {"arguments": arguments, "folder": str(folder), "outputs": names}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        code = json.loads(self.process.stdout.readline())
        return code, *(Path(name).read_text(encoding="utf-8") for name in names)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def serve():
    """Answer requests until there are no more."""
    for name in USED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(**json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def become(arguments, folder, outputs):
    """Turn this process into a run of the program: its streams, folder and arguments."""
    code = 1
    try:
        signal.alarm(120)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdin = os.fdopen(0)
        sys.stdout, sys.stderr = (os.fdopen(k, "w", encoding="utf-8") for k in (1, 2))
        os.chdir(folder)
        sys.argv = ["greedygp", *arguments]
        from greedygp.cli import main

        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
