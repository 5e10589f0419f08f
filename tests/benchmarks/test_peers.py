"""The suite of peers: its plumbing with a fake peer, its pages with made-up records."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import frame
from benchmarks.frame import Method, Task
from benchmarks.peers import environments, findings, in_process, kin40k_race, page, scripted
from benchmarks.peers.comparison import BOOSTED, EARLIER, OURS, SPARSE, Comparison
from benchmarks.peers.exchange import Request, starting_centres, without_a_tenth
from benchmarks.suites import peers

FAKE = "benchmarks_fake_peer"
SCRIPT = """
import os
import numpy as np
from benchmarks.peers.exchange import serve


def fit(request):
    if request.options.get("fails"):
        raise RuntimeError("the bound is not finite")
    level = np.nan if request.options.get("gives_nan") else request.y.mean()
    threads = float(os.environ["OMP_NUM_THREADS"])
    return lambda X: (np.full(len(X), level), np.full(len(X), threads))


if __name__ == "__main__":
    serve(fit, ("numpy",))
"""


@pytest.fixture
def request_():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    options = {"basis": 10, "seed": 0, "threads": 1, "grid_rows": 40}
    return Request(X, np.sin(X[:, 0]), rng.normal(size=(1203, 3)), options)


@pytest.fixture
def fake_environment(tmp_path, monkeypatch):
    """An environment called fake, of this interpreter, that finds the fake peer."""
    folder = tmp_path / "venvs" / "fake" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.setattr(environments, "VENVS", tmp_path / "venvs")
    (tmp_path / f"{FAKE}.py").write_text(SCRIPT)
    path = [str(tmp_path), *(p for p in sys.path if p)]
    monkeypatch.setenv("PYTHONPATH", ":".join(path))


def with_options(request, **options):
    return replace(request, options={**request.options, **options})


# The plumbing ------------------------------------------------------------------------------------


def test_a_script_answers_from_its_own_process(request_, fake_environment):
    answer = scripted.call("fake", FAKE, with_options(request_, threads=3))
    assert answer.mean.shape == answer.std.shape == (1203,)
    np.testing.assert_allclose(answer.mean, request_.y.mean())
    np.testing.assert_array_equal(answer.std, 3.0)
    assert answer.facts["fit_seconds"] >= 0
    assert answer.facts["predict_cpu_seconds"] >= 0
    assert "numpy" in answer.facts["versions"]


def test_the_error_of_a_script_is_told(request_, fake_environment):
    with pytest.raises(scripted.PeerError, match="the bound is not finite"):
        scripted.call("fake", FAKE, with_options(request_, fails=True))


def test_a_missing_environment_says_how_to_make_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(environments, "VENVS", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"python -m benchmarks\.peers\.environments gpf"):
        environments.python_of("gpflow")
    with pytest.raises(SystemExit):
        environments.main(["keras"])
    assert "choose from gpflow, gpytorch" in capsys.readouterr().err


@pytest.mark.parametrize("name", environments.NAMES)
def test_requirements_are_pinned(name):
    lines = environments.requirements(name).read_text().splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    assert any(line.startswith(name) for line in packages)
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in packages)


def test_starting_centres():
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert starting_centres(X, 7, 0).shape == (7, 2)
    np.testing.assert_array_equal(starting_centres(X, 7, 0), starting_centres(X, 7, 0))
    few = np.repeat(X[:3], 20, axis=0)
    centres = starting_centres(few, 5, 0)
    assert centres.shape == (5, 2)
    assert {tuple(c) for c in centres} <= {tuple(row) for row in few}


def test_a_tenth_is_held_out_by_the_seed(request_):
    X, X_held, y, y_held = without_a_tenth(request_)
    assert (len(X), len(X_held)) == (len(y), len(y_held)) == (54, 6)
    together = np.vstack([X, X_held])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(request_.X, axis=0))
    np.testing.assert_array_equal(X_held, without_a_tenth(request_)[1])
    assert not np.array_equal(X_held, without_a_tenth(with_options(request_, seed=1))[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["sklearn_gp", "trees", "svr"])
def test_models_of_our_own_environment(name, request_):
    answer = getattr(in_process, name)(request_)
    error = np.mean((answer.mean - np.sin(request_.X_test[:, 0])) ** 2)
    assert error < 0.5
    assert np.all(answer.std > 0)
    if name != "sklearn_gp":
        assert np.ptp(answer.std) == 0


# The suite ---------------------------------------------------------------------------------------


def test_sizes_and_what_applies():
    tasks = {task.name: task for task in peers.SUITE.tasks}
    assert len(tasks) == 17
    assert tasks["kin40k"].parameters == {"n_train": 10000, "n_test": 10000, "basis": 200}
    assert tasks["boston"].parameters == {"n_train": 404, "n_test": 102, "basis": 40}
    exact = frame.runs_of(peers.SUITE, 1, methods=["sklearn_gp"])
    assert {run.task.name for run in exact} == {"boston", "energy", "concrete", "wine_red"}
    assert len(frame.runs_of(peers.SUITE, 1, methods=["trees"])) == 17


def test_every_method_has_its_place():
    names = {method.name for method in peers.SUITE.methods}
    assert {*SPARSE, *BOOSTED, EARLIER} <= names
    for name in names - {EARLIER}:
        if name not in peers.SCRIPTS:
            assert callable(getattr(in_process, name))
            continue
        environment, script = peers.SCRIPTS[name]
        assert environment in environments.NAMES
        path = scripted.ROOT / f"{script.replace('.', '/')}.py"
        assert "serve(fit" in path.read_text()


def test_an_earlier_default_is_stored_and_never_run():
    assert not frame.runs_of(peers.SUITE, 1, methods=[EARLIER])
    records = frame.read_records(peers.SUITE)
    stored = {record["task"] for record in records if record["method"] == EARLIER}
    assert stored == {task.name for task in peers.SUITE.tasks}


def test_the_halves_are_apart_and_whole():
    halves = (peers.CHOSEN_ON, peers.REPORTED_ON)
    assert sorted(sum(halves, ())) == sorted(task.name for task in peers.SUITE.tasks)
    for pair in ({"cpu_small", "cpu_act"}, {"house_8L", "house_16H"}):
        assert any(pair <= set(half) for half in halves)


def test_runs_record_failures_and_versions(tmp_path, monkeypatch, fake_environment):
    names = ("good", "failing", "nan")
    monkeypatch.setattr(peers, "SCRIPTS", dict.fromkeys(names, ("fake", FAKE)))
    methods = [
        Method("good", "Good"),
        Method("failing", "Failing", {"fails": True}),
        Method("nan", "NaN", {"gives_nan": True}),
        Method("trees", "Trees"),
    ]
    task = Task("f", "Friedman", {"n_train": 80, "n_test": 40, "basis": 8, "friedman": 2})
    suite = replace(peers.SUITE, tasks=[task], methods=methods)
    failed = frame.run_suite(suite, repeats=1, results=tmp_path, report=lambda line: None)
    records = {r["method"]: r for r in frame.read_records(suite, tmp_path)}
    assert failed == 2
    assert records["good"]["status"] == records["trees"]["status"] == "ok"
    assert records["good"]["peer_versions"]["numpy"]
    assert sum(records["good"]["curves"]["pit"]) == pytest.approx(1.0)
    assert records["good"]["metrics"]["nmse"] == pytest.approx(1.0, rel=0.2)
    assert 0 < records["good"]["metrics"]["crps"] < 2
    assert "not finite" in records["failing"]["error"]
    assert "mean holds NaN" in records["nan"]["error"]


# The page ----------------------------------------------------------------------------------------


def outcome(run, nlpd, nmse=0.1, coverage=0.95):
    metrics = dict.fromkeys(run.suite.metrics, 1.0)
    metrics |= {"nlpd": nlpd, "nmse": nmse, "coverage_95": coverage, "fit_seconds": 2.0}
    if run.method.name == OURS:
        metrics |= {"basis": 150, "crps": 0.25}
    versions = {"gpflow": "2.9.2"} if run.method.name == "gpflow_sgpr" else {}
    return {"metrics": metrics, "curves": {"pit": [0.1] * 10}, "peer_versions": versions}


def made_up_records(suite, repeats=3):
    """Ours is best but on energy (worse everywhere) and on kin8nm (errors, coverage).

    CatBoost is better on boston. The earlier default is worse than ours by 1 nat on boston, by 0.2
    elsewhere but on energy.
    """
    records = []
    for run in frame.runs_of(suite, repeats):
        ours, wiggle = run.method.name == OURS, 0.01 * run.partition
        nlpd = (0.3 if ours else 0.5) + wiggle
        nmse, coverage = 0.1, 0.95
        if run.task.name == "energy" and ours:
            nlpd = 0.9 + 2 * wiggle
        if run.task.name == "kin8nm" and ours:
            nmse, coverage = 0.1035, 0.90
        if run.task.name == "boston":
            nlpd += {"catboost": -0.4, EARLIER: 0.8}.get(run.method.name, 0.0)
        records.append(frame.record_of(run, "ok", None, 3.0, outcome(run, nlpd, nmse, coverage)))
    return [frame.plain(record) for record in records]


@pytest.fixture
def small_suite():
    """Four sets, two of each half but for one; the earlier default has runs."""
    names = ("boston", "energy", "kin8nm", "kin40k")
    tasks = [task for task in peers.SUITE.tasks if task.name in names]

    def applies(task, method):
        return method.name == EARLIER or peers.applies(task, method)

    return replace(peers.SUITE, tasks=tasks, applies=applies)


def cells_of(text, beginning):
    """The cells of the table's row that begins so."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {beginning}")]
    return row.strip("| ").split(" | ")[1:]


