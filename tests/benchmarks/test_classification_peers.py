"""The suite of classifiers: its models on made-up data, its plumbing, its page."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import frame
from benchmarks.frame import Task
from benchmarks.peers import classifiers
from benchmarks.peers.exchange import Answer, Request
from benchmarks.suites import classification_peers, classification_peers_page
from benchmarks.suites.classification_peers import SUITE
from greedygp import datasets

IN_PROCESS = [m.name for m in SUITE.methods if m.name not in classification_peers.SCRIPTS]


@pytest.fixture
def request_():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(80, 3)), rng.normal(size=(1203, 3))
    options = {"basis": 10, "seed": 0, "threads": 1}
    return Request(X, np.where(X[:, 0] > 0, 1.0, -1.0), X_test, options)


@pytest.mark.parametrize("name", IN_PROCESS)
def test_models_of_our_own_environment(name, request_):
    answer = getattr(classifiers, name)(request_)
    probability, label = answer.mean, answer.std
    assert probability.shape == label.shape == (1203,)
    assert np.all((probability >= 0) & (probability <= 1))
    assert set(label) == {-1.0, 1.0}
    assert np.mean(label == np.sign(request_.X_test[:, 0])) > 0.85
    assert np.mean((probability > 0.5) == (label > 0)) > 0.95
    assert answer.facts["fit_cpu_seconds"] > 0
    assert ("basis" in answer.facts) == (name in ("greedygp", "ivm"))


def test_sizes_and_what_applies():
    tasks = {task.name: task.parameters for task in SUITE.tasks}
    assert len(tasks) == 10
    assert tasks["image"] == {"n_train": 1300, "n_test": 1010, "basis": 500}
    assert tasks["thyroid"]["basis"] == 140
    exact = {run.task.name for run in frame.runs_of(SUITE, 1, methods=["exact_gpc"])}
    assert exact == set(tasks) - {"splice", "image"}


def test_the_script_of_the_suite_is_there():
    for _, script in classification_peers.SCRIPTS.values():
        path = Path(classifiers.__file__).parents[2] / (script.replace(".", "/") + ".py")
        names = {node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")}
        assert "fit" in names


def test_runs_measure_what_comes_back(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(100) < 0.7, 1, -1)
    data = datasets.Dataset("a", rng.normal(size=(100, 2)), y, ["a", "b"], "y", "classification")
    monkeypatch.setattr(datasets, "load", lambda name: data)
    asked = []

    def fake(environment, script, request):
        asked.append(request.options)
        facts = {name: 1.0 for name in SUITE.metrics if "seconds" in name}
        ones = np.ones(len(request.X_test))
        return Answer(0.7 * ones, ones, {**facts, "versions": {"gpytorch": "1"}})

    monkeypatch.setattr(classification_peers, "call", fake)
    task = Task("thyroid", "A", {"n_train": 60, "n_test": 40, "basis": 8})
    suite = replace(SUITE, tasks=[task], methods=[SUITE.methods[2], SUITE.methods[5]])
    assert frame.run_suite(suite, repeats=1, results=tmp_path, report=lambda line: None) == 0
    record, _ = frame.read_records(suite, tmp_path)
    _, test = datasets.random_partition(100, 60, 40, seed=0)
    positive = np.mean(y[test] > 0)
    metrics = record["metrics"]
    assert metrics["error"] == pytest.approx(1 - positive)
    expected = -(positive * np.log(0.7) + (1 - positive) * np.log(0.3))
    assert metrics["nlp"] == pytest.approx(expected)
    assert metrics["calibration_error"] == pytest.approx(abs(positive - 0.7))
    assert record["peer_versions"] == {"gpytorch": "1"}
    assert asked[0]["basis"] == 8
    assert asked[0]["steps"] == 500


# The page ----------------------------------------------------------------------------------------


def outcome(run, error, nlp):
    metrics = dict.fromkeys(SUITE.metrics, 1.0) | {"error": error, "nlp": nlp}
    bins = {"count": [0] * 9 + [5], "probability": [0.0] * 9 + [0.95], "share": [0.0] * 9 + [1.0]}
    return {"metrics": metrics, "curves": {"reliability": bins}, "peer_versions": {}}


def made_up_records(methods=None):
    """Ours is best, but has a large error on Titanic and a large NLP on Banana."""
    records = []
    for run in frame.runs_of(SUITE, 2, methods=methods):
        ours = run.method.name == "greedygp"
        error, nlp = (0.105, 0.2) if ours else (0.1, 0.3)
        if ours and run.task.name == "titanic":
            error = 0.12
        if ours and run.task.name == "banana":
            nlp = 0.31
        result = outcome(run, error, nlp + 0.01 * run.partition)
        records.append(frame.plain(frame.record_of(run, "ok", None, 3.0, result)))
    return records


def test_the_page_counts(tmp_path):
    pytest.importorskip("matplotlib")
    text = classification_peers_page.render(SUITE, made_up_records(), tmp_path).read_text()
    assert "9 of 10 sets; not on Titanic (12.0 against 10.0 of SVC)" in text
    missed = "9 of 10 sets; not on Banana (0.3150 against 0.3050 of IVM)"
    assert text.count(missed) == 3  # of the sparse methods, with and without ties, and of all
    assert "greedygp 40.0" in text  # ten sets, two partitions, fit and prediction
    assert "exact GPC 16, " in text
    rows = [line for line in text.splitlines() if line.startswith("| Thyroid |")]
    assert rows[1].startswith("| Thyroid | **0.2050 ± 0.0071†** | 0.3050 ± 0.0071 |")


def test_a_method_that_is_missing_leaves_gaps_only(tmp_path):
    pytest.importorskip("matplotlib")
    records = made_up_records(["greedygp", "ivm", "svc"])
    text = classification_peers_page.render(SUITE, records, tmp_path).read_text()
    assert "GPyTorch SVGP 0" in text
    assert text.count("not enough runs") == 1  # against SVGP
    rows = [line for line in text.splitlines() if line.startswith("| Thyroid |")]
    assert rows[0].split(" | ")[3] == "-"


def test_rivals_are_compared_on_the_partitions_that_both_have():
    runs = frame.runs_of(SUITE, 2, only=["thyroid"], methods=["greedygp", "svc"])
    values = {"greedygp": (0.1, 0.9), "svc": (0.2, 0.1)}
    both = [
        frame.record_of(run, "ok", None, 1.0, outcome(run, 0.1, nlp))
        for run in runs
        for nlp in [values[run.method.name][run.partition]]
    ]
    records = [r for r in both if (r["method"], r["partition"]) != ("svc", 1)]
    count = classification_peers_page.count_near
    assert count(SUITE, records, "nlp", ["svc"]) == "1 of 1 sets"
    assert count(SUITE, records, "nlp", ["ivm"]) == "not enough runs"
    assert count(SUITE, both, "nlp", ["svc"]).startswith("0 of 1 sets; not on Thyroid (0.5000")
