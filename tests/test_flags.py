"""Rows that a flag marks as noisier are found before the mean is learnt, and count less."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import GPRegressor, SparseGPRegressor
from greedygp.data import TrainingData
from greedygp.flags import LARGEST, NoisyFlags, flag_columns, learn_with_flags, noisy_flags
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from greedygp.metrics import coverage, nlpd
from greedygp.progress import NEVER
from greedygp.start import subset_evidence

POINT = Point(Gaussian(1.0, 1.0), 0.01)


def flagged_rows(n=300, share=0.2, ratio=36.0, seed=0):
    """A wave with noise of variance 0.01, and `ratio` times that where the second column is 1."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-4, 4, n), rng.random(n) < share])
    noise = 0.1 * np.where(X[:, 1] == 1, np.sqrt(ratio), 1.0)
    return X, np.sin(X[:, :1]) + noise[:, None] * rng.normal(size=(n, 1))


def test_columns_of_two_values():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=40), np.arange(40) < 10, np.where(np.arange(40) < 10, -3.0, 5.0)]
        + [np.arange(40) % 3, np.full(40, 7.0), np.where(np.arange(40) < 30, 2.0, 1.0)]
    )
    columns, values = flag_columns(X)
    assert_array_equal(columns, [1, 2, 5])
    assert_array_equal(values, [1.0, -3.0, 1.0])


@pytest.mark.parametrize("ratio", [9.0, 36.0])
def test_noisier_rows_are_found_and_count_less(ratio):
    X, y = flagged_rows(ratio=ratio)
    flags = noisy_flags(POINT, X, y, None)
    assert_array_equal(flags.columns, [1])
    assert_allclose(flags.log_noise, np.log(ratio), atol=0.6)
    trust = flags.trust(X)
    assert np.all(trust[X[:, 1] == 0] == 1.0)
    assert_allclose(trust[X[:, 1] == 1], np.exp(-flags.log_noise[0]))


@pytest.mark.parametrize("ratio", [1.0, 0.1])
def test_rows_that_are_not_noisier_count_fully(ratio):
    found = [noisy_flags(POINT, *flagged_rows(ratio=ratio, seed=s), None) for s in range(10)]
    assert sum(flags is not None for flags in found) <= 1


def learn(data):
    return subset_evidence(None, None, *data.on_host(), random_state=0)


