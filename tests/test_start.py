"""Hyperparameters by the evidence of a full GP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as sk
from threadpoolctl import threadpool_limits

from full_gp_problem import KERNELS, data
from greedygp import GPRegressor
from greedygp import start as start_module
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.full_gp import evidence
from greedygp.kernels import Gaussian, from_sklearn
from greedygp.prior import KernelPrior, NoisePrior
from greedygp.progress import Deadline
from greedygp.start import Given, default_kernel, subset_evidence


@pytest.fixture(autouse=True)
def serial_blas():
    """Matrices this small are not worth a second thread."""
    with threadpool_limits(1, user_api="blas"):
        yield


# -------------------------------------------------------------------------- default kernel


def test_the_default_kernel_is_scaled_to_the_data():
    X, y = data(n=40)
    kernel = default_kernel(X * [1.0, 100.0], y, None)
    assert_allclose(kernel.length_scale, X.std(axis=0) * [1.0, 100.0] * np.sqrt(2))
    assert_allclose(kernel.variance, np.mean(y**2))  # about zero, the prior's mean


def test_the_default_kernel_counts_weights_as_copies():
    X, y = data()
    copies = np.random.default_rng(1).integers(1, 4, size=len(X))
    weighted = default_kernel(X, y, copies.astype(float))
    repeated = default_kernel(np.repeat(X, copies, axis=0), np.repeat(y, copies, axis=0), None)
    assert_allclose(weighted.length_scale, repeated.length_scale)
    assert_allclose(weighted.variance, repeated.variance)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e12])
def test_constant_columns_get_a_scale_of_one(constant):
    X, y = data()
    X[:, 1] = constant
    assert_allclose(default_kernel(X, y, None).length_scale[1], np.sqrt(2))


def test_constant_targets_get_a_variance_of_one():
    X, y = data()
    assert default_kernel(X, 0 * y, None).variance == 1


# -------------------------------------------------------------------------------- learning


def test_learning_lowers_the_evidence_to_a_minimum():
    X, y = data(n=40, p=1)
    learnt = subset_evidence(None, None, X, y)
    start = default_kernel(X, y, None)
    assert learnt.converged
    assert learnt.n_iter > 0
    found = evidence(learnt.point.kernel, learnt.point.noise_variance, X, y, None)
    assert_allclose(learnt.value, found.value)
    assert found.value < evidence(start, 0.1 * y.var(), X, y, None).value
    _, theta = KernelPrior(start).loss(learnt.point.kernel)
    _, log_noise = NoisePrior(y.var()).loss(learnt.point.noise_variance)
    slopes = [*(found.theta + theta), found.log_noise + log_noise]
    assert np.max(np.abs(slopes)) < 0.02
    assert 0.003 < learnt.point.noise_variance < 0.03  # it was made with 0.01


def test_targets_may_be_a_vector():
    X, y = data(n=20, p=1)
    vector, column = (subset_evidence(None, None, X, t, max_iter=5) for t in (y[:, 0], y))
    assert vector.value == column.value


def test_given_noise_is_held():
    X, y = data()
    start = default_kernel(X, y, None)
    learnt = subset_evidence(None, 0.123, X, y, max_iter=20)
    assert learnt.point.noise_variance == 0.123
    assert learnt.point.kernel != start
    assert learnt.value < evidence(start, 0.123, X, y, None).value


def test_a_given_kernel_can_be_held():
    X, y = data()
    kernel = KERNELS["ARD Gaussian"]
    learnt = subset_evidence(kernel, None, X, y, learn_kernel=False)
    assert learnt.point.kernel == kernel
    grid = [evidence(kernel, noise, X, y, None).value for noise in np.geomspace(1e-5, 1, 60)]
    assert learnt.value <= min(grid) + 1e-6
    assert abs(evidence(kernel, learnt.point.noise_variance, X, y, None).log_noise) < 1e-3


def test_a_fixed_parameter_is_held():
    X, y = data()
    learnt = subset_evidence(KERNELS["fixed variance"], None, X, y, max_iter=20)
    assert learnt.point.kernel.variance == 1.3
    assert learnt.point.kernel.length_scale != 0.7


def test_with_nothing_to_learn_the_value_is_given():
    X, y = data()
    kernel = KERNELS["ARD Gaussian"]
    learnt = subset_evidence(kernel, 0.05, X, y, learn_kernel=False)
    assert learnt.point.kernel == kernel
    assert learnt.point.noise_variance == 0.05
    assert learnt.n_iter == 0
    assert learnt.converged
    assert_allclose(learnt.value, evidence(kernel, 0.05, X, y, None).value)


def test_the_limit_of_iterations_is_kept():
    X, y = data()
    assert subset_evidence(None, None, X, y, max_iter=2).n_iter <= 2
    assert not subset_evidence(None, None, X, y, max_iter=2).converged


class TestSubset:
    """Of many rows only some are used, chosen by the seed."""

    def seen(self, monkeypatch, X, y, weights=None, **options):
        calls = []

        def recording(kernel, noise, X, y, weights):
            calls.append((X, y, weights))
            return evidence(kernel, noise, X, y, weights)

        monkeypatch.setattr(start_module, "evidence", recording)
        subset_evidence(None, None, X, y, weights, max_iter=1, **options)
        monkeypatch.undo()
        for X_later, y_later, _ in calls:  # the same rows, or those of them that differ
            rows = np.hstack([X_later, y_later])
            assert_array_equal(np.unique(rows, axis=0), np.unique(np.hstack(calls[0][:2]), axis=0))
        return calls[0]

    def test_rows_stay_together(self, monkeypatch):
        X, y = data(n=40)
        weights = np.random.default_rng(2).uniform(0.5, 2, size=40)
        X_s, y_s, w_s = self.seen(monkeypatch, X, y, weights, n_rows=15, random_state=0)
        rows = [int(np.flatnonzero(np.all(x == X, axis=1))[0]) for x in X_s]
        assert len(set(rows)) == 15
        assert rows == sorted(rows)
        assert_array_equal(y_s, y[rows])
        assert_array_equal(w_s, weights[rows])

    def test_the_seed_decides(self, monkeypatch):
        X, y = data(n=40)
        first, again, other = (
            self.seen(monkeypatch, X, y, n_rows=15, random_state=seed)[0] for seed in (0, 0, 1)
        )
        assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    @pytest.mark.parametrize("n_rows", [25, 26, 500])
    def test_few_rows_are_all_used(self, monkeypatch, n_rows):
        X, y = data(n=25)
        assert_array_equal(self.seen(monkeypatch, X, y, n_rows=n_rows)[0], X)

    def test_the_default_kernel_sees_all_rows(self):
        X, y = data(n=40)
        learnt = subset_evidence(None, 0.1, X, y, n_rows=10, learn_kernel=False, random_state=0)
        assert learnt.point.kernel == default_kernel(X, y, None)


def test_weights_and_copies_learn_the_same():
    X, y = data(n=20, p=1)
    copies = np.random.default_rng(1).integers(1, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), copies)
    weighted = subset_evidence(None, None, X, y, copies.astype(float), max_iter=10)
    repeated = subset_evidence(None, None, X[rows], y[rows], max_iter=10)
    assert_allclose(weighted.value, repeated.value, rtol=1e-5)


def test_impossible_parameters_lead_back(monkeypatch):
    """Where the matrix cannot be factorised the optimiser turns round, and ends with numbers."""
    X, y = data(p=1)
    refused = []

    def picky(kernel, noise, *args):
        if noise < 0.02:  # the best is near 0.01
            refused.append(noise)
            raise NotPositiveDefiniteError("K + noise", len(X), 0.0, "")
        return evidence(kernel, noise, *args)

    monkeypatch.setattr(start_module, "evidence", picky)
    learnt = subset_evidence(None, None, X, y)
    assert refused
    assert 0.02 <= learnt.point.noise_variance < 0.1
    there = evidence(learnt.point.kernel, learnt.point.noise_variance, X, y, None)
    assert_allclose(learnt.value, there.value)


def copied(copies):
    """Noise in two dimensions, every row of which is there more than once."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    return np.repeat(X, copies, axis=0), np.repeat(y, copies, axis=0)


