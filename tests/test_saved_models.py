"""Model files of earlier versions: they open, and their models answer as they did."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

import greedygp
from greedygp.persistence import read_header
from tests.saved_models.answers import answers

pytest.importorskip("skops.io")
pandas = pytest.importorskip("pandas")

ARCHIVES = sorted((Path(__file__).parent / "saved_models").glob("*.tar.xz"))
ROUNDING = 1e-9  # what another CPU may change, relative to the largest entry


def names_in(path):
    with tarfile.open(path) as archive:
        return [Path(name).stem for name in archive.getnames() if name.endswith(".skops")]


def cases(tables):
    """Return archives and names of the models of tables, or of the others."""
    return [
        pytest.param(path, name, id=f"{path.name.removesuffix('.tar.xz')}-{name}")
        for path in ARCHIVES
        for name in names_in(path)
        if name.startswith("table_") == tables
    ]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A function that returns the folder of an archive's files."""
    folders = {}

    def folder_of(path):
        if path not in folders:
            folders[path] = tmp_path_factory.mktemp("saved")
            with tarfile.open(path) as archive:
                archive.extractall(folders[path], filter="data")
        return folders[path]

    return folder_of


def assert_same(ours, theirs, what):
    assert ours.dtype == theirs.dtype, what
    assert ours.shape == theirs.shape, what
    if ours.dtype.names:
        for field in ours.dtype.names:
            assert_same(ours[field], theirs[field], f"{what}[{field!r}]")
    elif ours.dtype.kind == "f":
        largest = np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))
        rounding = max(ROUNDING, 10 * float(np.finfo(ours.dtype).eps))
        np.testing.assert_allclose(
            ours, theirs, rtol=rounding, atol=rounding * largest, err_msg=what
        )
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=what)


@pytest.mark.parametrize(("path", "name"), cases(tables=False))
def test_answers_are_those_of_the_version_that_saved(path, name, unpacked):
    folder = unpacked(path)
    model = greedygp.load(folder / f"{name}.skops")
    with np.load(folder / "answers.npz") as stored:
        said = {key.partition("/")[2]: stored[key] for key in stored.files if f"{name}/" in key}
        ours = answers(model, stored["X_new"])
    assert sorted(ours) == sorted(said)
    for key in said:
        assert_same(np.asarray(ours[key]), said[key], f"{name}: {key}")


@pytest.mark.parametrize(("path", "name"), cases(tables=True))
def test_tables_are_predicted_as_by_the_version_that_saved(path, name, unpacked):
    folder = unpacked(path)
    model = greedygp.load(folder / f"{name}.skops")
    assert read_header(folder / f"{name}.skops")["facts"] == model.facts
    said = pandas.read_csv(folder / f"{name}.csv")
    ours = model.table_of_predictions(pandas.read_csv(folder / "houses_new.csv"))
    assert list(ours.columns) == list(said.columns)
    for column in said:
        assert_same(np.asarray(ours[column]), np.asarray(said[column]), f"{name}: {column}")


@pytest.mark.parametrize(("path", "name"), cases(tables=False) + cases(tables=True))
def test_what_is_loaded_can_be_summed_up_and_saved_again(path, name, unpacked, tmp_path):
    folder = unpacked(path)
    model = greedygp.load(folder / f"{name}.skops")
    estimator = getattr(model, "estimator", model[-1] if name == "pipeline" else model)
    assert type(estimator).__name__ in str(estimator.summary())
    greedygp.load(greedygp.save(model, tmp_path / "again.skops"))
