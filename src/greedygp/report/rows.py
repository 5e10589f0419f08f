"""The rows that a saved model is judged on when a report is asked for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.encoder import to_numbers
from greedygp.tables.model import TableModel
from greedygp.tables.problems import ColumnProblem, DataProblem, did_you_mean
from greedygp.tables.targets import Target, take_target
from greedygp.tables.training import Predictions, Trained, predictions_of, split

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
    if facts.get("data", {}).get("sha256") == digest and recipe:
        target = take_target(table, model.target, facts["task"])
        rows = table[target.kept].reset_index(drop=True)
        train, test = split(target, recipe["test"], recipe["seed"])
        if len(test):
            which = f"the {len(test)} rows that were held out when the model was fitted"
            return _judged(model, rows.iloc[test], target.values[test]), which
        if hasattr(model.estimator, "loo_predict") and model.task == "regression":
            said = Predictions(target.values, *model.estimator.loo_predict())
            which = f"the {len(train)} training rows, each predicted from the others"
            return Trained(model, rows, said), which
    return _other_rows(model, table)


def _judged(model: TableModel, rows: pandas.DataFrame, y: np.ndarray) -> Trained:
    return Trained(model, rows, predictions_of(model, rows, y))


def _other_rows(model: TableModel, table: pandas.DataFrame) -> tuple[Trained, str]:
    target = _known_targets(model, table)
    rows = table[target.kept]
    which = f"all {len(rows)} rows of the table, which may include rows it was fitted to"
    return _judged(model, rows, target.values), which


def _known_targets(model: TableModel, table: pandas.DataFrame) -> Target:
    """Return the targets of a table that need not be fit for learning."""
    column = table[model.target]
    kept = column.notna().to_numpy()
    if not kept.any():
        raise DataProblem(f"No row has a value of the target {model.target!r}.")
    if model.task == "regression":
        numbers, wrong = to_numbers(column[kept])
        if len(wrong):
            raise ColumnProblem(
                f"The target {model.target!r} must hold numbers, as it did in training; row "
                f"{int(wrong[0]) + 1} has {str(column[kept].iloc[int(wrong[0])])!r}."
            )
        return Target(numbers, kept, "regression", "")
    numbers, wrong = to_numbers(column[kept])
    whole = model.estimator.classes_.dtype.kind in "iu" and not len(wrong)
    words = [str(value).strip() for value in column[kept]]
    labels = numbers.astype(np.int64) if whole else np.array(words)
    new = sorted(set(labels.tolist()) - set(model.classes))
    if new:
        raise ColumnProblem(
            f"The target {model.target!r} holds classes that the model does not know: "
            f"{', '.join(map(str, new[:5]))}."
        )
    return Target(labels, kept, "classification", "")
