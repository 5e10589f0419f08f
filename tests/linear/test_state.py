"""What the state keeps besides the model; the model itself is compared in `test_candidates.py`."""

import numpy as np
from numpy.testing import assert_allclose

from greedygp.linear.candidates import AllCandidates
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.state import LinearState


def test_actions_are_counted_until_everything_is_computed_afresh(problem):
    p = problem(seed=2)
    state = LinearState(p.dictionary, p.t)
    counts = []
    state.add(3, 0.1)
    counts.append(state.actions)
    state.add(8, 0.2)
    counts.append(state.actions)
    state.reestimate(0, 0.5)
    counts.append(state.actions)
    state.delete(1)
    state.drop(1)
    counts.append(state.actions)
    assert counts == [1, 2, 3, 4]
    assert state.drift > 0.0
    state.recompute()
    assert (state.actions, state.drift) == (0, 0.0)


def test_drift_is_the_largest_residual_of_a_column(problem):
    """Relative to the column's right-hand side; what was worse before is not forgotten."""
    p = problem(seed=2)
    state = LinearState(p.dictionary, p.t)
    state.start_with([3, 8], np.array([0.1, 0.2]))
    state.inverse *= 1.0 + 1e-3
    state.reestimate(0, 0.5)
    assert_allclose(state.drift, 1e-3, rtol=1e-6)
    state.recompute()
    state.drift = 0.5
    state.reestimate(1, 0.3)
    assert state.drift == 0.5


def test_without_squares_drift_is_an_error_of_the_solution(problem):
    p = problem(seed=2)
    state = LinearState(p.dictionary, p.t, squares=False)
    state.start_with([3, 8], np.array([0.1, 0.2]))
    state.inverse *= 1.0 + 1e-3
    state.reestimate(0, 0.5)
    assert_allclose(state.drift, 1e-3, rtol=1e-6)


def spoilt_drift(Phi, t, scale):
    """Return the drift after one entry of `S^-1` was spoilt, the first column being scaled."""
    Phi = Phi.copy()
    Phi[:, 0] *= scale
    dictionary = Dictionary.of_matrix(Phi, intercept=False)
    state = LinearState(dictionary, t, squares=False)
    state.start_with([0, 1, 2], np.array([0.3 * scale**2, 0.1, 0.2]))
    state.inverse[1, 0] += 1e-4 / scale * state.inverse[1, 1]
    state.inverse[0, 1] = state.inverse[1, 0]
    state.reestimate(1, 0.7)
    return state.drift


def test_without_squares_drift_does_not_depend_on_scales(problem):
    """A column in other units, with the same model, is spoilt by as much."""
    p = problem(seed=2, M=4, N=20)
    drift = spoilt_drift(p.Phi_raw, p.t, 1.0)
    assert 1e-6 < drift < 1.0
    for scale in (1e-4, 1e4):
        assert_allclose(spoilt_drift(p.Phi_raw, p.t, scale), drift, rtol=1e-4)


def test_known_products_give_the_same_model(problem):
    """Those of the candidates, who have Gram rows, and those that the state computes itself."""
    p = problem(seed=2, weights=True)
    states = [LinearState(p.dictionary, p.t) for _ in range(2)]
    for state in states:
        state.start_with([3, 8], np.array([0.1, 0.2]))
    known = AllCandidates(states[1]).products(20)
    changes = [states[0].add(20, 0.3), states[1].add(20, 0.3, known)]
    for name in ("gram", "inverse", "w", "projections"):
        assert_allclose(*(getattr(state, name) for state in states), rtol=1e-9, atol=1e-12)
    for name in ("x", "y", "c", "t_p", "t_P_p", "p_p"):
        assert_allclose(*(getattr(change, name) for change in changes), rtol=1e-8, atol=1e-11)
