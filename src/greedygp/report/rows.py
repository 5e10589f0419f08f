"""The rows that a saved model is judged on when a report is asked for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.model import TableModel
from greedygp.tables.problems import ColumnProblem, DataProblem, did_you_mean, row_number
from greedygp.tables.targets import labels_of, numbers_of, rows_of, take_target
from greedygp.tables.training import Predictions, Trained, predictions_of, split
from greedygp.tables.values import to_numbers

if TYPE_CHECKING:
    import pandas

__all__ = ["judge_again"]


def judge_again(model: TableModel, table: pandas.DataFrame, digest: str) -> tuple[Trained, str]:
    """Return a model with its predictions on a table, and which rows were used.

    The table that the model was fitted to is known again by its bytes; then only the rows that
    were held out count. Of a table with other bytes every row that has a target counts.

    Parameters
    ----------
    model : TableModel
    table : DataFrame
    digest : str
        SHA-256 of the table's file.
    """
    if model.target not in table.columns:
        raise ColumnProblem(
            f"A report compares predictions with the target {model.target!r}, which is not among "
            "the columns; " + did_you_mean(model.target, list(table.columns))
        )
    facts = model.facts
    recipe = facts.get("recipe", {})
    kept, _ = rows_of(table, model.target)
    if not kept.any():
        raise DataProblem(f"No row has a value of the target {model.target!r}.")
    rows = table[kept]
    y = _targets(model, rows[model.target])
    if facts.get("data", {}).get("sha256") == digest and recipe:
        target = take_target(table, model.target, facts["task"])
        train, test = split(target, recipe["test"], recipe["seed"])
        if len(test):
            which = f"the {len(test)} rows that were held out when the model was fitted"
            return _judged(model, rows.iloc[test], y[test]), which
        if hasattr(model.estimator, "loo_predict") and model.task == "regression":
            said = Predictions(y, *model.estimator.loo_predict())
            which = f"the {len(train)} training rows, each predicted from the others"
            return Trained(model, rows, said), which
    which = f"all {len(rows)} rows of the table, which may include rows it was fitted to"
    return _judged(model, rows, y), which


def _judged(model: TableModel, rows: pandas.DataFrame, y: np.ndarray) -> Trained:
    return Trained(model, rows, predictions_of(model, rows, y))


def _targets(model: TableModel, column: pandas.Series) -> np.ndarray:
    """Return the targets of rows, which need not be fit for learning, as the model knows them."""
    if model.task == "regression":
        numbers, wrong, _ = numbers_of(model.target, column)
        if len(wrong):
            first = int(wrong[0])
            raise ColumnProblem(
                f"The target {model.target!r} must hold numbers, as it did in training; row "
                f"{row_number(column, first)} has {str(column.iloc[first])!r}."
            )
        return numbers
    labels = labels_of(column)
    if model.estimator.classes_.dtype.kind in "iu" and labels.dtype.kind not in "iu":
        numbers, wrong = to_numbers(column)  # true and false, where the classes are 1 and 0
        labels = labels if len(wrong) else numbers.astype(np.int64)
    elif model.estimator.classes_.dtype.kind not in "iu":
        labels = np.array([str(value).strip() for value in column])
    new = sorted(set(labels.tolist()) - set(model.classes))
    if new:
        raise ColumnProblem(
            f"The target {model.target!r} holds classes that the model does not know: "
            f"{', '.join(map(str, new[:5]))}."
        )
    return labels
