"""The suites of full GP regression: what they compute, against the definitions, and their pages."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import frame, speed_blocks, speed_dense
from benchmarks.__main__ import main
from benchmarks.frame import Method, Task
from benchmarks.suites import (
    SUITES,
    full_gp,
    full_gp_beside_sparse,
    full_gp_growth,
    full_gp_neighbours,
    full_gp_poses,
    full_gp_printed,
    full_gp_solvers,
    full_gp_variances,
)
from greedygp import datasets

NAMES = [n for n in SUITES if n.startswith("full_gp") and n != "full_gp_poses"]
SMALL = Task(
    "friedman1",
    "Made up",
    {"n_train": 260, "n_test": 60, "friedman": 1, "rows": 200, "size": 40},
)


def rows_of(method):
    """The method with few rows, where it names how many."""
    few = {"rows": min(150, method.parameters["rows"])} if "rows" in method.parameters else {}
    return Method(method.name, method.title, {**method.parameters, **few})


@pytest.fixture(scope="module")
def prepared():
    return full_gp.prepare(SMALL, 0)


@pytest.fixture(scope="module")
def system(prepared):
    """Data, K + noise and K between test and training rows, written out."""
    data = full_gp.problem(SMALL, 0, 200)
    scale = np.array(prepared["length_scale"])

    def kernel(A, B):
        return np.exp(-0.5 * (((A[:, None] - B[None]) / scale) ** 2).sum(axis=2))

    matrix = kernel(data.X, data.X) + prepared["noise_variance"] * np.eye(200)
    return data, matrix, kernel(data.X_test, data.X)


# Printed figures, data, hyperparameters ----------------------------------------------------------


def test_printed_tables_are_whole():
    names = [task.name for task in full_gp.TASKS]
    table_2, table_3, table_4 = (
        full_gp_printed.table_2(),
        full_gp_printed.table_3(),
        full_gp_printed.table_4(),
    )
    assert list(table_2) == list(table_3) == list(table_4) == names
    assert table_2["kin40k"]["seconds"]["gbcd_paper"] == 975
    assert table_2["sarcos"]["seconds"]["bcd_gradient"] == np.inf
    assert table_2["friedman1"]["rmse"]["cg"] == 0.017
    assert table_3["kin40k"] == (20, 0.02)
    assert table_4["outaouais"]["rmse"] == {"sd": 0.434, "sr": 0.326, "mpgp": 0.221, "gbcd": 0.122}
    assert table_4["california_housing"]["variance_seconds"]["gbcd"] == 19


def test_test_targets_of_friedman1_have_no_noise_and_training_targets_have():
    data = full_gp.problem(SMALL, 3)
    X = np.random.default_rng(3).uniform(size=(320, 10))
    signal = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    assert_allclose(data.y_test, signal[260:], rtol=1e-12)
    noise = data.y_mean + data.y_scale * data.y - signal[:260]
    assert 0.85 < np.std(noise) < 1.15
    fewer = full_gp.problem(SMALL, 3, 50)
    assert_allclose(fewer.X, data.X[:50])
    assert fewer.y_scale == data.y_scale


def test_hyperparameters_are_of_a_kernel_of_variance_one(prepared):
    assert prepared["variance"] == 1.0
    assert prepared["bias"] is None
    assert 0.01 < prepared["noise_variance"] < 0.2  # the noise has 1/25 of the variance
    assert min(prepared["length_scale"][5:]) > 2 * max(prepared["length_scale"][:4])


def test_rmse_is_relative_to_the_deviation_of_the_training_targets():
    data = full_gp.problem(SMALL, 0)
    assert full_gp.rmse(data, (data.y_test - data.y_mean) / data.y_scale) == pytest.approx(0)
    expected = np.sqrt(np.mean((data.y_test - data.y_mean) ** 2)) / data.y_scale
    assert full_gp.rmse(data, np.zeros(60)) == pytest.approx(expected)


def test_sets_that_the_user_supplies_are_named_and_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path))
    suite = SUITES["full_gp_solvers"]
    method = suite.methods[0]
    there = {task.name for task in suite.tasks if suite.applies(task, method)}
    assert there == {"california_housing", "kin40k", "friedman1"}
    line = full_gp.absent_line(suite, [{"task": "kin40k"}])
    assert "Outaouais and SARCOS" in line
    assert "`sarcos.npz`" in line
    (tmp_path / "sarcos.npz").touch()
    assert any(task.name == "sarcos" and suite.applies(task, method) for task in suite.tasks)
    assert "Not run: Outaouais; absent: `outaouais.npz`." in full_gp.absent_line(
        suite, [{"task": "sarcos"}]
    )


# Runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", full_gp_solvers.METHODS, ids=lambda m: m.name)
def test_a_solve_of_table_2(method, prepared, system):
    data, matrix, cross = system
    watched = full_gp.watched_solve(data, prepared, seed=0, **method.parameters)
    alpha = watched.looks[-1][1]
    metrics, curves = watched.metrics(), watched.curves()
    assert metrics["converged"]
    assert np.max(np.abs(matrix @ alpha - data.y)) <= 1e-4
    assert metrics["norm"] <= 1e-4
    assert curves["step"][-1] == metrics["steps"] >= 1
    assert len(curves["step"]) <= full_gp.POINTS
    assert curves["objective"][-1] == pytest.approx(
        0.5 * alpha @ matrix @ alpha - data.y @ alpha, abs=1e-6
    )
    assert curves["seconds"][-1] <= watched.seconds
    assert np.all(np.diff(curves["seconds"]) >= 0)
    error = full_gp.errors_on_test(data, prepared, watched)[-1]
    exact = full_gp.rmse(data, cross @ np.linalg.solve(matrix, data.y))
    assert error == pytest.approx(exact, abs=1e-3)


def test_a_time_limit_leaves_the_norm_that_was_reached(prepared, system):
    data, matrix, _ = system
    watched = full_gp.watched_solve(data, prepared, "smo", 0, time_limit=1e-3)
    metrics = watched.metrics()
    assert not metrics["converged"]
    gradient = matrix @ watched.looks[-1][1] - data.y
    assert metrics["norm"] == pytest.approx(np.max(np.abs(gradient)), rel=1e-8)
    assert metrics["norm"] > 1e-4


def test_variances_of_table_3_are_those_of_cholesky(prepared):
    task = replace(SMALL, name="made up")
    for method in full_gp_variances.SUITE.methods:
        metrics = full_gp_variances.run(task, method, 0, prepared)["metrics"]
        assert metrics["converged"]
        assert metrics["error"] < 1e-5
        assert metrics["seconds_a_row"] == pytest.approx(metrics["variance_seconds"] / 60)
    assert full_gp_variances.relative_error(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == (
        pytest.approx(np.sqrt(0.125))
    )


def test_models_of_table_4(prepared):
    found = {
        method.name: full_gp_beside_sparse.run(SMALL, method, 0, prepared)["metrics"]
        for method in full_gp_beside_sparse.METHODS
    }
    assert {name: m["rows"] for name, m in found.items()} == {
        "sd": 40,
        "sr": 260,
        "mpgp": 260,
        "gbcd": 260,
        "pcg": 260,
    }
    assert [found[name]["basis"] for name in ("sd", "sr", "mpgp")] == [40, 40, 40]
    assert found["gbcd"]["rmse"] == pytest.approx(found["pcg"]["rmse"], abs=1e-3)
    assert found["gbcd"]["rmse"] < found["sd"]["rmse"]


def test_correlations_of_neighbours():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 2)), 30, axis=0) + 1e-6 * rng.normal(size=(300, 2))
    alike = np.repeat(rng.normal(size=(50, 10)), 30, axis=1) * rng.uniform(1, 2, size=300)
    values = full_gp_neighbours.neighbours_correlations(X, alike, np.random.default_rng(1))
    assert len(values) == 100 * 50
    # 29 of the 50 neighbours of a row are of its own group.
    assert np.mean(values > 0.999) == pytest.approx(29 / 50)


def test_correlations_of_neighbours_against_the_definition():
    rng = np.random.default_rng(2)
    X, gradients = rng.normal(size=(70, 3)), rng.normal(size=(50, 70))
    values = full_gp_neighbours.neighbours_correlations(X, gradients, np.random.default_rng(1))
    whole = np.corrcoef(gradients.T)
    expected = []
    for row in range(70):
        distance = np.sum((X - X[row]) ** 2, axis=1)
        distance[row] = np.inf
        expected.extend(whole[row, np.argsort(distance)[:50]])
    assert_allclose(np.sort(values), np.sort(expected), atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_each_suite(name, tmp_path):
    """From the data to the page, on a small generated set."""
    pytest.importorskip("matplotlib")
    suite = SUITES[name]
    methods = [rows_of(method) for method in suite.methods]
    small = replace(suite, tasks=[SMALL], methods=methods)
    frame.run_suite(small, repeats=1, results=tmp_path, report=lambda line: None)
    records = frame.read_records(small, tmp_path)
    assert [r["error"] for r in records] == [None] * len(methods)
    page = small.render(small, records, tmp_path).read_text()
    assert "nan" not in page
    assert list((tmp_path / "figures").glob(f"{name}*.png"))


# Pages -------------------------------------------------------------------------------------------


def outcome(seconds, *, converged=True, rmse=0.1, norm=5e-5):
    names = ("cpu_seconds", "steps", "passes")
    metrics = {"seconds": seconds, "rmse": rmse, "converged": float(converged), "norm": norm}
    return {"metrics": metrics | dict.fromkeys(names, 7.0), "curves": {}}


def fill(suite, results, outcomes):
    """Store records: (task, method) -> outcome."""
    for run in frame.runs_of(suite, 1):
        if (run.task.name, run.method.name) in outcomes:
            made = outcomes[run.task.name, run.method.name]
            frame.store(suite, frame.record_of(run, "ok", None, 1.0, made), results)
    return frame.read_records(suite, results)


def test_the_page_of_table_2_counts(tmp_path):
    suite = SUITES["full_gp_solvers"]
    outcomes = {
        ("kin40k", "cholesky"): outcome(20.0),
        ("kin40k", "cg"): outcome(300.0, converged=False, norm=2e-3, rmse=0.9),
        ("kin40k", "smo"): outcome(300.0, converged=False, norm=0.3),
        ("kin40k", "bcd_cyclic"): outcome(250.0),
        ("kin40k", "bcd_gradient"): outcome(300.0, converged=False),
        ("kin40k", "gbcd_paper"): outcome(100.0, rmse=0.1002),
        ("kin40k", "gbcd"): outcome(25.0),
    }
    records = fill(suite, tmp_path, outcomes)
    cells = full_gp_solvers.collect(records)
    tasks = [task for task in suite.tasks if task.name == "kin40k"]
    claims = full_gp_solvers.claims(cells, tasks)
    fastest, cyclic, steps, early, faster, pcg, cholesky, same = claims
    assert steps.verdict == early.verdict == "open"
    assert fastest.holds
    assert "kin40k, cg: > 3.0 times" in fastest.ours
    assert "kin40k, bcd_cyclic: 2.5 times" in fastest.ours
    assert cyclic.holds
    assert faster.holds
    assert pcg.holds is None
    assert cholesky.holds is False
    assert (same.holds, same.verdict) == (True, "so far")  # of those that converged
    whole = full_gp_solvers.claims(cells, tasks, absent=4)
    assert (fastest.verdict, whole[0].verdict, whole[4].verdict) == ("yes", "so far", "yes")
    assert whole[0].ours.startswith("4 of 4 cases, 16 more not known: ")
    page = suite.render(suite, records, tmp_path).read_text()
    assert "| kin40k, paper | 130 | 14956 | - | 5910 | 3677 | > 36000 | 975 | - |" in page
    assert "| kin40k, ours | 20.0 | > 300 (2.0e-03) | - | > 300 (3.0e-01) | 250.0 |" in page


def test_figure_3_is_read_step_by_step():
    falling = {"step": [0.0, 1.0, 2.0, 5.0], "objective": [0.0, -3.0, -4.0, -5.0]}
    slower = {"step": [0.0, 1.0, 2.0, 3.0], "objective": [0.0, -1.0, -2.0, -4.5]}
    curves = {"kin40k": {"gbcd_paper": falling, "bcd_cyclic": slower, "bcd_gradient": slower}}
    claim = full_gp_solvers.step_by_step(curves, 1)
    assert claim.verdict == "yes"
    assert "kin40k, bcd_cyclic: at 2 of 2 steps" in claim.ours
    slower["objective"][2] = -4.0
    assert full_gp_solvers.step_by_step(curves, 1).verdict == "no"
    assert full_gp_solvers.step_by_step({}, 1).verdict == "open"


def test_an_error_is_settled_from_where_it_stays_near_its_last_value():
    curve = {
        "rmse": [0.9, 0.5, 0.51, 0.5, 0.501, 0.5],
        "rmse_seconds": [0.0, 1.0, 2.0, 4.0, 9.0, 10.0],
        "seconds": [0.0, 16.0],
    }
    assert full_gp_solvers.settled(curve) == 0.25
    claim = full_gp_solvers.stable_early({"kin40k": {"gbcd_paper": curve}}, 1)
    assert (claim.verdict, claim.ours.split("; ")[-1]) == ("yes", "kin40k 25 %")
    assert full_gp_solvers.settled(curve | {"rmse": [0.5] * 6}) == 0.0
    late = curve | {"rmse": [0.9] * 5 + [0.5]}
    assert full_gp_solvers.stable_early({"kin40k": {"gbcd_paper": late}}, 1).verdict == "no"


@pytest.mark.parametrize(
    ("left", "right", "words", "verdict"),
    [
        (outcome(10.0), outcome(25.0), "2.5 times", True),
        (outcome(50.0), outcome(25.0), "0.5 times", False),
        (outcome(50.0), outcome(25.0, converged=False), "> 0.5 times", None),
        (outcome(300.0, converged=False), outcome(400.0), "not converged in 300 s", False),
        (
            outcome(300.0, converged=False, norm=1e-2),
            outcome(300.0, converged=False, norm=2e-2),
            "norm 1.0e-02 : 2.0e-02",
            None,
        ),
    ],
)
def test_which_of_two_solvers_is_faster(left, right, words, verdict, tmp_path):
    suite = SUITES["full_gp_solvers"]
    outcomes = {("kin40k", "gbcd_paper"): left, ("kin40k", "cg"): right}
    cells = full_gp_solvers.collect(fill(suite, tmp_path, outcomes))
    task = next(task for task in suite.tasks if task.name == "kin40k")
    said, holds = full_gp_solvers.compare(cells, task, "gbcd_paper", "cg")
    assert words in said
    assert holds is verdict
    assert full_gp_solvers.claims(cells, list(suite.tasks))[0].holds is verdict


def test_the_page_of_figure_4_measures_the_gap_and_the_growth():
    metrics = {"converged": 1.0, "norm": 1e-5, "passes": 3.0}
    cells = {
        (label, size): {**metrics, "seconds": factor * (size / 2000) ** power}
        for label, factor, power in (
            ("BCDC", 1, 2.5),
            ("GBCD", 1, 2),
            ("GBCD+", 1, 2),
            ("Chol", 1, 3),
        )
        for size in (2000, 5000, 10_000)
    }
    gap, growth = full_gp_growth.claims(cells)
    assert gap.holds
    assert "2.24 at 10,000" in gap.ours
    assert growth.holds
    assert "Chol 3.00" in growth.ours
    cells["BCDC", 5000]["converged"] = 0.0  # a bound of a ratio is no ratio
    gap = full_gp_growth.claims(cells)[0]
    assert gap.verdict == "open"
    assert "> 1.58 at 5,000" in gap.ours
    assert "both converged at 2 of 3 sizes" in gap.ours
    cells["BCDC", 5000]["converged"] = 1.0
    cells["BCDC", 10_000]["seconds"] = 1.0
    assert full_gp_growth.claims(cells)[0].holds is False


# The speed program -------------------------------------------------------------------------------


def test_speed_dense_prints_every_figure(capsys, monkeypatch, tmp_path, prepared):
    monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path))  # no kin40k: it says so, and goes on
    kept = tmp_path / "prepared" / "full_gp" / "friedman1-0.json"
    frame.write_atomically(kept, json.dumps({"content": prepared}))
    # In this process: starting others takes seconds.
    monkeypatch.setattr(speed_dense, "_in_process", lambda request, _: speed_dense.measure(request))
    speed_dense.main(["--rows", "300", "--results", str(tmp_path)])
    speed_dense.main(["--large", "500", "--results", str(tmp_path)])
    text = capsys.readouterr().out
    for part in ("Friedman1, 300 rows", "gbcd", "cg", "cholesky", "Friedman1, 500 rows"):
        assert part in text
    assert "kin40k is absent" in text
    assert "kernel passes" in text
    assert "GiB" in text
    assert "not converged" not in text


def test_kin40k_of_speed_dense(capsys, monkeypatch, tmp_path, prepared):
    """Without the data: another set under its name."""
    monkeypatch.setattr(speed_dense, "hyperparameters", lambda name, results: prepared)
    monkeypatch.setattr(speed_dense.datasets, "available", lambda: ["kin40k"])
    monkeypatch.setattr(
        speed_dense,
        "_in_process",
        lambda request, _: speed_dense.measure({**request, "task": "friedman1"}),
    )
    speed_dense.main(["--rows", "300", "--variances", "20", "--results", str(tmp_path)])
    text = capsys.readouterr().out
    assert "kin40k, 300 rows" in text
    assert "20 variances by gbcd, K held" in text
    assert "(target: at most 2)" in text


class TestPoses:
    """Table 5 on made-up poses: five joints."""

    @pytest.fixture
    def suite(self, monkeypatch, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(90, 4))
        y = 100.0 * np.sin(X @ rng.normal(size=(4, 15)))
        y[:, 0] = 0.0  # a coordinate that never changes
        wanted = datasets.Supplied(90, 4, 15, "Ask for it.")
        monkeypatch.setitem(datasets.SUPPLIED, "humaneva", wanted)
        monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path))
        np.savez(
            tmp_path / "humaneva.npz",
            X=X,
            y=y,
            train_index=np.arange(70)[None],
            test_index=np.arange(70, 90)[None],
        )
        whole = SUITES["full_gp_poses"]
        small = replace(whole.tasks[0], parameters={"n_train": 70, "n_test": 20, "size": 25})
        return replace(whole, tasks=[small])

    def test_runs_and_page(self, suite, tmp_path):
        frame.run_suite(suite, results=tmp_path, report=lambda line: None)
        records = frame.read_records(suite, tmp_path)
        assert [r["error"] for r in records] == [None, None]
        assert all(0 < r["metrics"]["joint_error"] < 200 for r in records)
        text = suite.render(suite, records, tmp_path).read_text()
        assert "| mm, paper | 62.4 | 59.6 |" in text
        assert "| The full GP is more accurate than the sparse one | " in text

    def test_the_error_is_the_mean_distance_of_a_joint(self):
        poses = np.zeros((2, 6))
        predicted = np.array([[3.0, 4.0, 0.0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])
        assert full_gp_poses.joint_error(poses, predicted) == pytest.approx(1.5)

    def test_without_the_file_there_is_no_data(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path / "nothing"))
        assert main(["run", "full_gp_poses", "--results", str(tmp_path)]) == 0
        out = capsys.readouterr().out
        assert "no data for HumanEva. Ask for HumanEva-1 at http" in out
        assert "full_gp_poses: 0 runs" in out


def test_the_choice_of_a_block_is_measured(monkeypatch, capsys):
    monkeypatch.delenv("GREEDYGP_DATA", raising=False)
    monkeypatch.setattr("sys.argv", ["speed_blocks", "--rows", "150"])
    speed_blocks.main()
    lines = capsys.readouterr().out.splitlines()
    assert "| looked at for each place | friedman1 | kin40k |" in lines
    assert [line.split(" | ")[0] for line in lines[-3:]] == [
        f"| {way}" for way in speed_blocks.WAYS
    ]
    assert all(line.endswith("| no data |") for line in lines[-3:])


def test_variances_of_another_solver_are_not_shown_as_gbcds():
    old = {"method": "gbcd", "metrics": {"variance_seconds": 1.0}}
    new = {"method": "gbcd", "metrics": {"variance_seconds": 1.0, "variance_cpu_seconds": 0.5}}
    other = {"method": "pcg", "metrics": {"variance_seconds": 1.0}}
    shown = full_gp_beside_sparse.own_variances([old, new, other], "variance_seconds")
    assert shown == [new, other]
    assert "is missing" in full_gp_beside_sparse.missing_variances([old, other])
    assert full_gp_beside_sparse.missing_variances([new, other]) == ""


def test_errors_that_are_the_same_in_print_are_not_lower():
    def verdicts(sr, mpgp, gbcd):
        rmse = {"sd": 0.5, "sr": sr, "mpgp": mpgp, "gbcd": gbcd}
        runs = {"task": "kin40k", "status": "ok", "partition": 0}
        records = [runs | {"method": m, "metrics": {"rmse": value}} for m, value in rmse.items()]
        tasks = [t for t in full_gp_beside_sparse.TASKS if t.name == "kin40k"]
        return [claim.holds for claim in full_gp_beside_sparse.claims(records, tasks)[:2]]

    assert verdicts(0.2, 0.1, 0.05) == [True, True]
    assert verdicts(0.2, 0.1, 0.0998) == [False, True]
    assert verdicts(0.1002, 0.1, 0.05) == [True, False]
