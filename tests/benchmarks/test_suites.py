"""The parts that the paper suites are made of, and their pages, on made-up records."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import frame, hyperparameters
from benchmarks.__main__ import main
from benchmarks.frame import Method, Task
from benchmarks.prefix_predictions import PrefixModel, prefix_metrics
from benchmarks.suites import SUITES, learning, printed
from greedygp.metrics import nlpd, nmse


class PlainGaussian:
    """``2 exp(-|a - b|^2 / 2)``, written out."""

    def __call__(self, A, B):
        return 2.0 * np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    def diag(self, A):
        return np.full(len(A), 2.0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(60, 2)), rng.normal(size=(23, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60), X_test, np.sin(X_test[:, 0])


def test_every_prefix_predicts_as_the_dtc_formulas_say(data):
    X, y, X_test, _ = data
    kernel, s2, basis = PlainGaussian(), 0.05, X[:12]
    model = PrefixModel(kernel, s2, basis, X, y)
    sizes = [1, 4, 5, 12]
    for size, (mean, std) in zip(sizes, model.predict(X_test, sizes), strict=True):
        u = basis[:size]
        K_uu, K_uf, K_us = kernel(u, u), kernel(u, X), kernel(u, X_test)
        Sigma = np.linalg.inv(K_uu + K_uf @ K_uf.T / s2)
        Q = K_us.T @ np.linalg.solve(K_uu, K_us)
        variance = kernel.diag(X_test) - np.diag(Q - K_us.T @ Sigma @ K_us) + s2
        np.testing.assert_allclose(mean, K_us.T @ Sigma @ K_uf @ y / s2, rtol=1e-8)
        np.testing.assert_allclose(std**2, variance, rtol=1e-8)


def test_prefix_metrics_do_not_depend_on_the_tile(data):
    X, y, X_test, y_test = data
    model = PrefixModel(PlainGaussian(), 0.05, X[:12], X, y)
    measures = {"nmse": lambda t, mean, std: nmse(t, mean), "nlpd": nlpd}
    whole = prefix_metrics(model, [2, 12], X_test, y_test, measures)
    tiled = prefix_metrics(model, [12, 2], X_test, y_test, measures, tile=7)
    for name in measures:
        np.testing.assert_allclose(tiled[name], whole[name], rtol=1e-10)


def test_a_repeated_basis_vector_needs_jitter_and_says_so(data):
    X, y, *_ = data
    basis = np.concatenate([X[:5], X[:1]])
    model = PrefixModel(PlainGaussian(), 0.05, basis, X, y)
    assert model.jitter > 0


def test_full_gp_on_subset_finds_the_noise_and_the_relevant_input():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)
    found = hyperparameters.full_gp_on_subset(X, y, 150, seed=0)
    assert found.n_rows == 150
    assert found.noise_variance == pytest.approx(0.04, rel=0.4)
    assert found.length_scale[1] > 5 * found.length_scale[0]
    again = hyperparameters.full_gp_on_subset(X, y, 150, seed=0)
    assert found == again


def test_printed_tables_are_whole():
    tables = printed.tables_2_and_3()
    assert set(tables) == {task.name for task in SUITES["predictive_fixed"].tasks}
    for halves in tables.values():
        for methods in halves.values():
            assert tuple(methods) == printed.METHODS
    assert tables["abalone"]["plain"]["nlgpp"]["npdl"] == (1.0033, 0.0131)
    assert tables["bank32NH"]["cache"]["gpe"]["basis"] == (481.0, 68.5)
    assert tables["cpu_act"]["plain"]["nlml"]["nmse"] == (1.56, 0.07)


class RandomBasis:
    """Stands in for the estimator: a random basis, predictions by the plain formulas."""

    def __init__(self, prepared, seed, **parameters):
        self.prepared, self.seed, self.parameters = prepared, seed, parameters

    def fit(self, X, y):
        m = self.parameters["max_basis"]
        self.basis_indices_ = np.random.default_rng(self.seed).permutation(len(X))[:m]
        self.n_basis_ = m
        self.path_ = {"value": 1.0 / np.arange(1, m + 1), "seconds": 0.1 * np.arange(1, m + 1)}
        self.rounds_ = {name: np.ones(3) for name in learning.FIELDS}
        self.kernel_, self.noise_variance_, self.widening_ = SpreadGaussian(), 0.1, 1.0
        basis = X[self.basis_indices_]
        self.model_ = PrefixModel(self.kernel_, self.noise_variance_, basis, X, y)
        return self

    def predict(self, X, return_std):
        assert return_std
        return next(self.model_.predict(X, [self.n_basis_]))


class SpreadGaussian(PlainGaussian):
    def __call__(self, A, B):
        return super().__call__(A / 2, B / 2)


@pytest.mark.parametrize(
    "name", [n for n in SUITES if n.startswith(("predictive", "matching_pursuit"))]
)
def test_a_run_of_each_paper_suite(name, tmp_path, monkeypatch):
    """From the data to the page, on a small generated set."""
    pytest.importorskip("matplotlib")
    suite = SUITES[name]
    sizes = {"n_train": 80, "n_test": 40, "subset": 30, "max_basis": 15, "limit": 20, "patience": 5}
    task = Task(suite.tasks[-1].name, "Made up", {**sizes, "friedman": 2})
    methods = [
        Method(
            m.name,
            m.title,
            {**m.parameters, **({"sizes": [10, 20]} if "matching_pursuit" in name else {})},
        )
        for m in suite.methods
    ]
    small = replace(suite, tasks=[task], methods=methods)
    monkeypatch.setattr(f"benchmarks.suites.{name}.sparse_model", RandomBasis)
    frame.run_suite(small, repeats=1, results=tmp_path, report=lambda line: None)
    records = frame.read_records(small, tmp_path)
    assert [r["error"] for r in records] == [None] * len(methods)
    if name == "predictive_fixed":
        assert [r["metrics"]["basis"] for r in records] == [15, 20, 20, 20, 20] * 2
    for record in records:
        if "nmse" in record["metrics"]:
            assert 0 < record["metrics"]["nmse"] < 1


def made_up_outcome(suite, task, method, partition):
    """Metrics and curves of the right names for a suite."""
    rng = np.random.default_rng([partition, len(task.name), len(method.name)])
    metrics = {name: float(rng.uniform(1, 2)) for name in suite.metrics}
    sizes = method.parameters.get("sizes", [1, 2, 5, 10, 20, 50])
    names = ("nmse", "nlpd", "seconds")
    if suite.name in ("predictive_paths", "predictive_rounds"):
        names = ("measure", "nmse", "npdl")
    curves = {name: list(rng.uniform(0.5, 1, size=len(sizes)) / sizes) for name in names}
    if suite.name == "full_gp_solvers":
        names = ("step", "seconds", "objective", "gradient_norm", "rmse", "rmse_seconds")
        curves = {name: sorted(rng.uniform(1, 2, size=4)) for name in names}
        curves["step"] = [0.0, 1.0, 2.0, 3.0]
    return {"metrics": metrics, "curves": {"size": sizes, **curves}}


def fill(suite, results, repeats=2, methods=None):
    for run in frame.runs_of(suite, repeats, methods=methods):
        outcome = made_up_outcome(suite, run.task, run.method, run.partition)
        frame.store(suite, frame.record_of(run, "ok", None, 1.0, outcome), results)


WITHOUT_FINDINGS = ("ablation", "intervals", "untouched")  # their pages have tests of their own
ENOUGH = {  # Wilcoxon's tests can tell nothing of fewer
    "fast_gcv": 6,
    "matching_pursuit_learnt": 5,
    "sparse_classification": 6,
    "sparse_classification_learnt": 6,
}
LONG = ("fast_gcv", "peers")  # pages of many comparisons, which have tests of their own


@pytest.mark.usefixtures("saved_figures")
def test_figures_are_files(tmp_path):
    pytest.importorskip("matplotlib")
    fill(SUITES["matching_pursuit_learnt"], tmp_path / "results")
    arguments = ["--results", str(tmp_path / "results"), "--docs", str(tmp_path / "docs")]
    assert main(["render", "matching_pursuit_learnt", *arguments]) == 0
    (figure,) = (tmp_path / "docs" / "figures").iterdir()
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert figure.stat().st_size > 5000


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in SUITES
        if name not in WITHOUT_FINDINGS
    ],
)
def test_pages_of_the_paper_suites(name, tmp_path):
    pytest.importorskip("matplotlib")
    suite, repeats = SUITES[name], ENOUGH.get(name, 2)
    fill(replace(suite, applies=None), tmp_path / "results", repeats)
    arguments = ["--results", str(tmp_path / "results"), "--docs", str(tmp_path / "docs")]
    assert main(["render", name, *arguments]) == 0
    text = (tmp_path / "docs" / f"{name}.md").read_text()
    assert f"python -m benchmarks run {name} --repeats {repeats}" in text
    assert "## Findings" in text
    assert "| open |" not in text
    drawn = list((tmp_path / "docs" / "figures").glob(f"{name}*.png"))
    assert bool(drawn) == (name != "full_gp_poses")  # two numbers need no picture


@pytest.mark.parametrize("name", [name for name in SUITES if name not in WITHOUT_FINDINGS])
def test_pages_of_suites_that_have_hardly_begun(name, tmp_path):
    pytest.importorskip("matplotlib")
    suite = SUITES[name]
    fill(suite, tmp_path / "results", repeats=1, methods=[suite.methods[0].name])
    page = suite.render(suite, frame.read_records(suite, tmp_path / "results"), tmp_path)
    assert "| open |" in page.read_text() or "not enough runs" in page.read_text()


def test_render_without_records_says_so(tmp_path, capsys):
    assert main(["render", "all", "--results", str(tmp_path), "--docs", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("nothing recorded yet") == len(SUITES)


def test_an_unknown_data_set_is_an_error(tmp_path, capsys):
    command = ["run", "matching_pursuit_kin40k", "--only", "boston", "--results", str(tmp_path)]
    assert main(command) == 2
    assert "choose from kin40k" in capsys.readouterr().err


def test_list_names_the_suites(capsys):
    assert main(["list"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in SUITES)
