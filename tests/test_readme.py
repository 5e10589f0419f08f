"""The README's example runs and prints what the README says (up to rounding of another machine)."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_fit_in_five_lines():
    if not README.exists():
        pytest.skip("the README is not beside the tests")
    text = README.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    printed = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {})
    pattern = r"(\d+) basis vectors, R2 ([\d.]+)"
    basis, r2 = re.search(pattern, output.getvalue()).groups()
    expected_basis, expected_r2 = re.search(pattern, printed).groups()
    assert int(basis) == pytest.approx(int(expected_basis), rel=0.3)
    assert float(r2) == pytest.approx(float(expected_r2), abs=0.003)
