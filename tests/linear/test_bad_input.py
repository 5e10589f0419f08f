"""Bad input to the linear classifiers: an error that names what was given, or a sensible model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from greedygp import FastGCVClassifier, FastRVMClassifier
from greedygp.kernels import Gaussian

KINDS = (FastGCVClassifier, FastRVMClassifier)
ROWS = 20


def data():
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    return X, (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


def fixed(kind, **parameters):
    return kind(**{"kernel": Gaussian(length_scale=1.0), **parameters})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), "X contains NaN"),
        (lambda X, y: (np.where(X[3, 1] == X, np.inf, X), y), "X contains infinity"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X, y[:-1]), r"\[20, 19\]"),
        (lambda X, y: (X, X[:, 0]), "continuous"),
        (lambda X, y: (X, np.where(y > 0, np.nan, 0.0)), "y contains NaN"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (X, np.ones(ROWS)), "one class"),
        (lambda X, y: (X, y, -np.ones(ROWS)), "must not be negative"),
        (lambda X, y: (X, y, np.ones(ROWS - 1)), r"expected \(20,\)"),
        (lambda X, y: (X, y, np.zeros(ROWS)), "zero for every row"),
        (lambda X, y: (X, y, np.full(ROWS, np.nan)), "sample_weight contains NaN"),
        (lambda X, y: (X, y, (y == 0).astype(float)), "class"),
    ],
)
def test_data_that_cannot_be(kind, change, message):
    with pytest.raises(ValueError, match=message):
        fixed(kind).fit(*change(*data()))


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_that_cannot_be(kind):
    with pytest.raises(NotFittedError):
        fixed(kind).predict(np.ones((1, 2)))
    model = fixed(kind).fit(*data())
    with pytest.raises(ValueError, match="3 features"):
        model.predict_proba(np.ones((1, 3)))
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="3 values"):
        fixed(kind, kernel=Gaussian(length_scale=[1.0, 1.0, 1.0])).fit(*data())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [Gaussian(length_scale=1.0), None], ids=["fixed", "found"])
def test_degenerate_data(kind, kernel):
    """Two rows, constant features, duplicate rows with both labels: finite probabilities."""
    rng = np.random.default_rng(0)
    for X, y in (
        (np.array([[0.0], [1.0]]), np.array([0, 1])),
        (np.zeros((6, 2)), np.array([0, 1, 0, 1, 0, 1])),
        (np.repeat(rng.normal(size=(5, 2)), 4, axis=0), np.arange(20) % 2),
        (1e8 + np.arange(10.0)[:, None], (np.arange(10) > 4).astype(int)),
    ):
        chances = kind(kernel=kernel, random_state=0).fit(X, y).predict_proba(X)
        assert np.all(np.isfinite(chances))
        assert_allclose(chances.sum(axis=1), 1.0)
