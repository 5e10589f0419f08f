"""The table of moved names: old files open, and nothing opens that would not without it."""

import json
import os
import sys

import numpy as np
import pytest

import greedygp
from greedygp.persistence import moved
from greedygp.persistence.moved import MOVED
from greedygp.persistence.types import is_allowed
from model_files import data, parts_of, quick, refusal, write

pytest.importorskip("skops.io")

TODAY = "greedygp.kernels.stationary.Gaussian"


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(*data())


@pytest.fixture
def saved(fitted, tmp_path):
    return greedygp.save(fitted, tmp_path / "model.skops")


def rename(path, name, old):
    """Let a file call one of its classes by another name; return how many objects it has."""
    parts = parts_of(path)
    schema = json.loads(parts["schema.json"])
    module, _, kind = old.rpartition(".")
    count, waiting = 0, [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if f"{value.get('__module__')}.{value.get('__class__')}" == name:
                value |= {"__module__": module, "__class__": kind}
                count += 1
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    write(path, parts | {"schema.json": json.dumps(schema)})
    return count


@pytest.mark.parametrize("old", ["greedygp.radial.Bell", "greedygp.kernels.stationary.Bell"])
def test_an_entry_opens_an_old_file(old, saved, fitted, monkeypatch, tmp_path):
    assert rename(saved, TODAY, old) > 0
    assert old in refusal(saved)
    monkeypatch.setitem(moved.MOVED, old, TODAY)
    again = greedygp.load(saved)
    X, _ = data()
    for ours, theirs in zip(again.predict(X, return_std=True), fitted.predict(X, True)):
        np.testing.assert_array_equal(ours, theirs)
    assert again.kernel_ == fitted.kernel_
    greedygp.save(again, tmp_path / "new.skops")  # with the name of today
    monkeypatch.delitem(moved.MOVED, old)
    assert greedygp.load(tmp_path / "new.skops").kernel_ == fitted.kernel_


def test_estimators_can_move(saved, fitted, monkeypatch):
    old = "greedygp.regression.SparseGP"
    assert rename(saved, "greedygp.sparse.estimator.SparseGPRegressor", old) == 1
    monkeypatch.setitem(moved.MOVED, old, "greedygp.sparse.estimator.SparseGPRegressor")
    assert type(greedygp.load(saved)) is type(fitted)


@pytest.mark.parametrize(
    "target",
    [
        "os.mkdir",
        "subprocess.Popen",
        "greedygp.datasets.Path",
        "greedygp.cli.main",
        "no.such.Thing",
    ],
)
def test_an_entry_opens_nothing_that_a_file_may_not_name(target, saved, monkeypatch):
    old = "greedygp.radial.Bell"
    rename(saved, TODAY, old)
    monkeypatch.setitem(moved.MOVED, old, target)
    assert target in refusal(saved)


def test_the_module_of_an_old_name_is_not_imported(saved, tmp_path, monkeypatch):
    (tmp_path / "sneaky.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    rename(saved, TODAY, "sneaky.Bell")
    monkeypatch.setitem(moved.MOVED, "sneaky.Bell", TODAY)
    greedygp.load(saved)
    assert "sneaky" not in sys.modules
    assert "ran" not in os.listdir(tmp_path)


def test_a_damaged_array_is_noticed_in_a_file_with_old_names(saved, monkeypatch):
    rename(saved, TODAY, "greedygp.radial.Bell")
    monkeypatch.setitem(moved.MOVED, "greedygp.radial.Bell", TODAY)
    content = bytearray(saved.read_bytes())
    place = content.index(b"NUMPY") + 200  # past the header of an array, in its numbers
    content[place] ^= 1
    saved.write_bytes(bytes(content))
    assert "damaged" in refusal(saved)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_entries(old, new):
    """Old names are gone, new ones are classes that models hold."""
    assert old.startswith("greedygp.")
    assert not is_allowed("ObjectNode", *old.rpartition(".")[::2])
    assert is_allowed("ObjectNode", *new.rpartition(".")[::2])
    assert new not in MOVED
