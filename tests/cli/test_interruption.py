"""Interrupting a command keeps what it has, leaves no partial file, and sets the exit code."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from cli.program import ENVIRONMENT, houses

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
def test_fit_before_there_is_a_model(number, code, program):
    houses(3000).to_csv(program.folder / "h.csv", index=False)
    (program.folder / "model.skops").write_text("an older model")
    arguments = ("--target", "price", "--report", "r.html", "--overwrite", *LONG)
    process = program.start("fit", "h.csv", *arguments)
    wait_for(process.stderr, b"Read 3000 rows")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Interrupted; no file was written" in err
    assert b"Traceback" not in err
    assert program.files() == ["h.csv", "model.skops"]
    assert (program.folder / "model.skops").read_text() == "an older model"


IN_STEP = """
import signal, sys, time

from greedygp.progress import FitProgress

tell, steps = FitProgress._step, []

def interrupted(self, context, name):
    steps.append(name)
    if len(steps) == {step}:
        signal.raise_signal(signal.{name})
    return tell(self, context, name)

FitProgress._step = interrupted
from greedygp.cli import main

main(sys.argv[1:])
"""


def run_and_interrupt(program, step, name, *arguments):
    """Run the program, with a signal in some step of a fit."""
    done = subprocess.run(
        [sys.executable, "-c", IN_STEP.format(step=step, name=name), *arguments],
        cwd=program.folder,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), pytest.param("SIGTERM", 143, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("model", "step"), [((), 1), (("--model", "sparsegp"), 30)])
def test_fit_saves_the_model_it_has(name, code, model, step, program):
    houses().to_csv(program.folder / "h.csv", index=False)
    arguments = ("fit", "h.csv", "--target", "price", "--report", "r.html", *model)
    done = run_and_interrupt(program, step, name, *arguments)
    assert done.returncode == code
    said = rb"Interrupted\. The best model found until then was saved to model\.skops; its test R2"
    assert re.search(said + rb" is 0\.\d+\. Run the command again", done.stderr)
    assert program.files() == ["h.csv", "model.skops"]
    assert b"ended early" in done.stdout
    told = program.json("info", "model.skops")
    assert told["facts"]["interrupted"]
    out, _ = program("predict", "model.skops", "h.csv")
    assert len(out.splitlines()) == 121


def test_fit_tells_a_script(program):
    houses().to_csv(program.folder / "h.csv", index=False)
    done = run_and_interrupt(program, 1, "SIGINT", "fit", "h.csv", "--target", "price", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_code"], told["interrupted"]) == (130, 130, True)
    assert told["written"] == {"model": "model.skops"}


@pytest.mark.slow
@pytest.mark.parametrize("delay", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_command_ends_soon(command, delay, program):
    """Within two seconds on a machine of its own; a busy one is given a minute."""
    rows, more = (4000, LONG) if command == "fit" else (1000, ["--slow"])
    houses(rows).to_csv(program.folder / "h.csv", index=False)
    process = program.start(command, "h.csv", "--target", "price", *more)
    wait_for(process.stderr, f"Read {rows} rows".encode())
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Interrupted" in err
    assert b"Traceback" not in err


def test_compare_says_what_is_done(program):
    houses().to_csv(program.folder / "h.csv", index=False)
    arguments = ("--target", "price", "--only", "mean", "--only", "gp")
    done = run_and_interrupt(program, 1, "SIGINT", "compare", "h.csv", *arguments)
    assert done.returncode == 130
    assert b"Interrupted; 1 of 2 models were compared." in done.stderr
    assert b"mean" in done.stdout
    done = run_and_interrupt(program, 1, "SIGINT", "compare", "h.csv", *arguments[:2])
    assert b"Interrupted; no model was compared." in done.stderr


def test_predict(program, fitted):
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
