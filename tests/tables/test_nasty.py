"""Tables as people have them go through every command, or are refused by the right sentence."""

import pytest

for package in ("click", "rich", "skops", "pandas"):
    pytest.importorskip(package)

from greedygp.cli.commands import run  # noqa: E402
from tests.tables.nasty import TABLES  # noqa: E402

# The kernel is given, and nothing is learnt: what is tested is the way there and back.
QUICK = ("--max-basis", "4", "--set", "objective=None", "--set", "kernel=Gaussian()")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return its exit code and all that it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments):
        code = run([*arguments])
        return code, " ".join("".join(capsys.readouterr()).split())

    return run_command


@pytest.mark.parametrize("name", TABLES)
def test_every_command(name, command, tmp_path):
    table = TABLES[name]
    (tmp_path / "t.csv").write_bytes(table.content)
    learning = ("--target", table.target, *table.reading, *table.learning)
    code, printed = command("fit", "t.csv", *learning, *QUICK, "--report", "r.html")
    assert (code, table.says in printed) == (table.code, True), printed
    if code:
        assert not (tmp_path / "model.skops").exists()
        return
    code, printed = command("predict", "model.skops", "t.csv", *table.reading, "--out", "p.csv")
    assert code == table.predict, printed
    code, printed = command("report", "model.skops", "t.csv", *table.reading)
    assert code == 0, printed
    baseline = "prior" if "classification" in command("info", "model.skops")[1] else "mean"
    code, printed = command("compare", "t.csv", *learning, "--folds", "2", "--only", baseline)
    assert code == 0, printed
    assert "failed" not in printed
