"""Tables: every format reads the same, columns become numbers, problems are sentences."""

import gzip
import io

import numpy as np
import pytest

import greedygp
from greedygp import SparseGPRegressor

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    ColumnProblem,
    DataProblem,
    Encoder,
    FileProblem,
    TableModel,
    chunks,
    read,
)
from greedygp.tables.families import (  # noqa: E402
    default_family,
    families,
    family_named,
    make,
    parsed_settings,
)
from greedygp.tables.reading import Source, format_of  # noqa: E402
from greedygp.tables.targets import take_target  # noqa: E402


def table(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "size": rng.normal(50, 10, n).round(3),
            "rooms": rng.integers(1, 6, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "sold": rng.random(n) < 0.5,
            "price": rng.normal(0, 1, n),
        }
    )


def write(frame, path):
    kind = format_of(Source(str(path)))
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "feather":
        pytest.importorskip("pyarrow")
        frame.to_feather(path)
    elif kind == "npz":
        np.savez(path, **{name: np.asarray(frame[name].tolist()) for name in frame})
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


# ---------------------------------------------------------------------------------- reading


NAMES = ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.feather", "t.npz", "t.csv.gz"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_table(name, tmp_path):
    frame = table()
    path = write(frame, tmp_path / name)
    whole, digest = read(path)
    assert list(whole.columns) == list(frame.columns)
    assert len(digest) == 64
    np.testing.assert_array_equal(
        Encoder().fit(whole).transform(whole), Encoder().fit(frame).transform(frame)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 7, 30, 1000])
def test_chunks_are_the_whole(name, rows, tmp_path):
    frame = table()
    path = write(frame, tmp_path / name)
    encoder = Encoder().fit(frame)
    parts = list(chunks(path, rows))
    assert max(map(len, parts)) <= rows
    np.testing.assert_array_equal(
        np.concatenate([encoder.transform(part) for part in parts]), encoder.transform(frame)
    )


def test_separators_and_decimal_comma(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n3,5;4\n")
    whole, _ = read(Source(str(path), decimal=","))
    assert whole["a"].tolist() == [1.5, 3.5]
    path.write_text("a|b\n1.5|2\n")
    assert read(Source(str(path), separator="|"))[0]["b"].tolist() == [2]


def test_byte_order_mark_quotes_and_spaces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff"a, b", c \n1, x\n2, y\n'.encode())
    assert list(read(path)[0].columns) == ["a, b", "c"]
    assert read(path)[0]["c"].tolist() == ["x", "y"]


def test_npz_of_matrix_and_target(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])
    np.savez(tmp_path / "t.npz", X=X, y=y, feature_names=["u", "v"], target_name="w", extra=X[:1])
    whole, _ = read(tmp_path / "t.npz")
    assert list(whole.columns) == ["u", "v", "w"]
    np.savez(tmp_path / "t.npz", X=X, y=y)
    assert list(read(tmp_path / "t.npz")[0].columns) == ["x0", "x1", "y"]


BAD_FILES = {
    "empty": ("t.csv", b"", "is empty"),
    "blank line": ("t.csv", b"\n\n1,2\n", "first line"),
    "no rows": ("t.csv", b"a,b\n", "no rows"),
    "unnamed": ("t.csv", b"a,,b\n1,2,3\n", "column 2 has no name"),
    "twice": ("t.csv", b"a,b,a\n1,2,3\n", "'a' is there more than once"),
    "no header": ("t.csv", b"1,2\n3,4\n", "only numbers"),
    "ragged": ("t.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read|more fields"),
    "one field more": ("t.csv", b"a,b\n1,2,3\n1,2,3\n", "more fields"),
    "quote": ("t.csv", b'a,b\n1,"2\n3,4\n', "cannot be read"),
    "latin": ("t.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), "UTF-8"),
    "utf-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-8"),
    "zip as text": ("t.csv", b"PK\x03\x04rest", "not text"),
    "broken gzip": ("t.csv.gz", b"\x1f\x8bnothing", "cannot be read"),
    "broken parquet": ("t.parquet", b"PAR1 broken", "cannot be read as parquet"),
    "broken feather": ("t.feather", b"ARROW1 broken", "cannot be read as feather"),
    "broken npz": ("t.npz", b"PK broken", "cannot be read as npz"),
    "unknown": ("t.xlsx", b"x", "cannot be told from its name"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files(kind, tmp_path):
    name, content, message = BAD_FILES[kind]
    if "parquet" in kind or "feather" in kind:
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileProblem, match=message) as error:
        read(tmp_path / name)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


def test_no_file_and_folder(tmp_path):
    with pytest.raises(FileProblem, match="no file"):
        read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileProblem, match="folder"):
        read(tmp_path / "folder.csv")


