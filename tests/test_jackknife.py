"""Intervals and quantiles by the jackknife+: against refits, on all kinds of rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm

from greedygp import GPRegressor, SparseGPRegressor
from greedygp.kernels import Gaussian
from greedygp.sparse import influence
from reference import jackknife as slow
from reference.dense_regression import DenseGP
from reference.sparse_regression import SparseGP, gaussian_kernel

LENGTHS = [0.7, 1.2]
NOISE = 0.05


def data(n=23, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(2 * X @ rng.normal(size=(2, targets))) + 0.3 * rng.standard_t(3, (n, targets))
    return X, y


def sparse(X, y, approximation="dtc", weights=None, m=6, **parameters):
    """A model with a given basis, and its slow twin."""
    basis = np.random.default_rng(9).uniform(-1, 1, size=(m, 2))
    fast = SparseGPRegressor(
        kernel=Gaussian(1.2, LENGTHS),
        noise_variance=NOISE,
        objective=None,
        normalize_y=False,
        criterion="random",
        approximation=approximation,
        patience=None,
        max_basis=m,
        random_state=0,
        **parameters,
    ).fit(X, y, sample_weight=weights, candidates=basis)
    twin = SparseGP(gaussian_kernel(1.2, LENGTHS), basis, X, y, NOISE, approximation, weights)
    return fast, twin


def dense(X, y, weights=None, **parameters):
    """A full GP, and its slow twin."""
    fast = GPRegressor(
        kernel=Gaussian(1.2, LENGTHS),
        noise_variance=NOISE,
        objective=None,
        normalize_y=False,
        random_state=0,
        **parameters,
    ).fit(X, y, sample_weight=weights)
    if weights is not None and np.any(weights == 0):
        return fast, None
    return fast, DenseGP(gaussian_kernel(1.2, LENGTHS), X, y, NOISE, weights)


def assert_same(fast, twin, X_new, rtol=1e-7):
    for coverage in (0.9, 0.75, 0.5):
        for got, expected in zip(
            fast.predict_interval(X_new, coverage, method="jackknife+"),
            slow.interval(twin, X_new, coverage),
            strict=True,
        ):
            assert_allclose(got, expected.reshape(got.shape), rtol=rtol, atol=rtol)
    levels = [0.1, 0.5, 0.77]
    got = fast.predict_quantiles(X_new, levels, method="jackknife+")
    expected = np.stack([slow.quantile(twin, X_new, t) for t in levels], axis=-1)
    assert_allclose(got, expected.reshape(got.shape), rtol=rtol, atol=rtol)


WEIGHTS = {"none": None, "whole": np.random.default_rng(3).integers(1, 4, 23).astype(float)}


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
def test_sparse_is_refitting(approximation, weights, targets):
    X, y = data(targets=targets)
    X_new = np.vstack([data(9, seed=1)[0], X[:3]])
    assert_same(*sparse(X, y, approximation, weights), X_new)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_full_is_refitting(weights, targets):
    X, y = data(targets=targets)
    X_new = np.vstack([data(9, seed=1)[0], X[:3]])
    assert_same(*dense(X, y, weights), X_new)


@pytest.mark.parametrize("make", [sparse, dense])
def test_duplicate_rows_and_constant_targets(make):
    X, y = data()
    X_new = data(5, seed=1)[0]
    twice = np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)
    assert_same(*make(*twice), X_new)
    assert_same(*make(X, np.full_like(y, 3.0)), X_new)


def test_all_rows_in_the_basis_is_the_full_model():
    X, y = data()
    full = dense(X, y)[0]
    options = {"objective": None, "normalize_y": False, "patience": None, "random_state": 0}
    same = SparseGPRegressor(
        kernel=Gaussian(1.2, LENGTHS), noise_variance=NOISE, max_basis=len(X), **options
    ).fit(X, y)
    X_new = data(9, seed=1)[0]
    for got, expected in zip(
        same.predict_interval(X_new, 0.8, method="jackknife+"),
        full.predict_interval(X_new, 0.8, method="jackknife+"),
        strict=True,
    ):
        assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", [sparse, dense])
def test_a_row_of_weight_zero_is_no_row(make):
    X, y = data()
    weights = np.ones(len(X))
    weights[[2, 11]] = 0.0
    kept = weights > 0
    X_new = data(9, seed=1)[0]
    with_zeros = make(X, y, weights=weights)[0]
    without = make(X[kept], y[kept])[0]
    for model in (with_zeros, without):
        model.answers = model.predict_interval(X_new, 0.8, method="jackknife+")
    assert_allclose(with_zeros.answers, without.answers, rtol=1e-9)


@pytest.mark.parametrize("make", [sparse, dense])
def test_fractional_weights_count_less(make):
    """Rows with an outlier that hardly count do not widen the interval."""
    X, y = data(60)
    y[:6] += 50.0
    weights = np.ones(60)
    weights[:6] = 1e-3
    model = make(X, y, weights=weights)[0]
    lower, upper = model.predict_interval(data(9, seed=1)[0], 0.8, method="jackknife+")
    assert np.max(upper - lower) < 10.0


# ------------------------------------------------------------------------------- many rows, chunks


def test_many_rows_keep_a_random_part(monkeypatch):
    monkeypatch.setattr(influence, "MOST_ROWS", 40)
    monkeypatch.setattr("greedygp.sparse.ending.MOST_ROWS", 40)
    X, y = data(200)
    some, twin = sparse(X, y)
    rows = some._rows.left_out
    assert len(rows.residual) == 40
    residuals = y - twin.leave_one_out()[0]
    places = np.argmin(np.abs(residuals - rows.residual.T), axis=0)
    assert len(set(places.tolist())) == 40
    assert_allclose(residuals[places], rows.residual, rtol=1e-6)
    monkeypatch.undo()
    X_new = data(30, seed=1)[0]
    all_rows = sparse(X, y)[0].predict_interval(X_new, 0.8, method="jackknife+")
    part = some.predict_interval(X_new, 0.8, method="jackknife+")
    assert_allclose(part, all_rows, atol=0.5)


@pytest.mark.parametrize("make", [sparse, dense])
def test_tiles_change_nothing(make, monkeypatch):
    X, y = data()
    model, X_new = make(X, y)[0], data(11, seed=1)[0]
    expected = model.predict_quantiles(X_new, [0.2, 0.6], method="jackknife+")
    monkeypatch.setattr("greedygp.jackknife.TILE_ENTRIES", 60)
    got = model.predict_quantiles(X_new, [0.2, 0.6], method="jackknife+")
    assert_allclose(got, expected, rtol=1e-10)


def test_memory_maps(tmp_path):
    X, y = data()
    model = sparse(X, y)[0]
    file = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", float, (23, 2))
    file[:] = X
    assert_allclose(
        model.predict_interval(file, 0.8, method="jackknife+"),
        model.predict_interval(X, 0.8, method="jackknife+"),
        rtol=1e-10,
    )


def test_float32_answers_in_float32():
    X, y = data()
    X, y = X.astype(np.float32), y.astype(np.float32)
    model = SparseGPRegressor(max_basis=5, max_iter=3, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(X, 0.8, method="jackknife+")
    assert lower.dtype == upper.dtype == np.float32
    assert model.predict_quantiles(X, method="gaussian").dtype == np.float32


@pytest.mark.parametrize("make", [sparse, dense])
def test_a_copy_answers_the_same(make):
    X, y = data()
    model = make(X, y)[0]
    other = pickle.loads(pickle.dumps(model))
    assert_array_equal(
        other.predict_interval(X, 0.8, method="jackknife+"),
        model.predict_interval(X, 0.8, method="jackknife+"),
    )


def test_torch_answers_the_same():
    torch = pytest.importorskip("torch")
    X, y = data()
    for make in (sparse, dense):
        numpy_model = make(X, y)[0]
        options = numpy_model.get_params()
        more = {"candidates": torch.asarray(numpy_model.basis_)} if make is sparse else {}
        model = type(numpy_model)(**options).fit(torch.asarray(X), torch.asarray(y), **more)
        assert_allclose(
            model.predict_quantiles(torch.asarray(X), method="jackknife+", quantiles=[0.1, 0.5]),
            numpy_model.predict_quantiles(X, method="jackknife+", quantiles=[0.1, 0.5]),
            rtol=1e-6,
            atol=1e-8,
        )


# -------------------------------------------------------------------------------- what they mean


@pytest.mark.parametrize("Estimator", [SparseGPRegressor, GPRegressor])
def test_noise_that_varies_and_heavy_tails(Estimator):
    """Skewed noise: the jackknife+ finds both quantiles, the Gaussian neither."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(1300, 1))
    scale = 0.1 + 0.3 * (X[:, 0] > 0)
    y = np.sin(X[:, 0]) + scale * (rng.exponential(size=1300) - 1.0)
    model = Estimator(random_state=0).fit(X[:300], y[:300])
    assert model.noise_model_ == "input"
    below = {}
    for method in ("gaussian", "jackknife+"):
        found = model.predict_quantiles(X[300:], [0.1, 0.9], method=method)
        below[method] = np.mean(y[300:, None] <= found, axis=0)
    assert_allclose(below["jackknife+"], [0.1, 0.9], atol=0.05)
    assert below["gaussian"][0] < 0.04
    lower, upper = model.predict_interval(X[300:], 0.9, method="jackknife+")
    narrow, wide = (upper - lower)[X[300:, 0] < -0.5], (upper - lower)[X[300:, 0] > 0.5]
    assert np.mean(wide) > 2 * np.mean(narrow)