def test_copies_of_rows_do_not_make_noise_a_function():
    X, y = copied(2)
    learnt = subset_evidence(None, None, X, y)
    assert np.all(learnt.point.kernel.length_scale > 0.2)


def test_a_function_of_short_distances_is_found():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 40, size=(300, 1))
    y = np.sin(3 * X) + 0.1 * rng.normal(size=X.shape)
    assert subset_evidence(None, None, X, y).point.noise_variance < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_length_scales_of_useless_features_do_not_run_away(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 8))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    scales = subset_evidence(None, None, X, y, random_state=seed).point.kernel.length_scale
    assert np.max(scales) < 100.0
    assert np.argmin(scales) == 0
    assert np.min(scales[1:]) > 3 * scales[0]


def test_the_noise_of_few_rows_does_not_vanish():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 10))
    y = X[:, 0] + 0.5 * rng.normal(size=20)
    learnt = subset_evidence(None, None, X, y, random_state=0)
    assert learnt.point.noise_variance > 1e-3 * y.var()


def test_a_given_kernel_has_no_prior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    learnt = subset_evidence(Gaussian(1.0, [1.0, 1.0]), None, X, y, random_state=0)
    found = evidence(learnt.point.kernel, learnt.point.noise_variance, X, y[:, None], None)
    assert np.max(np.abs(found.theta)) < 0.02


