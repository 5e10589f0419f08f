"""What the README says: its example prints it, its table is of the page that it names."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def text():
    path = ROOT / "README.md"
    if not path.exists():
        pytest.skip("the README is not beside the tests")
    return path.read_text(encoding="utf-8")


def test_the_first_fit(text):
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    said = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {})
    printed = output.getvalue()
    numbers = r"R2 ([\d.]+), ([\d.]+) % inside"
    r2, inside = map(float, re.search(numbers, printed).groups())
    expected_r2, expected_inside = map(float, re.search(numbers, said).groups())
    assert r2 == pytest.approx(expected_r2, abs=0.003)
    assert inside == pytest.approx(expected_inside, abs=1.0)
    assert printed.splitlines()[1] == said.splitlines()[1]


def test_the_table_of_times_is_that_of_its_page(text):
    page = ROOT / "docs" / "results" / "speed_rows.md"
    if not page.exists():
        pytest.skip("the pages are not beside the tests")
    table = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert len(table) > 4
    assert "\n".join(table) in text


def test_the_seconds_for_ten_thousand_rows(text):
    seconds = int(re.search(r"\| 10,000 \|[^|]*\| (\d+) \|", text).group(1))
    said = int(re.search(r"10,000 rows take about (\d+) seconds", text).group(1))
    assert abs(seconds - said) <= 0.2 * said
