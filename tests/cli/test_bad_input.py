"""Bad input of every kind: one sentence, its exit code, no traceback, no file."""

import json
import pickle
import shutil
import zipfile

import pytest

import greedygp
from cli.program import QUICK, Program, houses

HOUSES = houses(40).to_csv(index=False)
FIT = ("fit", "t.csv", "--target", "price", *QUICK)
PREDICT = ("predict", "model.skops", "t.csv", "--out", "p.csv")


def table(**columns):
    frame = houses(40)
    for name, value in columns.items():
        frame[name] = value
    return frame.to_csv(index=False)


def rows(text, n):
    return "\n".join(text.splitlines()[: n + 1]) + "\n"


stories = "".join(f"{k} {'once upon a time ' * 3},{k}\n" for k in range(40))
text_only = "story,price\n" + stories

# kind: (content of t.csv or None, arguments, exit code, words of the message)
BAD = {
    "no command": (None, ("nonsense",), 2, "No such command 'nonsense'"),
    "unknown option": (HOUSES, (*FIT, "--colour"), 2, "No such option"),
    "no target option": (HOUSES, ("fit", "t.csv"), 2, "Missing option '--target'"),
    "no data argument": (None, ("fit", "--target", "y"), 2, "Missing argument 'DATA'"),
    "test share": (HOUSES, (*FIT, "--test", "1.5"), 2, "'--test'"),
    "task": (HOUSES, (*FIT, "--task", "dance"), 2, "'--task'"),
    "interval": (HOUSES, (*PREDICT, "--interval", "95"), 2, "'--interval'"),
    "basis": (HOUSES, (*FIT, "--max-basis", "0"), 2, "'--max-basis'"),
    "model to a pipe": (HOUSES, (*FIT, "--out", "-"), 2, "written to files"),
    "no file": (None, FIT, 3, "There is no file t.csv"),
    "empty file": ("", FIT, 3, "is empty"),
    "only names": (rows(HOUSES, 0), FIT, 3, "no rows"),
    "unknown format": (HOUSES, ("fit", "t.csv", "--target", "y", "--format", "npz"), 3, "as npz"),
    "same name twice": ("a,a,price\n1,2,3\n", FIT, 3, "'a' is there more than once"),
    "no names": ("1,2,3\n4,5,6\n", FIT, 3, "first line holds only numbers"),
    "ragged": (HOUSES + "1,2,3,4,5,6,7\n", FIT, 3, "has 7 fields, but there are 5"),
    "not text": (b"\xff\xfe\x00rubbish\x80", FIT, 3, "UTF-8"),
    "nothing piped": (None, ("fit", "-", "--target", "price"), 3, "is empty"),
    "no such target": (HOUSES, ("fit", "t.csv", "--target", "prize"), 4, "did you mean 'price'"),
    "constant target": (table(price=1), FIT, 4, "1 in every row"),
    "no targets": (table(price=None), FIT, 4, "No row has a value"),
    "few rows": (rows(HOUSES, 4), FIT, 4, "at least 10"),
    "words as numbers": (HOUSES, ("fit", "t.csv", "--target", "town", "--task", "regression"), 4,
                         "must hold numbers for regression"),
    "free text only": (text_only, (*FIT, "--max-categories", "20"), 4, "free text, such as"),
    "slip among numbers": (table(area=["3.5"] * 39 + ["x"]), FIT, 4, "'x' in row 40."),
    "decimal commas": (table(area=["3,5", "4,25"] * 20), FIT, 4, "--decimal ','"),
    "slips in two columns": (table(area=["1"] * 39 + ["x"], rooms=["2"] * 39 + ["?"]), FIT, 4,
                             "2 columns need a decision."),
    "no kernel": (HOUSES, (*FIT, "--set", "kernel=rbf"), 4, "rbf is not known here"),
    "no encoding": (HOUSES, (*FIT, "--encoding", "klingon"), 3, "no encoding 'klingon'"),
    "a model that is there": (HOUSES, (*FIT, "--out", "model.skops"), 7, "give --overwrite"),
    "infinite": (table(area=[1.0] * 39 + [float("inf")]), FIT, 4, "infinite"),
    "nothing to learn from": ("a,price\n" + "".join(f"1,{k}\n" for k in range(20)), FIT, 4,
                              "No column is left"),
    "only the target": ("price\n" + "".join(f"{k}\n" for k in range(20)), FIT, 4,
                        "no column other than the target"),
    "drop what is not there": (HOUSES, (*FIT, "--drop", "aera"), 4, "did you mean 'area'"),
    "drop the target": (HOUSES, (*FIT, "--drop", "price"), 4, "cannot be dropped"),
    "unknown model": (HOUSES, (*FIT, "--model", "oracle"), 4, "no model 'oracle'"),
    "unknown parameter": (HOUSES, (*FIT, "--set", "max_bases=3"), 4, "did you mean 'max_basis'"),
    "bad parameter": (HOUSES, (*FIT, "--set", "criterion=luck"), 4, "criterion must be one of"),
    "setting without a value": (HOUSES, (*FIT, "--set", "criterion"), 4, "name=value"),
    "no such data set": (None, ("datasets", "diabetis"), 4, "did you mean 'diabetes'"),
    "no such model to compare": (HOUSES, ("compare", "t.csv", "--target", "price", "--only", "x"),
                                 4, "no model 'x' to compare"),
    "no model": (HOUSES, ("predict", "none.skops", "t.csv"), 5, "There is no file none.skops"),
    "data as model": (HOUSES, ("predict", "t.csv", "t.csv"), 5, "not a model file"),
    "info of data": (HOUSES, ("info", "t.csv"), 5, "not a model file"),
    "missing column": (houses(5).drop(columns="area").to_csv(index=False), PREDICT, 6,
                       "lacks the column 'area'"),
    "renamed column": (HOUSES.replace("rooms", "Rooms"), PREDICT, 6, "did you mean 'Rooms'"),
    "wrong kind of column": (table(area="large"), PREDICT, 6, "row 1 has 'large'"),
    "keep what is not there": (HOUSES, (*PREDICT, "--keep", "id"), 6, "no column 'id' to keep"),
    "no rows to predict": (rows(HOUSES, 0), PREDICT, 3, "no rows"),
    "no folder": (HOUSES, (*FIT, "--out", "nowhere/m.skops"), 7, "There is no folder nowhere"),
    "folder as output": (HOUSES, (*FIT, "--out", "."), 7, "is a folder"),
    "output over the input": (HOUSES, (*FIT, "--out", "t.csv"), 7, "is the input"),
    "unknown output": (HOUSES, (*PREDICT[:3], "--out", "p.xlsx"), 7, ".csv, .tsv or .parquet"),
    "no suites": (None, ("bench", "all"), 8, "not a checkout"),
    "json to the screen": (HOUSES, ("predict", "model.skops", "t.csv", "--json"), 2, "--out FILE"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_input(kind, program, fitted):
    content, arguments, code, message = BAD[kind]
    if content is not None:
        content = content.encode() if isinstance(content, str) else content
        (program.folder / "t.csv").write_bytes(content)
    if "model.skops" in arguments:
        shutil.copy(fitted / "model.skops", program.folder)
    before = program.files()
    out, err = program(*arguments, code=code)
    assert message in " ".join(err.split())
    assert err.splitlines()[-1].startswith("Error: ")
    assert len([line for line in err.splitlines() if line.startswith("Error")]) == 1
    if arguments[-1] != "--json":
        assert out == ""
    assert program.files() == before


def test_no_command_shows_the_help(program):
    _, err = program(code=2)
    assert "Commands:" in err


def test_errors_for_scripts(program):
    out, err = program("info", "none.skops", "--json", code=5)
    told = json.loads(out)
    assert told["exit_code"] == 5
    assert told["error"] in err


def test_traceback_only_when_asked_for(program):
    _, err = program("info", "none.skops", "--debug", code=5)
    assert "Traceback" in err


def test_header_that_is_not_what_it_should_be(program, fitted):
    with zipfile.ZipFile(fitted / "model.skops") as archive:
        header = json.loads(archive.read("greedygp.json"))
    for facts in ({}, [1], {"model": "\x1b[31mred"}, header["facts"] | {"columns": 3}):
        with zipfile.ZipFile(program.folder / "m.skops", "w") as archive:
            archive.writestr("greedygp.json", json.dumps(header | {"facts": facts}))
        _, err = program("info", "m.skops", code=5)
        assert "header" in err


def test_names_cannot_steer_the_terminal(program):
    (program.folder / "t.csv").write_text("a\x1b[2J,b\n1,2\n")
    _, err = program("fit", "t.csv", "--target", "a", code=4)
    assert "\x1b" not in err


def refused(folder, *words):
    _, err = Program(folder)("predict", "bad.skops", "new.csv", "--out", "p.csv", code=5)
    assert all(word in err for word in words), err
    assert not (folder / "p.csv").exists()


def test_hostile_and_damaged_models(fitted, tmp_path):
    """Each is refused by the program; tests/test_persistence.py has many more."""
    shutil.copy(fitted / "new.csv", tmp_path)
    good, bad = fitted / "model.skops", tmp_path / "bad.skops"
    content = good.read_bytes()
    bad.write_bytes(content[: len(content) // 2])
    refused(tmp_path, "damaged")
    bad.write_bytes(pickle.dumps(print))
    refused(tmp_path, "pickle")
    with zipfile.ZipFile(good) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["greedygp.json"]) | {"format": 99}
    with zipfile.ZipFile(bad, "w") as archive:
        for name, part in (parts | {"greedygp.json": json.dumps(header)}).items():
            archive.writestr(name, part)
    refused(tmp_path, "format 99", "upgrade")
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(100 << 20))
    refused(tmp_path, "compressed")


def test_model_without_columns(tmp_path, fitted):
    import numpy as np

    X = np.linspace(0, 1, 30)[:, None]
    model = greedygp.SparseGPRegressor(max_basis=3, random_state=0, max_iter=2).fit(X, X[:, 0])
    greedygp.save(model, tmp_path / "bad.skops")
    shutil.copy(fitted / "new.csv", tmp_path)
    refused(tmp_path, "without its columns")
