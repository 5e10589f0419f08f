"""The contract about imports in pyproject.toml: it holds, and it notices what breaks it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

ROOT = Path(__file__).parents[1]
LAYERS = "Imports point downwards, and the families do not know each other"
CIRCLES = "No two modules import each other, in any folder"


@pytest.fixture
def copy(tmp_path):
    """A copy of the package and of its contract."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "greedygp", tmp_path / "greedygp", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(folder):
    """Return the names of the contracts that the package in a folder breaks."""
    check = (
        "from importlinter.cli import lint_imports as check; raise SystemExit(check(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^(.+) (KEPT|BROKEN)\b", done.stdout, re.MULTILINE)
    assert {name for name, _ in found} == {LAYERS, CIRCLES}, done.stdout + done.stderr
    names = [name for name, verdict in found if verdict == "BROKEN"]
    assert bool(done.returncode) == bool(names)
    return names


def append(path, line):
    path.write_text(f"{path.read_text()}\n{line}\n")


def test_it_holds(copy):
    assert broken(copy) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("arrays.py", "import greedygp.rows"),
        ("kernels/base.py", "from greedygp import greedy"),
        ("greedy.py", "def late():\n    from greedygp.sparse import state"),
        ("dense/posterior.py", "from greedygp.sparse.posterior import Posterior"),
        ("linear/state.py", "import greedygp.tables"),
        ("unlisted.py", "x = 1"),
    ],
    ids=["foundation", "engine", "family from inside a function", "sideways", "application", "new"],
)
def test_it_notices(module, line, copy):
    path = copy / "greedygp" / module
    path.touch()
    append(path, line)
    assert LAYERS in broken(copy)


def test_it_notices_circles(copy):
    append(copy / "greedygp" / "progress.py", "from greedygp import greedy")
    assert broken(copy) == [CIRCLES]
