"""What is printed, on the screen and on a page."""

import pytest

from benchmarks import printed_page
from benchmarks.printed_page import also_on_a_page


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(printed_page, "DOCS", tmp_path)
    return tmp_path


def test_both(folder, capsys):
    with also_on_a_page("speed_this", "Speed of this", True, arguments="--large"):
        print("| a | b |")
    assert capsys.readouterr().out == "| a | b |\n"
    lines = (folder / "speed_this.md").read_text().splitlines()
    assert lines[0] == "# Speed of this"
    assert "`python -m benchmarks.speed_this --write --large`" in lines[2]
    assert "| a | b |" in lines
    assert any(line.startswith("Machine: cpu ") for line in lines)
    assert any("numpy" in line for line in lines)


def test_lines_as_they_are(folder):
    with also_on_a_page("speed_this", "Speed of this", True, verbatim=True):
        print("a   b")
    assert "```text\na   b\n```" in (folder / "speed_this.md").read_text()


def test_no_page_unless_it_is_asked_for(folder, capsys):
    with also_on_a_page("speed_this", "Speed of this", False):
        print("a")
    assert capsys.readouterr().out == "a\n"
    assert not list(folder.iterdir())


def test_no_page_of_half_a_benchmark(folder):
    with pytest.raises(KeyboardInterrupt), also_on_a_page("speed_this", "Speed", True):
        raise KeyboardInterrupt
    assert not list(folder.iterdir())