@pytest.mark.parametrize("seed", range(3))
def test_flagged_rows_that_are_only_harder_to_predict_count_fully(seed):
    """No noise, but a higher and faster wave where the flag is set: these rows are needed."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-4, 4, (200, 2)), rng.random(200) < 0.4])
    flagged = X[:, 2] == 1
    wave = np.sin(np.where(flagged, 2.5, 1.0) * X[:, 0]) * np.cos(0.5 * X[:, 1])
    y = np.where(flagged, 3.0, 1.0) * wave
    data = TrainingData(X, y[:, None], None, normalize=True)
    assert noisy_flags(learn(data).point, *data.on_host()) is not None
    found, learnt_from = learn_with_flags(learn, data, NEVER, rng)
    assert learnt_from is data
    assert_array_equal(found.point.kernel.theta, learn(data).point.kernel.theta)


@pytest.mark.parametrize("rows", [300, 800])
def test_noisier_rows_make_left_out_rows_more_probable(rows):
    X, y = flagged_rows(rows, ratio=36.0)
    data = TrainingData(X, y, None, normalize=True)
    _, learnt_from = learn_with_flags(learn, data, NEVER, np.random.default_rng(0))
    assert_array_equal(learnt_from.trust < 1.0, X[:, 1] == 1)


def test_few_flagged_rows_tell_nothing():
    X, y = flagged_rows(ratio=100.0)
    X[:, 1] = 0.0
    X[:5, 1], y[:5] = 1.0, 9.0
    assert noisy_flags(POINT, X, y, None) is None


def test_a_flag_that_few_of_many_rows_have_is_found():
    """Of 500 random rows about three have it."""
    X, y = flagged_rows(n=5000, share=0.006)
    data = TrainingData(X, y, None, True)
    _, trusting = learn_with_flags(learn, data, NEVER, np.random.default_rng(0))
    assert trusting is not data
    flagged = X[:, 1] == 1
    assert 20 < np.sum(flagged) < 40
    assert np.all(trusting.trust[flagged] < 0.3)
    assert np.all(trusting.trust[~flagged] == 1.0)


def test_the_least_trust():
    flags = NoisyFlags(np.array([0, 1]), np.array([1.0, 1.0]), np.array([4.0, 4.0]))
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert_allclose(flags.trust(X), np.exp([0.0, -4.0, -LARGEST]))


def test_trust_multiplies_the_weights_and_leaves_the_data_as_they_are():
    X, y = flagged_rows(20)
    weights = np.arange(20.0)
    data = TrainingData(X, y, weights, normalize=True)
    trust = np.linspace(0.1, 1.0, 19)
    assert_allclose(data.trusting(trust).weights, weights[1:] * trust)
    assert_allclose(data.weights, weights[1:])
    bare = TrainingData(X, y, None, normalize=True)
    assert_allclose(bare.trusting(np.full(20, 0.5)).weights, 0.5)


@pytest.mark.parametrize("kind", [SparseGPRegressor, GPRegressor])
def test_error_bars_of_flagged_rows(kind):
    X, y = flagged_rows(400, ratio=100.0)
    model = kind(random_state=0).fit(X, y[:, 0])
    assert model.noise_model_ == "input"
    X_new = np.column_stack([np.linspace(-4, 4, 50), np.ones(50)])
    std = [model.predict(X_new * [1.0, flag], return_std=True)[1] for flag in (0.0, 1.0)]
    assert_allclose(np.mean(std, axis=1), [0.1, 1.0], rtol=0.4)
    constant = kind(random_state=0, noise_model="constant").fit(X, y[:, 0])
    X_new, y_new = flagged_rows(1000, ratio=100.0, seed=1)
    for rows in (X_new[:, 1] == 0, X_new[:, 1] == 1):
        own, other = (
            nlpd(y_new[rows, 0], *m.predict(X_new[rows], return_std=True))
            for m in (model, constant)
        )
        assert own < other - 0.1


# --------------------------------------------------------------------- rows with missing values


def tables():
    """Tables whose first columns matter most."""
    from sklearn.datasets import make_friedman2, make_friedman3

    rng = np.random.default_rng(0)
    wave = rng.normal(size=(1200, 3))
    target = np.sin(2 * wave[:, 0]) + wave[:, 1] + 0.1 * rng.normal(size=1200)
    return {
        "wave": (wave, target),
        "friedman 2": make_friedman2(1200, noise=60.0, random_state=0),
        "friedman 3": make_friedman3(1200, noise=0.1, random_state=0),
    }


def with_holes(X, share, n_columns, rng):
    """Return a table with holes in its first columns."""
    import pandas

    X = X.copy()
    X[:, :n_columns][rng.random((len(X), n_columns)) < share] = np.nan
    return pandas.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])


@pytest.mark.slow
@pytest.mark.parametrize("name", tables())
def test_coverage_where_values_are_missing(name):
    """Of 95 % intervals, on new rows with holes, together over shares of holes."""
    pytest.importorskip("pandas")
    from greedygp.tables import TableEncoder

    X, y = tables()[name]
    inside, density, without_flags = [], [], []
    for seed, (share, n_columns) in enumerate([(0.1, 1), (0.1, 3), (0.2, 3), (0.4, 2)]):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train, test = np.split(order, [int(0.5 * len(y))])
        table = with_holes(X, share, n_columns, rng)
        encoder = TableEncoder().fit(table.iloc[train])
        A, B = (encoder.transform(table.iloc[rows]) for rows in (train, test))
        holes = table.iloc[test].isna().any(axis=1).to_numpy()
        filled = [k for k, feature in enumerate(encoder.feature_names) if "missing" not in feature]
        for columns, densities in ((slice(None), density), (filled, without_flags)):
            model = SparseGPRegressor(random_state=0).fit(A[:, columns], y[train])
            mean, std = model.predict(B[holes][:, columns], return_std=True)
            densities.append(nlpd(y[test][holes], mean, std))
            if columns == slice(None):
                inside.append(coverage(y[test][holes], mean, std, 0.95))
    assert 0.90 <= np.mean(inside) <= 0.98
    assert np.mean(density) < np.mean(without_flags)
