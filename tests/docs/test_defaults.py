"""What the documentation says of defaults is so."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from greedygp import SparseGPRegressor

DOCS = Path(__file__).parents[2] / "docs"

if not DOCS.exists():
    pytest.skip("the documentation is not part of the installed package", allow_module_level=True)

LEARNING = (DOCS / "learning.md").read_text(encoding="utf-8")
DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(SparseGPRegressor).parameters.items()
}


def test_the_table_of_learning_has_the_defaults():
    rows = re.findall(
        r"^\| `(\w+)` \| (\S+) \|", LEARNING.split("| parameter | default | |")[1], re.M
    )
    said = {name: ast.literal_eval(value.strip("`")) for name, value in rows}
    assert len(said) >= 8
    assert said == {name: DEFAULTS[name] for name in said}


def test_the_default_objective_is_named_as_such():
    bullets = re.findall(r"^- `\"(\w+)\"`, the default", LEARNING, re.M)
    assert bullets == [DEFAULTS["objective"]]
