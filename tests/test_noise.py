"""Noise as a function of the input, learnt from left-out rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.left_out_rows import LeftOutRows
from greedygp.noise import (
    FURTHEST,
    LARGEST,
    SHAPES,
    NoiseFeatures,
    NoiseFunction,
    Shape,
    learn_noise,
    minimiser,
    penalised_loss,
)


def truth(X):
    """Standard deviation of the noise: a bump over a flat floor."""
    return 0.05 + 0.5 * np.exp(-0.5 * ((X[:, 0] - 1.0) / 0.5) ** 2)


def left_out(n=400, seed=0, std=truth, features=1, targets=1, latent=0.01, noise_variance=0.05):
    """Rows as a perfect model would leave them out: only the noise is not known."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, features))
    mean = np.sin(2 * X[:, :1] + np.arange(targets))
    residual = std(X)[:, None] * rng.normal(size=(n, targets))
    square = np.mean(residual**2, axis=1)
    return LeftOutRows(X, mean, square, np.full(n, latent**2), np.ones(n), noise_variance)


def learnt(rows, seed=0, **options):
    return learn_noise(rows, np.random.default_rng(seed), **options)


# ------------------------------------------------------------------------------- what is learnt


@pytest.mark.parametrize("n", [200, 1000])
def test_a_bump_of_noise_is_found(n):
    found = learnt(left_out(n))
    X = np.linspace(-2.5, 2.5, 50)[:, None]
    got = np.sqrt(found(X, np.sin(2 * X)))
    assert np.mean(np.abs(np.log(got / truth(X)))) < 0.35
    assert got[np.argmin(np.abs(X[:, 0] - 1))] > 4 * got[0]


def test_noise_that_grows_with_the_level_is_found_with_few_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 10))
    mean = X @ rng.normal(size=(10, 1)) / 3
    std = 0.2 * np.exp(0.7 * mean[:, 0])
    rows = LeftOutRows(
        X, mean, (std * rng.normal(size=150)) ** 2, np.full(150, 1e-4), np.ones(150), 0.1
    )
    got = np.sqrt(learnt(rows)(X, mean))
    assert np.corrcoef(np.log(got), np.log(std))[0, 1] > 0.8


@pytest.mark.parametrize("seed", range(8))
def test_constant_noise_stays_constant_or_nearly_so(seed):
    rows = left_out(300, seed, std=lambda X: np.full(len(X), 0.2), features=5, noise_variance=0.04)
    found = learnt(rows)
    if found is not None:
        assert_allclose(np.sqrt(found(rows.X, rows.mean)), 0.2, rtol=0.5)


def test_a_constant_is_preferred_nearly_always_where_it_is_true():
    kept = [
        learnt(left_out(150, s, std=lambda X: np.full(len(X), 0.2), features=5)) for s in range(20)
    ]
    assert sum(function is not None for function in kept) <= 4


def test_few_rows_tell_nothing():
    assert learnt(left_out(60)) is None
    assert learnt(left_out(60), always=True) is not None


def test_rows_without_error_have_no_noise_function():
    rows = left_out(200, std=lambda X: np.zeros(len(X)))
    assert learnt(rows) is None
    forced = learnt(rows, always=True)(rows.X, rows.mean)
    assert np.all(np.isfinite(forced))
    assert np.all(forced >= 0.0)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_very_few_rows_where_a_function_is_asked_for(n):
    rows = left_out(n)
    assert np.all(np.isfinite(learnt(rows, always=True)(rows.X, rows.mean)))


def test_a_weight_is_so_many_copies_of_a_row():
    rows = left_out(40)
    copies = np.arange(40) % 3 + 1
    weighted = LeftOutRows(
        *(getattr(rows, name) for name in ("X", "mean", "square", "latent")),
        copies.astype(float),
        rows.noise_variance,
    )
    repeated = rows.some(np.repeat(np.arange(40), copies))
    rng = np.random.default_rng(0)
    features = NoiseFeatures.of(weighted, Shape(3.0), rng)
    same = NoiseFeatures.of(repeated, Shape(3.0), rng)
    assert_allclose(features.centre, same.centre, rtol=1e-12, atol=1e-12)
    assert_allclose(features.spread, same.spread, rtol=1e-12)
    table, penalty = features(rows.X, rows.mean), np.full(4, 3.0)
    x = np.array([0.1, -0.3, 0.2, 0.4])
    once = penalised_loss(weighted, table, penalty, x)
    many = penalised_loss(repeated, np.repeat(table, copies, axis=0), penalty, x)
    assert_allclose(once[0], many[0], rtol=1e-12)
    assert_allclose(once[1], many[1], rtol=1e-10)


def test_several_targets_share_the_function():
    rows = left_out(300, targets=3)
    found = learnt(rows)
    assert found(rows.X, rows.mean).shape == (300,)
    got = np.sqrt(found(np.array([[1.0], [-2.0]]), np.zeros((2, 3))))
    assert got[0] > 3 * got[1]


def test_the_same_seed_gives_the_same_function():
    rows = left_out()
    assert_array_equal(learnt(rows, 5).coefficients, learnt(rows, 5).coefficients)


