"""Run a peer's script in its environment, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.frame import THREAD_VARIABLES
from benchmarks.peers import environments
from benchmarks.peers.exchange import Answer, Request, read_answer, write_request

ROOT = Path(__file__).parents[2]


class PeerError(RuntimeError):
    """A peer's script ended with an error; the message is the end of what it printed."""


def call(environment: str, script: str, request: Request) -> Answer:
    """Have the script (a module's name) answer the request, with ``options["threads"]`` threads."""
    python = environments.python_of(environment)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "request.npz", Path(folder) / "answer.npz"
        write_request(asked, request)
        command = [str(python), "-m", script, str(asked), str(answered)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=_environment(request.options["threads"]),
            capture_output=True,
            text=True,
        )
        if done.returncode != 0 or not answered.exists():
            end = "\n".join(done.stderr.strip().splitlines()[-15:])
            raise PeerError(f"{script} ended with status {done.returncode}:\n{end}")
        return read_answer(answered)


def _environment(threads: int) -> dict[str, str]:
    limits = dict.fromkeys(THREAD_VARIABLES, str(threads))
    return {**os.environ, **limits, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
