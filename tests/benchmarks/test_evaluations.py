"""The counter of evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evaluations import Trace, counted, main, needed
from greedygp import SparseGPRegressor


def test_the_last_judge_says_when_enough_was_seen() -> None:
    values = [("loo", 3.0), ("loo", 1.0), ("nlml", 9.0), ("nlml", 2.005), ("nlml", 2.0)]
    seen = [(judge, value, 50) for judge, value in values]
    assert needed(seen, close=0.01) == 4
    assert needed(seen, close=0.001) == 5
    assert needed(seen, lowest=1.0) is None


def test_a_part_of_the_rows_counts_as_a_part_and_does_not_judge() -> None:
    seen = [("loo", 0.5, 10), ("loo", 0.4, 10), ("loo", 1.0, 40), ("loo", 0.9, 40)]
    assert needed(seen, close=0.01) == 2.5
    assert needed(seen, close=0.2) == 1.5
    assert counted(seen) == 2.5


def test_a_fit_is_traced_and_the_trace_ends_with_it() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = np.sin(X[:, 0]) + 0.1 * random.normal(size=60)
    with Trace() as seen:
        SparseGPRegressor(max_basis=10, random_state=0).fit(X, y)
    inside = len(seen)
    SparseGPRegressor(max_basis=10, random_state=0).fit(X, y)
    assert inside == len(seen) > 5
    assert all(np.isfinite(value) for _, value, _ in seen)
    assert 1 <= needed(seen) <= inside


def test_a_folder_without_the_package_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["/nowhere"])
    assert "name a checkout of another version" in capsys.readouterr().err
