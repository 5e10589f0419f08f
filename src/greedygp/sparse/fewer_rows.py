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

FEWEST = 1000  # rows to begin with
# The same for each basis vector: fifteen; down to ten, where fifteen are more than half of all.
PER_BASIS_VECTOR, AT_LEAST = 15, 10
GROWTH = 5  # how many times as many come next
LARGEST = 0.7  # share of the rows, for a part to be worth a search of its own


class FewerRows:
    """Random parts of the rows, each of which holds the one before it.

    Parameters
    ----------
    data : TrainingData
    rng : numpy.random.Generator
        Nothing is drawn where there are too few rows for parts.
    """

    def __init__(self, data: TrainingData, rng: np.random.Generator):
        self.data, self.rng = data, rng
        self.n_rows = data.X.shape[0]
        self._order: np.ndarray | None = None

    def parts(self, size: int) -> list[TrainingData]:
        """Return the parts to learn among before all rows are seen, for so many basis vectors."""
        wanted = max(AT_LEAST * size, min(PER_BASIS_VECTOR * size, self.n_rows // 2))
        parts, count = [], max(FEWEST, wanted)
        while count <= LARGEST * self.n_rows:
            if self._order is None:
                self._order = self.rng.permutation(self.n_rows)
            parts.append(self.data.at(np.sort(self._order[:count])))
            count *= GROWTH
        return parts
