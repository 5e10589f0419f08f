"""Rows in files: the same rows in the same order as the arrays they were written from."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import RowSource, SparseGPRegressor
from greedygp.kernels import Gaussian
from greedygp.rows import files, survey
from greedygp.rows.files import files_of
from greedygp.sparse import given

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, size=(2, n))
    y = np.sin(4 * a) * b + 0.1 * rng.normal(size=n)
    return pandas.DataFrame({"a": a, "b": b, "y": y, "w": rng.integers(0, 3, size=n)})


def write(rows, folder, kind, parts=3):
    for number, part in enumerate(np.array_split(np.arange(len(rows)), parts)):
        path = folder / f"part-{number}.{kind}"
        if kind == "parquet":
            rows.iloc[part].to_parquet(path, index=False, row_group_size=70)
        else:
            rows.iloc[part].to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return str(folder / f"*.{kind}")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(files, "READ_ROWS", 64)


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz"])
def test_rows_come_in_order(tmp_path, kind):
    rows = table()
    source = RowSource(write(rows, tmp_path, kind), target="y", weight="w")
    X, y, weights = source.everything()
    assert_array_equal(X, rows[["a", "b"]])
    assert_array_equal(y, rows["y"])
    assert_array_equal(weights, rows["w"])
    chunks = list(source.chunks())
    assert max(map(len, chunks)) <= 64
    assert [chunk.start for chunk in chunks] == list(np.cumsum([0, *map(len, chunks[:-1])]))
    assert chunks[-1].where.endswith(f"part-2.{kind}")
    assert survey(source).n_rows == 600


def test_columns(tmp_path):
    pattern = write(table(), tmp_path, "parquet")
    assert RowSource(pattern, target="y").feature_names == ["a", "b", "w"]
    source = RowSource(pattern, target=["y", "w"], features=["b"])
    assert source.check() == (2,)
    assert source.n_features == 1
    assert next(source.chunks()).y.shape[1] == 2
    assert RowSource(pattern).check() is None
    assert pickle.loads(pickle.dumps(source)).everything()[0].shape == (600, 1)


def test_which_files(tmp_path):
    pattern = write(table(30), tmp_path, "csv")
    names = [f"part-{k}.csv" for k in range(3)]
    for paths in (pattern, tmp_path, [tmp_path / name for name in names]):
        assert [path.rsplit("/", 1)[1] for path in files_of(paths)] == names


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("learning_rows", [150, None])
def test_a_fit_is_that_of_the_arrays(tmp_path, kind, learning_rows, monkeypatch):
    rows = table()
    source = RowSource(write(rows, tmp_path, kind), target="y", features=["a", "b"])
    X, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
    model, other = (
        SparseGPRegressor(
            kernel=Gaussian(1.0, 0.5),
            noise_variance=0.05,
            objective=None,
            max_basis=10,
            learning_rows=learning_rows,
            random_state=0,
        ).fit(*data)
        for data in ((source,), (X, y))
    )
    assert_array_equal(model.basis_indices_, other.basis_indices_)
    assert list(model.feature_names_in_) == ["a", "b"]
    for got, expected in zip(
        model.predict(source, return_std=True), other.predict(X, return_std=True)
    ):
        assert_allclose(got, expected, rtol=1e-8)
    for got, expected in zip(model.loo_predict(source), other.loo_predict()):
        assert_allclose(got, expected, rtol=1e-8)
    lower, upper = model.predict_interval(source)
    assert np.all(upper > lower)


def test_learning_from_all_rows_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(given, "FEWEST_ROWS", 100)
    rows = table()
    source = RowSource(write(rows, tmp_path, "parquet"), target="y", features=["a", "b"])
    options = {"max_basis": 10, "max_iter": 3, "learning_rows": None, "random_state": 0}
    model = SparseGPRegressor(memory_limit=0, **options).fit(source)
    with pytest.raises(ValueError, match="pass them to loo_predict"):
        model.loo_predict()
    assert "600" in str(model.summary())
    X, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
    other = SparseGPRegressor(memory_limit=0, **options).fit(X, y)
    assert_allclose(model.objective_value_, other.objective_value_, atol=1e-5)
    assert_allclose(model.predict(X), other.predict(X), atol=1e-4)


class TestSentences:
    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"No file matches '.*\*\.parquet'"):
            RowSource(f"{tmp_path}/*.parquet", target="y")
        with pytest.raises(FileNotFoundError, match="There is no file"):
            RowSource(tmp_path / "a.csv")
        with pytest.raises(FileNotFoundError, match="has no Parquet or CSV file"):
            RowSource(tmp_path)
        with pytest.raises(ValueError, match="paths is empty"):
            RowSource([])
        (tmp_path / "a.xlsx").write_text("x")
        with pytest.raises(ValueError, match="neither Parquet nor text"):
            RowSource(tmp_path / "a.xlsx")
        (tmp_path / "a.parquet").write_text("x")
        with pytest.raises(ValueError, match=r"a\.parquet cannot be read"):
            RowSource(tmp_path / "a.parquet")

    @pytest.mark.parametrize("kind", ["parquet", "csv"])
    def test_a_far_nan(self, tmp_path, kind):
        rows = table()
        rows.loc[555, "b"] = np.nan
        source = RowSource(write(rows, tmp_path, kind), target="y", features=["a", "b"])
        match = rf"Input X contains NaN in row 155 of .*part-2\.{kind} .*column 'b'"
        with pytest.raises(ValueError, match=match):
            SparseGPRegressor().fit(source)

    def test_words(self, tmp_path):
        rows = table().assign(b="x")
        for kind in ("parquet", "csv"):
            source = RowSource(write(rows, tmp_path, kind), target="y")
            with pytest.raises(ValueError, match=rf"Column 'b' of .*{kind} must hold numbers"):
                source.everything()
        rows = table().astype({"a": object})
        rows.loc[500, "a"] = "many"
        source = RowSource(write(rows, tmp_path, "csv"), target="y")
        with pytest.raises(ValueError, match=r"row 100 \(counted from 0\) has 'many'"):
            source.everything()

    def test_columns_that_are_not_there(self, tmp_path):
        rows = table()
        pattern = write(rows, tmp_path, "csv")
        with pytest.raises(ValueError, match="lacks the column 'z'; its columns are 'a', 'b'"):
            RowSource(pattern, target="z")
        rows.drop(columns="b").to_csv(tmp_path / "part-9.csv", index=False)
        source = RowSource(pattern, target="y")
        with pytest.raises(ValueError, match=r"part-9\.csv lacks the column 'b'"):
            source.everything()
        with pytest.raises(ValueError, match="no column to learn from"):
            RowSource(pattern, target="y", features=[])

    def test_targets_twice(self, tmp_path):
        source = RowSource(write(table(), tmp_path, "csv"), target="y")
        with pytest.raises(ValueError, match="brings its own targets"):
            SparseGPRegressor().fit(source, np.zeros(600))
        with pytest.raises(ValueError, match="requires targets"):
            SparseGPRegressor().fit(RowSource(tmp_path))

    def test_other_features_at_prediction(self, tmp_path):
        pattern = write(table(), tmp_path, "csv")
        source = RowSource(pattern, target="y", features=["a", "b"])
        model = SparseGPRegressor(max_basis=5, max_iter=1).fit(source)
        with pytest.raises(ValueError, match=r"those of the fit.*a, b; got b, a"):
            model.predict(RowSource(pattern, features=["b", "a"]))
        with pytest.raises(ValueError, match="return_cov needs all rows"):
            model.predict(source, return_cov=True)
