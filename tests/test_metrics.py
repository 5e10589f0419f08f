"""Measures of predictions, against scipy and by hand."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from greedygp import metrics


@pytest.fixture
def prediction():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=20_000), rng.uniform(0.5, 2.0, size=20_000)
    return mean + std * rng.normal(size=20_000), mean, std


def test_nmse_is_error_over_variance(prediction):
    y, mean, _ = prediction
    assert metrics.nmse(y, mean) == pytest.approx(np.mean((y - mean) ** 2) / np.var(y))
    assert metrics.nmse(y, y) == 0
    assert metrics.nmse(y, np.full_like(y, y.mean())) == pytest.approx(1)


def test_nlpd_is_the_mean_negative_log_density(prediction):
    y, mean, std = prediction
    assert metrics.nlpd(y, mean, std) == pytest.approx(-norm.logpdf(y, mean, std).mean())


def test_nlpd_of_scaled_targets_moves_by_the_log_of_the_scale(prediction):
    y, mean, std = prediction
    scaled = metrics.nlpd(3 * y, 3 * mean, 3 * std)
    assert scaled == pytest.approx(metrics.nlpd(y, mean, std) + np.log(3))


@pytest.mark.parametrize("y", [-4.0, 0.3, 1.0, 7.5])
def test_crps_is_the_integral_of_the_squared_distance_to_a_step(y):
    mean, std = 0.5, 1.3
    below, _ = quad(lambda t: norm.cdf(t, mean, std) ** 2, -np.inf, y)
    above, _ = quad(lambda t: norm.sf(t, mean, std) ** 2, y, np.inf)
    assert metrics.crps([y], [mean], [std]) == pytest.approx(below + above, abs=1e-7)


def test_crps_is_a_mean_in_the_units_of_the_target(prediction):
    y, mean, std = prediction
    singly = [metrics.crps([a], [b], [c]) for a, b, c in zip(y[:50], mean, std, strict=False)]
    assert metrics.crps(y[:50], mean[:50], std[:50]) == pytest.approx(np.mean(singly))
    table = [array[:50].reshape(25, 2) for array in prediction]
    assert metrics.crps(*table) == pytest.approx(np.mean(singly))
    assert metrics.crps(3 * y, 3 * mean, 3 * std) == pytest.approx(3 * metrics.crps(y, mean, std))


def test_crps_is_smallest_for_the_true_distribution(prediction):
    y, mean, std = prediction
    best = metrics.crps(y, mean, std)
    assert best == pytest.approx(np.mean(std) / np.sqrt(np.pi), rel=0.02)
    assert best < min(metrics.crps(y, mean, 1.3 * std), metrics.crps(y, mean, std / 1.3))
    assert best < metrics.crps(y, mean + 0.2, std)


def test_crps_of_a_sure_prediction_is_the_absolute_error(prediction):
    y, mean, _ = prediction
    error = np.mean(np.abs(y - mean))
    assert metrics.crps(y, mean, np.full_like(y, 1e-9)) == pytest.approx(error)
    assert metrics.crps([1.0], [1.0], [1e-300]) >= 0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_coverage_of_the_true_distribution_is_the_level(prediction, level):
    assert metrics.coverage(*prediction, level) == pytest.approx(level, abs=0.01)


def test_coverage_by_hand():
    assert metrics.coverage([0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1], 0.95) == 0.5


def test_pit_of_the_true_distribution_is_uniform(prediction):
    values = metrics.pit(*prediction)
    assert values.shape == prediction[0].shape
    counts, _ = np.histogram(values, bins=10, range=(0, 1))
    np.testing.assert_allclose(counts / len(values), 0.1, atol=0.01)
    y, mean, std = (a[:5] for a in prediction)
    np.testing.assert_allclose(metrics.pit(y, mean, std), norm.cdf(y, mean, std))


@pytest.mark.parametrize(
    ("y", "mean", "std", "message"),
    [
        ([1.0, 2.0], [1.0], [1.0, 1.0], r"mean has shape \(1,\), y has shape \(2,\)"),
        ([1.0, np.nan], [1.0, 1.0], [1.0, 1.0], "y holds NaN or infinite"),
        ([1.0, 2.0], [1.0, 1.0], [1.0, 0.0], "std must be positive"),
        ([], [], [], "y is empty"),
        (["a", "b"], [1.0, 1.0], [1.0, 1.0], "y must hold numbers"),
    ],
)
def test_bad_input_is_named(y, mean, std, message):
    for measure in (metrics.nlpd, metrics.crps, metrics.coverage, metrics.pit):
        with pytest.raises(ValueError, match=message):
            measure(y, mean, std)


def test_nmse_of_a_constant_target():
    with pytest.raises(ValueError, match="y is constant"):
        metrics.nmse([1.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize("level", [0, 1, -0.5, np.nan])
def test_coverage_level(level):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        metrics.coverage([1.0], [1.0], [1.0], level)
