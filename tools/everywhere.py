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
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".venv-everywhere"

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

CORE_TYPES = {"Prescott": "SSE3", "Haswell": "AVX2", "ZEN": "AVX2", "SkylakeX": "AVX512F"}
PYTHONS = ("3.11", "3.12", "3.13")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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


# ------------------------------------------------------------------------------ runs


def prepared(setting):
    """The interpreter to test with; another Python gets an environment, made by make."""
    if setting.python == sys.executable:
        return setting.python
    environment = KEPT / setting.name.removeprefix("python-")
    stamp = environment / ".stamps/test"
    names = [f"VENV={environment}", f"PYTHON={setting.python}"]
    log = log_of(f"{setting.name}-install")
    with log.open("w") as stream:
        subprocess.run(
            ["make", "--no-print-directory", *names, str(stamp)],
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=True,
        )
    return str(environment / "bin/python")


def log_of(name):
    """Where the output of a run goes."""
    place = KEPT / "logs" / f"{name}.log"
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def run(setting, arguments):
    """Test with one setting: exit code, the last line of pytest, seconds."""
    python = prepared(setting)
    environment = os.environ | dict.fromkeys(THREADS, "1") | setting.environment
    log = log_of(setting.name)
    begin = time.perf_counter()
    with log.open("w") as stream:
        code = subprocess.run(
            [python, "-m", "pytest", "-q", *setting.arguments, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        ).returncode
    lines = log.read_text().strip().splitlines() or ["no output"]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return code, re.sub(r" in [\d.]+s.*|=+", "", lines[-1]).strip(), failed, begin


def line(*cells):
    """One line of the table."""
    print("{:14} {:7} {:>8}  {}".format(*cells), flush=True)


def main():
    """Run the settings that are asked for; the exit code is 1 when one of them is red."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", help="names of settings; all by default")
    parser.add_argument("--numerical", action="store_true", help="only tests of the mathematics")
    parser.add_argument("--pytest", default="", help="further arguments of pytest")
    parser.add_argument("--workers", default="2", help="processes of pytest")
    options = parser.parse_args()
    chosen = list(settings())
    if unknown := set(options.settings) - {each.name for each in chosen}:
        names = ", ".join(each.name for each in chosen)
        parser.error(f"no setting {', '.join(sorted(unknown))}; there are {names}")
    arguments = [f"-n{options.workers}", "--dist=worksteal", *options.pytest.split()]
    if options.numerical:
        arguments += [f"--ignore={ROOT / name}" for name in NOT_NUMERICAL]
    red = False
    line("setting", "passed", "seconds", "")
    for setting in chosen:
        if options.settings and setting.name not in options.settings:
            continue
        if setting.skipped:
            line(setting.name, "skipped", "", setting.skipped)
            continue
        code, summary, failed, begin = run(setting, arguments)
        red = red or code != 0
        seconds = f"{time.perf_counter() - begin:.0f}"
        line(setting.name, "yes" if code == 0 else "NO", seconds, summary)
        for each in failed:
            print(f"    {each}")
    return int(red)


if __name__ == "__main__":
    sys.exit(main())
