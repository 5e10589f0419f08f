"""The search for one width: which widths are tried, and which wins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.linear.width import COARSE, WidthSearch


def search(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 50.0]
    return WidthSearch(X, X[:, 0], None, 3, True, rng)


class Scripted:
    """In place of an algorithm: the error of a width is its distance from the true one."""

    def __init__(self, search, true):
        self.search, self.true, self.tried = search, true, []

    def fit(self, dictionary, y):
        columns = dictionary.held  # kernel columns of one fold, whose width is to be found again
        squares = self.search.squares
        train = next(train for train, _ in self.search.folds if len(train) == columns.shape[0])
        off = ~np.eye(len(train), dtype=bool)
        known = squares[np.ix_(train, train)][off]
        factor = np.sqrt(-0.5 * known / np.log(columns[off]))[0] / self.search.unit
        self.tried.append(float(factor))
        return lambda K: np.full(len(K), abs(np.log(factor / self.true)))


@pytest.mark.parametrize("place", [1, len(COARSE) // 2, len(COARSE) - 2])
@pytest.mark.parametrize("step", [1.0, np.sqrt(2.0), 1.0 / np.sqrt(2.0)])
def test_finer_widths_are_tried_on_both_sides(place, step):
    found = search()
    found.folds = found.folds[:1]
    scripted = Scripted(found, COARSE[place] * step)
    best = found.best(scripted.fit, lambda y, error: error)
    assert_allclose(best, COARSE[place] * step, rtol=1e-6)
    around = [COARSE[place] / np.sqrt(2.0), COARSE[place] * np.sqrt(2.0)]
    neighbours = [list(found.errors)[-2], list(found.errors)[-1]]
    if step == 1.0:
        assert_allclose(neighbours, around, rtol=1e-9)
    assert len(found.errors) == len(COARSE) + 2


def test_of_equal_errors_the_widest_wins():
    found = search()
    assert found.best(lambda dictionary, y: lambda K: K[:, 0], lambda y, _: np.ones(len(y))) == max(
        found.errors
    )


def test_features_have_their_own_units():
    found = search()
    scales = np.asarray(found.kernel(1.0).length_scale)
    assert 25.0 < scales[1] / scales[0] < 100.0
