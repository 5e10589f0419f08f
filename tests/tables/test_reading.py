"""Files: every format reads the same, and whatever is wrong is one sentence."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    FileProblem,
    MissingPackage,
    TableEncoder,
    chunks,
    read,
)
from greedygp.tables.problems import DataProblem  # noqa: E402
from greedygp.tables.source import Source, format_of  # noqa: E402
from greedygp.tables.targets import take_target  # noqa: E402
from tests.tables.examples import table  # noqa: E402


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


NAMES = ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.feather", "t.npz", "t.csv.gz"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_table(name, tmp_path):
    frame = table()
    path = write(frame, tmp_path / name)
    whole, digest = read(path)
    assert list(whole.columns) == list(frame.columns)
    assert len(digest) == 64
    np.testing.assert_array_equal(
        TableEncoder().fit(whole).transform(whole), TableEncoder().fit(frame).transform(frame)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 7, 30, 1000])
def test_chunks_are_the_whole(name, rows, tmp_path):
    frame = table()
    path = write(frame, tmp_path / name)
    encoder = TableEncoder().fit(frame)
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


def objects():
    file = io.BytesIO()
    np.savez(file, X=np.array([[1, "a"]], dtype=object), y=[1.0])
    return file.getvalue()


BAD_FILES = {
    "empty": ("t.csv", b"", "is empty"),
    "blank line": ("t.csv", b"\n\n1,2\n", "first line"),
    "no rows": ("t.csv", b"a,b\n", "no rows"),
    "unnamed": ("t.csv", b"a,,b\n1,2,3\n", "column 2 has no name"),
    "twice": ("t.csv", b"a,b,a\n1,2,3\n", "'a' is there more than once"),
    "no header": ("t.csv", b"1,2\n3,4\n", "only numbers"),
    "ragged": ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 2 below .* has 3 fields.*2 col"),
    "one field more": ("t.csv", b"a,b\n1,2,3\n1,2,3\n", "more fields"),
    "quote": ("t.csv", b'a,b\n1,"2\n3,4\n', "mark opens near line 1 below"),
    "latin": ("t.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), "UTF-8.*--encoding cp1252"),
    "utf-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-8.*--encoding utf-16"),
    "arff": ("t.csv", b"@relation x\n@data\n1\n", "is an ARFF file"),
    "packed": ("t.csv.bz2", b"BZh91AY", "unpack it first"),
    "packed as text": ("t.csv", b"BZh91AY&SY", "compressed by bzip2"),
    "objects": ("t.npz", objects(), "it holds Python objects, which are not opened"),
    "zip as text": ("t.csv", b"PK\x03\x04rest", "not a text table"),
    "broken gzip": ("t.csv.gz", b"\x1f\x8bnothing", "cannot be read"),
    "broken parquet": ("t.parquet", b"PAR1 broken", "cannot be read as parquet"),
    "broken feather": ("t.feather", b"ARROW1 broken", "cannot be read as feather"),
    "broken npz": ("t.npz", b"PK broken", "cannot be read as npz"),
    "unknown": ("t.sav", b"x", "cannot be told from its name"),
    "parquet as text": ("t.csv", b"PAR1\x15\x04", "a Parquet file: give --format parquet"),
    "feather as text": ("t.csv", b"ARROW1\x00\x00", "a Feather file: give --format feather"),
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


def test_gzip_bytes_are_told_by_their_start(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read(path)[0]["b"].tolist() == [2]


@pytest.mark.parametrize("name", ["PATIENT_ID", "PK", "PAR", "AREA", "ARROW", "P", "A"])
def test_text_is_not_taken_for_another_kind_of_file(name, tmp_path):
    """Only whole signatures count, not the first two letters."""
    path = tmp_path / "t.csv"
    path.write_text(f"{name},b\n1,2\n3,4\n")
    assert list(read(path)[0].columns) == [name, "b"]
    assert sum(len(part) for part in chunks(path, 1)) == 2


def test_encodings(tmp_path):
    path = tmp_path / "t.csv"
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-8"):
        path.write_bytes("größe,b\n1,caf\xe9\n".encode(encoding))
        whole, _ = read(Source(str(path), encoding=encoding))
        assert whole.to_dict("list") == {"größe": [1], "b": ["café"]}
    with pytest.raises(FileProblem, match="no encoding 'klingon'"):
        read(Source(str(path), encoding="klingon"))
    path.write_bytes("b\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(FileProblem, match=r"not text in ascii.*another --encoding"):
        read(Source(str(path), encoding="ascii"))


def test_words_that_mean_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n?,y\n3,none given\n")
    whole, _ = read(Source(str(path), missing=("?", "none given")))
    assert whole["a"].tolist()[::2] == [1.0, 3.0]
    assert whole.isna().to_numpy().sum() == 2


def test_ends_of_lines_and_separators(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("a,b,\n1,2,\n3,4,\n", "\n\na,b\n\n1,2\n3,4\n", "a|b\n1|2\n3|4\n"):
        for end in ("\n", "\r\n", "\r"):
            path.write_bytes(text.replace("\n", end).encode())
            assert read(path)[0].to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    path.write_text("a,b,\n1,2,\n3,4,5\n")
    with pytest.raises(FileProblem, match="more fields than the 2 column names"):
        read(path)


PREAMBLES = {
    "comments": "# made by a machine\n# on a day\na,b\n1,2\n3,4\n",
    "names in a comment": "# made by a machine\n# a,b\n1,2\n3,4\n",
    "names in a comment, no space": "#a,b\n1,2\n3,4\n",
}


@pytest.mark.parametrize("kind", PREAMBLES)
def test_lines_before_the_names(kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(PREAMBLES[kind])
    whole, _ = read(path)
    assert whole.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert [part["b"].tolist() for part in chunks(path, 1)] == [[2], [4]]


def test_line_breaks_in_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"size\n(m2)",b\n1,2\n3,4\n')
    assert list(read(path)[0].columns) == ["size (m2)", "b"]
    assert len(read(path)[0]) == 2


def test_index_written_by_pandas(tmp_path):
    path = tmp_path / "t.csv"
    frame = table()
    frame.to_csv(path)
    whole, _ = read(path)
    assert list(whole.columns) == ["Unnamed: 0", *frame.columns]
    encoder = TableEncoder().fit(whole)
    assert "Unnamed: 0" in encoder.left_out_
    np.testing.assert_allclose(encoder.transform(whole), TableEncoder().fit(frame).transform(frame))


@pytest.mark.parametrize("name", [None, "id"])
@pytest.mark.parametrize("rows", [7, 1000])
def test_index_in_a_parquet_file(tmp_path, name, rows):
    """Pandas writes it as the last column, and would read it as none."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = table()
    frame.set_axis(np.arange(len(frame))[::-1]).rename_axis(name).to_parquet(path)
    whole = pandas.concat(list(chunks(path, rows)), ignore_index=True)
    column = name or "Unnamed: 0"
    assert list(whole.columns) == [*frame.columns, column]
    assert list(whole[column]) == list(range(len(frame)))[::-1]
    found = whole.drop(columns=column)
    np.testing.assert_array_equal(
        TableEncoder().fit(found).transform(found), TableEncoder().fit(frame).transform(frame)
    )
    if name is None:
        assert column in TableEncoder().fit(whole).left_out_


