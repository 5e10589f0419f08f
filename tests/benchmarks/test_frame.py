"""The benchmark frame on a made-up suite: records, resuming, failures, pages."""

import json
import os
import re

import pytest
from made_up_suite import make_suite

from benchmarks import frame, pages
from benchmarks.frame import Method, Task, read_records, run_suite


@pytest.fixture
def counts(tmp_path, monkeypatch):
    """Calls of the made-up functions so far."""
    folder = tmp_path / "counts"
    folder.mkdir()
    monkeypatch.setenv("MADE_UP_COUNTS", str(folder))

    def read(kind):
        path = folder / kind
        return path.stat().st_size if path.exists() else 0

    return read


@pytest.fixture
def go(tmp_path, counts):
    """Run a suite quietly in a folder of the test's own; returns its lines."""

    def call(suite, **options):
        lines = []
        run_suite(suite, results=tmp_path / "results", report=lines.append, **options)
        return lines

    call.results = tmp_path / "results"
    return call


def test_every_run_gives_one_record(go, counts):
    suite = make_suite()
    go(suite)
    records = read_records(suite, go.results)
    assert len(records) == 8
    assert {frame.key_of(r) for r in records} == {
        (task, method, p) for task in "ab" for method in "xy" for p in (0, 1)
    }
    record = records[-1]
    assert record["task"] == "b"
    assert record["metrics"] == {"error": 12.5}
    assert record["parameters"] == {"task": {"level": 2}, "method": {"offset": 0.5}}
    assert record["seed"] == record["partition"] == 1
    assert record["seconds"] >= 0
    assert {"python", "greedygp", "numpy", "scipy", "scikit-learn", "blas"} <= set(
        record["versions"]
    )
    assert {"cpu", "cores"} <= set(record["machine"])
    assert record["code"] == frame.code()


def test_the_state_of_the_code_is_a_commit_or_unknown(monkeypatch):
    found = frame.code.__wrapped__()
    assert found is None or re.fullmatch(r"[0-9a-f]{7,40}\+?", found)
    monkeypatch.setenv("PATH", "")
    assert frame.code.__wrapped__() is None


def test_pages_tell_runs_of_other_states_apart(go):
    suite = make_suite()
    go(suite)
    records = read_records(suite, go.results)
    for record in records:
        record["code"] = "abc1234"
    assert "State of the code: abc1234 (8 runs)." in pages.provenance(suite, records)
    for record in records[:3]:
        del record["code"]
    text = "\n".join(pages.provenance(suite, records))
    assert "abc1234 (5 runs); 3 runs are older, and it was not noted." in text
    for record in records:
        record.pop("code", None)
    assert "State of the code" not in "\n".join(pages.provenance(suite, records))


def test_recorded_runs_are_not_repeated(go, counts):
    suite = make_suite()
    go(suite, repeats=1)
    assert (counts("run"), counts("prepare")) == (4, 2)
    lines = go(suite, repeats=1)
    assert (counts("run"), counts("prepare")) == (4, 2)
    assert "4 recorded, 0 to do" in lines[0]
    go(suite, repeats=2)
    assert (counts("run"), counts("prepare")) == (8, 4)