def test_the_page_counts(small_suite, tmp_path):
    pytest.importorskip("matplotlib")
    text = page.render(small_suite, made_up_records(small_suite), tmp_path).read_text()
    assert cells_of(text, "NLPD best") == [
        "all",
        "1 of 1 (the smallest mean on 1)",
        "2 of 3 (the smallest mean on 2); not on Energy (0.920 against 0.510 of GPflow SGPR)",
        "3 of 4",
    ]
    assert cells_of(text, "The same among")[1:] == [
        "0 of 1 (the smallest mean on 0); not on Boston (0.310 against 0.110 of CatBoost)",
        "2 of 3 (the smallest mean on 2); not on Energy (0.920 against 0.510 of GPflow SGPR)",
        "2 of 4",
    ]
    # 1 nat counts as 0.3; -0.41 and twice 0.2 are as they are.
    gain = cells_of(text, "Mean gain")
    assert gain[:-1] == ["0.08", "0.300", "-0.003; worse on Energy (-0.410)"]
    assert float(gain[-1]) == pytest.approx(0.0725, abs=6e-4)
    missed = "2 of 3; not on kin8nm (1.03 times that of GPflow SGPR)"
    assert cells_of(text, "NMSE within")[1:] == ["1 of 1", missed, "3 of 4"]
    kept = ["1 of 1", "2 of 3; not on kin8nm (1.03 times)", "3 of 4"]
    assert cells_of(text, "NMSE at most")[1:] == kept
    covered = ["1 of 1", "2 of 3; not on kin8nm (90.0 %)", "3 of 4"]
    assert cells_of(text, "95 % intervals")[1:] == covered
    # 4 sets x 3 partitions x (2 + 1) seconds
    assert "fit and prediction: greedygp 36, GPflow SGPR 36, GPflow FITC 36" in text


