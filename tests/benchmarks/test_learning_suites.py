"""The suites that learn hyperparameters: what they ask of the estimator, and what they count."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from test_suites import RandomBasis

from benchmarks import frame, pages, shorter_scales
from benchmarks.frame import Task
from benchmarks.suites import SUITES, learning, matching_pursuit_learnt, predictive, printed
from benchmarks.suites.matching_pursuit_learnt import claims as claims_1
from benchmarks.suites.matching_pursuit_learnt import collect
from benchmarks.suites.predictive_fixed import HALVES
from benchmarks.suites.predictive_fixed import claims as claims_23
from benchmarks.suites.predictive_learnt import PARTS, printed_tables
from benchmarks.suites.predictive_learnt import claims as claims_45
from benchmarks.suites.predictive_pages import Comparison, change_claim
from benchmarks.suites.problems import problem
from greedygp import SparseGPRegressor, datasets

TABLES_23, TABLES_45, FIGURE_1, TABLE_1 = (
    SUITES[name]
    for name in (
        "predictive_fixed",
        "predictive_learnt",
        "predictive_rounds",
        "matching_pursuit_learnt",
    )
)
SMALL = {"n_train": 60, "n_test": 30, "subset": 25, "max_basis": 8, "limit": 12, "patience": 4}


def small(suite, friedman=3):
    """The suite on one small generated set."""
    name = suite.tasks[-1].name
    return replace(suite, tasks=[Task(name, "Made up", {**SMALL, "friedman": friedman})])


# Printed figures and sizes -----------------------------------------------------------------------


def test_printed_tables_4_and_5_are_whole():
    tables, stars = printed.tables_4_and_5(), printed.stars_4_and_5()
    assert list(tables) == [task.name for task in TABLES_45.tasks]
    for parts in tables.values():
        assert tuple(parts["learnt"]) == printed.METHODS
    assert tables["abalone"]["learnt"]["nlgpp"]["npdl"] == (0.9469, 0.0151)
    assert tables["boston"]["learnt"]["gpe"]["basis"] == (199.9, 0.33)
    assert stars["friedman3", "npdl"] == {"nlpp", "nlml", "loo_cve", "nlgpp"}
    assert stars["bank8FM", "nmse"] == {"nlgpp"}
    assert not any(stars[name, "basis"] for name in tables)


def test_printed_table_1_is_whole():
    table = printed.table_1()
    assert list(table) == [task.name for task in TABLE_1.tasks]
    assert table["bank32NH"]["nmse"]["adapt-dmax"] == (47.41, 1.35)
    assert table["california_housing"]["nlpd"]["adapt-info"] == (21.20, 1.47)


def test_sizes_of_the_sets_are_the_papers():
    sizes = {t.name: (t.parameters["n_train"], t.parameters["n_test"]) for t in TABLES_45.tasks}
    assert sizes["boston"] == (481, 25)
    assert sizes["bank8FM"] == sizes["cpu_small"] == (2048, 6144)
    assert set(printed_tables()["bank8FM"]) == {"learnt"}  # other sizes in Tables 2 and 3
    assert set(printed_tables()["abalone"]) == {"learnt", "fixed"}
    assert {t.parameters["max_basis"] for t in TABLE_1.tasks} == {500}


@pytest.mark.parametrize("task", TABLE_1.tasks, ids=lambda task: task.name)
def test_the_stored_sets_have_the_rows_that_table_1_needs(task):
    try:
        rows = len(datasets.load(task.name).X)
    except FileNotFoundError:
        pytest.skip(f"GREEDYGP_DATA is not set or holds no {task.name}.npz")
    assert task.parameters["n_train"] + task.parameters["n_test"] == rows


# Runs --------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """Parameters of the estimators that the suites make, in order."""
    made = []

    class Noted(RandomBasis):
        def __init__(self, prepared, seed, **parameters):
            super().__init__(prepared, seed, **parameters)
            made.append(parameters)

    for suite in (TABLES_45, FIGURE_1, TABLE_1):
        monkeypatch.setattr(f"benchmarks.suites.{suite.name}.sparse_model", Noted)
    return made


def run_one(suite, name):
    method = next(m for m in suite.methods if m.name == name)
    return suite.run(suite.tasks[0], method, 0, {"noise_variance": 0.1})


def test_tables_4_and_5_learn_in_turns_with_the_selection_of_tables_2_and_3(asked):
    outcome = run_one(small(TABLES_45), "gpe-learnt")
    (parameters,) = asked
    assert parameters == {
        "criterion": "gpe",
        "max_basis": 12,
        "working_set": 59,
        "cache_size": 0,
        "patience": 4,
        "objective": "nlml",
        "noise_variance": None,
        "noise_model": "constant",
        "rounds": 5,
        "max_iter": 20,
        "refine_basis": False,
    }
    assert len(outcome["curves"]["round_value"]) == 3
    run_one(small(TABLES_45), "nlpp-fixed")
    assert (asked[1]["max_basis"], asked[1]["patience"]) == (8, None)
    assert "objective" not in asked[1]


def test_figure_1_follows_the_selection_to_the_limit_with_what_was_learnt(asked):
    run_one(small(FIGURE_1), "nlgpp-learnt")
    learner, follower = asked
    assert (learner["objective"], learner["patience"]) == ("nlml", 4)
    assert (follower["max_basis"], follower["patience"]) == (12, None)
    assert follower["noise_variance"] == 0.1
    assert {"kernel", "noise_variance"} <= set(follower)
    assert "objective" not in follower
    run_one(small(FIGURE_1), "nlgpp-start")
    assert not {"kernel", "objective"} & set(asked[2])


def test_table_1_has_a_cache_as_large_as_the_basis_for_dmax_alone(asked):
    for name in printed.TABLE_1_METHODS:
        run_one(small(TABLE_1), name)
    assert [p["criterion"] for p in asked] == ["nlpp", "info_gain", "matching_pursuit"]
    assert [p["cache_size"] for p in asked] == [0, 0, 8]
    assert [p.get("objective") for p in asked] == [None, "nlml", "nlml"]
    assert ["kernel" in p for p in asked] == [False, True, True]


@pytest.mark.skipif(
    "rounds" not in inspect.signature(SparseGPRegressor).parameters,
    reason="SparseGPRegressor has no rounds yet",
)
@pytest.mark.parametrize("suite", [TABLES_45, FIGURE_1, TABLE_1], ids=lambda suite: suite.name)
def test_the_suites_run_with_the_estimator(suite, tmp_path):
    suite = small(suite)
    short = [
        replace(m, parameters={**m.parameters, **({"rounds": 2, "max_iter": 3} if turns else {})})
        for m in suite.methods
        for turns in ["rounds" in m.parameters]
    ]
    suite = replace(suite, methods=short, prepared_in=None)
    frame.run_suite(suite, repeats=1, results=tmp_path, report=lambda line: None)
    records = frame.read_records(suite, tmp_path)
    assert [r["error"] for r in records] == [None] * len(short)
    for record in records:
        learnt = "rounds" in record["parameters"]["method"]
        assert ("round_value" in record["curves"]) == learnt
        if learnt:
            assert len(record["curves"]["round_value"]) <= 2


def test_what_was_learnt_is_measured_without_the_widening():
    data = problem(small(TABLES_45).tasks[0], 0)
    model = SparseGPRegressor(max_basis=8, random_state=0, **learning.interleaved(1, 3))
    learning.fit(model, data)
    assert model.widening_ > 1.0
    kernel, noise_variance = learning.hyperparameters(model)
    options = {"kernel": kernel, "noise_variance": noise_variance, "objective": None}
    options |= {"approximation": model.approximation_, "working_set": None, "patience": None}
    held = SparseGPRegressor(max_basis=8, **options)
    held.fit(data.X, data.y, candidates=model.basis_)
    for got, expected in zip(
        learning.predicted(model, data.X_test), held.predict(data.X_test, return_std=True)
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


# Pages -------------------------------------------------------------------------------------------


def record(task, method, partition, metrics, curves=None):
    return {
        "task": task,
        "method": method,
        "partition": partition,
        "status": "ok",
        "metrics": metrics,
        "curves": curves or {},
    }


def as_printed_45(spread):
    """Records whose averages are the paper's; a method's values differ by ``spread``."""
    records = []
    for name, parts in printed_tables().items():
        for part, methods in parts.items():
            for k, (method, metrics) in enumerate(methods.items()):
                for partition in range(5):
                    noise = spread * np.cos(1.3 * k + 1.9 * np.arange(5))
                    shift = 1 + noise[partition] - noise.mean()
                    npdl = metrics["npdl"][0] * shift
                    found = {
                        "nmse": 0.01 * metrics["nmse"][0] * shift,
                        "npdl": npdl,
                        "npdl_standardised": npdl,
                        "basis": metrics["basis"][0],
                    }
                    records.append(record(name, f"{method}-{part}", partition, found))
    return records


def test_findings_of_tables_4_and_5_hold_in_the_papers_own_figures():
    comparison = Comparison.of(TABLES_45, as_printed_45(0.1), PARTS, printed_tables())
    found = claims_45(comparison)
    assert [claim.holds for claim in found] == [True] * len(found)
    counts = [claim.paper.split(" (in the paper ")[-1] for claim in found]
    assert counts[1:4] == ["5 of 6 sets)", "6 of 6 sets)", "6 of 6 sets)"]
    changes = [claim for claim in found[5:] if "in the paper" in claim.paper]
    assert len(changes) == 5
    for claim in changes:
        assert claim.paper.endswith(f"(in the paper {claim.ours.removesuffix(': ')})")


def test_findings_of_tables_2_and_3_hold_in_the_papers_own_figures():
    records = [
        record(
            name,
            f"{method}-{half}",
            partition,
            {
                "nmse": 0.01 * metrics["nmse"][0],
                "npdl": metrics["npdl"][0],
                "npdl_standardised": metrics["npdl"][0],
                "basis": metrics["basis"][0],
            },
        )
        for name, halves in printed.tables_2_and_3().items()
        for half, methods in halves.items()
        for method, metrics in methods.items()
        for partition in range(2)
    ]
    comparison = Comparison.of(TABLES_23, records, HALVES, printed.tables_2_and_3())
    found = claims_23(TABLES_23, comparison)
    # Which errors differ significantly is not to be had from averages.
    failed = [claim.paper.split(" are ")[0] for claim in found if not claim.holds]
    assert failed == ["The NMSEs of NLML, NLPP, LOO-CVE and GPE"]
    assert [c.ours for c in found if c.paper.startswith("LOO-CVE")] == [
        "4 of 4 sets: boston, abalone, friedman2, bank32NH",
        "3 of 3 sets: bank8FM, cpu_small, cpu_act",
    ]


def test_averages_are_compared_with_the_digits_of_the_paper():
    values = {"nlgpp": 6.268, "nlpp": 6.266, "nlml": 6.3, "loo_cve": 6.3, "gpe": 6.27}
    records = [
        record("friedman2", f"{method}-plain", 0, {"nmse": 0.1, "npdl": npdl, "basis": 10.04})
        for method, npdl in values.items()
    ]
    comparison = Comparison.of(TABLES_23, records, HALVES, printed.tables_2_and_3())
    found = comparison.ours["friedman2", "plain", "npdl"]
    assert found["nlgpp"] == found["nlpp"] == 6.27
    assert comparison.ours["friedman2", "plain", "basis"]["gpe"] == 10.0


def test_a_change_is_counted_only_where_both_parts_have_all_methods():
    records = [r for r in as_printed_45(0.0) if (r["task"], r["method"]) != ("boston", "gpe-fixed")]
    comparison = Comparison.of(TABLES_45, records, PARTS, printed_tables())
    sets = ("boston", "abalone", "bank8FM")
    claim = change_claim("Falls", comparison, "npdl", ("fixed", "learnt"), ["nlgpp"], sets)
    assert claim.paper == "Falls (in the paper 2 of 2 cases)"
    assert claim.ours == "1 of 1 cases, 1 more not known"
    assert claim.verdict == "so far"
    nothing = change_claim("Falls", comparison, "npdl", ("fixed", "learnt"), ["gpe"], ["boston"])
    assert nothing.holds is None


def as_printed_1():
    return [
        record(
            name,
            method,
            p,
            {
                "nmse": 0.01 * metrics["nmse"][method][0] + 1e-6 * p,
                "nlpd": metrics["nlpd"][method][0] + 1e-6 * p,
                "nlpd_latent": metrics["nlpd"][method][0] + 1e-6 * p,
            },
        )
        for name, metrics in printed.table_1().items()
        for method in printed.TABLE_1_METHODS
        for p in range(5)
    ]


def test_findings_of_table_1_hold_in_the_papers_own_figures():
    found = claims_1(TABLE_1, collect(TABLE_1, as_printed_1()))
    assert [claim.holds for claim in found] == [True] * len(found)
    assert found[0].ours.startswith("4 of 4 sets: at most 1.1; bank8FM 1.01")
    smaller, larger = found[1], found[3]
    assert smaller.paper.endswith("(in the paper 3 of 4 sets)")
    assert smaller.ours == "3 of 4 sets: the best average on bank8FM, cpu_small, cpu_act"
    assert larger.ours.startswith("3 of 3 sets")
    few = [record for record in as_printed_1() if record["partition"] < 4]
    open_again = claims_1(TABLE_1, collect(TABLE_1, few))
    assert [claim.holds for claim in open_again] == [True] + [None] * 5  # no test can tell
    assert open_again[3].ours.startswith("the best average on california_housing")


def test_pages_say_what_learning_gained():
    rounds = {"round_value_before": [9.0, 5.0, 4.5], "round_value": [6.0, 3.0, 4.0]}
    records = [record("friedman2", "gpe-learnt", p, {}, rounds) for p in (0, 1)]
    assert learning.gains(records, "friedman2", "gpe-learnt") == ([6.0, 6.0], [2, 2])
    assert learning.gains(records, "friedman2", "gpe-fixed") == ([], [])
    task = next(t for t in predictive.LEARNING_TASKS if t.name == "friedman2")
    text = "\n".join(learning.gains_table(records, [task], {"gpe-learnt": "GPE", "x": "X"}))
    assert "| Friedman2 | 0.030 (2.0) | - |" in text


def test_the_page_of_table_1_says_with_what_the_cache_began():
    now = {"method": {"begins_with": "last basis"}}
    runs = [
        {"method": "adapt-dmax", "status": "ok", "parameters": parameters}
        for parameters in (now, {"method": {}}, now)
    ]
    text = matching_pursuit_learnt.beginnings(runs)
    assert text.startswith("In 2 of 3 runs of ADAPT-DMAX")
    assert text.endswith("in the paper; the others are older, and begin it at random.")
    assert matching_pursuit_learnt.beginnings(runs[::2]).endswith("as in the paper.")


def test_rank_sum_needs_five_values_apart_for_one_hundredth():
    low, high = np.arange(5.0), np.arange(5.0) + 10
    assert pages.rank_sum(low, high) == pytest.approx(2 / 252)
    assert pages.rank_sum(low[:4], high[:4]) > 0.01
    values = {"a": dict(enumerate(low)), "b": dict(enumerate(high))}
    assert pages.best_and_worse(values, 0.01, pages.rank_sum) == ("a", {"b"})


def test_shorter_scales_need_more_basis_vectors(monkeypatch, capsys):
    monkeypatch.setattr(shorter_scales, "FACTORS", (1.0, 0.2))
    monkeypatch.setattr(predictive, "TITLES", {"nlgpp": "NLGPP"})
    monkeypatch.setattr("sys.argv", ["shorter_scales", "--repeats", "1"])
    shorter_scales.main()
    row = next(line for line in capsys.readouterr().out.splitlines() if "| NLGPP |" in line)
    paper, ours, shorter = (cell.split() for cell in row.split("|")[2:5])
    assert paper == ["56.2", "(14.13)"]
    assert float(shorter[0]) > float(ours[0])
