"""Rows that pass by: chunks in order, sums, gathering, and a reader that is one ahead."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp.rows import ArrayRows, memory
from greedygp.rows.memory import is_mapped
from greedygp.rows.store import Chunk, one_ahead, plus


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(memory, "READ_ROWS", 7)


@pytest.fixture
def rows():
    X = np.arange(40.0).reshape(20, 2)
    return ArrayRows(X, 100 + np.arange(20.0), np.arange(20.0) % 3)


def mapped(tmp_path, array, name="X.npy"):
    np.save(tmp_path / name, array)
    return np.load(tmp_path / name, mmap_mode="r")


def test_chunks_cover_the_rows_in_order(rows):
    chunks = list(rows.chunks())
    assert [len(chunk) for chunk in chunks] == [7, 7, 6]
    assert [chunk.start for chunk in chunks] == [0, 7, 14]
    assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), rows.X)


def test_pieces_know_their_place(rows):
    pieces = [piece for chunk in rows.chunks() for piece in chunk.pieces(3)]
    assert [piece.start for piece in pieces] == [0, 3, 6, 7, 10, 13, 14, 17]
    for piece in pieces:
        assert_array_equal(piece.y, 100 + np.arange(piece.start, piece.start + len(piece)))


@pytest.mark.parametrize("threads", [1, 2])
def test_map_and_reduce(rows, threads):
    rows.backend.threads = threads
    gone_by = []
    sums = list(rows.map(lambda chunk: float(chunk.y.sum()), 4, gone_by.append))
    assert sum(sums) == rows.y.sum()
    assert sum(gone_by) == 20
    total, (count, column) = rows.reduce(lambda c: (c.y.sum(), (len(c), c.X.sum(axis=0))), 3)
    assert (total, count) == (rows.y.sum(), 20)
    assert_array_equal(column, rows.X.sum(axis=0))


def test_none_counts_for_nothing(rows):
    assert rows.reduce(lambda chunk: None, 3) is None
    assert rows.reduce(lambda chunk: 1.0 if chunk.start >= 7 else None, 7) == 2.0
    assert plus(None, None) is None
    assert (plus(1, None), plus(None, 2), plus(1, 2)) == (1, 2, 3)


def test_gathering_counts_rows_of_positive_weight(rows):
    used = np.flatnonzero(rows.weights > 0)
    places = np.array([0, 3, 4, 12])
    X, y, weights, numbers = rows.gather(places)
    assert_array_equal(numbers, used[places])
    assert_array_equal(X, rows.X[numbers])
    assert_array_equal(y, rows.y[numbers])
    assert_array_equal(weights, rows.weights[numbers])


def test_everything(rows):
    for got, expected in zip(rows.everything(), (rows.X, rows.y, rows.weights)):
        assert_array_equal(got, expected)
    assert ArrayRows(rows.X).everything()[1:] == (None, None)


def test_integers_become_numbers_a_chunk_at_a_time(tmp_path):
    X = mapped(tmp_path, np.arange(30, dtype=np.int32).reshape(15, 2))
    rows = ArrayRows(X, np.arange(15))
    chunk = next(rows.chunks())
    assert chunk.X.dtype == chunk.y.dtype == np.float64
    assert chunk.where == str(tmp_path / "X.npy")


def test_what_is_mapped(tmp_path):
    X = mapped(tmp_path, np.zeros((5, 2)))
    assert is_mapped(X)
    assert is_mapped(X[1:3])
    assert not is_mapped(np.array(X))
    assert not is_mapped([[1.0]])


class TestCheck:
    X = np.zeros((5, 2))

    def test_shape_of_the_targets(self):
        assert ArrayRows(self.X).check() is None
        assert ArrayRows(self.X, np.zeros(5)).check() == ()
        assert ArrayRows(self.X, np.zeros((5, 3))).check() == (3,)

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ((np.zeros(5),), r"its shape is \(5,\)"),
            ((np.zeros((0, 2)),), r"its shape is \(0, 2\)"),
            ((X, np.zeros(4)), r"y must have shape \(5,\) or \(5, n_targets\).*got \(4,\)"),
            ((X, np.zeros(5), np.zeros(6)), r"expected \(5,\): one weight"),
            ((X.astype(complex),), "X must hold numbers; its dtype is complex128"),
            ((X, np.array(list("abcde"))), "y must hold numbers; its dtype is <U1"),
        ],
    )
    def test_sentences(self, given, sentence):
        with pytest.raises(ValueError, match=sentence):
            ArrayRows(*given).check()


class TestOneAhead:
    def test_all_items_in_order(self):
        assert list(one_ahead(range(50))) == list(range(50))

    def test_an_error_arrives_after_what_came_before(self):
        def items():
            yield 1
            raise OSError("the disk is gone")

        ahead = one_ahead(items())
        assert next(ahead) == 1
        with pytest.raises(OSError, match="the disk is gone"):
            next(ahead)

    def test_nobody_is_left_when_the_caller_has_enough(self):
        ahead = one_ahead(iter(range(1000)))
        assert next(ahead) == 0
        ahead.close()
        names = [thread.name for thread in threading.enumerate()]
        assert "greedygp-reader" not in names

    def test_an_error_of_a_pass_ends_the_reader(self, rows):
        def fails(chunk):
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            rows.reduce(fails, 3)
        assert "greedygp-reader" not in [thread.name for thread in threading.enumerate()]


def test_a_chunk_without_rows_has_no_pieces():
    assert list(Chunk(np.empty((0, 3))).pieces(4)) == []
