"""Weights of any size: fits go through, or a sentence says what to do."""

import numpy as np
import pytest
from sklearn.base import clone

import greedygp
from greedygp.exceptions import ModelAdvice
from greedygp.kernels import Gaussian

KERNEL = Gaussian(length_scale=1.0)
MODELS = [
    greedygp.GPRegressor(random_state=0),
    greedygp.GPRegressor(solver="cg", kernel=KERNEL, noise_variance=1e-3, objective=None),
    greedygp.SparseGPRegressor(random_state=0, max_iter=3),
    greedygp.SparseGPRegressor(criterion="info_gain", random_state=0, max_iter=3),
    greedygp.FastGCVRegressor(kernel=KERNEL),
    greedygp.FastRVMRegressor(kernel=KERNEL),
    greedygp.OLSRegressor(kernel=KERNEL),
    greedygp.RFSRegressor(kernel=KERNEL),
    greedygp.LocalRidgeRegressor(kernel=KERNEL),
    greedygp.SparseGPClassifier(random_state=0, max_iter=3),
    greedygp.FastRVMClassifier(kernel=KERNEL),
]
WEIGHTS = {
    "over eighteen powers of ten": 10 ** np.random.default_rng(0).uniform(-9, 9, 60),
    "tiny and huge": np.where(np.arange(60) % 2, 1e-9, 1e9),
    "one huge": np.r_[1e9, np.ones(59)],
    "one tiny": np.r_[1e-9, np.ones(59)],
    "nearly zero": np.r_[np.full(20, 1e-300), np.ones(40)],
    "all huge": np.full(60, 1e9),
    "all tiny": np.full(60, 1e-9),
}
each_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'criterion', '')}"
)


def data(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if hasattr(model, "predict_proba"):
        return X, (f > 0).astype(int)
    return X, f + 0.05 * rng.normal(size=60)


@each_model
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.filterwarnings("ignore")
def test_weights_of_any_size(model, kind):
    X, y = data(model)
    predicted = clone(model).fit(X, y, sample_weight=WEIGHTS[kind]).predict(X)
    assert np.all(np.isfinite(predicted))


@each_model
def test_weights_that_are_too_large_or_too_small(model):
    X, y = data(model)
    with pytest.raises(ValueError, match=r"has 1e\+13 in row 3; .* divide all weights"):
        clone(model).fit(X, y, sample_weight=np.r_[1, 1, 1, 1e13, np.ones(56)])
    with pytest.raises(ValueError, match=r"add up to 6e-299; .* multiply all weights"):
        clone(model).fit(X, y, sample_weight=np.full(60, 1e-300))


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4], MODELS[9]], ids=str)
def test_advice_for_weights_that_add_up_to_one(model):
    X, y = data(model)
    with pytest.warns(ModelAdvice, match="weights of 60 rows add up to 1; .* by their mean"):
        clone(model).fit(X, y, sample_weight=np.full(60, 1 / 60))