def test_an_interrupted_suite_keeps_its_records_and_goes_on(go, counts, monkeypatch):
    suite = make_suite()
    execute = frame.execute

    def interrupted(run, results):
        if counts("run") == 3:
            raise KeyboardInterrupt
        return execute(run, results)

    monkeypatch.setattr(frame, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        go(suite)
    assert len(read_records(suite, go.results)) == 3
    monkeypatch.setattr(frame, "execute", execute)
    go(suite)
    assert counts("run") == 8
    assert len(read_records(suite, go.results)) == 8


def test_a_run_that_took_the_interrupt_for_itself_does_not_count(go):
    suite = make_suite(methods=[Method("stubborn", "Stubborn", {"takes_interrupts": True})])
    with pytest.raises(KeyboardInterrupt):
        go(suite)
    assert read_records(suite, go.results) == []


def test_other_parameters_make_a_record_stale(go, counts):
    go(make_suite(), repeats=1)
    go(make_suite(methods=[Method("x", "X"), Method("y", "Y", {"offset": 0.7})]), repeats=1)
    assert counts("run") == 6
    values = {
        frame.key_of(r): r["metrics"]["error"] for r in read_records(make_suite(), go.results)
    }
    assert values["a", "y", 0] == 1.7
    assert len(values) == 4


def test_a_record_without_a_metric_that_is_asked_for_now_is_stale(go, counts):
    go(make_suite(), repeats=1)
    suite = make_suite(metrics=["error", "density"])
    assert not any(frame.is_complete(suite, r) for r in read_records(suite, go.results))
    go(suite, repeats=1)
    assert counts("run") == 8


def test_a_failed_run_is_recorded_does_not_stop_the_suite_and_is_tried_again(go, counts):
    methods = [Method("bad", "Bad", {"fails": True}), Method("x", "X")]
    suite = make_suite(methods=methods)
    lines = go(suite, repeats=1)
    records = read_records(suite, go.results)
    assert [r["status"] for r in records] == ["failed", "ok", "failed", "ok"]
    assert "RuntimeError: the model did not fit" in records[0]["error"]
    assert any("FAILED: RuntimeError: the model did not fit" in line for line in lines)
    go(suite, repeats=1)
    assert counts("run") == 6
    assert len(read_records(suite, go.results)) == 4


def test_a_failed_preparation_fails_its_runs_only(go):
    tasks = [Task("a", "A", {"level": 1}), Task("c", "C", {"level": 1, "cannot_prepare": True})]
    suite = make_suite(tasks=tasks)
    go(suite, repeats=1)
    states = {r["task"]: r["status"] for r in read_records(suite, go.results)}
    assert states == {"a": "ok", "c": "failed"}
    record = next(r for r in read_records(suite, go.results) if r["task"] == "c")
    assert "set GREEDYGP_DATA" in record["error"]


def test_a_metric_that_is_missing_is_a_failure(go):
    suite = make_suite(metrics=["error", "density"])
    go(suite, repeats=1, only=["a"], methods=["x"])
    (record,) = read_records(suite, go.results)
    assert record["status"] == "failed"
    assert "density" in record["error"]


def test_one_preparation_for_all_partitions(go, counts):
    go(make_suite(prepare_once=True), repeats=3)
    assert counts("prepare") == 2


def test_suites_of_a_group_share_preparations(go, counts):
    go(make_suite(prepared_in="group"), repeats=1)
    go(make_suite(name="other", prepared_in="group"), repeats=1)
    assert (counts("run"), counts("prepare")) == (8, 2)


def test_only_and_methods_choose(go):
    suite = make_suite()
    go(suite, repeats=1, only=["b"], methods=["y"])
    assert [frame.key_of(r) for r in read_records(suite, go.results)] == [("b", "y", 0)]
    with pytest.raises(ValueError, match="has no data set z; choose from a, b"):
        go(suite, only=["z"])
    with pytest.raises(ValueError, match="has no method z; choose from x, y"):
        go(suite, methods=["z"])


@pytest.mark.slow
def test_worker_processes_give_the_same_records(go, counts):
    suite = make_suite()
    go(suite, jobs=2)
    assert counts("run") == 8
    records = read_records(suite, go.results)
    assert [r["status"] for r in records] == ["ok"] * 8


@pytest.mark.slow
def test_a_worker_that_dies_is_a_failed_run(go):
    suite = make_suite(methods=[Method("dead", "Dead", {"dies": True})])
    go(suite, jobs=2, repeats=1)
    records = read_records(suite, go.results)
    assert [r["status"] for r in records] == ["failed", "failed"]
    assert "worker process died" in records[0]["error"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    frame.write_atomically(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        frame.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_records_are_lines_of_json_in_a_stable_order(go):
    suite = make_suite()
    go(suite)
    text = (go.results / "made_up" / "a.jsonl").read_text()
    keys = [frame.key_of(json.loads(line)) for line in text.splitlines()]
    assert keys == [("a", "x", 0), ("a", "y", 0), ("a", "x", 1), ("a", "y", 1)]


def test_the_page_says_how_it_was_made(go, tmp_path):
    suite = make_suite(methods=[Method("x", "X"), Method("bad", "Bad", {"fails": True})])
    go(suite)
    page = suite.render(suite, read_records(suite, go.results), tmp_path / "docs")
    text = page.read_text()
    assert page.name == "made_up.md"
    assert "python -m benchmarks run made_up --repeats 2" in text
    assert "Set A 2, Set B 2" in text
    assert "4 runs, 4 failed" in text
    assert "numpy" in text
    assert "failed: a, bad, partition 0: RuntimeError: the model did not fit" in text


def test_the_page_names_runs_of_earlier_settings(go, tmp_path):
    go(make_suite())
    later = make_suite(methods=[Method("x", "X"), Method("y", "Y", {"offset": 2.0, "more": 1})])
    page = later.render(later, read_records(later, go.results), tmp_path / "docs")
    text = page.read_text(encoding="utf-8")
    assert "4 runs of Y are of earlier settings (more not set, now 1; offset 0.5, now 2.0)." in text
    assert "runs of X" not in text


def test_seconds_of_different_processors_are_told_apart(go):
    suite = make_suite()
    go(suite)
    records = read_records(suite, go.results)
    for record in records:
        record["machine"] = {"cpu": "old"}
    assert pages.machines_line(suite, records) == []
    records[0]["machine"] = {"cpu": "new"}  # X on Set A, one of two partitions
    line, end = pages.machines_line(suite, records)
    assert line.startswith(
        "Seconds of different processors cannot be compared. new: Set A X. old: "
    )
    assert line.endswith("Set B X, Y.")
    assert end == ""


def test_best_and_worse_is_a_paired_test_on_common_partitions():
    level = {p: 10.0 * p for p in range(8)}
    noise = [0.1, -0.2, 0.15, -0.1, 0.05, 0.2, -0.15, -0.05]
    values = {
        "best": level,
        "same": {p: v + noise[p] for p, v in level.items()} | {99: -1000.0},
        "worse": {p: v + 1 + noise[p] for p, v in level.items()},
        "absent": {},
    }
    best, worse = pages.best_and_worse(values)
    assert best in ("best", "same")
    assert worse == {"worse"}
    assert pages.best_and_worse({"absent": {}}) == (None, set())


def test_mean_and_deviation():
    assert pages.mean_and_deviation([1.0, 2.0, 3.0], 2, "*") == "2.00 ± 1.00*"
    assert pages.mean_and_deviation([1.0], 1) == "1.0"
    assert pages.mean_and_deviation([], 1) == "-"
