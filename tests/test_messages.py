"""Values in messages look as a user would write them."""

import numpy as np
import pytest

from greedygp import FastRVMClassifier, SparseGPClassifier, SparseGPRegressor
from greedygp.kernels import Gaussian
from greedygp.messages import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(7.0), "7.0"),
        (np.int64(3), "3"),
        (np.True_, "True"),
        (np.str_("a"), "'a'"),
        ([np.float32(0.5), "b"], "[0.5, 'b']"),
        (None, "None"),
    ],
)
def test_shown(value, text):
    assert shown(value) == text


X = np.arange(12.0)[:, None]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Gaussian(length_scale=np.float64(-1.0)), r"got -1\.0$"),
        (lambda: SparseGPRegressor(tol=np.float64(-7.0)).fit(X, X[:, 0]), r"got -7\.0\."),
        (lambda: SparseGPRegressor(max_basis=np.int64(0)).fit(X, X[:, 0]), r"got 0\."),
        (lambda: FastRVMClassifier().fit(X, np.full(12, 7.0)), r"only one class, 7\.0;"),
        (lambda: SparseGPClassifier().fit(X, np.full(12, "a")), "only one class, 'a';"),
        (
            lambda: SparseGPClassifier(class_weight={np.float64(3.0): 1.0}).fit(X, X[:, 0] > 5),
            r"the class 3\.0, which",
        ),
    ],
)
def test_messages_name_no_numpy_types(attempt, message):
    with pytest.raises(ValueError, match=message) as error:
        attempt()
    assert "np." not in str(error.value)
