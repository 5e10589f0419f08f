"""Rows in files: the same rows in the same order as the arrays they were written from."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import FastGCVRegressor, GPRegressor, RowSource, SparseGPRegressor
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


class TestOddFiles:
    """Read as they are meant, or refused by a sentence that names them."""

    def test_columns_in_another_order_and_files_without_rows(self, tmp_path):
        rows = table()
        for kind in ("parquet", "csv"):
            folder = tmp_path / kind
            folder.mkdir()
            parts = [rows[:0], rows[:100], rows[:0], rows[100:][["y", "b", "w", "a"]], rows[:0]]
            for number, part in enumerate(parts):
                path = folder / f"{number}.{kind}"
                if kind == "csv":
                    part.to_csv(path, index=False)
                else:
                    part.to_parquet(path, index=False)
            X, y, weights = RowSource(folder, target="y", weight="w").everything()
            assert_array_equal(X, rows[["a", "b"]])
            assert_array_equal(y, rows["y"])
            assert_array_equal(weights, rows["w"])

    def test_row_groups_without_rows(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        rows = table()
        path, schema = tmp_path / "a.parquet", arrow.Schema.from_pandas(rows)
        with parquet.ParquetWriter(path, schema) as writer:
            for part in (rows[:0], rows[:70], rows[:0], rows[70:], rows[:0]):
                writer.write_table(arrow.Table.from_pandas(part, schema=schema))
        assert parquet.ParquetFile(path).metadata.num_row_groups == 5
        source = RowSource(path, target="y", features=["a", "b"])
        assert_array_equal(source.everything()[0], rows[["a", "b"]])
        assert survey(source).n_rows == 600

    def test_a_large_row_group_is_not_held(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        column = pandas.DataFrame({"a": np.random.default_rng(0).uniform(size=1_000_000)})
        column.to_parquet(tmp_path / "a.parquet", row_group_size=len(column))
        before = arrow.total_allocated_bytes()
        chunks = RowSource(tmp_path / "a.parquet").chunks()
        assert len(next(chunks)) == 64
        assert arrow.total_allocated_bytes() - before < 4e6  # of 8e6 bytes

    def test_an_index_of_pandas_is_no_feature(self, tmp_path):
        rows = table(30)
        for name in (None, "id"):
            rows.iloc[::-1].rename_axis(name).to_parquet(tmp_path / "a.parquet", index=True)
            source = RowSource(tmp_path / "a.parquet", target="y")
            assert source.feature_names == ["a", "b", "w"]
            assert_array_equal(source.everything()[1], rows["y"][::-1])
        assert RowSource(tmp_path / "a.parquet", features="id").feature_names == ["id"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.rstrip("\n"),
            lambda text: "\ufeff" + text.replace("\n", "\r\n"),
            lambda text: text.replace("\n", "\n\n"),
            lambda text: text.replace(",", ", "),
        ],
        ids=["no last line break", "Windows", "blank lines", "spaces"],
    )
    def test_ways_of_writing_text(self, tmp_path, change):
        rows = table(90)
        (tmp_path / "a.csv").write_text(change(rows.to_csv(index=False)), newline="")
        X, y, _ = RowSource(tmp_path / "a.csv", target="y").everything()
        assert_array_equal(X, rows[["a", "b", "w"]])
        assert_array_equal(y, rows["y"])

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (
                lambda text: text + "1,2,3,4,5\n",
                r"a\.csv cannot be read: .*Expected 4 fields in line 92, saw 5",
            ),
            (lambda text: text.replace("\n", ",\n").replace(",\n", "\n", 1), "4 column names"),
            (lambda text: text + "1,2\n", "NaN in row 90 of .*a.csv"),
            (lambda text: text.encode() + b"\xe9,1,2,3\n", "cannot be read: 'utf-8' codec"),
            (lambda text: "", "cannot be read: No columns"),
        ],
        ids=["a long line", "long lines", "a short line", "encoding", "empty"],
    )
    @pytest.mark.parametrize("features", [None, ["a"]])
    def test_broken_text(self, tmp_path, change, sentence, features):
        text = change(table(90).to_csv(index=False))
        (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match=sentence):
            survey(RowSource(tmp_path / "a.csv", target="y", features=features))

    @pytest.mark.parametrize("kind", ["parquet", "csv.gz"])
    def test_broken_in_the_middle(self, tmp_path, kind):
        write(table(), tmp_path, kind, parts=1)
        path = tmp_path / f"part-0.{kind}"
        content = bytearray(path.read_bytes())
        # Where the first column begins: every pyarrow notices that; not so in the middle of one.
        place = 4 if kind == "parquet" else len(content) // 2
        content[place : place + 400] = b"\xff" * 400
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"part-0\.{kind} cannot be read: "):
            SparseGPRegressor().fit(RowSource(path, target="y", features=["a", "b"]))


class TestSentences:
    def test_features(self, tmp_path):
        pattern = write(table(), tmp_path, "csv")
        for name, what in (("y", "target"), ("w", "weight")):
            with pytest.raises(ValueError, match=f"features has '{name}', which is the {what}"):
                RowSource(pattern, target="y", weight="w", features=["a", name])

    def test_a_column_twice(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        twice = arrow.Table.from_pandas(table()).rename_columns(["a", "a", "y", "w"])
        parquet.write_table(twice.replace_schema_metadata(None), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match="has the column 'a' more than once; rename"):
            RowSource(tmp_path / "a.parquet", target="y")

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

    def test_no_rows(self, tmp_path):
        rows = table(90)
        rows[:0].to_parquet(tmp_path / "none.parquet")
        none = RowSource(tmp_path / "none.parquet", target="y", features=["a", "b"])
        with pytest.raises(ValueError, match="There are no rows: at least one"):
            SparseGPRegressor().fit(none)
        model = SparseGPRegressor(max_basis=5, max_iter=1).fit(rows[["a", "b"]], rows["y"])
        for ask in (model.predict, model.loo_predict):
            with pytest.raises(ValueError, match="There are no rows to predict"):
                ask(none)

    def test_estimators_that_hold_all_rows(self, tmp_path):
        source = RowSource(write(table(90), tmp_path, "csv"), target="y")
        sentence = r"X is a RowSource, .*{} needs arrays here: .*everything\(\)"
        for kind in (GPRegressor, FastGCVRegressor):
            with pytest.raises(TypeError, match=sentence.format(kind.__name__)):
                kind().fit(source, None)
        model = SparseGPRegressor(max_basis=5, max_iter=1).fit(source)
        with pytest.raises(TypeError, match=sentence.format("SparseGPRegressor")):
            model.sample_y(source)

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
