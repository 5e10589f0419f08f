"""The target of a table: which task it sets, and its values as a model takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.encoder import to_numbers
from greedygp.tables.problems import DataProblem, did_you_mean

if TYPE_CHECKING:
    import pandas

__all__ = ["Target", "take_target"]

FEWEST_ROWS = 10
MOST_CLASSES = 50


@dataclass
class Target:
    """A target that can be learnt.

    Attributes
    ----------
    values : (rows,) array
        Floats, or the classes: whole numbers where all are, else text.
    kept : (rows of the table,) bool array
        The rows that have a target.
    task : {"regression", "classification"}
    why : str
        How the task was chosen.
    """

    values: np.ndarray
    kept: np.ndarray
    task: str
    why: str


def take_target(table: pandas.DataFrame, name: str, task: str = "auto") -> Target:
    """Return the target of a table, or raise a sentence about it.

    Parameters
    ----------
    table : DataFrame
    name : str
    task : {"auto", "regression", "classification"}
        "auto": words, truth values and numbers with only two different values are classes.
    """
    if name not in table.columns:
        raise DataProblem(
            f"There is no column {name!r} to be the target; " + did_you_mean(name, table.columns)
        )
    column = table[name]
    kept = np.asarray(column.notna())
    column = column[kept]
    if len(column) < FEWEST_ROWS:
        raise DataProblem(
            f"Only {len(column)} rows have a value of the target {name!r}; at least {FEWEST_ROWS} "
            "are needed."
        )
    numbers, wrong = to_numbers(column)
    why = "as asked"
    if task == "auto":
        task, why = _task_of(column, numbers, wrong)
    if task == "regression":
        return Target(_checked_numbers(name, column, numbers, wrong), kept, task, why)
    return Target(_checked_classes(name, column, numbers, wrong), kept, task, why)


def _task_of(column, numbers: np.ndarray, wrong: np.ndarray) -> tuple[str, str]:
    import pandas

    n_wrong = len(wrong)
    if pandas.api.types.is_bool_dtype(column.dtype):
        return "classification", "the target is true or false"
    if 0 < n_wrong < 0.1 * len(column):
        return "regression", "the target is nearly always a number"
    if n_wrong:
        return "classification", "the target is words"
    if len(np.unique(numbers)) == 2:
        return "classification", "the target has two different values"
    return "regression", "the target is a number"


def _checked_numbers(name, column, numbers: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    if len(wrong):
        first = int(wrong[0])
        raise DataProblem(
            f"The target {name!r} must hold numbers for regression, but {len(wrong)} of its values "
            f"are none, the first {str(column.iloc[first])!r}; mend them, or give --task "
            "classification."
        )
    if not np.all(np.isfinite(numbers)):
        raise DataProblem(f"The target {name!r} holds infinite values; leave them empty.")
    if np.all(numbers == numbers[0]):
        raise DataProblem(
            f"The target {name!r} is {numbers[0]:g} in every row: there is nothing to learn."
        )
    return numbers


def _checked_classes(name, column, numbers: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    import pandas

    is_truth = pandas.api.types.is_bool_dtype(column.dtype)
    whole = not is_truth and not len(wrong) and np.all(numbers == np.round(numbers))
    labels = numbers.astype(np.int64) if whole else np.array([str(v).strip() for v in column])
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise DataProblem(
            f"The target {name!r} is {str(classes[0])!r} in every row: there is nothing to learn."
        )
    if len(classes) > MOST_CLASSES:
        raise DataProblem(
            f"The target {name!r} has {len(classes)} different values, too many to be classes (at "
            f"most {MOST_CLASSES}); give --task regression if it is a number, or group them."
        )
    if counts.min() < 2:
        rare = str(classes[np.argmin(counts)])
        raise DataProblem(
            f"The class {rare!r} of the target {name!r} has a single row; each class needs two or "
            "more: leave that row out, or join the class to another."
        )
    return labels