def test_the_tables_of_the_page(small_suite, tmp_path):
    pytest.importorskip("matplotlib")
    text = page.render(small_suite, made_up_records(small_suite), tmp_path).read_text()
    densities = text.split("## Negative")[1].split("##")[0]
    assert cells_of(densities, "Boston")[:3] == [
        "**0.310 ± 0.010**",
        "1.310 ± 0.010*",
        "0.510 ± 0.010*",
    ]
    names = [line.split(" | ")[0] for line in densities.splitlines() if line.startswith("| ")]
    halves = ["*chosen on*", "Boston", "*reported on*", "Energy", "kin8nm", "kin40k"]
    assert names == [f"| {name}" for name in ("data set", *halves)]
    scores = text.split("## Continuous")[1].split("##")[0]
    assert cells_of(scores, "kin40k")[:3] == ["**0.2500 ± 0.0000**", "-", "-"]
    fits = cells_of(text, "all fits |")
    assert fits[3] == "8.0"  # of one partition, not of three
    assert "4.0 (2 sets)" in fits  # the exact GP
    assert "python -m benchmarks.peers.environments" in text
    assert "- GPflow SGPR: gpflow 2.9.2" in text
    assert (tmp_path / "figures" / "peers_pit.png").exists()


def test_the_page_of_few_runs_and_failures(small_suite, tmp_path):
    pytest.importorskip("matplotlib")
    runs = frame.runs_of(small_suite, 1, methods=["gpflow_sgpr", "svr"])
    records = [frame.record_of(run, "ok", None, 1.0, outcome(run, 0.2)) for run in runs[1:]]
    lost = frame.record_of(runs[0], "failed", "no\nNaN", 1.0, {"metrics": {}, "curves": {}})
    text = page.render(small_suite, [lost, *records], tmp_path).read_text()
    assert text.count("not enough runs") == 8 * 3 + 2
    assert "- failed: boston, gpflow_sgpr, partition 0: NaN" in text


