"""The suite of intervals: its runs on made-up data, and its page of made-up records."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import frame
from benchmarks.suites import SUITES, intervals

SUITE = SUITES["intervals"]


def test_sizes():
    assert len(SUITE.tasks) == 10
    for task in SUITE.tasks:
        n_train, n_test = task.parameters["n_train"], task.parameters["n_test"]
        assert n_train % 2 == 0
        assert 100 < n_train <= 600
        assert 100 < n_test <= 2000
        assert n_train + n_test <= intervals.ROWS[task.name][1]


@pytest.mark.parametrize("method", SUITE.methods, ids=lambda method: method.name)
def test_a_run(method, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(260, 2))
    y = 50 + 20 * (3 * X[:, 0] + 0.1 * rng.normal(size=260))
    data = SimpleNamespace(X=X, y=y)
    monkeypatch.setattr(intervals.datasets, "load", lambda name: data)
    task = intervals.Task("toy", "Toy", {"n_train": 120, "n_test": 140})
    metrics = intervals.run(task, method, 0, None)["metrics"]
    assert sorted(metrics) == sorted(SUITE.metrics)
    for way in intervals.WAYS:
        assert 0.75 < metrics[f"inside_{way}"] <= 1.0
        assert 0.1 < metrics[f"width_{way}"] < 1.0
        assert metrics[f"below_low_{way}"] < 0.2 < 0.8 < metrics[f"below_high_{way}"]


def test_held_rows_are_other_rows(monkeypatch):
    """Everything but the posterior comes from the first half."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(60, 1)), rng.normal(size=60)
    first = intervals.first_model("SparseGPRegressor", 0).set_params(max_basis=5, max_iter=3)
    first.fit(X[:30], y[:30])
    second = intervals.with_other_rows(first, X[30:], y[30:])
    assert second.kernel_ == first.kernel_
    assert second.noise_variance_ == first.noise_variance_
    assert second.approximation_ == first.approximation_
    order = np.lexsort(second.basis_.T), np.lexsort(first.basis_.T)
    np.testing.assert_array_equal(second.basis_[order[0]], first.basis_[order[1]])
    assert len(second.loo_predict()[0]) == 30


def page(folder, inside):
    """The page of records in which so many targets are inside."""
    for task in SUITE.tasks[:2]:
        for method in SUITE.methods:
            for partition in range(2):
                run = frame.Run(SUITE, task, method, partition)
                metrics = dict.fromkeys(SUITE.metrics, 0.95)
                metrics |= {"inside_gaussian": 0.9, "inside_jackknife+": inside}
                metrics |= {"width_gaussian": 1.0, "width_jackknife+": 1.25}
                metrics |= {"below_low_gaussian": 0.05, "below_low_jackknife+": 0.05}
                frame.store(
                    SUITE, frame.record_of(run, "ok", None, 1.0, {"metrics": metrics}), folder
                )
    return SUITE.render(SUITE, frame.read_records(SUITE, folder), folder).read_text()


def test_the_page_marks_what_is_too_far_away(tmp_path):
    text = page(tmp_path / "far", inside=0.7)
    assert "| Boston | 0.900 | 0.700\\* | +25 % | 0.050 and 0.950 | 0.050 and 0.950 |" in text
    assert text.count("gaussian 2 of 2, jackknife+ 0 of 2") == 4
    text = page(tmp_path / "near", inside=0.91)
    assert text.count("gaussian 2 of 2, jackknife+ 2 of 2") == 4
    assert "python -m benchmarks run intervals --repeats 2" in text


def test_standard_errors():
    task = intervals.Task("toy", "Toy", {"n_train": 200, "n_test": 400})
    learnt = intervals.standard_error(task, False, 1, 0.9)
    assert learnt == pytest.approx(np.sqrt(0.09 / 200 + 0.09 / 400))
    assert intervals.standard_error(task, True, 1, 0.9) > learnt
    assert intervals.standard_error(task, False, 4, 0.9) == pytest.approx(learnt / 2)
