"""Rows in blocks: covering, mapping, adding up, gathering."""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp.arrays import Backend, to_numpy
from greedygp.rows.blocks import RowBlock, Rows, add_up


@dataclass
class Numbered(RowBlock):
    place: Any
    table: Any


SIZES = {"one block": [11], "three blocks": [5, 2, 4], "a block for each row": [1] * 11}


@pytest.fixture(params=SIZES)
def sizes(request):
    return SIZES[request.param]


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def rows(request, sizes, monkeypatch):
    """Rows 0..10 that know their own number, and (in float32) a matrix of capacity 4."""
    xp = pytest.importorskip(request.param)
    monkeypatch.setattr(Backend, "block_sizes", lambda self, n_rows, **options: sizes)
    backend = Backend(xp.asarray([0.0], dtype=xp.float32))

    def numbered(block):
        places, lines = np.arange(block.start, block.stop), np.arange(4)[:, None] * 100
        return Numbered(
            block.number,
            block.start,
            block.stop,
            place=backend.asarray(places),
            table=backend.asarray(lines + places),
        )

    return Rows(backend, 11).with_state(numbered)


def test_blocks_cover_the_rows_in_order(rows, sizes):
    assert [block.number for block in rows.blocks] == list(range(len(sizes)))
    covered = [i for block in rows.blocks for i in range(block.start, block.stop)]
    assert covered == list(range(rows.n_rows)) == list(range(11))
    assert [block.width for block in rows.blocks] == sizes


def test_real_block_sizes_cover_the_rows():
    rows = Rows(Backend(np.zeros(1)), 5001)
    assert rows.blocks[0].start == 0
    assert rows.blocks[-1].stop == 5001
    for left, right in zip(rows.blocks[:-1], rows.blocks[1:]):
        assert left.stop == right.start


def test_a_block_knows_its_own(rows):
    index = np.array([10, 0, 3, 3, 7])
    places = np.full(5, -1)
    for block in rows.blocks:
        where, local = block.owns(index)
        places[where] = to_numpy(block.place)[local]
    assert_array_equal(places, index)


def test_a_block_without_its_own(rows):
    for block in rows.blocks:
        where, local = block.owns(np.array([11, -1]))
        assert len(where) == len(local) == 0


@pytest.mark.parametrize("light", [True, False])
def test_map_gives_one_result_a_block_in_order(rows, light):
    assert rows.map(lambda block: block.start, light=light) == [b.start for b in rows.blocks]


def test_started_work_gives_one_result_a_block_and_part_in_order(rows):
    begun = rows.start(lambda block, part: (block.start, part), ["a", "b"])
    assert begun.results() == [(block.start, part) for block in rows.blocks for part in "ab"]


@pytest.mark.parametrize("light", [True, False])
def test_sums(rows, light):
    total = rows.sum(lambda block: float(np.sum(to_numpy(block.place))), light=light)
    assert total == 55
    array = rows.sum(lambda block: np.sum(to_numpy(block.table), axis=1), light=light)
    assert_array_equal(array, [55 + 11 * 100 * k for k in range(4)])
    count, both = rows.sum(
        lambda block: (block.stop - block.start, np.array([1.0, block.start])), light=light
    )
    assert count == 11
    assert_array_equal(both, [len(rows.blocks), sum(block.start for block in rows.blocks)])


def test_a_sum_leaves_the_parts_alone(rows):
    parts = [np.ones(2) for _ in rows.blocks]
    rows.sum(lambda block: parts[block.number])
    assert_array_equal(parts, np.ones((len(rows.blocks), 2)))


def test_other_state_of_the_same_rows(rows):
    other = rows.with_state(lambda block: RowBlock(block.number, block.start, block.stop))
    assert [type(block) for block in rows.blocks] == [Numbered] * len(rows.blocks)
    assert [type(block) for block in other.blocks] == [RowBlock] * len(rows.blocks)
    assert other.n_rows == rows.n_rows
    assert other.sum(lambda block: block.width) == 11


def test_adding_up():
    assert add_up([2.5]) == 2.5
    assert add_up([1, 2, 3]) == 6
    count, (first, second) = add_up([(1, (np.ones(2), 10)), (2, (np.ones(2), 20))])
    assert (count, second) == (3, 30)
    assert_array_equal(first, [2.0, 2.0])


def test_concatenate(rows):
    assert_array_equal(to_numpy(rows.concatenate(lambda block: block.place)), np.arange(11))
    table = to_numpy(rows.concatenate(lambda block: block.table))
    assert_array_equal(table, np.arange(4)[:, None] * 100 + np.arange(11))


class TestGather:
    index = np.array([10, 0, 3, 3, 7])

    def test_a_vector(self, rows):
        gathered = rows.gather(lambda block: block.place, self.index)
        assert isinstance(gathered, np.ndarray)
        assert gathered.dtype == np.float64
        assert_array_equal(gathered, self.index)

    def test_a_matrix_gives_a_line_for_each_row(self, rows):
        expected = self.index[:, None] + np.arange(4) * 100
        assert_array_equal(rows.gather(lambda block: block.table, self.index), expected)

    @pytest.mark.parametrize("length", [0, 1, 3])
    def test_only_the_first_lines(self, rows, length):
        expected = self.index[:, None] + np.arange(length) * 100
        assert_array_equal(rows.gather(lambda block: block.table[:length, :], self.index), expected)

    def test_nobody(self, rows):
        nobody = np.empty(0, dtype=np.intp)
        assert rows.gather(lambda block: block.place, nobody).shape == (0,)
        assert rows.gather(lambda block: block.table[:2, :], nobody).shape == (0, 2)


def test_one_piece_of_work_is_not_handed_over():
    """The caller does it itself, when it asks for the result."""
    backend = Backend(np.zeros(1))
    backend.threads = 2
    rows, doers = Rows(backend, 100), []

    def work(block, part):
        doers.append(threading.get_ident())
        return part

    assert rows.start(work, ["all"]).results() == ["all"]
    assert doers == [threading.get_ident()]
