"""The rows that learning looks at first, where there are many more of them than it needs.

Most iterations of a search only find the way: which length scales, where about the basis inputs. A
few rows for each basis vector tell that as well as all of them do, in a fraction of the time. So a
basis that will move is selected, and the search begun, among few random rows; it goes on among
several times as many, and so on, until it sees all.
"""

from __future__ import annotations

import numpy as np

from greedygp.data import TrainingData

__all__ = ["FewerRows"]

PER_BASIS_VECTOR, FEWEST = 10, 1000  # rows to begin with
GROWTH = 5  # how many times as many come next
MOST = 0.7  # share of the rows that is worth a search of its own


class FewerRows:
    """Random parts of the rows, each of which holds the one before it.

    Parameters
    ----------
    data : TrainingData
    rng : numpy.random.Generator
        Nothing is drawn where there are too few rows.
    """

    def __init__(self, data: TrainingData, rng: np.random.Generator):
        self.data = data
        self.n_rows = data.X.shape[0]
        self._order = rng.permutation(self.n_rows) if self._worth_it(FEWEST) else np.zeros(0, int)

    def parts(self, size: int) -> list[TrainingData]:
        """Return the parts to learn among before all rows are seen, for so many basis vectors."""
        parts, count = [], max(FEWEST, PER_BASIS_VECTOR * size)
        while self._worth_it(count):
            parts.append(self.data.at(np.sort(self._order[:count])))
            count *= GROWTH
        return parts

    def _worth_it(self, count: int) -> bool:
        return count <= MOST * self.n_rows
