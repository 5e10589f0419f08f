"""Rows that are not in memory: a classifier learns from a random sample of them.

The posterior is made of the sites of the basis alone, and a site depends on its row. Other rows
only judge: candidates by the predictive loss, hyperparameters by the objective. So there is no sum
over all rows that would be worth a pass once the sample has chosen, and none is made.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import to_numpy
from greedygp.rows import RowStore, survey
from greedygp.validation import check_weight_sizes

__all__ = ["MOST_ROWS", "Sample"]

MOST_ROWS = 100_000


class Sample:
    """At most `MOST_ROWS` random rows of positive weight.

    Parameters
    ----------
    store : RowStore
        With one column of targets, the classes' numbers.
    rng : numpy.random.Generator

    Attributes
    ----------
    X, y, weights : (n, D), (n,) arrays, (n,) array or None
    places : (n,) int array
        Their places among all rows.
    """

    def __init__(self, store: RowStore, rng: np.random.Generator):
        shape = store.check()
        if shape is None or shape != ():
            what = "none" if shape is None else f"{shape[0]} columns of them"
            raise ValueError(f"The rows must have one column of classes as target; got {what}.")
        found = survey(store)
        check_weight_sizes(found.largest, found.weight, found.n_used)
        chosen = np.arange(found.n_used)
        if found.n_used > MOST_ROWS:
            chosen = np.sort(rng.choice(found.n_used, MOST_ROWS, replace=False))
        X, y, weights, self.places = store.gather(chosen)
        self.X, self.y = to_numpy(X), to_numpy(y)
        self.weights = None if weights is None else to_numpy(weights)
