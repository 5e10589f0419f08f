"""Many rows: a sample selects and learns, all of them make the posterior; memory maps; memory."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import SparseGPRegressor
from greedygp.arrays import Backend
from greedygp.data import WholeData
from greedygp.exceptions import ModelAdvice
from greedygp.kernels import Gaussian
from greedygp.rows import ArrayRows, memory
from greedygp.sparse import given
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.state import SparseState

KERNEL = Gaussian(1.0, [0.4, 0.6])
FIXED = {"kernel": KERNEL, "noise_variance": 0.05, "objective": None, "noise_model": "constant"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(memory, "READ_ROWS", 256)
    monkeypatch.setattr(given, "FEWEST_ROWS", 50)


def rows(n=900, p=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    f = np.sin(4 * X[:, 0]) * X[:, 1]
    y = 5 + 3 * (f + 0.1 * rng.normal(size=n))
    return X, y if p is None else np.column_stack([y, y**2])


def mapped(folder, array, name):
    np.save(folder / f"{name}.npy", array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def estimator(**parameters):
    defaults = {"max_basis": 12, "max_iter": 4, "random_state": 0}
    return SparseGPRegressor(**(defaults | parameters))


def fitted(*data, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(**parameters).fit(*data)


def assert_same_predictions(model, other, X, tolerance=1e-8):
    for got, expected in zip(model.predict(X, return_std=True), other.predict(X, return_std=True)):
        assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


class TestSample:
    def test_the_posterior_has_all_rows(self):
        X, y = rows()
        model = fitted(X, y, learning_rows=200, **FIXED)
        assert_array_equal(model.basis_, X[model.basis_indices_])
        scaled = ((y - y.mean()) / y.std())[None, :]
        state = SparseState(
            KERNEL,
            0.05,
            X,
            scaled,
            None,
            approximation=model.approximation_,
            capacity=12,
            backend=Backend(X),
            keep_v=True,
        )
        state.set_model(model.approximation_, KERNEL, 0.05, model.basis_)
        mean, variance = Posterior(state).mean_and_variance(X)
        got, std = model.predict(X, return_std=True)
        assert_allclose(got, y.mean() + y.std() * mean[:, 0], rtol=1e-8)
        assert_allclose(std, y.std() * np.sqrt(variance + 0.05), rtol=1e-8)

    def test_learning_sees_only_the_sample(self, monkeypatch):
        X, y = rows()
        seen, sample = [], WholeData.sample

        def noted(*arguments):
            seen.append(sample(*arguments))
            return seen[-1]

        monkeypatch.setattr(WholeData, "sample", noted)
        options = {"learning_rows": 300, "normalize_y": False, "noise_model": "constant"}
        model = fitted(X, y - 5, **options)
        others = np.setdiff1d(np.arange(900), seen[0].places)
        assert len(others) == 600
        y[others] += 1.0
        other = fitted(X, y - 5, **options)
        assert_array_equal(other.basis_, model.basis_)
        assert_array_equal(other.kernel_.theta, model.kernel_.theta)
        assert np.mean(other.predict(X) - model.predict(X)) > 0.3
        assert "900" in str(model.summary())

    def test_few_rows_are_all_learnt_from(self):
        X, y = rows(300)
        model, other = fitted(X, y), fitted(X, y, learning_rows=300)
        assert_array_equal(model.predict(X), other.predict(X))
        assert_array_equal(model.basis_, other.basis_)

    @pytest.mark.parametrize("p", [None, 2])
    def test_left_out_rows(self, p):
        X, y = rows(p=p)
        model = fitted(X, y, learning_rows=200, noise_model="input")
        mean, std = model.loo_predict()
        assert mean.shape == std.shape == y.shape
        given_mean, given_std = model.loo_predict(X, y)
        assert_allclose(given_mean, mean, rtol=1e-10)
        assert_allclose(given_std, std, rtol=1e-10)
        # Without a row, a model of the same basis and hyperparameters predicts this.
        keep = np.arange(len(X)) != 5
        scale, shape = model._scale, model._target_shape
        state = SparseState(
            model.kernel_,
            model.noise_variance_,
            X[keep],
            scale.normalised(y.reshape(900, -1)[keep]).T,
            None,
            approximation=model.approximation_,
            capacity=12,
            backend=Backend(X),
            keep_v=True,
        )
        state.set_model(model.approximation_, model.kernel_, model.noise_variance_, model.basis_)
        expected = scale.mean(Posterior(state).mean(X[5:6]), shape)
        assert_allclose(mean[5:6], expected, rtol=1e-6)

    def test_weights_count_copies_and_zero_is_out(self):
        X, y = rows()
        weights = np.random.default_rng(1).integers(0, 3, size=900).astype(float)
        model = fitted(X, y, weights, learning_rows=200, **FIXED)
        again = np.repeat(np.arange(900), weights.astype(int))
        copies = fitted(
            X[again],
            y[again],
            None,
            model.basis_,
            learning_rows=200,
            criterion="random",
            **FIXED,
        )
        assert np.all(weights[model.basis_indices_] > 0)
        assert_same_predictions(model, copies, X[:50])
        mean, std = model.loo_predict()
        out = weights == 0
        assert_allclose(mean[out], model.predict(X[out]), rtol=1e-8)
        assert len(std) == 900

    def test_candidates(self):
        X, y = rows()
        new = np.random.default_rng(2).uniform(-1, 1, size=(30, 2))
        model = fitted(X, y, None, new, learning_rows=200, **FIXED)
        assert_array_equal(model.basis_, new[model.basis_indices_])

    def test_advice_and_interruption_find_their_rows(self):
        X, y = rows()
        estimator(learning_rows=100, time_limit=0.01).fit(X, y)


class TestMemory:
    def test_learning_goes_over_rows_that_are_not_held(self):
        X, y = rows()
        options = {"objective": "nlgpp", "approximation": "dtc", "criterion": "random"}
        options |= {"learning_rows": None, "rounds": 1, "max_iter": 25}
        held, streamed = fitted(X, y, **options), fitted(X, y, memory_limit=0, **options)
        nats = (streamed.objective_value_ - held.objective_value_) / 2
        assert abs(nats) < 0.02  # another random basis to start with
        error = np.sqrt(np.mean((streamed.predict(X) - held.predict(X)) ** 2))
        assert error < 0.05 * np.std(y)

    @pytest.mark.parametrize("objective", ["nlml", "loo_cve", None])
    def test_sample_of_a_sample(self, objective):
        X, y = rows()
        model = fitted(
            X, y, learning_rows=400, memory_limit=0, objective=objective, refine_basis=False
        )
        assert len(model.loo_predict()[0]) == 900
        assert_array_equal(model.basis_, X[model.basis_indices_])

    def test_how_many_rows_are_held(self):
        some = estimator(max_basis=100, memory_limit=2.0**30)
        assert 100_000 < given.rows_held(some, 8) < 1_000_000
        assert given.rows_held(estimator(memory_limit=0), 8) == 50


class TestMemoryMaps:
    def test_as_an_array(self, tmp_path):
        X, y = rows(p=2)
        on_disk = mapped(tmp_path, X, "X"), mapped(tmp_path, y, "y")
        for learning_rows in (200, 5000):
            model = fitted(X, y, learning_rows=learning_rows, **FIXED)
            other = fitted(*on_disk, learning_rows=learning_rows, **FIXED)
            assert_array_equal(other.basis_indices_, model.basis_indices_)
            assert_same_predictions(other, model, X)
            assert_same_predictions(other, model, on_disk[0])
            assert_allclose(other.loo_predict()[0], model.loo_predict()[0], rtol=1e-8)

    def test_single_precision_and_integers(self, tmp_path):
        X, y = rows()
        X = np.round(100 * X)
        singles = mapped(tmp_path, X.astype(np.float32), "X")
        model = fitted(singles, y.astype(np.float32), learning_rows=200)
        assert model.predict(singles).dtype == np.float32
        whole = mapped(tmp_path, X.astype(np.int16), "Z")
        model = fitted(whole, y, learning_rows=200, random_state=1)
        assert_same_predictions(
            model, fitted(X, y, learning_rows=200, random_state=1), X[:20], 1e-5
        )

    @pytest.mark.parametrize(
        "saved",
        [
            lambda X: (np.asfortranarray(X), np.s_[:]),
            lambda X: (np.repeat(X, 2, axis=0), np.s_[::2]),
            lambda X: (np.hstack([X, X]), np.s_[:, :2]),
            lambda X: (X.astype(">f8"), np.s_[:]),
        ],
        ids=["Fortran order", "every other row", "some columns", "big endian"],
    )
    def test_other_layouts(self, tmp_path, saved):
        X, y = rows()
        weights = (np.arange(len(X)) % 3).astype(float)
        array, part = saved(X)
        on_disk = mapped(tmp_path, array, "X")[part]
        model = fitted(X, y, weights, learning_rows=200, **FIXED)
        other = fitted(on_disk, y, list(weights), learning_rows=200, **FIXED)
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert_same_predictions(other, model, X)

    def test_weights(self, tmp_path):
        X, y = rows()
        on_disk = mapped(tmp_path, X, "X")
        model = fitted(X, y, np.full(len(X), 2.0), learning_rows=200, **FIXED)
        other = fitted(on_disk, y, 2, learning_rows=200, **FIXED)
        assert_same_predictions(other, model, X)
        with pytest.raises(ValueError, match=r"sample_weight has 1e\+13; a weight of w counts"):
            estimator().fit(on_disk, y, np.full(len(X), 1e13))
        with pytest.raises(ValueError, match=r"add up to 9e-18; .* multiply all weights"):
            estimator().fit(on_disk, y, np.full(len(X), 1e-20))
        with pytest.warns(ModelAdvice, match="so they count as almost no data"):
            estimator(learning_rows=200, **FIXED).fit(on_disk, y, np.full(len(X), 1e-3))

    def test_few_rows_and_constant_targets(self, tmp_path):
        X, y = rows()
        on_disk = mapped(tmp_path, X, "X")
        alone = np.zeros(len(X))
        alone[7] = 1.0
        assert_allclose(fitted(on_disk, y, alone, learning_rows=200).predict(X[:3]), y[7])
        assert_allclose(fitted(on_disk[:1], y[:1]).predict(X[:3]), y[0])
        for learning_rows in (1, 200):
            model = fitted(on_disk, np.full(len(X), 0.1), learning_rows=learning_rows)
            assert_allclose(model.predict(X[:3]), 0.1)

    def test_never_read_at_once(self, tmp_path, monkeypatch):
        X, y = rows()
        on_disk = mapped(tmp_path, X, "X")
        longest = []
        chunks = ArrayRows.chunks

        def watched(self):
            for chunk in chunks(self):
                longest.append(len(chunk))
                yield chunk

        monkeypatch.setattr(ArrayRows, "chunks", watched)
        monkeypatch.setattr(given, "check_training_data", None)  # sees whole arrays
        model = fitted(on_disk, mapped(tmp_path, y, "y"), learning_rows=200)
        model.predict(on_disk)
        assert max(longest) == 256

    def test_a_far_nan(self, tmp_path):
        X, y = rows()
        X[777, 1] = np.nan
        on_disk = mapped(tmp_path, X, "X")
        with pytest.raises(ValueError, match=r"NaN in row 777 of .*X\.npy \(counted from 0\)"):
            estimator().fit(on_disk, y)
        X[777, 1] = 0.0
        model = fitted(X, y, learning_rows=200)
        with pytest.raises(ValueError, match=r"NaN in row 777 of .*X\.npy"):
            model.predict(on_disk)

    def test_bad_shapes(self, tmp_path):
        X, y = rows()
        on_disk = mapped(tmp_path, X, "X")
        with pytest.raises(ValueError, match=r"y must have shape \(900,\)"):
            estimator().fit(on_disk, y[:-1])
        with pytest.raises(ValueError, match="requires targets"):
            estimator().fit(on_disk)
        model = fitted(X, y, learning_rows=200)
        with pytest.raises(ValueError, match="X has 3 features, but SparseGPRegressor"):
            model.predict(mapped(tmp_path, np.zeros((4, 3)), "three"))


def test_left_out_rows_of_a_model_that_keeps_none():
    X, y = rows()
    model = fitted(X, y, learning_rows=200)
    expected = model.loo_predict()
    model._loo = None
    with pytest.raises(ValueError, match="pass them to loo_predict as you did to fit"):
        model.loo_predict()
    assert_allclose(model.loo_predict(X, y)[1], expected[1], rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "value"), [("learning_rows", 0), ("learning_rows", 1.5), ("memory_limit", -1)]
)
def test_bad_parameters(name, value):
    X, y = rows(30)
    with pytest.raises((ValueError, TypeError), match=name):
        estimator(**{name: value}).fit(X, y)
