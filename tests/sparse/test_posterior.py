"""Predictions from the factors: against conditioning, in tiles, and without a basis."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.prediction import sample
from greedygp.sparse import posterior
from greedygp.sparse.posterior import Posterior
from tolerances import assert_close

BASIS = [4, 17, 0, 25, 9]
APPROXIMATIONS = ("sor", "dtc", "fitc")


def new_inputs(n=17):
    return np.random.default_rng(5).uniform(-1.5, 1.5, size=(n, 2))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_predictions_equal_conditioning(SmallProblem, three_blocks, approximation, weights):
    problem = SmallProblem(p=2, weights=weights)
    state = problem.grown(BASIS, approximation=approximation)
    fitted, X = Posterior(state), new_inputs()
    mean, covariance = problem.model(state).predict(X, noise=False)
    assert fitted.n_targets == 2
    assert_allclose(fitted.mean(X), mean, rtol=0, atol=1e-9)
    assert_allclose(fitted.covariance(X), covariance, rtol=0, atol=1e-9)
    both = fitted.mean_and_variance(X)
    assert_allclose(both[0], mean, rtol=0, atol=1e-9)
    assert_allclose(both[1], np.diag(covariance), rtol=0, atol=1e-9)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_the_diagonal_of_the_covariance_is_the_variance(SmallProblem, approximation):
    fitted = Posterior(SmallProblem().grown(BASIS, approximation=approximation))
    X = np.vstack([new_inputs(), SmallProblem().X[BASIS]])
    covariance = fitted.covariance(X)
    assert_close(np.diag(covariance), fitted.mean_and_variance(X)[1])
    assert_close(covariance, covariance.T)
    assert np.min(np.linalg.eigvalsh(covariance)) > -1e-12


@pytest.mark.parametrize("entries", [1, 5, 12, 83, 84, 85, 86])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_tiles_equal_the_whole(SmallProblem, monkeypatch, approximation, entries):
    fitted, X = Posterior(SmallProblem(p=2).grown(BASIS, approximation=approximation)), new_inputs()
    mean, (same_mean, variance) = fitted.mean(X), fitted.mean_and_variance(X)
    sizes = []
    inside = fitted._in_tiles

    def watched(backend, X, function):
        return inside(backend, X, lambda tile: (sizes.append(len(tile)), function(tile))[1])

    monkeypatch.setattr(posterior, "TILE_ENTRIES", entries)
    monkeypatch.setattr(fitted, "_in_tiles", watched)
    assert_close(fitted.mean(X), mean)
    assert sum(sizes) == len(X)
    assert max(sizes) == min(max(1, entries // len(BASIS)), len(X))
    tiled = fitted.mean_and_variance(X)
    assert_close(tiled[0], same_mean)
    assert_close(tiled[1], variance)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_an_empty_basis_gives_the_prior(SmallProblem, approximation):
    problem = SmallProblem(p=2)
    fitted, X = Posterior(problem.state(approximation)), new_inputs()
    prior = 0.0 * problem.kernel(X) if approximation == "sor" else problem.kernel(X)
    assert_array_equal(fitted.mean(X), np.zeros((len(X), 2)))
    mean, variance = fitted.mean_and_variance(X)
    assert_array_equal(mean, np.zeros((len(X), 2)))
    assert_array_equal(variance, np.diag(prior))
    assert_array_equal(fitted.covariance(X), prior)


def test_far_away_is_the_prior(SmallProblem):
    fitted = Posterior(SmallProblem().grown(BASIS))
    mean, variance = fitted.mean_and_variance(new_inputs() + 100)
    assert_allclose(mean, 0, atol=1e-12)
    assert_allclose(variance, SmallProblem().variance)


def test_no_rows(SmallProblem):
    fitted, nothing = Posterior(SmallProblem().grown(BASIS)), np.zeros((0, 2))
    assert fitted.mean(nothing).shape == (0, 1)
    assert fitted.mean_and_variance(nothing)[1].shape == (0,)
    assert fitted.covariance(nothing).shape == (0, 0)


def test_it_does_not_follow_the_state(SmallProblem):
    problem = SmallProblem()
    state = problem.grown(BASIS)
    fitted, X = Posterior(state), new_inputs()
    before = fitted.mean_and_variance(X)
    problem.append(state, 12)
    state.truncate(2)
    after = fitted.mean_and_variance(X)
    assert_array_equal(after[0], before[0])
    assert_array_equal(after[1], before[1])


def test_inputs_of_another_dtype(SmallProblem):
    """Predictions are made where the inputs are, in float64."""
    fitted, X = Posterior(SmallProblem().grown(BASIS)), new_inputs()
    mean, variance = fitted.mean_and_variance(X.astype(np.float32))
    assert mean.dtype == variance.dtype == np.float64
    assert_allclose(mean, fitted.mean(X), rtol=0, atol=1e-6)
    torch = pytest.importorskip("torch")
    assert_close(fitted.mean(torch.asarray(X)).numpy(), fitted.mean(X))


# --------------------------------------------------------------------------------- samples


class Unit:
    """In place of random numbers: unit vectors, which show the root of the covariance."""

    def standard_normal(self, shape):
        return np.eye(*shape)


def test_samples_have_the_covariance():
    root = np.random.default_rng(0).normal(size=(4, 4))
    mean, covariance = np.arange(4.0), root @ root.T
    offsets = sample(mean, covariance, 4, Unit()) - mean[:, None]
    assert_close(offsets @ offsets.T, covariance)


def test_samples_of_a_singular_covariance():
    covariance = np.ones((3, 3))
    drawn = sample(np.zeros(3), covariance, 5, np.random.RandomState(0))
    assert drawn.shape == (3, 5)
    assert_allclose(drawn, np.broadcast_to(drawn[0], (3, 5)), atol=1e-7)