# ---------------------------------------------------------------------------------- the parts


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(SHAPES))
def test_the_gradient_is_that_of_the_loss(seed, targets, shape):
    rng = np.random.default_rng(seed)
    rows = left_out(30, seed, targets=targets, features=2)
    table = NoiseFeatures.of(rows, shape, rng)(rows.X, rows.mean)
    penalty, x = rng.uniform(0, 3, table.shape[1]), 0.3 * rng.normal(size=table.shape[1])
    gradient, h = penalised_loss(rows, table, penalty, x)[1], 1e-6
    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        up, down = (penalised_loss(rows, table, penalty, x + s)[0] for s in (step, -step))
        assert_allclose(gradient[k], (up - down) / (2 * h), rtol=1e-5, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_curvature_is_that_of_the_loss_or_half_of_what_is_expected(seed):
    rng = np.random.default_rng(seed)
    rows, h, step = left_out(25, seed), rng.normal(size=25), 1e-5
    slopes = [
        penalised_loss(rows, np.eye(25), np.zeros(25), h + sign * step)[1] for sign in (1, -1)
    ]
    share = 1.0 / (1.0 + rows.latent / (rows.noise_variance * np.exp(h)))
    expected = np.maximum((slopes[0] - slopes[1]) / (2 * step), 0.25 * share**2)
    curvature = penalised_loss(rows, np.eye(25), np.zeros(25), h)[2]
    assert_allclose(np.diagonal(curvature), expected, rtol=1e-5, atol=1e-7)
    table, penalty = rng.normal(size=(25, 4)), rng.uniform(0, 2, 4)
    whole = penalised_loss(rows, table, penalty, 0.1 * h[:4])[2]
    of_rows = penalised_loss(rows, np.eye(25), np.zeros(25), table @ (0.1 * h[:4]))[2]
    by_hand = table.T @ np.diag(np.diagonal(of_rows)) @ table + np.diag(penalty)
    assert_allclose(whole, by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("surprise", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("latent", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lower_than_the_minimum(seed, latent, surprise):
    """Also where the constant noise is far off, or next to nothing of the variance is noise."""
    rng = np.random.default_rng(seed)
    rows = left_out(200, seed)
    rows = replace(rows, latent=latent * rows.latent, square=surprise * rows.square)
    table = NoiseFeatures.of(rows, SHAPES[1], rng)(rows.X, rows.mean)
    penalty = np.r_[0.0, np.full(table.shape[1] - 1, 2.0)]
    found = minimiser(rows, table, penalty)
    again = minimiser(rows, table, penalty, found + 0.3 * rng.normal(size=len(found)))
    value = penalised_loss(rows, table, penalty, found)[0]
    assert_allclose(penalised_loss(rows, table, penalty, again)[0], value, atol=1e-4)
    other = scipy.optimize.minimize(
        lambda x: penalised_loss(rows, table, penalty, x)[:2], found, jac=True, method="L-BFGS-B"
    )
    assert value <= other.fun + 1e-4


def test_the_loss_is_the_negative_log_density():
    rows, h = left_out(20), np.linspace(-1, 1, 20)
    t = rows.latent + rows.noise_variance * np.exp(h)
    density = np.exp(-0.5 * rows.square / t) / np.sqrt(2 * np.pi * t)
    assert_allclose(rows.loss(h), -np.log(density) - 0.5 * np.log(2 * np.pi), rtol=1e-12)


def test_far_from_the_rows_the_noise_stays_what_it_was_at_their_edge():
    rows = left_out()
    found = learnt(rows)
    edge, far = np.max(rows.X, keepdims=True), np.array([[1e6]])
    mean = np.zeros((1, 1))
    assert_allclose(found(far, mean), found(edge, mean), rtol=1e-12)


def test_features_are_those_of_the_formula():
    rows = left_out(50, features=2)
    features = NoiseFeatures.of(rows, Shape(1.0, 10.0, 0.5), np.random.default_rng(0))
    table = features(rows.X, rows.mean)
    columns = np.hstack([rows.X, rows.mean])
    z = (columns - columns.mean(0)) / columns.std(0)
    assert np.max(np.abs(z)) < FURTHEST
    bumps = [
        [np.exp(-np.sum((row - bump) ** 2) / (2 * features.width**2)) for bump in features.bumps]
        for row in z
    ]
    square = (z[:, 2:] ** 2 - 1) / np.sqrt(2)
    assert_allclose(table, np.hstack([np.ones((50, 1)), z, square, bumps]), rtol=1e-9, atol=1e-12)
    assert len(features.bumps) == 5
    assert features.width == 0.5 * np.sqrt(3)


def test_a_constant_column_is_no_trouble():
    rows = left_out(120, features=2)
    rows.X[:, 1] = 7.0
    assert np.all(np.isfinite(learnt(rows)(rows.X, rows.mean)))


def test_the_logarithm_of_the_noise_is_bounded():
    rows = left_out(50)
    features = NoiseFeatures.of(rows, Shape(1.0), np.random.default_rng(0))
    wild = NoiseFunction(features, np.array([1e6, 0.0, 0.0, 0.0]), 2.0)
    assert_allclose(wild(rows.X, rows.mean), 2.0 * np.exp(LARGEST))


@pytest.mark.torch
def test_torch_gives_the_same_noise():
    torch = pytest.importorskip("torch")
    rows = left_out()
    found = learnt(rows)
    got = found(torch.asarray(rows.X), torch.asarray(rows.mean))
    assert isinstance(got, torch.Tensor)
    assert_allclose(got.numpy(), found(rows.X, rows.mean), rtol=1e-10)
