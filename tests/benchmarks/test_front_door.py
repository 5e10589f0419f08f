"""The benchmark of the default model: the lag is that behind the better of the two."""

import numpy as np
import pytest

from benchmarks import front_door
from greedygp import AutoGPRegressor


def test_the_lag_is_that_behind_the_better_model():
    means = {
        "full": np.array([0.5, 0.1, 95.0, 2.0]),
        "sparse": np.array([0.4, 0.2, 94.0, 1.0]),
    }
    text, lag = front_door.line("made up", "full", means)
    assert lag == pytest.approx(0.1)
    assert (
        text
        == "| made up | full | 0.500 | 0.1000 | 0.400 | 0.2000 | 95.0 | 94.0 | 2.0 | 1.0 | 0.100 |"
    )
    assert front_door.line("made up", "sparse", means)[1] == 0.0


def test_scores_are_those_of_both_models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(100, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=100)
    taken, found = front_door.scores(X, y, 0)
    assert taken == "full"
    assert AutoGPRegressor().fit(X, y).reason_.startswith("A full GP")
    for loss, error, covered, seconds in found.values():
        assert loss < 0
        assert error < 0.1
        assert covered > 80
        assert seconds > 0


def test_a_page_of_a_small_set(capsys, monkeypatch):
    def few(name):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(60, 1))
        return type("Data", (), {"X": X, "y": X[:, 0] + 0.1 * rng.normal(size=60)})

    monkeypatch.setattr(front_door.datasets, "load", few)
    front_door.main(["--sets", "made_up", "--partitions", "1"])
    printed = capsys.readouterr().out
    assert "| made_up | full |" in printed
    assert "of 1 sets (wanted: all)" in printed