def test_npz_with_pickles_or_odd_shapes(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.array([{}], dtype=object))
    with pytest.raises(FileProblem):
        read(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", a=np.zeros(3), b=np.zeros(4))
    with pytest.raises(FileProblem, match="one length"):
        read(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.zeros(3))
    with pytest.raises(FileProblem, match="two dimensions"):
        read(tmp_path / "t.npz")


def test_pipe(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b"a,b\n1,2\n3,4\n"))

        def isatty(self):
            return False

    monkeypatch.setattr("sys.stdin", Stdin())
    assert [len(part) for part in chunks("-", 1)] == [1, 1]


def test_chunks_read_no_further_than_they_must(tmp_path, monkeypatch):
    line = b"1.5,2.5,3.5\n"

    class Endless(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            content = b"a,b,c\n" if not self.given else line * (len(buffer) // len(line))
            buffer[: len(content)] = content
            self.given += len(content)
            return len(content)

    stream = Endless()

    class Stdin:
        buffer = io.BufferedReader(stream)

        def isatty(self):
            return False

    monkeypatch.setattr("sys.stdin", Stdin())
    parts = chunks("-", 1000)
    for _ in range(50):
        assert len(next(parts)) == 1000
    assert stream.given < 50_000 * len(line) + (2 << 20)


# --------------------------------------------------------------------------------- encoding


def test_against_scikit_learn():
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = table(200)
    encoder = Encoder().fit(frame)
    numbers = StandardScaler().fit_transform(frame[["size", "rooms"]])
    words = OneHotEncoder(sparse_output=False).fit_transform(frame[["colour"]])
    rest = StandardScaler().fit_transform(frame[["sold", "price"]].astype(float))
    expected = np.hstack([numbers, words, rest])
    np.testing.assert_allclose(encoder.transform(frame), expected, atol=1e-12)
    assert encoder.feature_names[2:5] == ["colour=blue", "colour=green", "colour=red"]
    assert encoder.groups.tolist() == [0, 1, 2, 2, 2, 3, 4]


def test_missing_values_are_filled_and_counted():
    frame = pandas.DataFrame({"a": [1.0, 2.0, None, 9.0], "c": ["x", None, "y", "x"]})
    encoder = Encoder().fit(frame)
    assert [column.missing for column in encoder.columns] == [1, 1]
    assert encoder.columns[1].words == ["x", "y", "(missing)"]
    notes = {}
    X = encoder.transform(frame, notes)
    filled = encoder.transform(frame.fillna({"a": 2.0}))
    np.testing.assert_array_equal(X, filled)
    assert notes == {"a: missing, filled by the median": 1}


def test_words_not_seen_before_are_nothing_and_counted():
    encoder = Encoder().fit(pandas.DataFrame({"c": ["x", "y", "x"]}))
    notes = {}
    X = encoder.transform(pandas.DataFrame({"c": ["z", "x", None, "z"]}), notes)
    np.testing.assert_array_equal(X, [[0, 0], [1, 0], [0, 0], [0, 0]])
    assert notes == {
        "c: 'z' was not seen in training": 2,
        "c: '(missing)' was not seen in training": 1,
    }


def test_columns_that_say_nothing_are_left_out():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 3], "c": ["x", "x"], "d": [None, None]})
    encoder = Encoder().fit(frame)
    assert [column.name for column in encoder.columns] == ["a"]
    assert set(encoder.left_out) == {"b", "c", "d"}
    with pytest.raises(DataProblem, match="No column is left"):
        Encoder().fit(frame[["b", "c"]])


