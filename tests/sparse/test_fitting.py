"""The stages of a fit, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp import SparseGPRegressor, arrays
from greedygp.data import TrainingData
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from greedygp.progress import NEVER
from greedygp.sparse import fitting
from greedygp.sparse.fitting import SparseFit

START = Point(Gaussian(length_scale=[0.7, 0.9]), 0.05)


def make_fit(n=60, candidates=None, **parameters):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)
    data = TrainingData(X, y, None, True)
    options = SparseGPRegressor(**parameters)
    return SparseFit(options, data, candidates, rng, NEVER, {"X": X, "y": y})


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({}, 30),  # 4 sqrt(60) = 30.98
        ({"refine_basis": False}, 60),
        ({"rounds": 0}, 60),
        ({"objective": None}, 60),
        ({"max_basis": 7}, 7),
        ({"max_basis": 700}, 60),
        ({"candidates": np.zeros((9, 2))}, 9),
    ],
)
def test_the_most_basis_vectors(parameters, limit):
    assert make_fit(**parameters).sizes == (limit,)


def test_sizes_are_tried_where_there_are_many_rows_and_the_basis_moves():
    assert make_fit(n=2000, max_basis="auto").sizes == (89, 178, 357, 715)
    assert make_fit(n=1999, max_basis="auto").sizes == (178,)
    assert make_fit(n=2000, max_basis="auto", candidates=np.zeros((50, 2))).sizes == (50,)
    assert make_fit(n=2000, max_basis="auto", refine_basis=False).sizes == (500,)
    assert make_fit(n=2000).sizes == (178,)


@pytest.mark.parametrize(
    ("parameters", "first", "rivals"),
    [
        ({}, "fitc", ("dtc",)),
        ({"objective": "loo_cve"}, "fitc", ()),
        ({"objective": "nlml"}, "fitc", ()),
        ({"objective": "vfe"}, "dtc", ()),
        ({"approximation": "sor"}, "sor", ()),
        ({"approximation": "fitc"}, "fitc", ()),
    ],
)
def test_the_approximations_of_a_fit(parameters, first, rivals):
    schedule = make_fit(**parameters)._schedule()
    assert (schedule.approximation, schedule.rivals) == (first, rivals)


def test_given_hyperparameters_are_the_start():
    point, value = make_fit(
        kernel=START.kernel, noise_variance=START.noise_variance, objective=None
    ).start()
    assert point == START
    assert np.isnan(value)


def test_a_start_that_is_interrupted_leaves_no_model(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("greedygp.start.evidence", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_fit().run()


@pytest.mark.parametrize(
    ("preparing", "refine", "criterion", "asked", "approximation", "kept"),
    [
        (True, True, "nlgpp", "fitc", "dtc", "random"),
        (False, True, "nlgpp", "fitc", "dtc", "nlgpp"),
        (False, False, "nlgpp", "fitc", "fitc", "nlgpp"),
        (False, False, "nlgpp", "auto", "dtc", "nlgpp"),
        (False, False, "nlpp", "fitc", "dtc", "nlpp"),
    ],
)
def test_a_selection(preparing, refine, criterion, asked, approximation, kept):
    options = {"criterion": criterion, "approximation": asked, "refine_basis": refine}
    fit = make_fit(rounds=2, max_basis=4, **options)
    selector = fit._selector(START, 4, fitting.CRITERIA[kept], None, fit.data)
    assert selector.state.approximation == approximation
    selected = fit.select(START, 4, preparing=preparing)
    assert len(selected.indices) == 4
    assert selected.state.approximation == approximation


@pytest.mark.parametrize(("refine", "begins_with"), [(False, "last basis"), (True, "nothing")])
def test_a_round_begins_with_the_basis_of_the_last_one(refine, begins_with):
    """Section 4 of the matching-pursuit paper; not where the rounds before took a random basis."""
    fit = make_fit(rounds=2, max_basis=4, criterion="matching_pursuit", refine_basis=refine)
    before = fit.select(START, 4, preparing=refine)
    selector = fit._selector(START, 4, fitting.CRITERIA["matching_pursuit"], before, fit.data)
    expected = before.indices if begins_with == "last basis" else []
    assert selector.favourites.tolist() == list(expected)
    selector = fit._selector(START, 4, fitting.CRITERIA["nlml"], None, fit.data)
    assert selector.favourites.tolist() == []


@pytest.mark.parametrize(
    ("criterion", "n", "blocks"),
    [
        ("matching_pursuit", 3000, 1),
        ("info_gain", 3000, 1),
        ("random", 3000, 1),
        ("matching_pursuit", 12_000, 2),
        ("nlml", 3000, 2),
        ("nlgpp", 3000, 2),
    ],
)
def test_threads_share_the_rows_where_a_step_has_work_for_them(monkeypatch, criterion, n, blocks):
    monkeypatch.setattr(arrays, "thread_count", lambda: 2)
    fit = make_fit(n=n, max_basis=4)
    selector = fit._selector(START, 4, fitting.CRITERIA[criterion], None, fit.data)
    assert len(selector.state.rows.blocks) == blocks


def test_a_model_without_learning_is_rebuilt_exactly():
    fit = make_fit(objective=None, criterion="nlml", max_basis=20, patience=2, approximation="fitc")
    state, learnt = fit.select_only(START, -1.0)
    assert state.size == len(learnt.selected.indices)
    assert (learnt.value, learnt.rounds) == (-1.0, [])
    again = state.trial(state.basis[-1, :], state.indices[-1])  # one more, and back
    again.truncate(state.size)
    assert_allclose(again.w, state.w, rtol=1e-8)
    assert state.approximation == "fitc"


def test_learning_ends_with_the_best_model():
    fit = make_fit(max_basis=6, max_iter=5, rounds=2, random_state=0)
    model = fit.learn(START)
    state, learnt = model.state, model.learnt
    assert state.kernel == learnt.point.kernel
    assert state.noise_variance == learnt.point.noise_variance
    assert_allclose(state.basis, learnt.point.basis)
    assert len(learnt.rounds) == 2
    assert learnt.refined
