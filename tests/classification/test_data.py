"""Rows with labels."""

import numpy as np
from numpy.testing import assert_array_equal

from greedygp.classification.data import LabelledRows


def test_rows_without_weights_count_once():
    rows = LabelledRows(np.zeros((3, 2)), np.array([1.0, -1.0, 1.0]))
    assert_array_equal(rows.mass, np.ones(3))
    assert (len(rows), rows.total) == (3, 3.0)
    assert rows.take(np.array([1])).weights is None


def test_some_of_the_rows():
    X, weights = np.arange(6.0).reshape(3, 2), np.array([0.5, 2.0, 1.5])
    rows = LabelledRows(X, np.array([1.0, -1.0, 1.0]), weights)
    assert rows.total == 4.0
    some = rows.take(np.array([2, 1]))
    assert_array_equal(some.X, X[[2, 1]])
    assert_array_equal(some.y, [1.0, -1.0])
    assert_array_equal(some.mass, [1.5, 2.0])
