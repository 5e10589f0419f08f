"""Interrupting a command leaves no partial file, and says so by its exit code."""

import signal
import sys
import time

import pytest

from cli.program import houses

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

LONG = ["--max-basis", "300", "--set", "max_iter=100000", "--set", "rounds=50"]


def wait_for(stream, words):
    """Read lines until one has the words."""
    for line in stream:
        if words in line:
            return
    raise AssertionError(f"{words!r} was never said")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "terminate"]
)
@pytest.mark.parametrize("delay", [0.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_fit(number, code, delay, program):
    houses(3000).to_csv(program.folder / "h.csv", index=False)
    (program.folder / "model.skops").write_text("an older model")
    arguments = ("--target", "price", "--report", "r.html", "--overwrite", *LONG)
    process = program.start("fit", "h.csv", *arguments)
    wait_for(process.stderr, b"Read 3000 rows")
    time.sleep(delay)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert program.files() == ["h.csv", "model.skops"]
    assert (program.folder / "model.skops").read_text() == "an older model"


def test_predict(program, fitted):
    import subprocess

    lines = (fitted / "new.csv").read_bytes()
    arguments = ("predict", fitted / "model.skops", "-", "--chunk", "5", "--out", "p.csv")
    process = program.start(*arguments, stdin=subprocess.PIPE)
    process.stdin.write(lines)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not program.files() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert program.files()[0].endswith(".part")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert program.files() == []
