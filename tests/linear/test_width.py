"""The search for one width: which widths are tried, and which wins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.linear.width import COARSE, WidthSearch
from greedygp.progress import Deadline


def search(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 50.0]
    return WidthSearch(X, X[:, 0], None, 3, True, rng)


class Scripted:
    """In place of an algorithm: the error of a width is its distance from the true one."""

    def __init__(self, search, true):
        self.search, self.true, self.tried = search, true, []

    def fit(self, dictionary, y, deadline):
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
    assert set(COARSE[:-1]) < set(found.errors)


def test_of_equal_errors_the_widest_wins():
    found = search()
    best = found.best(lambda *_: lambda K: K[:, 0], lambda y, _: np.ones(len(y)))
    assert best == max(found.errors)


def test_features_have_their_own_units():
    found = search()
    scales = np.asarray(found.kernel(1.0).length_scale)
    assert 25.0 < scales[1] / scales[0] < 100.0


def errors_of(widths):
    """Return fit and loss of a search in which a width has the given error on every row."""
    found = search()
    known = {round(np.exp(-0.5 / width**2), 12): error for width, error in widths.items()}
    found.squares[...] = found.unit**2  # every distance is one unit, and tells the width
    asked = []

    def fit(dictionary, y, deadline):
        value = round(float(dictionary.held[0, 1]), 12)
        asked.append(value)
        return lambda K: np.full(len(K), known.get(value, 99.0))

    return found, fit, lambda y, error: error, asked


@pytest.mark.parametrize(
    ("errors", "tried"),
    [
        ((9.0, 9.0, 4.0, 5.0, 1.0), 4),  # half is explained, and narrower is worse
        ((9.0, 9.0, 6.0, 7.0, 1.0), 5),  # too little is explained
        ((9.0, 9.0, 4.0, 3.0, 1.0), 5),  # narrower is better
        ((1.0, 2.0, 3.0, 2.5, 9.0), 5),  # narrower is better than the one before
    ],
)
def test_the_narrowest_width_is_not_always_tried(errors, tried):
    found, fit, loss, _ = errors_of(dict(zip(COARSE, errors)))
    found.best(fit, loss)
    assert list(found.errors)[:tried] == list(COARSE[:tried])
    assert (COARSE[-1] in found.errors) == (tried == 5)


def test_a_width_is_given_up_when_it_cannot_win_any_more():
    """And the winner is the one of a search that tries all folds."""
    found, fit, loss, asked = errors_of(dict(zip(COARSE, (8.0, 7.0, 1.0, 9.0, 9.0))))
    assert found.best(fit, loss) == 1.0
    folds = len(found.folds)
    assert folds == 3
    # 4, 2 and 1 in all folds; 0.5 and both neighbours only in the first
    assert len(asked) == 3 * folds + 3
    assert_allclose(found.errors[1.0], 1.0 * len(found.y))


def test_a_deadline_ends_the_search():
    found, fit, loss, asked = errors_of(dict(zip(COARSE, (3.0, 2.0, 1.0, 9.0, 9.0))))
    assert found.best(fit, loss, Deadline(0.0)) == COARSE[0]
    assert len(asked) == len(found.folds)
    assert list(found.errors) == [COARSE[0]]
