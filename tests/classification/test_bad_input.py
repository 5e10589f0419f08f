"""Bad input: an error that names what was given, or a sensible model, never NaN."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from classification.models import data, fixed
from greedygp import SparseGPClassifier
from greedygp.kernels import Gaussian


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("kernel", "rbf", TypeError),
        ("bias", np.nan, ValueError),
        ("criterion", "loo_cve", ValueError),
        ("working_set", 0, ValueError),
        ("sites", "laplace", ValueError),
        ("max_basis", 0, ValueError),
        ("max_basis", 2.5, TypeError),
        ("patience", 0, ValueError),
        ("tol", -1.0, ValueError),
        ("objective", "vfe", ValueError),
        ("rounds", -1, ValueError),
        ("max_iter", 1.5, TypeError),
        ("ep_passes", -1, ValueError),
        ("refine", "yes", TypeError),
        ("class_weight", "even", ValueError),
        ("time_limit", 0, ValueError),
        ("random_state", "seed", ValueError),
    ],
)
def test_parameters_that_cannot_be(parameter, value, error):
    X, y = data(20)
    with pytest.raises(error, match=parameter):
        SparseGPClassifier(**{parameter: value}).fit(X, y)


def test_data_that_cannot_be():
    X, y = data(20)
    with pytest.raises(ValueError, match="one class"):
        fixed().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="class 1 has a positive weight"):
        fixed().fit(X, y, sample_weight=(y == 0).astype(float))
    with pytest.raises(ValueError, match="class_weight has the class 7"):
        fixed(class_weight={7: 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="finite numbers"):
        fixed(class_weight={0: -1.0}).fit(X, y)
    with pytest.raises(ValueError, match="3 values"):
        fixed(kernel=Gaussian(length_scale=[1.0, 1.0, 1.0])).fit(X, y)
    with pytest.raises(NotFittedError):
        fixed().predict(X)


@pytest.mark.parametrize("make", [fixed, lambda: SparseGPClassifier(random_state=0)])
def test_degenerate_data(make):
    """Two rows, constant features, duplicate rows with both labels: finite probabilities."""
    cases = [
        (np.array([[0.0], [1.0]]), np.array([0, 1])),
        (np.zeros((6, 2)), np.array([0, 1, 0, 1, 0, 1])),
        (np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 4, axis=0), np.arange(20) % 2),
        (1e8 + np.arange(10.0)[:, None], (np.arange(10) > 4).astype(int)),
    ]
    for X, y in cases:
        proba = make().fit(X, y).predict_proba(X)
        assert np.all(np.isfinite(proba))
        assert_allclose(proba.sum(axis=1), 1.0)