def test_numbers_as_categories():
    frame = pandas.DataFrame({"zip": [10, 20, None, 10]})
    encoder = Encoder(categories=["zip"]).fit(frame)
    assert encoder.columns[0].words == ["10", "20", "(missing)"]
    text = pandas.DataFrame({"zip": ["10", "20", None, "10"]})
    np.testing.assert_array_equal(encoder.transform(text), encoder.transform(frame))
    with pytest.raises(DataProblem, match=r"no column 'zap'.*did you mean 'zip'"):
        Encoder(categories=["zap"]).fit(frame)


def test_order_of_columns_and_others_do_not_matter():
    frame = table()
    encoder = Encoder().fit(frame)
    shuffled = frame[frame.columns[::-1]].assign(another="text")
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(frame))


many = [f"w{k}" for k in range(80)]
REFUSED = {
    "iso dates": (["2020-01-01", "2020-02-01"] * 40, "dates or times"),
    "dotted dates": (["1.2.2020", "13.12.2021"] * 40, "dates or times"),
    "slashes": (["1/31/2020", "12/1/2020 10:00"] * 40, "dates or times"),
    "months": (["3 March 2020", "14 Jan 2021"] * 40, "dates or times"),
    "times": (["10:30", "11:45:10"] * 40, "dates or times"),
    "timestamps": (list(pandas.date_range("2020-01-01", periods=80)), "dates or times"),
    "identifiers": (many, "80 different words"),
    "free text": ([f"{w} and a long story about it that goes on" for w in many], "free text"),
    "numbers with a slip": (["1.5"] * 79 + ["1.5x"], "'1.5x' in row 80"),
    "infinite": ([1.0] * 79 + [np.inf], "infinite"),
    "lists": ([[1, 2]] * 40 + [[k] for k in range(70)], "different words"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_columns(kind):
    values, message = REFUSED[kind]
    frame = pandas.DataFrame({"fine": np.arange(len(values)), "odd": values})
    with pytest.raises(DataProblem, match=message) as error:
        Encoder().fit(frame)
    assert "'odd'" in str(error.value)


def test_new_rows_must_fit():
    encoder = Encoder().fit(table())
    with pytest.raises(ColumnProblem, match="lacks the columns 'size', 'rooms'"):
        encoder.transform(table()[["colour", "sold", "price"]])
    with pytest.raises(ColumnProblem, match="did you mean 'Size'"):
        encoder.transform(table().rename(columns={"size": "Size"}))
    wrong = table().astype({"size": object})
    wrong.loc[4, "size"] = "large"
    with pytest.raises(ColumnProblem, match="row 105 has 'large'"):
        encoder.transform(wrong, first_row=101)
    infinite = table()
    infinite.loc[2, "size"] = -np.inf
    with pytest.raises(ColumnProblem, match=r"infinite.*row 3"):
        encoder.transform(infinite)


def test_mixed_words_and_numbers_are_a_category_where_they_are_few():
    encoder = Encoder().fit(pandas.DataFrame({"c": ["1", "2", "other"] * 10}))
    assert encoder.columns[0].words == ["1", "2", "other"]


# ----------------------------------------------------------------------------------- target


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.arange(20.0), "regression"),
        ([0, 1] * 10, "classification"),
        ([1, 2, 3, 4] * 5, "regression"),
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
    ],
)
def test_task(values, task):
    target = take_target(pandas.DataFrame({"y": values}), "y")
    assert target.task == task
    assert target.why


