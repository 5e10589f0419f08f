"""Runs in slices: what is recorded is not done again, failures are, and a bare machine will do."""

from __future__ import annotations

import importlib.util
import json
import sys

import numpy as np
import pytest

from benchmarks import slices, small_rows, start_stability

RUNS = [{"set": "one", "fit": fit} for fit in range(3)]


def test_results_are_lines_and_what_is_there_is_not_done_again(tmp_path, capsys):
    path = tmp_path / "folder" / "results.jsonl"
    assert slices.do(RUNS[:1], dict, path) == 0
    assert slices.do(RUNS, dict, path) == 0
    results = slices.read(path)
    assert sorted(r["fit"] for r in results) == [0, 1, 2]
    assert all(r["seconds"] >= 0 for r in results)
    assert "3 runs, 1 recorded, 2 to do" in capsys.readouterr().out


@pytest.mark.slow
def test_several_processes(tmp_path):
    path = tmp_path / "results.jsonl"
    assert slices.do(RUNS, dict, path, jobs=2) == 0
    assert sorted(r["fit"] for r in slices.read(path)) == [0, 1, 2]


def test_a_failed_run_is_recorded_and_tried_again(tmp_path):
    path = tmp_path / "results.jsonl"
    assert slices.do(RUNS[:1], int, path) == 1
    assert "TypeError" in slices.read(path)[0]["error"]
    assert slices.do(RUNS[:1], dict, path) == 0


def test_no_run_begins_after_the_time_is_up(tmp_path):
    path = tmp_path / "results.jsonl"
    assert slices.do(RUNS, dict, path, seconds=0.0) == len(RUNS)
    assert slices.read(path) == []


def test_a_line_that_was_broken_off_is_passed_over(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(RUNS[0]) + '\n{"set": "one", "fi')
    assert slices.missing(RUNS, slices.read(path)) == RUNS[1:]


def test_the_layer_of_the_array_api_comes_from_scikit_learn_where_it_is_not_there(monkeypatch):
    find, name = importlib.util.find_spec, "array_api_compat"
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == name else find(n))
    monkeypatch.delitem(sys.modules, name, raising=False)
    slices.bare_machine()
    stand_in = sys.modules.pop(name)
    assert stand_in.array_namespace(np.ones(2)).__name__.startswith("sklearn")


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1.0, 50.0]
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    for name in ("bank8FM", "boston"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path))


def test_few_rows_with_both_noise_models(data_folder, capsys):
    found = small_rows.work({"model": "sparse", "set": "boston", "rows": 50, "draw": 0})
    assert found["auto"] == found["constant"]  # too few rows for anything else
    runs = [{"model": "sparse", "set": "boston", "rows": 50, "draw": 0, **found}]
    assert small_rows.report(runs)
    runs[0]["auto"] = {**found["auto"], "nlpd": found["auto"]["nlpd"] + 0.1}
    assert not small_rows.report(runs)
    assert "MISSED" in capsys.readouterr().out


def test_a_fit_with_features_of_noise(data_folder, monkeypatch, capsys):
    monkeypatch.setattr(start_stability, "FAR", 1e-3)  # every length scale is far then
    run = {"set": "bank8FM", "rows": 120, "draw": 0, "fit": 1}
    found = start_stability.work(run)
    assert found["far"] == 2 + start_stability.NOISE_FEATURES
    assert found["nmse"] < 0.5
    assert np.isfinite([found["gain"], found["gain_over_end"], found["longest"]]).all()
    other = {**run, "fit": 2, **found, "gain": 0.0, "nmse": 1.2 * found["nmse"]}
    assert start_stability.report([{**run, **found, "gain": 0.0}, other])
    other["nmse"] = 1.5 * found["nmse"]
    assert not start_stability.report([{**run, **found, "gain": 0.0}, other])
    assert "1.091" in capsys.readouterr().out


@pytest.mark.parametrize("program", [small_rows, start_stability])
def test_the_report_is_a_page(program, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.printed_page.DOCS", tmp_path)
    name = program.__name__.rpartition(".")[2]
    assert program.main(["--report", "--write", "--results", str(program.RESULTS)]) == 0
    printed = capsys.readouterr().out.strip()
    page = (tmp_path / f"{name}.md").read_text()
    assert printed in page
    assert f"python -m benchmarks.{name} --write --report" in page
