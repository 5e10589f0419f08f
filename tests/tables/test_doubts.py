"""What a table may mean besides what it says."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from greedygp.tables.doubts import (  # noqa: E402
    alike_words,
    copies,
    few_of_a_class,
    no_data,
    stand_ins,
    telling_columns,
)


def test_stand_ins():
    numbers = np.r_[np.arange(30.0), -999, -999]
    assert "is -999 in 2 rows, far from its other values (0 to 29)" in stand_ins("It", numbers)
    assert stand_ins("It", numbers[:-1]) is None  # one row
    assert stand_ins("It", np.r_[np.arange(-1000.0, 0), -999]) is None  # among the others
    assert stand_ins("It", np.r_[np.arange(90.0, 99), 99, 99]) is None
    assert "is 9999" in stand_ins("It", np.r_[np.arange(30.0), 9999, 9999, np.nan])


def test_alike_words():
    assert "such as 'Cat' and 'cat'" in alike_words("It", ["Cat", "cat", "dog"])
    assert "'a  b' and 'a b'" in alike_words("It", ["a b", "a  b"])
    assert alike_words("It", ["cat", "dog"]) is None


def test_telling_columns():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    rows = pandas.DataFrame({"same": 3 - 2 * y, "near": y + 1e-3 * rng.normal(size=40), "one": 1.0})
    rows["far"] = y + 0.02 * rng.normal(size=40)
    rows["text"] = [str(value) for value in y]
    rows["holes"] = np.where(np.arange(40) > 2, y, np.nan)
    said = telling_columns(rows, y)
    assert [sentence.split("'")[1] for sentence in said] == ["same", "near", "text"]
    assert ["exactly" in each for each in said] == [True] * 3
    assert ["almost" in each for each in said] == [False, True, False]
    assert telling_columns(rows[:10], y[:10]) == []
    labels = np.array(["x", "z"] * 20)
    words = pandas.DataFrame({"code": [1, 2] * 20, "finer": range(40), "half": [1, 1, 2, 2] * 10})
    assert len(telling_columns(words, labels)) == 1


def test_copies():
    rows = pandas.DataFrame({"a": [1, 2, 3, 1], "b": ["x", "y", "z", "x"]})
    assert "1 of 4 rows" in copies(rows, np.array([5.0, 6.0, 7.0, 5.0]))
    assert copies(rows, np.arange(4.0)) is None
    lists = pandas.DataFrame({"a": [[1], [1]]})
    assert copies(lists, np.zeros(2)) is None


def test_few_of_a_class():
    labels = np.array(["x"] * 50 + ["z"] * 4)
    assert "'z' has 4 rows, and 1 of them" in few_of_a_class(labels, np.arange(40, 51))
    assert few_of_a_class(labels, np.arange(0)) is None
    assert few_of_a_class(np.array(["x", "z"] * 50), np.arange(3)) is None  # not rare


def test_no_data():
    table = pandas.DataFrame(
        {"town": ["Ulm", None, "Bonn", "TOTAL:"], "a": [1.0, None, 2.0, 3.0], "y": [1.0, 2, 3, 4]}
    )
    assert no_data(table, "y") == {
        1: "has a target and nothing else",
        3: "looks like a line of totals ('TOTAL:' in 'town')",
    }
    assert no_data(table[["y"]], "y") == {}
    several = table.assign(town=["total", "total", "sum", "total"])
    assert 3 not in no_data(several, "y")  # a word of the column
