"""Which task a target sets, and targets that cannot be learnt."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    DataProblem,
)
from greedygp.tables.targets import take_target  # noqa: E402


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
    "decimal comma": ("y", ["1,5", "2,25", "3"] * 10, "auto", "decimal comma.*--decimal ','"),
    "dates": ("y", ["2020-01-01", "2020-02-03"] * 10, "auto", "holds dates or times"),
    "huge": ("y", 1e200 * np.arange(20.0), "auto", r"as large as 1\.9e\+201"),
    "absent": ("z", [1.0] * 20, "auto", "no column 'z'"),
    "few": ("y", [1.0, 2.0] + [None] * 18, "auto", "Only 2 rows"),
    "constant": ("y", [3.0] * 20, "auto", "3 in every row"),
    "one class": ("y", ["a"] * 20, "auto", "'a' in every row"),
    "words": ("y", ["a", "b"] * 10, "regression", "must hold numbers"),
    "slip": (
        "y",
        [*map(str, range(30)), "x"],
        "auto",
        "'x' in row 31.*must hold numbers",
    ),
    "infinite": ("y", [*np.arange(20.0), np.inf], "regression", "infinite"),
    "classes": ("y", np.arange(100), "classification", "100 different values"),
    "rare": ("y", ["a"] * 20 + ["b"], "auto", "'b'.*single row"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_bad_targets(kind):
    name, values, task, message = BAD_TARGETS[kind]
    with pytest.raises(DataProblem, match=message):
        take_target(pandas.DataFrame({"y": values}), name, task)


def test_true_and_false_with_blanks_stay_true_and_false():
    frame = pandas.DataFrame({"y": [True, False, None, True] * 10})
    target = take_target(frame, "y")
    assert target.task == "classification"
    assert set(target.values) == {"True", "False"}
    assert target.kept.sum() == 30


def test_money_is_a_number():
    target = take_target(pandas.DataFrame({"y": [f"${k},500" for k in range(1, 21)]}), "y")
    assert target.task == "regression"
    assert target.values[0] == 1500.0
    assert "'$1,500' is 1500" in target.assumptions[0]


def test_whole_numbers_that_may_be_classes_are_said_aloud():
    (sentence,) = take_target(pandas.DataFrame({"y": [0, 1, 2] * 10}), "y").assumptions
    assert "only 3 different values (0, 1, 2)" in sentence
    assert "--task classification" in sentence
    for values in (np.arange(30), [0.5, 1.5, 2.5] * 10, [0, 1] * 15):
        assert take_target(pandas.DataFrame({"y": values}), "y").assumptions == []
    asked = take_target(pandas.DataFrame({"y": [0, 1, 2] * 10}), "y", "regression")
    assert asked.assumptions == []