# -------------------------------------------------------------------------- what was given


def test_the_search_begins_with_the_noise_that_was_given():
    X, y = data(n=40)
    for first in (1e-3, 0.7):
        found = subset_evidence(Gaussian(), None, X, y, first_noise=first, max_iter=0)
        assert found.point.noise_variance == pytest.approx(first)
    held = subset_evidence(Gaussian(), 0.2, X, y, first_noise=0.7, max_iter=0)
    assert held.point.noise_variance == 0.2


def test_other_rows_choose_between_two_subsets():
    X, y = data(n=130)
    options = {"n_rows": 40, "max_iter": 8}
    chosen = []
    for seed in range(6):
        parts = np.random.default_rng(seed).permutation(130)[:120].reshape(3, 40)
        first, second, judge = ((X[part], y[part]) for part in np.sort(parts, axis=1))
        both = [subset_evidence(Gaussian(), None, *rows, **options) for rows in (first, second)]
        cost = [evidence(m.point.kernel, m.point.noise_variance, *judge, None).value for m in both]
        found = subset_evidence(Gaussian(), None, X, y, compare=True, random_state=seed, **options)
        chosen.append(int(np.argmin(cost)))
        assert_allclose(found.point.kernel.theta, both[chosen[-1]].point.kernel.theta, rtol=1e-9)
        assert found.value == pytest.approx(both[chosen[-1]].value)
    assert set(chosen) == {0, 1}


def test_few_rows_are_not_compared():
    X, y = data(n=119)
    options = {"n_rows": 40, "max_iter": 5, "random_state": 3}
    alone, compared = (
        subset_evidence(Gaussian(), None, X, y, compare=compare, **options)
        for compare in (False, True)
    )
    assert_array_equal(alone.point.kernel.theta, compared.point.kernel.theta)


def test_no_second_subset_when_time_is_up():
    X, y = data(n=130)
    parts = np.random.default_rng(0).permutation(130)[:120].reshape(3, 40)
    rows = np.sort(parts[0])
    passed = Deadline.after(1e-9)
    found = subset_evidence(
        Gaussian(), None, X, y, n_rows=40, compare=True, deadline=passed, random_state=0
    )
    assert found.n_iter == 0
    expected = evidence(found.point.kernel, found.point.noise_variance, X[rows], y[rows], None)
    assert found.value == pytest.approx(expected.value)


def test_what_an_estimator_was_given():
    def given(kernel, noise_variance=None):
        return Given.to(GPRegressor(kernel=kernel, noise_variance=noise_variance), 2)

    assert given(None) == Given(None, None, None)
    assert given(Gaussian(), 1) == Given(Gaussian(), 1.0, None)
    white = sk.RBF() + sk.WhiteKernel(0.3)
    assert given(white) == Given(from_sklearn(sk.RBF()), None, 0.3)
    assert given(sk.RBF() + sk.WhiteKernel(0.3, "fixed")) == Given(from_sklearn(sk.RBF()), 0.3)
    with pytest.raises(ValueError, match=r"noise_variance=0.1, and a WhiteKernel of 0.3"):
        given(white, 0.1)
