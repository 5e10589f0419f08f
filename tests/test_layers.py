"""The contract about imports in pyproject.toml: it holds, and it notices what breaks it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

ROOT = Path(__file__).parents[1]
LAYERS = "Imports point downwards, and the families do not know each other"
ROOMS = "The rooms of a family use those below them"
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
    assert {name for name, _ in found} == {LAYERS, ROOMS, CIRCLES}, done.stdout + done.stderr
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


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("sparse/state.py", "from greedygp.sparse import criteria"),
        ("sparse/learning.py", "def late():\n    from greedygp.sparse import fitting"),
        ("linear/selection.py", "from greedygp.linear import estimator"),
        ("classification/posterior.py", "from greedygp.classification import learning"),
        ("dense/objectives.py", "from greedygp.dense import fitting"),
    ],
)
def test_it_notices_a_room_that_reaches_up(module, line, copy):
    append(copy / "greedygp" / module, line)
    assert ROOMS in broken(copy)


def test_it_notices_circles(copy):
    append(copy / "greedygp" / "progress.py", "from greedygp import greedy")
    assert broken(copy) == [CIRCLES]


def contract(name):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (found,) = [c for c in settings["tool"]["importlinter"]["contracts"] if c["name"] == name]
    return [re.findall(r"\w+", layer) for layer in found["layers"]]


@pytest.mark.parametrize("page", ["architecture.md", "_static/architecture.svg"])
def test_the_page_and_its_picture_have_every_module_and_room(page):
    path = ROOT / "docs" / page
    if not path.exists():
        pytest.skip("the pages are not beside the tests")
    words = set(re.findall(r"\w+", path.read_text()))
    assert {name for layer in [*contract(LAYERS), *contract(ROOMS)] for name in layer} <= words
