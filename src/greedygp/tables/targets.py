"""The target of a table: which task it sets, and its values as a model takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.dates import calendar_of
from greedygp.tables.doubts import alike_words, no_data, stand_ins
from greedygp.tables.plans import MEANS_MISSING, infinite_values, means_missing, not_numbers
from greedygp.tables.problems import DataProblem, did_you_mean, row_number
from greedygp.tables.values import has_decimal_commas, is_grouped, mixed_signs, to_numbers, units_of

if TYPE_CHECKING:
    import pandas

__all__ = ["Target", "labels_of", "numbers_of", "rows_of", "take_target"]

FEWEST_ROWS = 10
MOST_CLASSES = 50
LARGEST = 1e100
FEW_VALUES = 10  # so few different whole numbers may be classes
FEW_WRONG = 0.1  # share of the values: fewer that are no numbers are slips


@dataclass
class Target:
    """A target that can be learnt.

    Attributes
    ----------
    values : (rows,) array
        Floats, or the classes: whole numbers where all are, else text.
    kept : (rows of the table,) bool array
        The rows that have a target and are data.
    task : {"regression", "classification"}
    why : str
        How the task was chosen.
    assumptions : list of str
        Sentences about what had to be guessed.
    not_data : int
        Rows with a target that are no data, such as totals.
    """

    values: np.ndarray
    kept: np.ndarray
    task: str
    why: str
    assumptions: list[str] = field(default_factory=list)
    not_data: int = 0


def take_target(table: pandas.DataFrame, name: str, task: str = "auto") -> Target:
    """Return the target of a table, or raise a sentence about it.

    Parameters
    ----------
    table : DataFrame
        Its index numbers the rows of the file, from 0.
    name : str
    task : {"auto", "regression", "classification"}
        "auto": words, truth values and numbers with only two different values are classes.
    """
    if name not in table.columns:
        raise DataProblem(
            f"There is no column {name!r} to be the target; {did_you_mean(name, table.columns)}"
            + _other_separator(table)
        )
    column = table[name]
    kept, assumptions = rows_of(table, name)
    not_data = int(np.sum(column.notna().to_numpy() & ~kept))
    column = column[kept]
    if len(column) < FEWEST_ROWS:
        have = ("No row has", "Only one row has", f"Only {len(column)} rows have")
        raise DataProblem(
            f"{have[min(len(column), 2)]} a value of the target {name!r}; at least {FEWEST_ROWS} "
            "are needed."
        )
    numbers, wrong, read = numbers_of(name, column)
    why = "as asked"
    if task == "auto":
        task, why = _task_of(column, numbers, wrong)
        read = read + _doubts(name, task, numbers, wrong)
    if task == "regression":
        values = _checked_numbers(name, column, numbers, wrong)
        doubt = stand_ins(f"The target {name!r}", values)
        told = [*assumptions, *read, *([doubt] if doubt else [])]
        return Target(values, kept, task, why, told, not_data)
    labels = _checked_classes(name, column)
    words = sorted(str(label) for label in np.unique(labels))
    doubts = (alike_words(f"The target {name!r}", words), _blank_class(name, labels))
    told = [*assumptions, *(doubt for doubt in doubts if doubt)]
    return Target(labels, kept, task, why, told, not_data)


def _other_separator(table: pandas.DataFrame) -> str:
    """Propose another sheet, or --separator where all was read as one column."""
    if "other sheets" in table.attrs:
        others = ", ".join(map(repr, table.attrs["other sheets"][:5]))
        return f" The workbook has more sheets ({others}): give --sheet." * bool(others)
    if len(table.columns) > 1:
        return ""
    if len(table.columns[0].split()) > 1:
        return " If spaces are between the columns, give --separator ' '."
    return " Give --separator if there should be more."


def rows_of(table: pandas.DataFrame, name: str) -> tuple[np.ndarray, list[str]]:
    """Return which rows of a table are data with a target, and what was assumed."""
    kept = table[name].notna().to_numpy(copy=True)
    said = []
    for place, why in no_data(table, name).items():
        if kept[place]:
            said.append(f"Row {row_number(table[name], place)} {why}, and was left out.")
            kept[place] = False
    most = 3
    more = [f"{len(said) - most} more rows like these were left out."] if len(said) > most else []
    return kept, said[:most] + more


def numbers_of(name: str, column: pandas.Series) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return a target as numbers, the places that hold none, and what was assumed."""
    numbers, wrong = to_numbers(column)
    units = units_of(column) if len(wrong) and len(wrong) == len(column) else []
    unit = units[0] if len(units) == 1 and len(column.unique()) > FEW_VALUES else ""
    if not len(wrong) or not (unit or is_grouped(column, wrong)):
        return numbers, wrong, []
    first = int(wrong[0])
    numbers, wrong = to_numbers(column, grouped=True, unit=unit)
    example = str(column.iloc[first]).strip()
    return numbers, wrong, [
        f"The target {name!r} was read as numbers: {example!r} is {numbers[first]:.10g} (--task "
        "classification reads it as words)."
    ]  # fmt: skip


