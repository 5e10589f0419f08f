"""Everything that state and candidates keep, against direct computation, after every action."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.greedy import Stopping, run
from greedygp.linear.candidates import AllCandidates, SampledCandidates
from greedygp.linear.criteria import GCV, Evidence
from greedygp.linear.selection import FastSelection
from greedygp.linear.state import LinearState
from reference import sparse_linear as reference

PROBLEMS = {
    "kernel": {},
    "weights": {"weights": True},
    "no intercept": {"intercept": False},
    "wide": {"width": 2.0},
    "very wide": {"width": 6.0},
    "narrow": {"width": 0.05},
    "more columns than rows": {"N": 20, "M": 50},
    "few columns": {"N": 50, "M": 6, "weights": True},
}


def check(problem, state, candidates, squares):
    """Compare with P itself; what belongs to a column relative to the norms."""
    truth = reference.quantities(problem.Phi, problem.t, state.chosen, state.zeta, problem.dof)
    norms = np.sum(problem.Phi**2, axis=0)
    size = np.sqrt(norms * state.square)
    assert_allclose(candidates.r / size, truth["r"] / size, atol=1e-8)
    assert_allclose(candidates.gamma / norms, truth["gamma"] / norms, atol=1e-8)
    assert_allclose(state.energy, truth["energy"], rtol=1e-8, atol=1e-10 * state.square)
    assert_allclose(state.log_det, truth["log_det"], atol=1e-7)
    if squares:
        assert_allclose(candidates.xi / size, truth["xi"] / size, atol=1e-8)
        assert_allclose(candidates.u / norms, truth["u"] / norms, atol=1e-8)
        assert_allclose(state.trace, truth["trace"], rtol=1e-8)
        assert_allclose(state.error, truth["error"], rtol=1e-8, atol=1e-10 * state.square)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kind", ["gcv", "evidence"])
def test_after_every_action_of_the_loop(problem, name, kind):
    p = problem(**PROBLEMS[name])
    state = LinearState(p.dictionary, p.t, squares=kind == "gcv")
    candidates = AllCandidates(state)
    criterion = GCV(p.rows, p.dof) if kind == "gcv" else Evidence(p.dof)
    tol = 1e-6 if kind == "gcv" else 1e-4
    selection = FastSelection(state, candidates, criterion, tol)
    values = []

    def look(path):
        candidates.refresh()
        check(p, state, candidates, kind == "gcv")
        values.append(path.steps[-1][2])
        return len(path) >= 60

    path = run(selection, Stopping(), look)
    assert path.reason in ("converged", "callback")
    fell = np.diff(values) if kind == "gcv" else -np.diff(values)
    assert np.all(fell <= 1e-8 * np.abs(values[:-1]))


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_after_random_actions(problem, squares, width):
    """Actions that no criterion would take, in any order."""
    p = problem(seed=3, width=width, weights=True)
    rng = np.random.default_rng(0)
    state = LinearState(p.dictionary, p.t, squares)
    candidates = AllCandidates(state)
    for step in range(80):
        kind = rng.choice(["add", "reestimate", "delete"], p=[0.5, 0.3, 0.2])
        if kind == "add" or not state.chosen:
            left = np.setdiff1d(np.arange(p.dictionary.n_columns), state.chosen)
            if not len(left):
                continue
            j = int(rng.choice(left))
            candidates.added(j, state.add(j, float(10 ** rng.uniform(-3, 1))), ())
        else:
            place = int(rng.integers(state.size))
            if kind == "reestimate":
                candidates.changed(state.reestimate(place, float(10 ** rng.uniform(-3, 1))))
            else:
                candidates.deleted(place, state.delete(place))
                state.drop(place)
        if step % 3 == 0:  # several changes at once, too
            candidates.refresh()
            check(p, state, candidates, squares)
        if step % 37 == 36:
            candidates.recompute(state.recompute())
            check(p, state, candidates, squares)


def test_inside_quantities_are_those_of_the_model_without(problem):
    """Equations (9)-(13) and (22) for the functions in the model, by leaving them out."""
    p = problem(seed=1, weights=True)
    state = LinearState(p.dictionary, p.t)
    state.start_with([3, 8, 20, 31], np.array([0.5, 0.01, 2.0, 0.1]))
    without = state.without_each()
    for place in range(4):
        rest = [k for k in range(4) if k != place]
        chosen = [state.chosen[k] for k in rest]
        truth = reference.quantities(p.Phi, p.t, chosen, state.zeta[rest], p.dof)
        j = state.chosen[place]
        for name in ("r", "gamma", "xi", "u"):
            assert getattr(without, name)[place] == pytest.approx(truth[name][j], rel=1e-8)
        for name in ("trace", "error", "energy"):
            assert getattr(without, name)[place] == pytest.approx(truth[name], rel=1e-9)


def test_sampled_candidates(problem):
    p = problem(seed=2, weights=True)
    state = LinearState(p.dictionary, p.t)
    state.start_with([3, 8, 20], np.array([0.5, 0.01, 2.0]))
    candidates = SampledCandidates(state, 10, np.random.default_rng(0))
    truth = reference.quantities(p.Phi, p.t, state.chosen, state.zeta, p.dof)
    assert len(candidates.indices) == 10
    assert not set(candidates.indices) & set(state.chosen)
    for name in ("r", "gamma", "xi", "u"):
        expected = truth[name][candidates.indices]
        assert_allclose(getattr(candidates, name), expected, rtol=1e-8, atol=1e-10)


def test_start_with_many_columns(problem):
    p = problem(N=150)
    state = LinearState(p.dictionary, p.t)
    chosen = list(range(0, 150, 2))
    state.start_with(chosen, np.full(75, 0.1))
    candidates = AllCandidates(state)
    check(p, state, candidates, True)


def test_drift_is_noticed(problem):
    p = problem()
    state = LinearState(p.dictionary, p.t)
    candidates = AllCandidates(state)
    run(FastSelection(state, candidates, GCV(p.rows, p.dof), 1e-6), Stopping(max_steps=8))
    candidates.gamma[5] = -1.0 * candidates.norms[5]
    assert candidates.refresh() is (5 in state.chosen)
    candidates.r += 1e-3
    state.recompute()
    assert not candidates.check()
    state.inverse += 1e-3 * np.abs(state.inverse).max()
    state.reestimate(0, 2.0 * state.zeta[0])
    assert state.drift > 1e-4


def test_without_drift_nothing_is_computed_again(problem):
    p = problem()
    state = LinearState(p.dictionary, p.t)
    candidates = AllCandidates(state)
    run(FastSelection(state, candidates, GCV(p.rows, p.dof), 1e-6), Stopping(max_steps=8))
    state.recompute()
    assert candidates.check()
    check(p, state, candidates, True)
