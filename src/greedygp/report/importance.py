"""Importance of columns by shuffling them, on rows with known targets.

scikit-learn shuffles and counts. A column of words is several features, which must be shuffled
together and which need not be encoded again each time: so what is shuffled is not the table but,
for each column, the numbers of the rows that its values are taken from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import inspection
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, mean_squared_error

from greedygp.tables.training import Trained

__all__ = ["permutation_importance"]

MOST_ROWS = 500
MOST_COLUMNS = 40
REPEATS = 3


def permutation_importance(
    trained: Trained, X: np.ndarray, relevance: dict[str, float]
) -> dict[str, float] | None:
    """Return how much worse the predictions become when a column is shuffled.

    The loss is the squared error, or the error rate, on at most 500 rows.

    Parameters
    ----------
    trained : Trained
    X : (rows, features) array
        The encoded rows.
    relevance : dict of str to float
        Of every column by another measure: of more than 40 columns, only the most relevant are
        shuffled.

    Returns
    -------
    dict of str to float, or None
        By column, relative to the largest, largest first; None where nothing becomes worse.
    """
    model, said = trained.model, trained.predictions
    if said is None or len(said.y) < 10:
        return None
    names = [column.name for column in model.encoder.columns_]
    chosen = sorted(names, key=lambda name: -relevance.get(name, 0.0))[:MOST_COLUMNS]
    some = np.random.default_rng(0).permutation(len(said.y))[:MOST_ROWS]
    rows = _MixedRows(model.estimator, X[some], _place_of_each_feature(model.encoder, chosen))
    found = inspection.permutation_importance(
        rows,
        rows.unshuffled(len(chosen)),
        said.y[some],
        scoring=_score_of_classes if model.task == "classification" else _score_of_numbers,
        n_repeats=REPEATS,
        random_state=0,
    )
    rises = dict(zip(chosen, np.maximum(found.importances_mean, 0.0).tolist()))
    largest = max(rises.values())
    if not largest > 0:
        return None
    return {name: rise / largest for name, rise in sorted(rises.items(), key=lambda kv: -kv[1])}


def _place_of_each_feature(encoder: Any, chosen: list[str]) -> np.ndarray:
    """Return the place among the chosen columns that each feature comes from; -1: from another."""
    place = {name: k for k, name in enumerate(chosen)}
    return np.array([place.get(encoder.columns_[k].name, -1) for k in encoder.groups])


class _MixedRows(BaseEstimator):
    """Predicts rows whose columns come from different rows.

    Parameters
    ----------
    estimator : fitted estimator
    X : (rows, features) array
    places : (features,) int array
        The column of `sources` that says which row a feature is taken from; -1: from its own.
    """

    def __init__(self, estimator: Any, X: np.ndarray, places: np.ndarray):
        self.estimator, self.X, self.places = estimator, X, places

    def fit(self, X: Any, y: Any = None) -> _MixedRows:
        """Nothing to do: scikit-learn asks for this method."""
        return self

    def unshuffled(self, columns: int) -> np.ndarray:
        """Return the sources, (rows, columns), that leave every row as it is."""
        return np.repeat(np.arange(len(self.X))[:, None], columns, axis=1)

    def predict(self, sources: np.ndarray) -> np.ndarray:
        """Predict with the features of each column taken from the rows given for it."""
        own = np.arange(len(sources))
        taken = np.column_stack([sources, own])[:, self.places]  # -1 is the last column
        return np.asarray(self.estimator.predict(np.take_along_axis(self.X, taken, axis=0)))


def _score_of_numbers(rows: _MixedRows, sources: np.ndarray, y: np.ndarray) -> float:
    return -float(mean_squared_error(y, rows.predict(sources)))


def _score_of_classes(rows: _MixedRows, sources: np.ndarray, y: np.ndarray) -> float:
    return float(accuracy_score(y, rows.predict(sources)))
