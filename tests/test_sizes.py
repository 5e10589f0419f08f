"""Functions that fit on a screen, files that can be read in one go."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FILE, LONGEST_BODY = 400, 45
FILES = sorted((ROOT / "src" / "greedygp").rglob("*.py"))


def body_lines(function):
    """Count the lines of a function's body, its docstring left out."""
    first = function.body[0]
    lines = function.end_lineno - first.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("lines", [1, 45, 46])
def test_the_docstring_is_not_counted(lines):
    text = 'def f(\n    a,\n):\n    """Two\n\n    parts."""\n' + "    a += 1\n" * lines
    (function,) = functions(ast.parse(text))
    assert body_lines(function) == lines


def test_no_file_is_too_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES}
    assert len(lengths) == len(FILES) > 100
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long():
    found = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": body_lines(function)
        for path in FILES
        for function in functions(ast.parse(path.read_text()))
    }
    assert len(found) > 1000
    assert {name: length for name, length in found.items() if length > LONGEST_BODY} == {}
