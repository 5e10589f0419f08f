"""Fits to files larger than the memory may be: the option, patterns, a cluster."""

import json

import numpy as np
import pytest

import greedygp
from cli.program import QUICK, houses


@pytest.fixture
def parts(program):
    for number in range(3):
        houses(60, seed=number).to_csv(program.folder / f"part-{number}.csv", index=False)
    return "part-*.csv"


def test_a_pattern(program, parts):
    facts = program.json("fit", parts, "--target", "price", *QUICK)
    assert facts["rows"] == 180
    assert facts["data"]["files"] == 3
    assert facts["rows_train"] + facts["rows_test"] == 180
    out, _ = program("predict", "model.skops", "part-0.csv")
    assert len(out.splitlines()) == 61
    assert len(greedygp.load(program.folder / "model.skops").predict(houses(5))) == 5


def test_predictions_of_several_files(program, parts):
    program("fit", "part-0.csv", "--target", "price", *QUICK)
    one_by_one = [program("predict", "model.skops", f"part-{i}.csv")[0] for i in range(3)]
    together, _ = program("predict", "model.skops", parts)
    heading, *lines = together.splitlines()
    assert [heading] * 3 == [out.splitlines()[0] for out in one_by_one]
    assert lines == [line for out in one_by_one for line in out.splitlines()[1:]]

    facts = program.json("predict", "model.skops", parts, "--out", "all.parquet")
    assert facts["rows"] == 180
    _, err = program("predict", "model.skops", "none-*.csv", code=3)
    assert "No file matches 'none-*.csv'" in err

    spoilt = houses(60)
    spoilt.loc[59, "area"] = np.inf
    spoilt.to_csv(program.folder / "part-1.csv", index=False)
    _, err = program("predict", "model.skops", parts, "--chunk", "25", code=6)
    assert "part-1.csv: Column 'area' holds an infinite value in row 60" in err
    houses(60).drop(columns="area").to_csv(program.folder / "part-1.csv", index=False)
    _, err = program("predict", "model.skops", parts, code=6)
    assert "part-1.csv lacks the column 'area'" in err


def test_a_file_that_is_too_large(program):
    houses(120).to_csv(program.folder / "t.csv", index=False)
    _, err = program("fit", "t.csv", "--target", "price", *QUICK)
    assert "in chunks" not in err
    with pytest.raises(AssertionError, match=r"0\.5GB are needed"):
        program("fit", "t.csv", "--target", "price", "--memory", "3MB", code=0)
    program("fit", "t.csv", "--target", "price", "--memory", "many", code=2)


def test_sentences(program, parts):
    _, err = program("fit", "none-*.csv", "--target", "price", code=3)
    assert "No file matches 'none-*.csv'" in err
    _, err = program("fit", parts, "--target", "prise", code=4)
    assert "There is no column 'prise'" in err
    pytest.importorskip("distributed")
    _, err = program("fit", parts, "--target", "price", "--dask", "tcp://127.0.0.1:9", code=8)
    assert "There is no Dask scheduler at tcp://127.0.0.1:9" in err


@pytest.mark.slow
def test_a_cluster(program, parts, paths_of_a_program):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        folder = program.folder / parts
        arguments = ["fit", folder, "--target", "price", *QUICK, "--json"]
        dask = ["--dask", cluster.scheduler_address, "--report", "page.html"]
        out, _ = program(*arguments, *dask)
        here, _ = program(*arguments, "--out", "here.skops")
    assert "180" in (program.folder / "page.html").read_text()
    found, expected = json.loads(out), json.loads(here)
    assert found["scores"]["nmse"] == pytest.approx(expected["scores"]["nmse"], rel=1e-5)