def test_seconds_of_another_time_are_told_apart(small_suite):
    records = made_up_records(small_suite)
    for record in records:
        record["code"] = "now" if record["method"] in (OURS, "gpflow_sgpr") else None
    (line,) = (line for line in findings.seconds(small_suite, records) if "another time" in line)
    sparse = {record["method"] for record in records} & set(findings.SPARSE)
    titles = [m.title for m in small_suite.methods if m.name in sparse]
    assert [t for t in titles if t in line] == [
        t for t in titles if t not in ("greedygp", "GPflow SGPR")
    ]
    for record in records:
        record["code"] = "now"
    assert not any("another time" in line for line in findings.seconds(small_suite, records))


def test_what_one_partition_cannot_tell_is_said(small_suite):
    records = made_up_records(small_suite, repeats=1)
    count = findings.density_count_with_boosted(small_suite, records)
    assert count.short == "4 of 4"
    assert (
        "no significant difference on Boston (0.300 against 0.100 of CatBoost, one partition)"
        in str(count)
    )


def test_a_sparse_gp_that_failed_does_not_stop_the_comparison():
    values = {"greedygp": {0: 1.0, 1: 2.0}, "gpflow_sgpr": {1: 1.5}, "gpytorch_sgpr": {}, "svr": {}}
    comparison = Comparison(values)
    assert comparison.is_one
    assert comparison.common == [1]
    assert comparison.best == "gpflow_sgpr"
    assert comparison.ratio("greedygp") == pytest.approx(2 / 1.5)
    assert np.isnan(comparison.ratio("svr"))
    assert not comparison.is_worse("svr")


# The race ----------------------------------------------------------------------------------------


def test_the_race_from_its_parts(tmp_path, monkeypatch, capsys):
    fit = {"seconds": 60.0, "basis": 500, "nmse": 0.02, "nlpd": -0.5, "coverage_95": 0.96}
    gradient = {
        "turns": {"gpflow": [0.8] * 3, "greedygp": [0.4] * 3},
        "medians": {"gpflow": 0.8, "greedygp": 0.4, **dict.fromkeys(kin40k_race.PRODUCTS, 0.02)},
        "products": 0.16,
    }
    parts = {
        "gpflow": lambda results: {**fit, "versions": {"gpflow": "2.9.2"}},
        "ours": lambda results: [{**fit, "limit": 12.0, "seconds": 12.1}, {**fit, "limit": None}],
        "gradient": lambda results: gradient,
    }
    monkeypatch.setattr(kin40k_race, "PARTS", parts)
    folders = ["--results", str(tmp_path), "--docs", str(tmp_path)]
    assert kin40k_race.main(["gpflow", *folders]) == 0
    assert "gradient" not in json.loads((tmp_path / "kin40k_race.json").read_text())
    assert kin40k_race.main(["ours", "gradient", *folders]) == 0
    text = (tmp_path / "kin40k_race.md").read_text()
    assert "| greedygp, time_limit=12.0 | 12.1 | 0.20 | 500 | 2.000 | -0.5000 | 96.0 |" in text
    assert "| GPflow SGPR, the bound | 0.800 | 2.00 |  |" in text
    assert "| greedygp, NLGPP (DTC) | 0.400 | 1.00 | 2.50 |" in text
    assert "GPflow's environment: gpflow 2.9.2." in text
    assert text.strip() in capsys.readouterr().out


def test_the_race_needs_gpflow_first():
    with pytest.raises(SystemExit, match="run the part gpflow first"):
        kin40k_race.race_ours({})


def test_bare_products_and_our_gradient_take_time(request_):
    seconds = kin40k_race.product_seconds(n=50, m=6, repeats=1)
    assert set(seconds) == set(kin40k_race.PRODUCTS)
    assert all(s > 0 for s in seconds.values())
    assert kin40k_race.our_gradient_seconds(with_options(request_, repeats=1)) > 0
