"""Estimators whose noise depends on the input: all that they predict tells one story."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone

import greedygp
from greedygp import GPRegressor, SparseGPRegressor
from greedygp.kernels import Gaussian

BOTH = (SparseGPRegressor, GPRegressor)
each_estimator = pytest.mark.parametrize("Estimator", BOTH)


def noise_std(X):
    return 0.05 + 0.5 * np.exp(-2.0 * (X[:, 0] - 1.0) ** 2)


def data(n=300, seed=0, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    shape = (n,) if targets is None else (n, targets)
    noise = noise_std(X).reshape(-1, *[1] * (len(shape) - 1)) * rng.normal(size=shape)
    return X, 7.0 + 10.0 * (np.sin(2 * X[:, :1] + np.zeros(shape[1:] or 1)).reshape(shape) + noise)


@pytest.fixture(scope="module", params=BOTH)
def fitted(request):
    X, y = data()
    return request.param(random_state=0).fit(X, y), X, y


# --------------------------------------------------------------------------- what is predicted


def test_bars_widen_and_narrow(fitted):
    model, *_ = fitted
    assert model.noise_model_ == "input"
    X, y = data(2000, seed=1)
    got = np.sqrt(model.noise_variance_at(X))
    assert np.mean(np.abs(np.log(got / (10 * noise_std(X))))) < 0.8
    constant = clone(model).set_params(noise_model="constant").fit(*fitted[1:])
    assert constant.noise_model_ == "constant"
    densities = [np.mean(norm.logpdf(y, *m.predict(X, return_std=True))) for m in (model, constant)]
    assert densities[0] > densities[1] + 0.2
    truth = 7.0 + 10.0 * np.sin(2 * X[:, 0])
    errors = [np.mean((m.predict(X) - truth) ** 2) for m in (model, constant)]
    assert errors[0] < 1.1 * errors[1]  # rows that count by their noise do not spoil the mean


def test_latent_variance_and_noise_add_up(fitted):
    model, *_ = fitted
    X, _ = data(40, seed=2)
    mean, std = model.predict(X, return_std=True)
    _, latent = model.predict(X, return_std=True, noise=False)
    noise = model.noise_variance_at(X)
    assert np.all(noise > 0)
    assert_allclose(std**2, latent**2 + noise, rtol=1e-8)
    _, covariance = model.predict(X, return_cov=True)
    _, without = model.predict(X, return_cov=True, noise=False)
    assert_allclose(covariance - without, np.diag(noise), rtol=1e-6, atol=1e-8)
    lower, upper = model.predict_interval(X, 0.9)
    assert_allclose(upper - lower, 2 * norm.ppf(0.95) * std, rtol=1e-8)
    assert_allclose(0.5 * (upper + lower), mean, rtol=1e-8)


def test_samples_have_the_noise(fitted):
    model, *_ = fitted
    X = np.array([[-2.0, 0.0], [1.0, 0.0], [2.5, 1.0]])
    _, std = model.predict(X, return_std=True)
    drawn = model.sample_y(X, 4000, random_state=0)
    assert_allclose(np.std(drawn, axis=1), std, rtol=0.06)


def test_pathwise_samples_have_the_noise():
    X, y = data(150)
    model = GPRegressor(noise_model="input", random_state=0).fit(X, y)
    at = np.array([[-2.0, 0.0], [1.0, 0.0]])
    _, std = model.predict(at, return_std=True)
    drawn = model.sample_y(at, 3000, random_state=0, pathwise=True)
    assert_allclose(np.std(drawn, axis=1), std, rtol=0.1)


@each_estimator
def test_leave_one_out_is_a_fit_without_the_row(Estimator):
    """With kernel, basis and noise function held; the noise at the mean without the row."""
    X, y = data(60)
    options = {"kernel": Gaussian(1.0, [1.0, 3.0]), "objective": None, "normalize_y": False}
    if Estimator is SparseGPRegressor:
        options |= {"approximation": "dtc", "refine_basis": False, "max_basis": 15}
    y = (y - 7.0) / 10.0
    model = Estimator(noise_variance=0.05, noise_model="input", random_state=0, **options)
    mean, std = model.fit(X, y).loo_predict()
    more = {"candidates": model.basis_} if Estimator is SparseGPRegressor else {}
    for i in (0, 17, 59):
        rest = np.arange(60) != i
        other = Estimator(noise_variance=0.05, random_state=0, **options)
        other.fit(X[rest], y[rest], **more)
        left, latent = other.predict(X[i : i + 1], return_std=True, noise=False)
        noise = model._noise(X[i : i + 1], left[:, None])
        assert_allclose(mean[i], left[0], rtol=1e-6)
        assert_allclose(std[i] ** 2, latent[0] ** 2 + noise[0], rtol=1e-6)


def test_left_out_errors_have_the_size_of_their_bars(fitted):
    model, X, y = fitted
    mean, std = model.loo_predict()
    assert 0.7 < np.mean(((y - mean) / std) ** 2) < 1.4
    noisy = noise_std(X) > 0.3
    for part in (noisy, ~noisy):
        assert 0.5 < np.mean(((y - mean) / std)[part] ** 2) < 1.8


# ------------------------------------------------------------------------------- who asks for it


@each_estimator
def test_a_given_noise_stays_constant(Estimator):
    X, y = data(150)
    model = Estimator(noise_variance=0.1, max_iter=5, random_state=0).fit(X, y)
    assert model.noise_model_ == "constant"
    width = model._scale.width[0]
    assert_allclose(model.noise_variance_at(X[:3]), 0.1 * width**2)


@each_estimator
@pytest.mark.parametrize(
    "target",
    [np.ones, lambda n: np.random.default_rng(0).normal(size=n), lambda n: np.linspace(0, 1, n)],
    ids=["constant", "noise", "noise-free"],
)
def test_targets_without_a_story(Estimator, target):
    X, _ = data(150)
    y = target(150) if target is not None else None
    y = y[np.argsort(np.argsort(X[:, 0]))] if y[0] != y[-1] and y[0] == 0 else y
    model = Estimator(random_state=0).fit(X, y)
    _, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(std))
    assert np.all(std > 0)
    if np.std(y) > 0.9:
        assert_allclose(std, 1.0, rtol=0.25)
    forced = clone(model).set_params(noise_model="input").fit(X, y)
    assert np.all(np.isfinite(forced.predict(X, return_std=True)[1]))


@each_estimator
def test_bad_names(Estimator):
    X, y = data(20)
    with pytest.raises(ValueError, match="noise_model must be one of 'auto', 'constant', 'input'"):
        Estimator(noise_model="varying").fit(X, y)


@each_estimator
def test_a_second_fit_forgets_the_function(Estimator):
    X, y = data(200)
    model = Estimator(random_state=0).fit(X, y)
    assert model.noise_model_ == "input"
    model.fit(X[:30], y[:30])
    assert model.noise_model_ == "constant"
    assert len(np.unique(model.noise_variance_at(X))) == 1


# ------------------------------------------------------------------------------ data of all kinds


@each_estimator
def test_several_targets_and_rows_of_no_weight(Estimator):
    X, Y = data(260, targets=2)
    weights = np.where(np.arange(260) % 10 == 3, 0.0, 1.0)
    model = Estimator(random_state=0).fit(X, Y, sample_weight=weights)
    assert model.noise_model_ == "input"
    assert model.noise_variance_at(X[:5]).shape == (5, 2)
    _, std = model.loo_predict()
    _, ordinary = model.predict(X, return_std=True)
    assert std.shape == (260, 2)
    assert_allclose(std[weights == 0], ordinary[weights == 0], rtol=1e-6)


@each_estimator
def test_single_precision(Estimator):
    X, y = data(200)
    model = Estimator(random_state=0).fit(X.astype(np.float32), y.astype(np.float32))
    assert model.noise_model_ == "input"
    assert model.predict(X.astype(np.float32), return_std=True)[1].dtype == np.float32
    assert model.noise_variance_at(X.astype(np.float32)).dtype == np.float32


@each_estimator
def test_saved_models(Estimator, tmp_path):
    X, y = data(200)
    model = Estimator(random_state=0).fit(X, y)
    greedygp.save(model, tmp_path / "model.greedygp")
    again = greedygp.load(tmp_path / "model.greedygp")
    for old, new in zip(model.predict(X, return_std=True), again.predict(X, return_std=True)):
        assert_array_equal(old, new)
    assert_array_equal(model.noise_variance_at(X), again.noise_variance_at(X))
    assert "by the input" in str(again.summary())


@pytest.mark.torch
@each_estimator
def test_torch(Estimator):
    torch = pytest.importorskip("torch")
    X, y = data(200)
    model = Estimator(random_state=0).fit(X, y)
    other = Estimator(random_state=0).fit(torch.asarray(X), torch.asarray(y))
    assert other.noise_model_ == "input"
    got = other.noise_variance_at(torch.asarray(X[:20]))
    assert isinstance(got, torch.Tensor)
    assert_allclose(got.numpy(), model.noise_variance_at(X[:20]), rtol=1e-3)


def test_many_rows_of_a_full_gp_learn_from_some_of_them(monkeypatch):
    monkeypatch.setattr("greedygp.dense.fitting.TRUSTED_ROWS", 100)
    X, y = data(400)
    model = GPRegressor(hyperparameter_rows=150, random_state=0).fit(X, y)
    assert model.noise_model_ == "input"
    constant = GPRegressor(hyperparameter_rows=150, noise_model="constant", random_state=0)
    assert_array_equal(model.predict(X), constant.fit(X, y).predict(X))


def test_auto_selects_by_the_quick_formulas():
    """Given hyperparameters: FITC's own criteria only where they are asked for by name."""
    X, y = data(120)
    given = {"kernel": Gaussian(1.0, [1.0, 3.0]), "noise_variance": 0.1, "objective": None}
    options = given | {"criterion": "nlgpp", "max_basis": 8, "refine_basis": False}
    auto, dtc, fitc = (
        SparseGPRegressor(approximation=name, random_state=0, **options).fit(X, y)
        for name in ("auto", "dtc", "fitc")
    )
    assert (auto.approximation_, fitc.approximation_) == ("fitc", "fitc")
    assert_array_equal(auto.path_["value"], dtc.path_["value"])
    assert_array_equal(auto.basis_indices_, dtc.basis_indices_)
    assert not np.array_equal(auto.path_["value"], fitc.path_["value"])
