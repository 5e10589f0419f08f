"""The benchmark of many rows, with few: every task gives its figures, and every table prints."""

import json

import numpy as np
import pytest

from benchmarks import scale

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def few(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "FOLDER", tmp_path / "rows")
    monkeypatch.setattr(scale, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(scale, "FILES", 2)
    monkeypatch.setattr(scale, "FILE_ROWS", 400)
    monkeypatch.setattr(scale, "MAPPED_ROWS", 500)
    monkeypatch.setattr(scale, "ITERATIONS", 1)
    # The rows themselves are drawn a file at a time.
    monkeypatch.setattr(scale, "rows", lambda number, count=400, rows=scale.rows: rows(number, 400))


@pytest.mark.slow
def test_every_task_and_table(capsys, monkeypatch):
    monkeypatch.setattr(scale, "estimator", small(scale.estimator))
    scale.RESULTS.mkdir()
    for task in ("rows-10000", "mapped", "files"):
        found = scale.measure(task)
        assert found["seconds"] > 0
        assert found["peak_gib"] > 0
        (scale.RESULTS / f"{task}.json").write_text(json.dumps(found))
    assert found["bare_rows"] == found["rows"] == 800
    assert 0 < found["rmse"] < 10
    times = {"passes_1": [9, 8], "passes_2": [5, 6], "products_1": [8, 8], "products_2": [4, 4]}
    workers = {"rows": 1, "seconds": times, "cpu_seconds_of_the_busiest": times}
    (scale.RESULTS / "workers.json").write_text(json.dumps(workers))
    capsys.readouterr()
    scale.main(["show"])
    page = capsys.readouterr().out
    assert "| 800 | ten Parquet files |" in page
    assert "| value and gradient, by the clock | 8.0 | 5.0 | 1.60 |" in page
    assert "(best of 2, in turns)" in page
    assert "Memory map of 500 rows x 6" in page


@pytest.mark.parametrize("tasks", [[], ["mapped", "files"]])
def test_which_tasks_are_run(monkeypatch, tasks):
    asked = []
    monkeypatch.setattr(scale, "run", lambda *given: asked.append(given))
    scale.main(["run", *tasks])
    assert asked == [(tasks or scale.TASKS, False, scale.REPEATS)]


def small(estimator):
    return lambda basis, iterations: estimator(20, iterations)


def test_the_truth_is_friedmans():
    X = np.random.default_rng(0).uniform(size=(5, 10))
    other = 1.0 * X
    other[:, 5:] = 0.0
    np.testing.assert_allclose(scale.truth(X), scale.truth(other))
    X, y = scale.rows(3)
    assert abs(np.std(y - scale.truth(X)) / scale.NOISE - 1) < 0.15