def test_coverage_where_the_guarantee_holds():
    """Kernel, noise and basis come from elsewhere: 1 - 2a for certain, about 1 - a in truth."""
    hits = trials = 0
    for seed in range(40):
        X, y = data(70, seed=seed)
        model = sparse(X[:50], y[:50])[0]
        lower, upper = model.predict_interval(X[50:], 0.9, method="jackknife+")
        hits += int(np.sum((y[50:, 0] >= lower[:, 0]) & (y[50:, 0] <= upper[:, 0])))
        trials += 20
    assert binom.sf(hits, trials, 0.9) > 1e-4
    assert binom.cdf(hits, trials, 0.9) > 1e-4


def test_gaussian_quantiles_are_those_of_the_gaussian():
    X, y = data()
    model = sparse(X, y[:, 0])[0]
    mean, std = model.predict(X, return_std=True)
    got = model.predict_quantiles(X, [0.05, 0.5])
    assert got.shape == (23, 2)
    assert_allclose(got, np.stack([mean + norm.ppf(0.05) * std, mean], axis=-1), rtol=1e-10)
    assert model.predict_quantiles(X).shape == (23, 3)


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("make", [sparse, dense])
def test_too_few_rows(make):
    X, y = data()
    model = make(X, y)[0]
    with pytest.raises(ValueError, match=r"interval of 99 %.* at least 99 rows.* it has 23\."):
        model.predict_interval(X, 0.99, method="jackknife+")
    with pytest.raises(ValueError, match=r"quantile 0.02 .* at least 49 rows"):
        model.predict_quantiles(X, [0.5, 0.02], method="jackknife+")
    lower, upper = model.predict_interval(X, 1 - 1 / 24, method="jackknife+")  # all of 23 rows
    assert np.all(np.isfinite(lower) & np.isfinite(upper))


@pytest.mark.parametrize("quantiles", [[], [0.0], [0.5, 1.0], [[0.1]], ["a"], None, [np.nan]])
def test_bad_quantiles(quantiles):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match="quantiles must"):
        sparse(X, y)[0].predict_quantiles(X, quantiles)


def test_bad_method():
    X, y = data()
    model = sparse(X, y)[0]
    with pytest.raises(ValueError, match="method must be one of 'gaussian', 'jackknife\\+'"):
        model.predict_interval(X, method="bootstrap")
    with pytest.raises(ValueError, match="method must be one of"):
        model.predict_quantiles(X, method="bootstrap")


def test_a_model_of_an_earlier_version():
    X, y = data()
    model = sparse(X, y)[0]
    del model._rows
    with pytest.raises(ValueError, match="fit it again"):
        model.predict_interval(X, method="jackknife+")
