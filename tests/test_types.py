"""What type checkers make of a user's program: useful types, and errors where there are any.

mypy and Pyright come with the extra `lint`, this one as `basedpyright`, which PyPI has whole
(the package `pyright` fetches it from the network when first used).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import greedygp

SOURCE = Path(greedygp.__file__).parents[1]

# A comment has a word of the type that is found in its line, or says that there is an error.
SNIPPET = """
from typing import reveal_type

import numpy as np

import greedygp
from greedygp.kernels import Constant, Gaussian, Kernel, Periodic

X = np.zeros((20, 2))
y = np.zeros(20)

kernel = Gaussian(length_scale=np.ones(2)) + Constant(0.5) * Periodic(period=[1.0, 2.0])
reveal_type(kernel)  # Kernel
reveal_type(kernel.theta)  # ndarray
reveal_type(kernel.with_theta(kernel.theta))  # Kernel

sparse = greedygp.SparseGPRegressor(kernel=kernel, max_basis=10).fit(X, y)
reveal_type(sparse)  # SparseGPRegressor
reveal_type(sparse.predict(X))  # ndarray
reveal_type(sparse.predict(X, return_std=True))  # tuple
reveal_type(sparse.predict(X, return_cov=True))  # tuple
reveal_type(sparse.predict([[0.0, 1.0]], return_std=True)[1])  # ndarray
reveal_type(sparse.kernel_)  # Kernel
reveal_type(sparse.noise_variance_)  # float
mean, std = sparse.predict(X, True)

reveal_type(greedygp.GPRegressor().fit(X, y))  # GPRegressor
reveal_type(greedygp.AutoGPRegressor().fit(X, y).predict(X))  # ndarray
reveal_type(greedygp.FastRVMRegressor().fit(X, y).predict(X, return_std=True))  # tuple
reveal_type(greedygp.OLSRegressor().fit(X, y).predict(X))  # ndarray
reveal_type(greedygp.SparseGPClassifier().fit(X, y > 0).predict_proba(X))  # ndarray


def widened(kernel: Kernel) -> Kernel:
    return kernel + 1.0


greedygp.SparseGPRegressor(max_basis="many")  # error
greedygp.GPRegressor(kernal=kernel)  # error
sparse.predict(X, return_std=True).mean()  # error
"""

pytestmark = pytest.mark.slow  # a checker reads the whole package


def by_mypy(program):
    """Line -> (whether it is an error, what was said)."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", program.parent / "cache", program],
        cwd=program.parent,
        env=os.environ | {"MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    for line in done.stdout.splitlines():
        if found := re.match(rf".*{program.name}:(\d+): (error|note): (.*)", line):
            yield int(found[1]), found[2] == "error", found[3]


def by_pyright(program):
    beside = Path(sys.executable).parent
    names = [
        shutil.which(name, path=f"{beside}{os.pathsep}{os.environ['PATH']}")
        for name in ("basedpyright", "pyright")
    ]
    command = next(filter(None, names), None)
    if command is None:
        pytest.skip("no basedpyright or pyright on the path")
    settings = {"extraPaths": [str(SOURCE)], "typeCheckingMode": "basic"}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable, "-p", program.parent],
        capture_output=True,
        text=True,
    )
    if not done.stdout:
        pytest.skip(f"{command} does not run here: {done.stderr[:200]}")
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        line = found["range"]["start"]["line"] + 1
        yield line, found["severity"] == "error", found["message"]


@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_a_users_program(checker, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SNIPPET)
    found = list(checker(program))
    wanted = {
        number: line.rpartition("  # ")[2]
        for number, line in enumerate(SNIPPET.splitlines(), start=1)
        if "  # " in line
    }
    errors = {line: message for line, is_error, message in found if is_error}
    assert {line for line, word in wanted.items() if word == "error"} == set(errors), errors
    for line, word in wanted.items():
        if word != "error":
            said = [message for place, _, message in found if place == line]
            assert any(re.search(rf"\b{word}\b", message) for message in said), (line, said)
