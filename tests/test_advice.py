"""Advice: given where something was lost, and only there."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from greedygp import GPRegressor, SparseGPClassifier, SparseGPRegressor, advice
from greedygp.exceptions import ModelAdvice
from greedygp.kernels import Constant, Gaussian, Linear

UNEVEN = {"kernel": Gaussian(), "objective": None}


def problem(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        SparseGPRegressor(**UNEVEN, noise_variance=0.1, max_basis=5),
        GPRegressor(**UNEVEN, noise_variance=0.1),
        GPRegressor(kernel=RBF(1.0), noise_variance=0.1, objective=None),
        SparseGPClassifier(**UNEVEN, max_basis=5),
    ],
    ids=lambda model: f"{type(model).__name__}-{type(model.kernel).__name__}",
)
def test_features_of_other_scales_under_one_length_scale(model):
    X, y = problem()
    y = (y > 0).astype(int) if isinstance(model, SparseGPClassifier) else y
    with pytest.warns(ModelAdvice, match=r"one length scale .*StandardScaler") as caught:
        model.fit(X * [1.0, 5000.0], y)
    assert caught[0].filename == __file__  # it points at the user's line
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelAdvice)
        model.fit(X * [1.0, 500.0], y)


def test_scales_that_do_not_matter():
    X, _ = problem()
    wide = X * [1.0, 1e6]
    assert advice.uneven_scales(None, wide) is None
    assert advice.uneven_scales(Linear(), wide) is None
    assert advice.uneven_scales(Gaussian(length_scale=[1.0, 1e6]), wide) is None
    assert advice.uneven_scales(Gaussian(), wide[:, 1:]) is None
    assert advice.uneven_scales(Gaussian(), np.column_stack([X[:, 0], np.full(60, 1e9)])) is None
    assert advice.uneven_scales(Gaussian(), wide[:1]) is None
    assert "feature 1" in advice.uneven_scales(Constant() + Linear() * Gaussian(), wide)


def test_a_basis_that_ended_too_soon():
    X, y = problem(200)
    model = SparseGPRegressor(
        kernel=Gaussian(length_scale=0.3),
        noise_variance=0.01,
        objective=None,
        criterion="nlgpp",
        patience=5,
        max_basis=8,
        random_state=0,
    )
    with pytest.warns(ModelAdvice, match=r"limit of 8 vectors.*raise max_basis"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelAdvice)
        model.set_params(patience="auto").fit(X, y)  # not asked for
        model.set_params(patience=5, criterion="matching_pursuit").fit(X, y)  # has no minimum


def test_when_a_criterion_is_still_falling():
    falling = np.linspace(1.0, 0.0, 20)
    assert advice.improving_at_limit(falling, "max_basis", 5, 20) is None  # all candidates
    assert advice.improving_at_limit(falling, "time_limit", 5) is None
    assert advice.improving_at_limit(falling, "max_basis", None) is None
    assert advice.improving_at_limit(falling[:1], "max_basis", 5) is None
    settled = np.r_[falling, np.full(10, 0.001)]
    assert advice.improving_at_limit(settled, "max_basis", 5) is None
    assert "in the last 5 steps" in advice.improving_at_limit(falling, "max_basis", 5, 21)


def test_noise_at_its_bounds():
    assert advice.low_noise(1e-6, 1.0, 1.0) is None
    assert advice.low_noise(2e-6, 1.0, 100.0) is None
    assert "10.0 standard deviations" in advice.low_noise(1e-6, 1.0, 100.0)
    assert "ill-conditioned" in advice.low_noise(1e-6, 1.0, None)
    assert advice.low_noise(1e-6, 1.0, float("nan")) is None
    assert advice.high_noise(0.2, 1.0, 0.01, 5, 100) is None
    assert advice.high_noise(0.8, 1.0, 0.8, 5, 100) is None  # it was noise from the beginning
    assert advice.high_noise(0.3, 1.0, 0.01, 100, 100) is None
    assert "5 basis vectors" in advice.high_noise(0.3, 1.0, 0.01, 5, 100)


def test_a_basis_too_small_for_the_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 30, size=(400, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.01 * rng.normal(size=400)
    model = SparseGPRegressor(max_basis=3, approximation="dtc", objective="nlml", random_state=0)
    with pytest.warns(ModelAdvice, match="Raise max_basis"):
        model.fit(X, y)
