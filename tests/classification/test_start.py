"""Where learning starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from greedygp.classification import start as module
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.start import (
    default_prior,
    learnt_start,
    starting_kernel,
    starting_point,
)
from greedygp.kernels import Gaussian, Linear
from greedygp.progress import NEVER


def rows(n=60, features=2, weights=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, features)) * np.array([1.0, 10.0, 0.1])[:features]
    y = np.where(np.sin(3.0 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return LabelledRows(X, y, rng.uniform(0.5, 2.0, n) if weights else None)


def learnt(data, first, **options):
    defaults = {"prior": None, "learn_bias": True, "max_iter": 15, "deadline": NEVER}
    return learnt_start(first, data, rng=np.random.default_rng(0), **(defaults | options))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kernel", [None, Linear(0.7)])
def test_the_prior_predicts_the_shares_of_the_classes(kernel, weights):
    data = rows(weights=weights)
    point = starting_point(data, kernel, None)
    variance = np.mean(point.kernel.diag(data.X))
    share = np.sum(data.mass[data.y > 0]) / data.total
    assert_allclose(ndtr(point.bias / np.sqrt(1.0 + variance)), share, rtol=1e-10)
    assert starting_point(data, kernel, -0.5).bias == -0.5


def test_length_scales_are_in_units_of_the_spreads():
    X = rows(features=3).X
    kernel = starting_kernel(X, None)
    assert_allclose(kernel.length_scale, np.sqrt(3.0) * X.std(axis=0))
    twice = starting_kernel(np.repeat(X, 2, axis=0), None)
    weighted = starting_kernel(X, np.full(len(X), 2.0))
    assert_allclose(weighted.length_scale, twice.length_scale)
    assert starting_kernel(np.full((5, 1), 1e8), None).length_scale[0] == 1.0


@pytest.mark.parametrize("useful", [1, 2])
def test_each_feature_gets_a_length_scale_where_that_pays(useful):
    """One of two features is noise, or both are of one kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.where(np.sin(3.0 * X[:, :useful]).sum(axis=1) > 0, 1.0, -1.0)
    data = LabelledRows(X, y)
    first = starting_point(data, None, None)
    start = learnt(data, first, prior=default_prior(first.kernel))
    assert start.tied == (useful == 2)
    shift = start.point.kernel.theta[1:] - first.kernel.theta[1:]
    assert (abs(shift[0] - shift[1]) > 0.1) == (useful == 1)


def test_one_feature_has_nothing_to_untie():
    data = rows(features=1)
    first = starting_point(data, None, None)
    assert learnt(data, first, prior=default_prior(first.kernel)).tied


def test_a_given_kernel_is_learnt_as_it_is():
    data = rows()
    first = LatentPoint(Gaussian(4.0, [1.0, 10.0]), 0.2)
    start = learnt(data, first, learn_bias=False)
    assert not start.tied
    assert start.point.bias == 0.2
    assert np.all(start.point.kernel.theta != first.kernel.theta)


def test_many_rows_are_thinned(monkeypatch):
    monkeypatch.setattr(module, "SUBSET_ROWS", 40)
    seen = []
    evidence = module.propagated_evidence

    def noted(point, data, *sites):
        seen.append(data)
        return evidence(point, data, *sites)

    monkeypatch.setattr(module, "propagated_evidence", noted)
    data = rows(weights=True)
    learnt(data, starting_point(data, None, None), max_iter=1)
    assert {len(part) for part in seen} == {40}
    places = [int(np.flatnonzero(data.X[:, 0] == x)[0]) for x in seen[0].X[:, 0]]
    assert places == sorted(set(places))
    assert_allclose(seen[0].weights, data.weights[places])


@pytest.mark.parametrize("ties", [True, False])
def test_few_rows_first(monkeypatch, ties):
    """The searches end where those of all rows from the beginning end."""
    data, sizes = rows(n=120), []
    first = starting_point(data, None, None)
    options = {"prior": default_prior(first.kernel) if ties else None, "max_iter": 60}
    expected = learnt(data, first, tol=1e-9, **options)
    monkeypatch.setattr(module, "FIRST_ROWS", 30)
    evidence = module.propagated_evidence

    def noted(point, data, *sites):
        sizes.append(len(data))
        return evidence(point, data, *sites)

    monkeypatch.setattr(module, "propagated_evidence", noted)
    start = learnt(data, first, tol=1e-9, **options)
    assert sizes[0] == 30
    assert set(sizes) == {30, 120}
    assert start.tied == expected.tied
    assert_allclose(start.value, expected.value, rtol=1e-3)


def test_what_pays_with_few_rows_is_not_asked_again(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    data = LabelledRows(X, np.where(np.sin(3.0 * X[:, 0]) > 0, 1.0, -1.0))
    monkeypatch.setattr(module, "FIRST_ROWS", 140)
    first, ties = starting_point(data, None, None), []
    parts = module.moving_parts

    def noted(point, *, tied, **options):
        ties.append(tied)
        return parts(point, tied=tied, **options)

    monkeypatch.setattr(module, "moving_parts", noted)
    assert not learnt(data, first, prior=default_prior(first.kernel)).tied
    assert ties == [True, False, False, False]  # the last one makes it exact


def test_an_interrupted_start_leaves_no_model(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "propagated_evidence", interrupted)
    data = rows()
    with pytest.raises(KeyboardInterrupt):
        learnt(data, starting_point(data, None, None))


def test_sites_that_are_too_large_for_rounding_begin_afresh():
    """Those of another point, with which `I + S K S` is not positive definite."""
    X = np.repeat(np.linspace(-1.0, 1.0, 10)[:, None], 2, axis=0)
    data = LabelledRows(X, np.where(X[:, 0] > 0.1, 1.0, -1.0), None)
    point = LatentPoint(Gaussian(), 0.0)
    expected = module.SubsetEvidence(data)(point)
    evidence = module.SubsetEvidence(data)
    evidence.sites = np.zeros(20), np.full(20, 1e25)
    found = evidence(point)
    assert found.value == expected.value
    assert np.max(evidence.sites[1]) < 1e3
