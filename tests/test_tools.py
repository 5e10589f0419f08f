"""The programs in `tools/` find what they need of each other."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOLS = sorted((Path(__file__).parents[1] / "tools").glob("*.py"))


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_imports(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location(f"tool_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert module.__doc__
