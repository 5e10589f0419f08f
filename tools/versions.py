"""Run the test suite with the versions of NumPy, scikit-learn, pandas and Python that we promise.

    make test-versions                                      every setting, the whole suite
    make test-versions SETTINGS="lowest scikit-learn-1.7"   some of them
    make test-versions VERSIONS_ARGS=--core                 only tests where versions matter most

`lowest` takes every lower bound of `pyproject.toml` literally. Each setting has an environment of
its own, `.venv-versions/lowest` and so on, which is kept: a second run only tests. It is made again
when `pyproject.toml` or its pins change. A Python that this machine does not have is named as
skipped. The output of each run is in `.venv-versions/logs`.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass

from runs import (
    ROOT,
    Result,
    add_options,
    arguments_of,
    chosen_of,
    interpreter,
    logged,
    outcome,
)

KEPT = ROOT / ".venv-versions"
# Where other versions of NumPy, scikit-learn and pandas are most likely to be felt.
CORE = (
    *(f"tests/{family}/test_estimator.py" for family in ("sparse", "dense", "linear")),
    "tests/classification/test_estimator.py",
    "tests/linear/test_classifier.py",
    "tests/dense/test_fitting.py",
    "tests/kernels",
    "tests/tables",
    "tests/rows",
    "tests/test_arrays.py",
    "tests/test_auto.py",
    "tests/test_backends.py",
    "tests/test_data.py",
    "tests/test_interruption.py",
    "tests/test_persistence.py",
    "tests/test_saved_models.py",
    "tests/test_validation.py",
    "tests/test_versions.py",
)
SHOWN = ("numpy", "scipy", "scikit-learn", "pandas")


@dataclass
class Setting:
    """A Python, and the versions that are pinned; everything else is the newest there is."""

    name: str
    python: str
    pins: tuple = ()

    @property
    def folder(self):
        """Where its environment is kept."""
        return KEPT / self.name


def settings():
    """Every setting: the oldest of everything, each scikit-learn, each Python."""
    # A pyarrow that still knows NumPy 1 does not say so in its requirements.
    numpy_1 = ("numpy==1.26.*", "pandas==2.2.*", "pyarrow<19", "matplotlib<3.11")
    return [
        Setting("lowest", "3.11", tuple(lower_bounds())),
        Setting("scikit-learn-1.6", "3.12", ("scikit-learn==1.6.*", *numpy_1)),
        Setting("scikit-learn-1.7", "3.12", ("scikit-learn==1.7.*", "numpy==2.0.*", "pandas<3")),
        Setting("scikit-learn-1.8", "3.13", ("scikit-learn==1.8.*", "numpy>=2", "pandas<3")),
        Setting("scikit-learn-1.9", "3.13", ("scikit-learn==1.9.*", "numpy>=2", "pandas>=3")),
        Setting("newest-3.11", "3.11"),
        Setting("newest-3.12", "3.12"),
        Setting("newest-3.14", "3.14"),
    ]


def lower_bounds():
    """The lower bounds of what a user needs, as pins: `numpy>=1.26` gives `numpy==1.26`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in ("cli", "plot", "excel"))]
    found = {}
    for each in (requirement for group in groups for requirement in group):
        name, bound = re.fullmatch(r"([\w-]+)>=([\w.]+)", each).groups()
        found[name] = f"{name}=={bound}.*" if bound.count(".") < 2 else f"{name}=={bound}"
    return sorted(found.values())


# ---------------------------------------------------------------------- environments


def prepared(setting, python):
    """The interpreter of the setting's environment, made where it is not there; None: failed."""
    inside = setting.folder / "bin/python"
    stamp = setting.folder / "stamp"
    text = (ROOT / "pyproject.toml").read_text() + repr(setting)
    wanted = hashlib.sha256(text.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return str(inside)
    shutil.rmtree(setting.folder, ignore_errors=True)
    log = KEPT / f"logs/{setting.name}-install.log"
    install = [str(inside), "-m", "pip", "install", "--disable-pip-version-check"]
    if logged(log, [python, "-m", "venv", str(setting.folder)]):
        return None
    if logged(log, [*install, "--editable", ".[test]", *setting.pins]):
        return None
    stamp.write_text(wanted)
    return str(inside)


def versions_in(python):
    """The versions that the table shows, as installed."""
    code = f"from importlib.metadata import version; print(*map(version, {SHOWN}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split()


# ------------------------------------------------------------------------------ runs


def line(*cells):
    """One line of the table."""
    print("{:17} {:7} {:7} {:7} {:13} {:7} {:7} {:>8}  {}".format(*cells), flush=True)


def run(setting, arguments):
    """Test one setting and print its line; a false result is red."""
    nothing = [""] * len(SHOWN)
    if (found := interpreter(setting.python)) is None:
        line(setting.name, setting.python, *nothing, "skipped", "", "this Python is not here")
        return True
    if python := prepared(setting, found):
        result = outcome(python, arguments, KEPT / f"logs/{setting.name}.log")
        versions = versions_in(python)
    else:
        result, versions = Result(False, "could not be installed", [], 0.0), nothing
    line(setting.name, setting.python, *versions, *result.words())
    for each in result.failed:
        print(f"    {each}")
    return result.passed


def main():
    """Run the settings that are asked for; the exit code is 1 when one of them is red."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--core", action="store_true", help="only tests where versions matter most")
    options = parser.parse_args()
    arguments = [*arguments_of(options), *(CORE if options.core else ())]
    chosen = chosen_of(parser, options, settings())
    line("setting", "Python", *SHOWN, "passed", "seconds", "")
    passed = [run(setting, arguments) for setting in chosen]
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
