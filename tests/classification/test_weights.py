"""Which rows have a part in a fit, and how much each counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.classification.weights import used_rows

CLASSES = np.array(["no", "yes"])
Y = np.array([0, 0, 0, 1])


def test_all_rows_count_once():
    for weights in (None, np.ones(4)):
        used, found = used_rows(None, CLASSES, Y, weights)
        assert found is None
        assert np.all(used)


def test_rows_of_weight_zero_have_no_part():
    used, weights = used_rows(None, CLASSES, Y, np.array([0.0, 2.0, 1.0, 3.0]))
    assert_array_equal(used, [False, True, True, True])
    assert_array_equal(weights, [2.0, 1.0, 3.0])
    assert used_rows(None, CLASSES, Y, np.array([0.0, 1.0, 1.0, 1.0]))[1] is None


def test_classes_of_equal_weight():
    """Balanced: every class counts as much as if the rows were shared out evenly."""
    assert_allclose(used_rows("balanced", CLASSES, Y, None)[1], [4 / 6, 4 / 6, 4 / 6, 2.0])
    used, weights = used_rows("balanced", CLASSES, Y, np.array([0.0, 2.0, 1.0, 3.0]))
    assert_array_equal(used, [False, True, True, True])
    assert_allclose(weights, [2.0, 1.0, 3.0])  # three of each class already


def test_given_weights_multiply():
    assert_allclose(used_rows({"yes": 5.0}, CLASSES, Y, None)[1], [1.0, 1.0, 1.0, 5.0])
    _, weights = used_rows({"no": 0.5}, CLASSES, Y, np.array([1.0, 2.0, 3.0, 4.0]))
    assert_allclose(weights, [0.5, 1.0, 1.5, 4.0])


@pytest.mark.parametrize(
    ("class_weight", "weights", "message"),
    [
        ({"no": 0.0}, None, "No row of class 'no' has a positive weight"),
        (None, np.array([1.0, 1.0, 1.0, 0.0]), "No row of class 'yes' has a positive weight"),
        ("balanced", np.array([1.0, 1.0, 1.0, 0.0]), "No row of class 'yes'"),
        ({"maybe": 1.0}, None, "class_weight has the class 'maybe', which is not in y"),
        ({"no": np.inf}, None, "class_weight must hold finite numbers from 0 on"),
    ],
)
def test_weights_that_cannot_be(class_weight, weights, message):
    with pytest.raises(ValueError, match=message):
        used_rows(class_weight, CLASSES, Y, weights)
