"""Importance of columns by shuffling them, on rows with known targets."""

from __future__ import annotations

import numpy as np

from greedygp.tables.training import Trained, predictions_of

__all__ = ["permutation_importance"]

MOST_ROWS = 500
MOST_COLUMNS = 40
REPEATS = 3


def permutation_importance(trained: Trained) -> dict[str, float] | None:
    """Return how much worse the predictions become when a column is shuffled.

    The loss is the squared error, or the error rate; at most 500 rows and 40 columns are used.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    dict of str to float, or None
        By column, relative to the largest, largest first; None where nothing becomes worse.
    """
    model, said = trained.model, trained.predictions
    if said is None or len(said.y) < 10:
        return None
    rng = np.random.default_rng(0)
    some = rng.permutation(len(said.y))[:MOST_ROWS]
    rows, y = trained.rows.iloc[some], said.y[some]

    def loss(table) -> float:
        mean = predictions_of(model, table, y).mean
        if model.task == "classification":
            return float(np.mean(mean != y))
        return float(np.mean((mean - y) ** 2))

    base = loss(rows)
    rises = {}
    for column in model.encoder.columns[:MOST_COLUMNS]:
        shuffled = rows.copy()
        values = rows[column.name].to_numpy()
        worse = []
        for _ in range(REPEATS):
            shuffled[column.name] = values[rng.permutation(len(values))]
            worse.append(loss(shuffled))
        rises[column.name] = max(0.0, float(np.mean(worse)) - base)
    largest = max(rises.values())
    if not largest > 0:
        return None
    return {name: rise / largest for name, rise in sorted(rises.items(), key=lambda kv: -kv[1])}