def test_a_large_row_group_is_not_held(tmp_path):
    pytest.importorskip("pyarrow")
    column = pandas.DataFrame({"a": np.random.default_rng(0).uniform(size=1_000_000)})
    column.to_parquet(tmp_path / "t.parquet", row_group_size=len(column))
    tracemalloc.start()
    try:
        assert len(next(iter(chunks(tmp_path / "t.parquet", 100)))) == 100
        assert tracemalloc.get_traced_memory()[1] < 4e6  # of 8e6 bytes
    finally:
        tracemalloc.stop()


def test_spreadsheets(tmp_path):
    path = tmp_path / "t.xlsx"
    frame = table()
    try:
        frame.to_excel(path, index=False)
    except ImportError:
        with zipfile.ZipFile(path, "w") as archive:  # enough for pandas to know what it is
            archive.writestr("xl/workbook.xml", "")
        with pytest.raises(MissingPackage, match="pip install openpyxl"):
            read(path)
        return
    whole, _ = read(path)
    pandas.testing.assert_frame_equal(whole, frame, check_dtype=False)
    assert [len(part) for part in chunks(path, 20)] == [20, 10]


class TestSheets:
    def test_empty_rows_above_an_index_and_another_sheet(self, tmp_path):
        pytest.importorskip("openpyxl")
        path = tmp_path / "t.xlsx"
        frame = table()
        with pandas.ExcelWriter(path) as book:
            pandas.DataFrame({"see": ["the next sheet"]}).to_excel(book, sheet_name="readme")
            frame.to_excel(book, sheet_name="data", startrow=3)
        whole, _ = read(Source(str(path), sheet="data"))
        pandas.testing.assert_frame_equal(
            whole.drop(columns="Unnamed: 0"), frame, check_dtype=False
        )
        with pytest.raises(FileProblem, match="no sheet 'dat'; did you mean 'data'"):
            read(Source(str(path), sheet="dat"))
        with pytest.raises(DataProblem, match=r"more sheets \('data'\): give --sheet"):
            take_target(read(path)[0], "price")

    def test_names(self, tmp_path):
        pytest.importorskip("openpyxl")
        path = tmp_path / "t.xlsx"
        frame = table()
        pandas.concat([frame, frame], axis=1).to_excel(path, index=False)
        with pytest.raises(FileProblem, match="there more than once"):
            read(path)
        frame.to_excel(path, index=False, header=["", *frame.columns[1:-1], ""])
        with pytest.raises(FileProblem, match="column 5 has no name"):
            read(path)
        pandas.DataFrame().to_excel(path, index=False)
        with pytest.raises(FileProblem, match="has no table"):
            read(path)
