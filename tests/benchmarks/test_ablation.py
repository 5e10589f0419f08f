"""The ablation of the defaults: its variants, and its page of made-up records."""

import re

import numpy as np
import pytest

from benchmarks import frame
from benchmarks.frame import Method, Task
from benchmarks.suites import SUITES, ablation
from greedygp import SparseGPRegressor
from greedygp.sparse.parameters import check_parameters

SUITE = SUITES["ablation"]
DEFAULTS = SparseGPRegressor().get_params()


def test_the_default_has_no_parameters():
    first, *others = SUITE.methods
    assert (first.name, first.parameters) == ("default", {})
    assert all(method.parameters for method in others)


def test_names_are_unique_and_fit_for_records():
    names = [method.name for method in SUITE.methods]
    assert len(set(names)) == len(names)
    assert not any(set(name) & set(" ()/") for name in names)
    assert len({method.title for method in SUITE.methods}) == len(names)
    assert len(names) == 1 + sum(len(variants) for variants in ablation.VARIANTS.values())


@pytest.mark.parametrize("method", SUITE.methods, ids=lambda method: method.name)
def test_every_variant_is_an_estimator(method):
    estimator = SparseGPRegressor(max_basis=5, random_state=0, **method.parameters)
    check_parameters(estimator)
    changed = [name for name, value in method.parameters.items() if value != DEFAULTS[name]]
    factor = method.name.split("-")[0]
    assert factor in ("default", *changed)


def test_sizes():
    for task in SUITE.tasks:
        n_train, n_test, basis = (task.parameters[k] for k in ("n_train", "n_test", "basis"))
        assert n_train + n_test <= ablation.ROWS[task.name][1]
        assert n_test > 0
        assert n_train <= 5000
        assert basis == min(200, n_train // 10)


def test_a_run_measures_in_units_of_the_standardised_target(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=120)

    class Problem:
        X_test, y_test, y_mean, y_scale = X[60:], 50 + 20 * y[60:], 50.0, 20.0

    Problem.X, Problem.y = X[:60], y[:60]
    monkeypatch.setattr(ablation, "problem", lambda task, partition: Problem)
    outcome = ablation.run(Task("toy", "Toy", {"basis": 6}), Method("default", "default"), 0, None)
    metrics = outcome["metrics"]
    assert sorted(metrics) == sorted(SUITE.metrics)
    assert metrics["nmse"] < 0.1
    assert metrics["nlpd"] < 0
    assert 1 <= metrics["basis"] <= 6


# ---------------------------------------------------------------------------------- the page


def made_up(run):
    """The default is the best by 0.1 in NLPD, a tenth in NMSE, and twice as slow."""
    default = run.method.name == "default"
    level = len(run.task.name) + run.partition
    return {
        "nlpd": level + (0.0 if default else 0.1),
        "nmse": 0.1 * level * (1.0 if default else 1.1),
        "coverage_95": 0.95,
        "fit_cpu_seconds": level * (2.0 if default else 1.0),
        "basis": 100,
    }


def page(tmp_path, repeats=3, methods=None, leave_out=(), metrics=made_up):
    records = []
    for run in frame.runs_of(SUITE, repeats, methods=methods):
        failed = run.key in leave_out
        record = dict(zip(("task", "method", "partition"), run.key))
        record |= {"status": "failed" if failed else "ok", "error": "made up", "seconds": 1.0}
        record |= {"versions": {"python": "3"}, "machine": {"cores": 2}}
        record |= {"parameters": run.parameters}
        records.append(record | {"metrics": {} if failed else metrics(run)})
    return SUITE.render(SUITE, records, tmp_path).read_text()


def rows_of(text, heading):
    """The cells of the table below a heading, by the first of a line."""
    part = re.split(r"^## ", text, flags=re.MULTILINE)
    section = next(p for p in part if p.startswith(heading))
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first: rest for first, *rest in cells[1:]}


def test_the_summary_is_of_pairs(tmp_path):
    rows = rows_of(page(tmp_path), "On average")
    assert list(rows) == [method.title for method in SUITE.methods[1:]]
    for cells in rows.values():
        nlpd, p, better, nmse, seconds = cells
        assert (nlpd, nmse, seconds) == ("+0.100", "1.100", "0.500")
        assert float(p) < 0.001
        assert better == "24 of 24"


def test_partitions_that_failed_are_left_out_of_the_pairs(tmp_path):
    lost = [("boston", "default", 0), ("energy", "rounds-2", 2)]
    rows = rows_of(page(tmp_path, leave_out=lost), "On average")
    assert rows["rounds = 2"][2] == "22 of 22"
    assert rows["rounds = 3"][2] == "23 of 23"


def test_every_set_has_its_column(tmp_path):
    text = page(tmp_path)
    for title, digits in ablation.METRICS.values():
        rows = rows_of(text, title)
        assert list(rows) == [method.title for method in SUITE.methods]
        assert all(len(cells) == len(SUITE.tasks) for cells in rows.values())
        assert re.fullmatch(rf"\d+\.\d{{{digits}}} ± \d+\.\d{{{digits}}}", rows["default"][0])
    assert rows_of(text, "NLPD")["default"][0] == "7.000 ± 1.000"  # boston: 6, 7, 8
    assert "Boston 3, Energy 3" in text
    assert "python -m benchmarks run ablation --repeats 3" in text


@pytest.mark.parametrize("methods", [["default"], ["rounds-2"], ["default", "rounds-2"]])
def test_a_suite_that_has_hardly_begun(tmp_path, methods):
    text = page(tmp_path, repeats=1, methods=methods)
    summary = rows_of(text, "On average")
    assert list(summary) == (["rounds = 2"] if len(methods) == 2 else [])
    cells = rows_of(text, "NLPD")
    assert cells["guard = 0"] == ["-"] * len(SUITE.tasks)


def test_equal_values_are_no_difference(tmp_path):
    text = page(tmp_path, metrics=lambda run: dict.fromkeys(SUITE.metrics, 1.0))
    nlpd, p, better, *_ = rows_of(text, "On average")["rounds = 2"]
    assert (nlpd, p, better) == ("+0.000", "1.000", "0 of 24")
