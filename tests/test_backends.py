"""The same models on NumPy, torch and array-api-strict."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.speed_gpu import GIVEN, problem
from greedygp import SparseGPRegressor
from greedygp.arrays import Backend
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from names import APPROXIMATIONS, CRITERIA


def data(n=60, D=3, columns=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    directions = rng.normal(size=D if columns is None else (D, columns))
    y = np.sin(2 * X @ directions)
    return X, y + 0.1 * rng.normal(size=y.shape)


def fixed(**parameters):
    defaults = {
        "kernel": Gaussian(variance=1.2, length_scale=[0.8, 1.0, 1.3]),
        "noise_variance": 0.01,
        "objective": None,
        "patience": None,
        "max_basis": 10,
        "random_state": 0,
    }
    return SparseGPRegressor(**(defaults | parameters))


def to_numpy(array):
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError):
        return np.from_dlpack(array)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch")
        return self.torch

    def assert_same(self, parameters, X, y, **fit_parameters):
        torch = self.torch
        on_numpy = fixed(**parameters).fit(X, y, **fit_parameters)
        tensors = {name: torch.asarray(value) for name, value in fit_parameters.items()}
        on_torch = fixed(**parameters).fit(torch.asarray(X), torch.asarray(y), **tensors)
        assert_array_equal(to_numpy(on_torch.basis_indices_), on_numpy.basis_indices_)
        assert_allclose(
            to_numpy(on_torch.path_["value"]), on_numpy.path_["value"], rtol=1e-8, atol=1e-10
        )
        X_new = data(n=25, seed=1)[0]
        outputs = (
            on_torch.predict(torch.asarray(X_new)),
            *on_torch.predict(torch.asarray(X_new), return_std=True),
            *on_torch.predict(torch.asarray(X_new), return_cov=True, noise=False),
            *on_torch.predict_interval(torch.asarray(X_new), coverage=0.8),
            *on_torch.loo_predict(),
        )
        expected = (
            on_numpy.predict(X_new),
            *on_numpy.predict(X_new, return_std=True),
            *on_numpy.predict(X_new, return_cov=True, noise=False),
            *on_numpy.predict_interval(X_new, coverage=0.8),
            *on_numpy.loo_predict(),
        )
        for tensor, array in zip(outputs, expected, strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert tensor.dtype == torch.float64
            assert tensor.device == torch.asarray(X).device
            assert_allclose(to_numpy(tensor), array, rtol=1e-8, atol=1e-8)
        assert isinstance(on_torch.basis_, torch.Tensor)
        return on_torch

    @pytest.mark.parametrize("approximation", APPROXIMATIONS)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_same_model(self, criterion, approximation):
        self.assert_same({"criterion": criterion, "approximation": approximation}, *data())

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_small_working_set_and_cache(self, criterion):
        parameters = {"criterion": criterion, "working_set": 7, "cache_size": 9}
        self.assert_same(parameters, *data(n=120))

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_weights_several_targets_and_normalisation(self, criterion):
        weights = np.random.default_rng(3).uniform(0, 2, size=60)
        weights[:5] = 0
        parameters = {"criterion": criterion, "normalize_y": True}
        self.assert_same(parameters, *data(columns=2), sample_weight=weights)

    @pytest.mark.parametrize("criterion", ["nlml", "matching_pursuit", "random"])
    def test_candidates(self, criterion):
        self.assert_same({"criterion": criterion}, *data(), candidates=data(n=30, seed=5)[0])

    @pytest.mark.parametrize(
        "kernel",
        [
            Gaussian(),
            Matern(nu=0.5),
            Matern(nu=1.5),
            Matern(nu=2.5),
            Constant(variance=0.5) + Linear(variance=0.3) + Gaussian(length_scale=2.0),
        ],
    )
    def test_kernels(self, kernel):
        self.assert_same({"criterion": "nlgpp", "kernel": kernel}, *data())

    @pytest.mark.parametrize("criterion", ["nlgpp", "matching_pursuit"])
    def test_with_products_in_place_of_solves_as_on_a_gpu(self, criterion, monkeypatch):
        """A basis of more than one block."""
        prefers = property(lambda backend: not backend.is_numpy)
        monkeypatch.setattr(Backend, "is_accelerator", prefers)
        X, y = data(n=300)
        self.assert_same({"criterion": criterion, "max_basis": 80}, X, y)

    @pytest.mark.parametrize("criterion", ["nlml", "loo_cve"])
    def test_rounding_does_not_choose(self, criterion):
        """Little is left of most candidates beside the basis."""
        X, y, *_ = problem(3000)
        given = {**GIVEN, "criterion": criterion, "max_basis": 60, "random_state": 0}
        on_numpy = SparseGPRegressor(**given).fit(X, y)
        on_torch = SparseGPRegressor(**given).fit(*map(self.torch.asarray, (X, y)))
        assert_array_equal(on_torch.basis_indices_, on_numpy.basis_indices_)

    def test_float32(self):
        torch = self.torch
        X, y = data()
        X32, y32 = torch.asarray(X, dtype=torch.float32), torch.asarray(y, dtype=torch.float32)
        model = fixed(criterion="random").fit(X32, y32)
        mean, std = model.predict(X32, return_std=True)
        assert mean.dtype == std.dtype == torch.float32
        expected = fixed(criterion="random").fit(X, y).predict(X)
        assert_allclose(to_numpy(mean), expected, rtol=1e-3, atol=1e-3)

    def test_samples(self):
        torch = self.torch
        X, y = data()
        model = fixed().fit(torch.asarray(X), torch.asarray(y))
        samples = model.sample_y(torch.asarray(X[:4]), n_samples=3, random_state=0)
        assert isinstance(samples, torch.Tensor)
        assert tuple(samples.shape) == (4, 3)
        expected = fixed().fit(X, y).sample_y(X[:4], n_samples=3, random_state=0)
        assert_allclose(to_numpy(samples), expected, rtol=1e-5, atol=1e-5)

    def test_learnt_hyperparameters(self):
        torch = self.torch
        X, y = data()
        options = {"objective": "nlml", "criterion": "nlml", "random_state": 0, "max_basis": 10}
        on_torch = SparseGPRegressor(**options).fit(torch.asarray(X), torch.asarray(y))
        mean = on_torch.predict(torch.asarray(X))
        assert isinstance(mean, torch.Tensor)
        expected = SparseGPRegressor(**options).fit(X, y).predict(X)
        assert_allclose(to_numpy(mean), expected, rtol=1e-3, atol=1e-3)

    def test_inputs_are_not_changed(self):
        X, y = (self.torch.asarray(a) for a in data())
        X_before, y_before = X.clone(), y.clone()
        fixed().fit(X, y).predict(X)
        assert self.torch.equal(X, X_before)
        assert self.torch.equal(y, y_before)

    def test_gradients_are_not_recorded(self):
        """A tensor that records gradients is fitted like any other."""
        X, y = (self.torch.asarray(a) for a in data())
        expected = fixed().fit(X, y).predict(X)
        X.requires_grad_(True)
        mean = fixed().fit(X, y).predict(X)
        assert_allclose(to_numpy(mean.detach()), to_numpy(expected), rtol=1e-10)

    @pytest.mark.parametrize(("value", "word"), [(float("nan"), "NaN"), (float("inf"), "infinity")])
    def test_not_finite(self, value, word):
        X, y = (self.torch.asarray(a) for a in data())
        bad_X, bad_y = X.clone(), y.clone()
        bad_X[2, 1] = value
        bad_y[2] = value
        with pytest.raises(ValueError, match=f"(?i){word}"):
            fixed().fit(bad_X, y)
        with pytest.raises(ValueError, match=f"(?i){word}"):
            fixed().fit(X, bad_y)
        model = fixed().fit(X, y)
        with pytest.raises(ValueError, match=f"(?i){word}"):
            model.predict(bad_X)
        weights = self.torch.ones(60, dtype=self.torch.float64)
        weights[0] = value
        with pytest.raises(ValueError, match=f"(?i){word}"):
            fixed().fit(X, y, sample_weight=weights)

    def test_wrong_shapes(self):
        torch = self.torch
        X, y = (torch.asarray(a) for a in data())
        model = fixed().fit(X, y)
        with pytest.raises(ValueError, match=r"2 features.*3 features|3 features.*2 features"):
            model.predict(X[:, :2])
        with pytest.raises(ValueError, match=r"2D|2-D|dim"):
            fixed().fit(X[:, 0], y)
        with pytest.raises(ValueError, match=r"60.*59|59.*60"):
            fixed().fit(X, y[:-1])
        with pytest.raises(ValueError, match=r"0 sample|empty|no rows|one row"):
            fixed().fit(X[:0], y[:0])
        with pytest.raises(ValueError, match=r"(?i)negative"):
            fixed().fit(X, y, sample_weight=-torch.ones(60, dtype=torch.float64))

    def test_complex_tensors(self):
        X, y = (self.torch.asarray(a) for a in data())
        with pytest.raises((ValueError, TypeError), match=r"(?i)complex"):
            fixed().fit(X + 1j, y)

    def test_integer_tensors(self):
        torch = self.torch
        X = torch.arange(40).reshape(20, 2) % 7
        y = X[:, 0] - X[:, 1]
        model = fixed(kernel=Gaussian(length_scale=2.0)).fit(X, y)
        mean = model.predict(X)
        assert mean.is_floating_point()
        assert bool(torch.all(torch.isfinite(mean)))


class TestStrict:
    """array-api-strict refuses whatever the standard does not promise."""

    @pytest.fixture(autouse=True)
    def strict(self):
        self.strict = pytest.importorskip("array_api_strict")
        return self.strict

    def assert_same(self, parameters, X, y, **fit_parameters):
        strict = self.strict
        on_numpy = fixed(**parameters).fit(X, y, **fit_parameters)
        given = {name: strict.asarray(value) for name, value in fit_parameters.items()}
        on_strict = fixed(**parameters).fit(strict.asarray(X), strict.asarray(y), **given)
        assert_array_equal(to_numpy(on_strict.basis_indices_), on_numpy.basis_indices_)
        X_new = data(n=11, seed=1)[0]
        outputs = (
            *on_strict.predict(strict.asarray(X_new), return_std=True),
            *on_strict.loo_predict(),
        )
        expected = (*on_numpy.predict(X_new, return_std=True), *on_numpy.loo_predict())
        for got, array in zip(outputs, expected, strict=True):
            assert type(got) is type(strict.asarray(X))
            assert_allclose(to_numpy(got), array, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("approximation", APPROXIMATIONS)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_same_model(self, criterion, approximation):
        parameters = {"criterion": criterion, "approximation": approximation, "max_basis": 5}
        self.assert_same(parameters, *data(n=20))

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_working_set_cache_weights_and_several_targets(self, criterion):
        parameters = {"criterion": criterion, "working_set": 4, "cache_size": 4, "max_basis": 5}
        weights = np.random.default_rng(3).uniform(0.5, 2, size=20)
        self.assert_same(parameters, *data(n=20, columns=2), sample_weight=weights)

    @pytest.mark.parametrize("max_iter", [3, 40])
    def test_a_fit_that_learns(self, max_iter, monkeypatch):
        """With more iterations it begins among a part of the rows."""
        monkeypatch.setattr("greedygp.sparse.fewer_rows.FEWEST", 40)
        X, y = data(n=90)
        options = {"max_basis": 4, "max_iter": max_iter, "random_state": 0}
        on_numpy = SparseGPRegressor(**options).fit(X, y)
        strict = self.strict
        on_strict = SparseGPRegressor(**options).fit(strict.asarray(X), strict.asarray(y))
        assert_allclose(on_strict.objective_value_, on_numpy.objective_value_, rtol=1e-5)
        assert_allclose(
            to_numpy(on_strict.predict(strict.asarray(X))), on_numpy.predict(X), atol=1e-3
        )

    def test_not_finite(self):
        X, y = data(n=20)
        X[2, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            fixed().fit(self.strict.asarray(X), self.strict.asarray(y))
