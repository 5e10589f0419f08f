"""Run the test suite as other machines would: other CPUs, threads, test orders and Pythons.

    make test-everywhere                               every setting, the whole suite
    make test-everywhere SETTINGS="Haswell threads-2"  some of them
    make test-everywhere PYTEST_ARGS="tests/sparse"    some of the tests

OpenBLAS and NumPy choose their routines by the CPU that they find. `OPENBLAS_CORETYPE` and
`NPY_DISABLE_CPU_FEATURES` let one machine stand for older ones. A setting that this machine cannot
play is named as skipped. Each Python has an environment of its own, `.venv-everywhere/3.12` and so
on, which is kept: a second run only tests. The output of each run is in `.venv-everywhere/logs`.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

from runs import (
    ROOT,
    THREADS,
    Result,
    add_options,
    arguments_of,
    chosen_of,
    interpreter,
    logged,
    outcome,
)

KEPT = ROOT / ".venv-everywhere"

CORE_TYPES = {"Prescott": "SSE3", "Haswell": "AVX2", "ZEN": "AVX2", "SkylakeX": "AVX512F"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@dataclass
class Setting:
    """One way to run the suite, or why this machine has none."""

    name: str
    environment: dict = field(default_factory=dict)
    arguments: tuple = ()
    python: str = sys.executable
    skipped: str = ""


def settings():
    """Every setting, with those that cannot be played here marked as skipped."""
    yield Setting("default")
    features = cpu_features()
    for core, needed in CORE_TYPES.items():
        environment = {"OPENBLAS_CORETYPE": core}
        if not features["has"].get(needed, False):
            yield Setting(core, skipped=f"this CPU has no {needed}")
        elif not knows_core(environment):
            yield Setting(core, skipped="BLAS here is not OpenBLAS, or does not know this core")
        else:
            yield Setting(core, environment)
    wide = [name for name in features["dispatched"] if name.startswith(("X86_V4", "AVX512"))]
    for name, disabled in (("no-AVX512", wide), ("no-AVX2", features["dispatched"])):
        if disabled:
            yield Setting(name, {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)})
        else:
            yield Setting(name, skipped="NumPy does not use it here")
    for count in ("1", "2"):
        yield Setting(f"threads-{count}", dict.fromkeys(THREADS, count))
    seed = str(time.time_ns() % 1_000_000)
    yield Setting(
        "random-order",
        {"GREEDYGP_HYPOTHESIS": "random", "PYTHONHASHSEED": seed},
        ("--random-order", f"--random-order-seed={seed}"),
    )
    for version in PYTHONS:
        name = f"python-{version}"
        if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
            yield Setting(name, skipped="the default here")
        elif found := interpreter(version):
            yield Setting(name, python=found)
        else:
            yield Setting(name, skipped="not found on this machine")


# --------------------------------------------------------------------- what there is


def cpu_features():
    """What the CPU has, and what NumPy uses of it beyond its baseline."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    has = dict(__cpu_features__)
    return {"has": has, "dispatched": [name for name in __cpu_dispatch__ if has.get(name)]}


def knows_core(environment):
    """Whether every OpenBLAS of the environment has the core type that is asked for."""
    answer = subprocess.run(
        [sys.executable, "-c", "import numpy, scipy.linalg"],
        env=os.environ | environment | {"OPENBLAS_VERBOSE": "2"},
        capture_output=True,
        text=True,
    )
    return "Core: " in answer.stderr and "Core not found" not in answer.stderr


# ------------------------------------------------------------------------------ runs


def prepared(setting):
    """The interpreter to test with; another Python gets an environment, made by make, or None."""
    if setting.python == sys.executable:
        return setting.python
    environment = KEPT / setting.name.removeprefix("python-")
    stamp = environment / ".stamps/test"
    names = [f"VENV={environment}", f"PYTHON={setting.python}"]
    command = ["make", "--no-print-directory", *names, str(stamp)]
    if logged(KEPT / f"logs/{setting.name}-install.log", command):
        return None
    return str(environment / "bin/python")


def line(*cells):
    """One line of the table."""
    print("{:14} {:7} {:>8}  {}".format(*cells), flush=True)


def main():
    """Run the settings that are asked for; the exit code is 1 when one of them is red."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    options = parser.parse_args()
    red = False
    line("setting", "passed", "seconds", "")
    for setting in chosen_of(parser, options, list(settings())):
        if setting.skipped:
            line(setting.name, "skipped", "", setting.skipped)
            continue
        log = KEPT / f"logs/{setting.name}.log"
        arguments = [*setting.arguments, *arguments_of(options)]
        if python := prepared(setting):
            result = outcome(python, arguments, log, setting.environment)
        else:
            result = Result(False, "could not be installed", [], 0.0)
        red = red or not result.passed
        line(setting.name, *result.words())
        for each in result.failed:
            print(f"    {each}")
    return int(red)


if __name__ == "__main__":
    sys.exit(main())
