"""Training data in the model's units, and back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.arrays import to_numpy
from greedygp.data import TargetScale, TrainingData, feature_spreads, mean_variance


def targets(n=12, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return 5.0 + 3.0 * rng.normal(size=(n, p)) * np.arange(1, p + 1)


class TestTargetScale:
    def test_normalised_targets_have_mean_zero_and_variance_one(self):
        y = targets()
        normalised = TargetScale.from_data(y, None, True).normalised(y)
        assert_allclose(normalised.mean(axis=0), 0, atol=1e-12)
        assert_allclose(normalised.std(axis=0), 1)

    def test_without_normalisation_nothing_happens(self):
        y = targets()
        assert_array_equal(TargetScale.from_data(y, None, False).normalised(y), y)

    def test_a_weight_repeats_the_row(self):
        y, weights = targets(), np.random.default_rng(1).integers(1, 4, size=12)
        weighted = TargetScale.from_data(y, weights.astype(float), True)
        repeated = TargetScale.from_data(np.repeat(y, weights, axis=0), None, True)
        assert_allclose(weighted.centre, repeated.centre)
        assert_allclose(weighted.width, repeated.width)

    @pytest.mark.parametrize("constant", [0.0, 0.1, -1e9, 1e-200])
    def test_a_constant_column_keeps_the_width_one(self, constant):
        y = targets()
        y[:, 1] = constant
        scale = TargetScale.from_data(y, None, True)
        assert scale.width[1] == 1
        assert scale.width[0] != 1
        assert_allclose(scale.normalised(y)[:, 1], 0, atol=1e-12 * max(1, abs(constant)))

    @pytest.mark.parametrize("size", [1e-100, 1e100])
    def test_small_and_large_targets(self, size):
        y = size * targets()
        assert_allclose(TargetScale.from_data(y, None, True).normalised(y).std(axis=0), 1)

    def test_float32_targets_are_worked_on_in_float64(self):
        scale = TargetScale.from_data(targets().astype(np.float32), None, True)
        assert scale.normalised(targets().astype(np.float32)).dtype == np.float64

    def test_the_mean_goes_back(self):
        y = targets()
        scale = TargetScale.from_data(y, None, True)
        assert_allclose(scale.mean(scale.normalised(y), (2,)), y)

    def test_spreads_go_back_with_the_width(self):
        scale = TargetScale(np.array([7.0, -1.0]), np.array([2.0, 3.0]))
        std = np.array([1.0, 0.5, 0.25])
        assert_allclose(scale.std(std, (2,)), std[:, None] * [2.0, 3.0])
        covariance = np.diag(std**2)
        expected = covariance[:, :, None] * np.array([4.0, 9.0])
        assert_allclose(scale.covariance(covariance, (2,)), expected)

    def test_samples_go_back(self):
        scale = TargetScale(np.array([7.0, -1.0]), np.array([2.0, 3.0]))
        samples = np.random.default_rng(0).normal(size=(3, 2, 4))
        back = scale.samples(samples, (2,))
        assert_allclose(back[:, 0], 2.0 * samples[:, 0] + 7.0)
        assert_allclose(back[:, 1], 3.0 * samples[:, 1] - 1.0)

    def test_one_target_comes_back_without_its_axis(self):
        scale = TargetScale(np.array([7.0]), np.array([2.0]))
        assert scale.mean(np.zeros((3, 1)), ()).shape == (3,)
        assert scale.std(np.ones(3), ()).shape == (3,)
        assert scale.covariance(np.ones((3, 3)), ()).shape == (3, 3)
        assert scale.samples(np.zeros((3, 1, 4)), ()).shape == (3, 4)
        assert scale.mean(np.zeros((3, 1)), (1,)).shape == (3, 1)


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def xp(request):
    return pytest.importorskip(request.param)


class TestTrainingData:
    X = np.arange(24.0).reshape(12, 2)

    def make(self, xp, weights=None, normalize=True, p=2):
        y = targets(p=p) if p else targets()[:, 0]
        return TrainingData(xp.asarray(self.X), xp.asarray(y), weights, normalize)

    def test_targets_have_a_line_each(self, xp):
        data = self.make(xp)
        scale = TargetScale.from_data(targets(), None, True)
        assert_allclose(to_numpy(data.y), scale.normalised(targets()).T)
        assert data.weights is None
        assert type(data.y) is type(data.X)

    def test_one_target_may_be_a_vector(self, xp):
        assert tuple(self.make(xp, p=None).y.shape) == (1, 12)

    def test_rows_of_weight_zero_are_left_out(self, xp):
        weights = np.array([1.0, 0, 2, 3, 0, 1, 1, 1, 0.5, 1, 1, 0])
        data = self.make(xp, weights)
        used = np.flatnonzero(weights)
        assert_array_equal(to_numpy(data.X), self.X[used])
        assert_allclose(to_numpy(data.weights), weights[used])
        scale = TargetScale.from_data(targets()[used], weights[used], True)
        assert_allclose(to_numpy(data.y), scale.normalised(targets()[used]).T)
        mask, dropped = data.dropped
        assert_array_equal(mask, weights > 0)
        assert_array_equal(to_numpy(dropped), self.X[weights == 0])
        assert_array_equal(data.original_places(np.array([0, 1, 3, 8])), used[[0, 1, 3, 8]])

    def test_with_all_rows_places_stay(self, xp):
        data = self.make(xp, np.full(12, 2.0))
        assert data.used is None
        assert data.dropped is None
        assert_array_equal(data.original_places(np.array([5, 0])), [5, 0])

    def test_targets_take_the_dtype_of_the_inputs(self):
        data = TrainingData(self.X.astype(np.float32), targets(), np.full(12, 2.0), True)
        assert data.y.dtype == data.weights.dtype == np.float32

    def test_what_was_given_is_left_alone(self):
        X, y = self.X.copy(), targets()
        TrainingData(X, y, np.arange(12.0), True)
        assert_array_equal(X, self.X)
        assert_array_equal(y, targets())


class TestSpreads:
    def test_features_in_units_of_their_own(self):
        X = targets(p=3)
        assert_allclose(feature_spreads(X, None), X.std(axis=0))
        X[:, 1] = 0.1
        assert feature_spreads(X, None)[1] == 1.0

    def test_the_variance_is_averaged_over_the_columns(self):
        y = targets()
        assert_allclose(mean_variance(y, None), y.var(axis=0).mean())
        assert mean_variance(np.full((5, 2), 7.0), None) == 1.0

    def test_a_weight_repeats_the_row(self):
        y, weights = targets(), np.random.default_rng(1).integers(1, 4, size=12)
        repeated = np.repeat(y, weights, axis=0)
        counted = weights.astype(float)
        assert_allclose(mean_variance(y, counted), mean_variance(repeated, None))
        assert_allclose(feature_spreads(y, counted), feature_spreads(repeated, None))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 12)])
def test_rows_on_the_host(weights):
    X, y = targets(p=3).astype(np.float32), targets(seed=1).astype(np.float32)
    data = TrainingData(X, y, weights, normalize=True)
    host_X, host_y, host_weights = data.on_host()
    assert host_X.dtype == host_y.dtype == np.float64
    assert_array_equal(host_X, X)
    assert_allclose(host_y, data.scale.normalised(y), rtol=1e-6)
    assert (host_weights is None) == (weights is None)
    assert_allclose(data.spread, 1.0, rtol=1e-6)
