"""Lets worker processes import the made-up suite beside the tests; figures are drawn, not saved."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def quick_figures(request, monkeypatch):
    """To save a figure takes longer than to make it; one test does save one."""
    if "saved_figures" in request.fixturenames:
        return
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    monkeypatch.setattr(Figure, "savefig", lambda _, path, **__: Path(path).write_bytes(b"drawn"))


@pytest.fixture
def saved_figures():
    """Asks for real files."""
