"""What should work: every format, a pipe, every command."""

import html
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas
import pytest

import greedygp
from cli.program import QUICK, Program, houses
from greedygp.cli.compare import _named, compare
from greedygp.tables.comparison import candidates
from greedygp.tables.families import families
from greedygp.tables.problems import DataProblem
from greedygp.tables.training import Recipe

WRITERS = {
    "t.csv": lambda table, path: table.to_csv(path, index=False),
    "t.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "t.csv.gz": lambda table, path: table.to_csv(path, index=False),
    "t.parquet": lambda table, path: table.to_parquet(path),
    "t.feather": lambda table, path: table.to_feather(path),
    "t.npz": lambda table, path: np.savez(
        path, X=np.asarray(table[["area", "rooms"]].fillna(0.0)), y=table["price"]
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_fit_and_predict_every_format(name, program):
    if name in ("t.parquet", "t.feather"):
        pytest.importorskip("pyarrow")
    WRITERS[name](houses(), program.folder / name)
    target = "y" if name == "t.npz" else "price"
    facts = program.json("fit", name, "--target", target, *QUICK)
    assert facts["task"] == "regression"
    assert (facts["rows_train"], facts["rows_test"]) == (96, 24)
    assert facts["scores"]["nmse"] < 0.5
    assert program.files() == ["model.skops", name]


@pytest.mark.parametrize("name", ["t.tsv", "t.parquet", "t.feather"])
def test_predict_other_formats(name, program, fitted):
    if name != "t.tsv":
        pytest.importorskip("pyarrow")
    table = houses(25, seed=1)
    WRITERS[name](table, program.folder / name)
    out, _ = program("predict", fitted / "model.skops", name, "--chunk", "10")
    mean = greedygp.load(fitted / "model.skops").predict(table)
    np.testing.assert_allclose([float(line.split(",")[0]) for line in out.split()[1:]], mean)


def test_pipes_both_ways(program, fitted):
    stdin = houses().to_csv(index=False).encode()
    facts = program.json("fit", "-", "--target", "price", *QUICK, stdin=stdin)
    assert facts["data"]["name"] == "-"
    new = (fitted / "new.csv").read_bytes()
    out, _ = program("predict", "model.skops", "-", stdin=new)
    assert len(out.splitlines()) == 26
    again, _ = program("predict", fitted / "model.skops", fitted / "new.csv")
    assert again == out  # the same data and seed give the same model


def test_summary_for_people(program):
    houses().assign(empty=np.nan, same=1).to_csv(program.folder / "h.csv", index=False)
    out, err = program("fit", "h.csv", "--target", "price", "--drop", "garden", *QUICK)
    for words in ("rows to learn from", "basis vectors", "NMSE", "NLPD", "95 % interval"):
        assert words in out
    assert "area (" in out  # missing values are told
    assert "empty: it is empty" in out
    assert "same: every row has the same value" in out
    assert "garden: as asked" in out
    assert "most relevant columns" in out
    assert "Wrote the model to model.skops." in err
    again = ("fit", "h.csv", "--target", "price", "--overwrite", "--quiet", *QUICK)
    assert program(*again)[1] == ""


def test_warnings_are_seen(program):
    """Non-convergence and a fit cut short: in words, in JSON, not with --quiet."""
    houses(60).to_csv(program.folder / "h.csv", index=False)
    fit = ("fit", "h.csv", "--target", "price", "--overwrite")
    unfinished = (*fit, "--model", "fastrvm", "--set", "max_iter=1", "--set", "cv=2")
    _, err = program(*unfinished)
    (line,) = [line for line in err.splitlines() if line.startswith("Warning: ")]
    assert "max_iter" in line
    assert program.json(*unfinished)["warnings"] == [line.removeprefix("Warning: ")]
    assert "Warning" not in program(*unfinished, "--quiet")[1]
    _, err = program(*fit, "--time-limit", "0.01")
    assert "Warning: The fit was ended by --time-limit after 0.01 s" in err
    assert "Warning" not in program(*fit, "--time-limit", "60", *QUICK)[1]


def test_a_real_table_in_one_go(program):
    """Dates, money, an index, an identifier, free text, words for missing: fit, predict, report."""
    n = 60
    table = houses(n)
    table["sold"] = pandas.date_range("2020-01-01", periods=n, freq="17D").strftime("%m/%d/%Y")
    table["tax"] = [f"${k},250" for k in range(1, n + 1)]
    table["house_id"] = 1000 + np.arange(n)
    table["story"] = [f"{k} " + "once upon a time " * 3 for k in range(n)]
    table["area"] = table["area"].astype(object).where(table["area"].notna(), "unknown")
    table["rooms"] = table["rooms"] % 3
    table.to_csv(program.folder / "h.csv")
    options = ("--missing", "unknown", "--drop", "garden,town", "--max-categories", "20", *QUICK)
    out, err = program("fit", "h.csv", "--target", "price", *options, "--report", "r.html")
    assert "Assumed: Column 'tax' was read as numbers: '$1,250' is 1250" in err
    for name in ("Unnamed: 0", "house_id", "story", "garden", "town"):
        assert f"{name}: " in out
    facts = program.json("info", "model.skops")["facts"]
    assert [column["kind"] for column in facts["columns"]] == ["number", "number", "date", "number"]
    page = re.sub("<[^>]*>", "", (program.folder / "r.html").read_text("utf-8"))
    assert facts["assumptions"][0] in html.unescape(page)
    program("predict", "model.skops", "h.csv", "--out", "p.csv")  # --missing is remembered
    assert len(pandas.read_csv(program.folder / "p.csv")) == n
    assert program.json("report", "model.skops", "h.csv")["rows"] == 12
    only = ("--only", "bayesian ridge", "--folds", "2")
    result = program.json("compare", "h.csv", "--target", "rooms", *only, *options)
    assert result["models"][0]["failed"] is None


def test_kernel_and_task_by_option(program):
    table = houses(60)
    table["rooms"] = np.arange(60) % 3
    table.to_csv(program.folder / "h.csv", index=False)
    fit = ("fit", "h.csv", "--target", "rooms", *QUICK, "--overwrite")
    _, err = program(*fit, "--set", "kernel=Matern(nu=0.5) + Linear()")
    assert "only 3 different values (0, 1, 2)" in err
    assert "Matern(nu=0.5" in program.json("info", "model.skops")["facts"]["settings"]["kernel"]
    facts = program.json(*fit, "--task", "classification")
    assert facts["classes"] == [0, 1, 2]
    assert facts["assumptions"] == []


def test_predictions_are_those_of_the_model(fitted, tmp_path):
    program = Program(fitted)
    model = greedygp.load(fitted / "model.skops")
    new = pandas.read_csv(fitted / "new.csv")
    out = tmp_path / "p.csv"
    program("predict", "model.skops", "new.csv", "--interval", "0.5", "--out", out)
    pandas.testing.assert_frame_equal(
        pandas.read_csv(out, converters=dict.fromkeys(["price", "lower", "upper"], float)),
        model.table_of_predictions(new, 0.5),
        check_exact=True,
    )


def test_intervals_from_left_out_rows(fitted, tmp_path):
    program = Program(fitted)
    model = greedygp.load(fitted / "model.skops")
    new = pandas.read_csv(fitted / "new.csv")
    out = tmp_path / "p.csv"
    asked = ("--interval", "0.8", "--method", "jackknife+")
    program("predict", "model.skops", "new.csv", *asked, "--out", out)
    written = pandas.read_csv(out)
    lower, upper = model.estimator.predict_interval(
        model.encoder.transform(new), 0.8, method="jackknife+"
    )
    np.testing.assert_allclose(written["lower"], lower)
    np.testing.assert_allclose(written["upper"], upper)
    program("predict", "model.skops", "new.csv", "--method", "jackknife+", "--interval", "0.999",
            code=4)  # fmt: skip


def test_chunks_do_not_matter(fitted):
    program = Program(fitted)
    whole, _ = program("predict", "model.skops", "new.csv")
    parts, _ = program("predict", "model.skops", "new.csv", "--chunk", "7")
    ours, theirs = (
        np.loadtxt(text.splitlines(), delimiter=",", skiprows=1) for text in (whole, parts)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_parquet_out_kept_columns_and_notes(fitted, tmp_path):
    pytest.importorskip("pyarrow")
    program = Program(tmp_path)
    table = houses(30, seed=2)
    table["id"] = [f"h{k}" for k in range(30)]
    table.loc[4, "town"] = "Rom"
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--keep", "id", "--keep", "price", "--chunk", "8", "--out", "p.parquet")
    result = program.json("predict", fitted / "model.skops", "new.csv", *arguments)
    predictions = pandas.read_parquet(tmp_path / "p.parquet")
    assert list(predictions) == ["id", "price_given", "price", "lower", "upper"]
    assert predictions["id"].tolist() == table["id"].tolist()
    assert result["rows"] == 30
    assert result["notes"]["town: 'Rom' was not seen in training"] == 1
    assert any("filled with the median" in note for note in result["notes"])


def test_no_rows_held_out_means_leave_one_out(program):
    houses(60).to_csv(program.folder / "h.csv", index=False)
    facts = program.json("fit", "h.csv", "--target", "price", "--test", "0", *QUICK)
    assert facts["judged_by"] == "leave-one-out"
    assert facts["rows_test"] == 0
    assert facts["scores"]["nmse"] < 0.5


def test_classes(program):
    if not families("classification"):
        pytest.skip("there is no classifier")
    table = houses(90).dropna(subset=["town"])
    table["town"] = table["town"].replace({"Bonn": "Köln"})
    table["area"] += 100 * (table["town"] == "Ulm")
    table.to_csv(program.folder / "h.csv", index=False)
    arguments = ("fit", "h.csv", "--target", "town", "--report", "r.html", "--max-basis", "15")
    facts = program.json(*arguments)
    assert facts["task"] == "classification"
    assert facts["classes"] == ["Köln", "Ulm"]
    assert facts["scores"]["error"] < 0.2
    assert facts["scores"]["log_loss"] < 0.7
    program("predict", "model.skops", "h.csv", "--out", "p.csv")
    predictions = pandas.read_csv(program.folder / "p.csv")
    assert list(predictions) == ["town", "probability_Köln", "probability_Ulm"]
    np.testing.assert_allclose(predictions.iloc[:, 1:].sum(axis=1), 1.0)
    assert np.mean(predictions["town"].to_numpy() == table["town"].to_numpy()) > 0.8
    assert "Predicted and true classes" in (program.folder / "r.html").read_text("utf-8")


def test_report_of_the_same_file_and_of_another(fitted, tmp_path):
    program = Program(tmp_path)
    model = fitted / "model.skops"
    again = program.json("report", model, fitted / "houses.csv", "--out", "r.html")
    assert "24 rows that were held out" in again["judged_on"]
    houses(30, seed=3).to_csv(tmp_path / "other.csv", index=False)
    other = program.json("report", model, "other.csv")
    assert other["rows"] == 30
    assert program.files() == ["other.csv", "r.html", "report.html"]


def test_info_reads_the_header_alone(fitted):
    program = Program(fitted)
    out, _ = program("info", "model.skops")
    for words in ("SparseGPRegressor", "price", "houses.csv", "greedygp fit houses.csv"):
        assert words in out
    header = program.json("info", "model.skops")
    assert header["format"] == greedygp.persistence.FORMAT
    assert header["facts"]["rows"] == 120


def test_info_of_a_model_from_python(tmp_path):
    X = np.linspace(0, 1, 30)[:, None]
    model = greedygp.SparseGPRegressor(max_basis=3, random_state=0, max_iter=2).fit(X, X[:, 0])
    greedygp.save(model, tmp_path / "m.skops")
    assert "SparseGPRegressor" in Program(tmp_path)("info", "m.skops")[0]


def test_compare(program):
    houses(60).to_csv(program.folder / "h.csv", index=False)
    only = ["--only", "SparseGPRegressor", "--only", "ridge", "--only", "mean", "--only", "mean"]
    result = program.json("compare", "h.csv", "--target", "price", "--folds", "2", *only, *QUICK)
    names = [line["model"] for line in result["models"]]
    assert names[-1] == "mean"
    assert set(names) == {"sparsegp", "bayesian ridge", "mean"}
    assert all(line["failed"] is None for line in result["models"])
    assert result["models"][0]["scores"]["nmse"] < 0.5
    assert program.files() == ["h.csv"]


@pytest.mark.parametrize(
    ("name", "model"),
    [("boosted-trees", "boosted trees"), ("forest", "random forest"), ("GPRegressor", "gp")],
)
def test_names_of_models_to_compare(name, model):
    models = ["autogp", "sparsegp", "gp", "localridge", "bayesian ridge", "random forest"]
    assert _named(name, [*models, "boosted trees"]) == model
    with pytest.raises(DataProblem, match="no model 'lasso' to compare; the models are 'autogp', "):
        _named("lasso", models)


def test_examples_of_help_name_models_that_there_are():
    named = re.findall(r"--only (\w+)", compare.epilog)
    models = candidates("regression", Recipe("price"))
    assert [_named(name, models) for name in named] == ["sparsegp", "bayesian ridge"]


def test_compare_leaves_out_slow_models_and_says_so(program):
    houses(610).to_csv(program.folder / "h.csv", index=False)
    arguments = ("compare", "h.csv", "--target", "price", "--folds", "2", "--per-model", "0.02")
    out, err = program(*arguments, "--set", "cv=2")
    assert "Left out: rfs, localridge; slow on 610 rows. --slow compares them, too." in err
    assert "sparsegp *" in out
    assert "fastgcv" in out
    assert "were ended by the time for a model; --per-model gives more" in err


def test_datasets(program):
    names = [line["name"] for line in program.json("datasets")["datasets"]]
    assert {"diabetes", "friedman1", "openml:kin8nm"} <= set(names)
    written = program.json("datasets", "diabetes")
    assert written == {"written": "diabetes.csv", "rows": 442, "target": "target"}
    iris = program.json("datasets", "iris", "--out", "i.csv")
    assert set(pandas.read_csv(program.folder / "i.csv")[iris["target"]]) >= {"setosa"}
    program("datasets", "friedman2", "--quiet")
    assert program.files() == ["diabetes.csv", "friedman2.csv", "i.csv"]


def test_stored_datasets(program):
    np.savez(program.folder / "mine.npz", X=np.zeros((3, 2)), y=np.arange(3.0))
    environment = {"GREEDYGP_DATA": str(program.folder)}
    program("datasets", "mine", environment=environment)
    assert pandas.read_csv(program.folder / "mine.csv")["y"].tolist() == [0.0, 1.0, 2.0]


def test_bench_lists_the_suites_of_a_checkout(program):
    root = program.folder
    (root / "benchmarks" / "suites").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "benchmarks" / "__main__.py").write_text("import sys; print(sys.argv[1:])")
    inside = Program(root / "benchmarks")
    assert "['list']" in inside("bench")[0]
    out, _ = inside("bench", "paper", "--only", "boston")
    assert "['run', 'paper', '--only', 'boston']" in out


@pytest.mark.parametrize(
    "command", ["fit", "predict", "report", "info", "compare", "bench", "datasets"]
)
def test_help_has_examples(command, program):
    out, _ = program(command, "--help")
    assert "Example" in out
    assert f"greedygp {command}" in out


def test_help_is_quick_and_lists_the_exit_codes():
    script = (
        "import sys; from greedygp.cli.commands import run; run(['--help']);"
        "print([m for m in ('numpy', 'scipy', 'pandas', 'sklearn', 'skops') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert "Exit codes" in out
    assert out.splitlines()[-1] == "[]"


def test_completion(program):
    environment = {
        "_GREEDYGP_COMPLETE": "bash_complete",
        "COMP_WORDS": "greedygp f",
        "COMP_CWORD": "1",
    }
    out, _ = program(environment=environment)
    assert "fit" in out


def test_reader_that_has_enough(fitted):
    head = shutil.which("head")
    if head is None:
        pytest.skip("needs head")
    table = pandas.concat([houses(500, seed=k) for k in range(8)])
    table.to_csv(fitted / "many.csv", index=False)
    process = Program(fitted).start("predict", "model.skops", "many.csv", "--chunk", "50")
    lines = subprocess.run([head, "-1"], stdin=process.stdout, capture_output=True).stdout
    process.stdout.close()
    assert lines.startswith(b"price,")
    assert (process.wait(), process.stderr.read()) == (0, b"")


def test_json_is_one_object(fitted):
    out, err = Program(fitted)("predict", "model.skops", "new.csv", "--json", "--out", "x.csv")
    assert json.loads(out)["rows"] == 25
    assert err == ""
