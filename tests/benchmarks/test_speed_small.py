"""The benchmark of small tables: it fits what it names, and prints a line for each."""

from benchmarks import speed_small


def test_a_quick_run_has_a_line_for_each_model(capsys):
    speed_small.main(["--quick", "--turns", "1"])
    printed = capsys.readouterr().out
    for name in speed_small.models(5):
        assert f"| 60 x 5 | {name} | " in printed


def test_seconds_and_losses_are_those_of_each_model():
    found = speed_small.measured(60, 5, turns=1)
    assert found.keys() == speed_small.models(5).keys()
    assert all(seconds > 0 for seconds, _ in found.values())
    assert all(abs(loss) < 5 for _, loss in found.values())