def test_rows_without_a_target_are_left_out():
    frame = pandas.DataFrame({"y": [*np.arange(20.0), None]})
    target = take_target(frame, "y")
    assert target.kept.sum() == 20
    assert len(target.values) == 20


BAD_TARGETS = {
    "absent": ("z", [1.0] * 20, "auto", "no column 'z'"),
    "few": ("y", [1.0, 2.0] + [None] * 18, "auto", "Only 2 rows"),
    "constant": ("y", [3.0] * 20, "auto", "3 in every row"),
    "one class": ("y", ["a"] * 20, "auto", "'a' in every row"),
    "words": ("y", ["a", "b"] * 10, "regression", "must hold numbers"),
    "slip": ("y", [*map(str, range(30)), "x"], "auto", "must hold numbers.*'x'"),
    "infinite": ("y", [*np.arange(20.0), np.inf], "regression", "infinite"),
    "classes": ("y", np.arange(100), "classification", "100 different values"),
    "rare": ("y", ["a"] * 20 + ["b"], "auto", "'b'.*single row"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_bad_targets(kind):
    name, values, task, message = BAD_TARGETS[kind]
    with pytest.raises(DataProblem, match=message):
        take_target(pandas.DataFrame({"y": values}), name, task)


# ---------------------------------------------------------------------------------- families


def test_families_come_from_the_package():
    known = families("regression")
    assert known["SparseGPRegressor"] is SparseGPRegressor
    assert set(known) <= set(greedygp.__all__)
    assert default_family("regression") is SparseGPRegressor
    for name in ("sparsegp", "SPARSEGPREGRESSOR"):
        assert family_named(name, "regression") is SparseGPRegressor
    with pytest.raises(DataProblem, match="no model 'sparsegpp'"):
        family_named("sparsegpp", "regression")


def test_settings():
    model = make(SparseGPRegressor, {"max_basis": 5}, {"random_state": 0, "unknown": 3})
    assert (model.max_basis, model.random_state) == (5, 0)
    with pytest.raises(DataProblem, match=r"no parameter 'max_bases'; did you mean 'max_basis'"):
        make(SparseGPRegressor, {"max_bases": 5}, {})
    with pytest.raises(DataProblem, match="name=value"):
        parsed_settings(["max_basis"])


# ------------------------------------------------------------------------------------- model


def test_model_of_classes(tmp_path):
    from sklearn.linear_model import LogisticRegression

    frame = table(100)
    target = take_target(frame, "colour")
    encoder = Encoder().fit(frame.drop(columns="colour"))
    estimator = LogisticRegression().fit(encoder.transform(frame), target.values)
    model = TableModel(encoder, estimator, "colour", "classification", {"a": [1, None]})
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    ours, theirs = again.table_of_predictions(frame), model.table_of_predictions(frame)
    pandas.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert list(ours)[1:] == ["probability_blue", "probability_green", "probability_red"]
    np.testing.assert_allclose(ours.iloc[:, 1:].sum(axis=1), 1.0)
    assert again.facts == {"a": [1, None]}
    assert not again.gives_std


def test_model_of_numbers(tmp_path):
    from scipy.stats import norm

    frame = table(60)
    encoder = Encoder().fit(frame.drop(columns="price"))
    estimator = SparseGPRegressor(max_basis=10, max_iter=3, random_state=0)
    estimator.fit(encoder.transform(frame), frame["price"])
    model = TableModel(encoder, estimator, "price", "regression", {})
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    ours = again.table_of_predictions(frame, interval=0.8)
    pandas.testing.assert_frame_equal(ours, model.table_of_predictions(frame, 0.8))
    mean, std = estimator.predict(encoder.transform(frame), return_std=True)
    np.testing.assert_allclose(ours["lower"], norm.ppf(0.1, mean, std))
    np.testing.assert_allclose(ours["upper"], norm.ppf(0.9, mean, std))


def test_gzip_bytes_are_told_by_their_start(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read(path)[0]["b"].tolist() == [2]