def _are_truth_values(column: pandas.Series) -> bool:
    """Tell whether all values are true or false, also where blanks made the column mixed."""
    import pandas

    if pandas.api.types.is_bool_dtype(column.dtype):
        return True
    return column.dtype == object and all(isinstance(v, bool | np.bool_) for v in column)


def _task_of(column: pandas.Series, numbers: np.ndarray, wrong: np.ndarray) -> tuple[str, str]:
    if _are_truth_values(column):
        return "classification", "the target is true or false"
    if len(wrong) and has_decimal_commas(column, wrong):
        return "regression", "the target is a number with a decimal comma"
    if 0 < len(wrong) < FEW_WRONG * len(column):
        return "regression", "the target is nearly always a number"
    if means_missing(column, wrong) and len(np.unique(numbers)) > FEW_VALUES:
        return "regression", "the target is a number or missing"
    if len(wrong):
        return "classification", "the target is words"
    if len(np.unique(numbers)) == 2:
        return "classification", "the target has two different values"
    return "regression", "the target is a number"


def _doubts(name: str, task: str, numbers: np.ndarray, wrong: np.ndarray) -> list[str]:
    """Return a sentence where a number may be a class."""
    distinct = np.unique(numbers)
    if task != "regression" or len(wrong) or len(distinct) > FEW_VALUES:
        return []
    if not np.all(distinct == np.round(distinct)):
        return []
    listed = ", ".join(f"{value:g}" for value in distinct)
    return [
        f"The target {name!r} has only {len(distinct)} different values ({listed}) and was taken "
        "for a number; give --task classification if they are classes."
    ]


def _blank_class(name: str, labels: np.ndarray) -> str | None:
    """Say that a class is a word that often means missing; not where + and - are the classes."""
    words = [str(label) for label in np.unique(labels)]
    found = [word for word in words if word.casefold() in MEANS_MISSING]
    if "+" in words and "-" in found:
        found.remove("-")
    if len(words) < 3 or len(found) != 1:
        return None
    return (
        f"The target {name!r} is {found[0]!r} in {np.sum(labels == found[0])} rows, and this was "
        f"taken for a class; if it means missing, give --missing {found[0]!r}."
    )


def _checked_numbers(
    name: str, column: pandas.Series, numbers: np.ndarray, wrong: np.ndarray
) -> np.ndarray:
    if len(wrong) and has_decimal_commas(column, wrong):
        example = str(column.iloc[int(wrong[0])]).strip()
        raise DataProblem(
            f"The target {name!r} has numbers with a decimal comma ({example!r}): give "
            "--decimal ','."
        )
    if len(wrong) == len(column):
        raise DataProblem(
            f"The target {name!r} must hold numbers for regression, but it holds words such as "
            f"{str(column.iloc[0])!r}; give --task classification."
        )
    if len(wrong):
        raise DataProblem(
            f"{not_numbers(f'The target {name!r}', column, wrong)} "
            f"{means_missing(column, wrong)}".strip()
            + " It must hold numbers for regression: correct them, or give --task classification."
        )
    mixed = mixed_signs(column)
    if mixed:
        raise DataProblem(f"The target {name!r} holds {mixed}; write all of them in one way.")
    if not np.all(np.isfinite(numbers)):
        sentence = infinite_values(name, column, numbers)
        raise DataProblem(sentence.replace("Column", "The target", 1))
    largest = float(np.max(np.abs(numbers)))
    if largest > LARGEST:
        raise DataProblem(
            f"The target {name!r} holds values as large as {largest:.1e}, which cannot be squared; "
            "divide them by a power of ten."
        )
    if np.all(numbers == numbers[0]):
        raise DataProblem(
            f"The target {name!r} is {numbers[0]:g} in every row: there is nothing to learn."
        )
    return numbers


def labels_of(column: pandas.Series) -> np.ndarray:
    """Return the classes of rows: whole numbers where all are, else text."""
    numbers, wrong = to_numbers(column)
    whole = not len(wrong) and bool(np.all(numbers == np.round(numbers)))
    if whole and not _are_truth_values(column):
        return numbers.astype(np.int64)
    return np.array([str(value).strip() for value in column])


def _checked_classes(name: str, column: pandas.Series) -> np.ndarray:
    calendar = calendar_of(column)
    if calendar is not None:
        raise DataProblem(
            f"The target {name!r} holds dates or times ({calendar.example!r}), which cannot be "
            "predicted; turn them into numbers, such as days since the first one."
        )
    labels = labels_of(column)
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
            "more: leave that row out, or merge the class with another."
        )
    return labels
