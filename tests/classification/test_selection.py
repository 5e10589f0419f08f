"""The loop grows a basis; a fit selects by one or two criteria, and keeps the better basis."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from classification.models import data, fixed
from classification.problems import SmallProblem
from greedygp.classification import selection as module
from greedygp.classification.criteria import CRITERIA
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Stopping, run


@pytest.mark.parametrize("optimise", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_row_can_enter(criterion, optimise):
    problem = SmallProblem(n=12)
    model = problem.model(criterion, working_set=3, optimise=optimise)
    path = run(model, Stopping(max_size=20))
    assert path.reason == "exhausted"
    assert_array_equal(np.sort(model.state.indices), np.arange(12))
    assert np.all(np.isfinite(path.as_array()["value"]))


def test_patience_goes_back_to_the_minimum():
    problem = SmallProblem(n=60)
    model = problem.model("validation", working_set=10)
    stopping = Stopping(max_size=30, patience=5)
    path = run(model, stopping)
    values = path.as_array()["value"]
    if path.reason == "patience":
        assert len(path) - stopping.best_size == 5
    assert np.min(values) == stopping.best


@pytest.fixture
def tried(monkeypatch):
    """Note the criteria that were selected by."""
    names, model = [], module.GreedyClassifier

    def noted(state, criterion, **options):
        names.append(criterion.name)
        return model(state, criterion, **options)

    monkeypatch.setattr(module, "GreedyClassifier", noted)
    return names


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_basis": 19}, ["adaptive"]),
        ({"max_basis": 20}, ["adaptive", "entropy"]),
        ({"max_basis": 20, "patience": 3}, ["adaptive"]),
        ({"max_basis": 20, "sites": "optimized"}, ["adaptive"]),
        ({"max_basis": None}, ["entropy"]),
        ({"max_basis": 20, "criterion": "validation"}, ["validation"]),
    ],
)
def test_criteria_of_a_fit(tried, options, expected):
    X, y = data(80)
    fixed(**options).fit(X, y)
    assert tried == expected


def test_the_basis_with_the_lower_leave_one_out_loss_is_kept():
    kept = []
    for seed in range(6):
        X, y = data(60, seed=seed)
        options = {"max_basis": 45, "ep_passes": 0}
        auto, *both = (
            fixed(criterion=name, **options).fit(X, y) for name in ("auto", "adaptive", "entropy")
        )
        better = min(both, key=lambda model: model.path_["value"][-1])
        assert_array_equal(auto.basis_indices_, better.basis_indices_)
        assert_array_equal(auto.predict_proba(X), better.predict_proba(X))
        kept.append(both.index(better))
    assert set(kept) == {0, 1}


def test_a_second_selection_that_is_broken_off_leaves_the_first(monkeypatch):
    X, y = data(60)
    loop, calls = module.grow, []

    def stopped(model, stopping, watch):
        calls.append(stopping)
        if len(calls) == 2:
            stopping.max_size = 5
        path = loop(model, stopping, watch)
        path.reason = path.reason if len(calls) == 1 else "time_limit"
        return path

    monkeypatch.setattr(module, "grow", stopped)
    model = fixed(max_basis=20).fit(X, y)
    monkeypatch.undo()
    assert (len(calls), model.n_basis_, model.stop_reason_) == (2, 20, "time_limit")
    assert_array_equal(
        model.basis_indices_, fixed(max_basis=20, criterion="adaptive").fit(X, y).basis_indices_
    )


@pytest.mark.parametrize("seed", range(4))
def test_propagation_is_kept_only_if_it_lowers_the_leave_one_out_loss(monkeypatch, seed):
    X, y = data(40, seed=seed)
    losses, loss_of = [], ClassificationState.loo_loss
    monkeypatch.setattr(
        ClassificationState, "loo_loss", lambda self: losses.append(loss_of(self)) or losses[-1]
    )
    options = {"max_basis": None, "criterion": "entropy"}
    model = fixed(**options).fit(X, y)
    before, after = losses[-2:]
    plain = fixed(ep_passes=0, **options).fit(X, y)
    same = np.array_equal(model.site_means_, plain.site_means_)
    assert same == (after > before)
