"""What the state keeps besides the model; the model itself is compared in `test_candidates.py`."""

import numpy as np
from numpy.testing import assert_allclose

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
