"""The state of a sparse GP: what is maintained while it grows equals its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.exceptions import NotPositiveDefiniteError
from tolerances import rounding

CHOSEN = [4, 17, 0, 25, 9, 12, 29, 3]
BASIS_STATE = ("G", "L_B", "Y", "w")
ROW_STATE = ("Z", "fit", "leverage", "scale", "lam", "yt")

pytestmark = pytest.mark.usefixtures("three_blocks")


def basis_state(state, name):
    value = getattr(state, name)
    return value if name == "w" else value.square


def assert_as_defined(problem, state, whole, tolerance=1e-9):
    """Every quantity that the state claims to keep equals its dense definition."""
    dense = problem.dense(state)
    rows = [*ROW_STATE]
    rows += ["V"] if state.keep_v else []
    rows += ["explained"] if state.keep_v or state.track_explained else []
    for name in (*rows, *BASIS_STATE):
        got = basis_state(state, name) if name in BASIS_STATE else whole(state, name)
        expected = getattr(dense, name)
        atol = tolerance * max(1.0, np.max(np.abs(expected), initial=0.0))
        assert_allclose(got, expected, rtol=0, atol=atol, err_msg=name)


FORMS = {
    "direct": {"keep_v": False},
    "direct, explained tracked": {"keep_v": False, "track_explained": True},
    "stable": {"keep_v": True},
}


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_every_append_keeps_the_definitions(SmallProblem, whole, form, p, weights, with_residual):
    problem = SmallProblem(p=p, weights=weights)
    state = problem.state(**FORMS[form])
    assert_as_defined(problem, state, whole)
    for j in CHOSEN:
        problem.append(state, j, with_residual=with_residual)
        assert_as_defined(problem, state, whole)
    assert state.indices == CHOSEN
    assert_array_equal(state.basis, problem.X[CHOSEN])
    assert len(state.rows.blocks) == 3


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("p", [1, 2])
def test_every_append_keeps_the_definitions_of_fitc(SmallProblem, whole, p, weights):
    problem = SmallProblem(p=p, weights=weights)
    state = problem.state("fitc")
    assert state.keep_v
    for j in CHOSEN:
        problem.append(state, j)
        assert_as_defined(problem, state, whole)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_float32_rows(SmallProblem, whole, approximation):
    problem = SmallProblem(dtype=np.float32)
    state = problem.state(approximation)
    assert state.keep_v
    for j in CHOSEN:
        problem.append(state, j)
        assert_as_defined(problem, state, whole, tolerance=1e-3)
    assert whole(state, "Z").dtype == np.float32
    assert state.G.lower.dtype == state.w.dtype == whole(state, "fit").dtype == np.float64


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_long_length_scale_and_little_noise(SmallProblem, whole, form, with_residual):
    """The kernel matrix is nearly singular: the model stays exact, in either form."""
    problem = SmallProblem(n=60, length_scale=3.0, noise=1e-4)
    state = problem.state(**FORMS[form], capacity=14)
    for j in range(14):
        problem.append(state, j, with_residual=with_residual)
        dense = problem.dense(state)
        for name in ("fit", "leverage"):
            assert_allclose(whole(state, name), getattr(dense, name), rtol=0, atol=1e-6)
        assert_orthonormal(state, whole, 1e-7)
    condition_number = np.linalg.cond(problem.kernel(state.basis))
    assert condition_number > 1e9
    assert 0 < state.drift < 1e-7


def assert_orthonormal(state, whole, tolerance):
    columns = np.vstack([whole(state, "Z").T, state.Y.square])
    assert_allclose(columns.T @ columns, np.eye(state.size), rtol=0, atol=tolerance)


def test_appending_equals_rebuilding(SmallProblem, whole):
    problem = SmallProblem(p=2, weights=True)
    grown, rebuilt = problem.grown(CHOSEN, keep_v=True), problem.state(keep_v=True)
    rebuilt.set_basis(problem.X[CHOSEN], CHOSEN)
    for name in ("Z", "V", "fit", "leverage", "explained"):
        assert_allclose(whole(grown, name), whole(rebuilt, name), rtol=0, atol=1e-10)
    for name in BASIS_STATE:
        got, expected = basis_state(grown, name), basis_state(rebuilt, name)
        assert_allclose(got, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(grown.nlml(), rebuilt.nlml(), rtol=1e-12)


def test_appended_row_says_what_was_appended(SmallProblem, whole):
    problem = SmallProblem(p=2)
    state = problem.grown(CHOSEN[:-1], keep_v=True)
    appended = problem.append(state, CHOSEN[-1])
    assert_array_equal(np.concatenate(appended.zeta), whole(state, "Z")[-1])
    assert_array_equal(np.concatenate(appended.v), whole(state, "V")[-1])
    assert_array_equal([*appended.l_row, appended.d_B], state.L_B.lower[-1])
    assert_array_equal(appended.w, state.w[-1])
    assert appended.column.index == CHOSEN[-1]


# ------------------------------------------------------------------------------- measures


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
def test_nlml(SmallProblem, approximation, p, weights):
    problem = SmallProblem(p=p, weights=weights)
    state = problem.grown(CHOSEN, approximation=approximation)
    assert_allclose(state.nlml(), problem.model(state).nlml(), rtol=1e-9)


def test_nlml_of_the_empty_basis(SmallProblem):
    problem = SmallProblem()
    y2 = np.sum(problem.y**2) / problem.noise
    expected = 0.5 * (y2 + problem.X.shape[0] * np.log(2 * np.pi * problem.noise))
    assert_allclose(problem.state().nlml(), expected, rtol=1e-12)


def test_sums_over_rows(SmallProblem):
    problem = SmallProblem(p=2, weights=True)
    state = problem.grown(CHOSEN, approximation="fitc")
    dense = problem.dense(state)
    assert_allclose(state.total_weight, problem.weights.sum())
    assert_allclose(state.yt_yt, np.sum(dense.yt**2), rtol=1e-9)
    assert_allclose(state.weighted_log_noise, problem.weights @ np.log(dense.lam), rtol=1e-9)
    assert_allclose(state.weighted_prior, problem.variance * problem.weights.sum())


# ------------------------------------------------------------------------------- rounding


def test_drift_is_measured_and_small(SmallProblem):
    problem = SmallProblem()
    state = problem.grown(CHOSEN)
    assert 0 < state.drift < rounding()
    assert not state.drifted


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize("keep_v", [True, False])
def test_a_damaged_last_row_is_noticed_and_repaired(SmallProblem, whole, keep_v, with_residual):
    problem = SmallProblem()
    state = problem.grown(CHOSEN[:-1], keep_v=keep_v)
    state.rows.blocks[1].Z[state.size - 1, :] *= 1.001
    # The products of the next candidates tell of the damage; a selector then rebuilds.
    problem.evaluate(state, [20, 21], with_residual=with_residual)
    assert state.drifted
    assert state.drift > 1e-5
    state.rebuild()
    assert not state.drifted
    found = problem.evaluate(state, [CHOSEN[-1]], with_residual=with_residual)
    assert_as_defined(problem, state, whole)
    state.append(found.column(0))
    assert_as_defined(problem, state, whole)
    assert state.drift > 1e-5  # the record stays


def test_a_damaged_older_row_is_noticed(SmallProblem, whole):
    problem = SmallProblem()
    state = problem.grown(CHOSEN[:-2], keep_v=True)
    state.rows.blocks[0].Z[2, :] *= 1.01
    problem.append(state, CHOSEN[-2])
    assert state.drift > 1e-7
    assert state.drifted
    state.rebuild()
    problem.append(state, CHOSEN[-1])
    assert_as_defined(problem, state, whole)


def test_coefficients_are_corrected_for_a_known_defect(SmallProblem, whole):
    """Below the threshold of a rebuild a defect stays, but is taken out of what follows."""
    problem = SmallProblem()
    state = problem.grown(CHOSEN[:-1])
    for block in state.rows.blocks:
        block.Z[state.size - 1, :] += 1e-8 * block.Z[0, :]
    state.Y.square[:, -1] += 1e-8 * state.Y.square[:, 0]
    problem.append(state, CHOSEN[-1], with_residual=False)
    assert not state.drifted
    assert state.drift > 1e-9
    others = np.vstack([whole(state, "Z").T, state.Y.square])
    assert_allclose(others[:, :-1].T @ others[:, -1], 0, atol=rounding())


# --------------------------------------------------------------------------- exact changes


@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_truncate(SmallProblem, whole, approximation, size):
    problem = SmallProblem(p=2, weights=True)
    state = problem.grown(CHOSEN, approximation=approximation)
    state.truncate(size)
    assert state.size == size
    assert state.indices == CHOSEN[:size]
    assert_as_defined(problem, state, whole)
    for j in CHOSEN[size:]:  # and it grows again
        problem.append(state, j)
        assert_as_defined(problem, state, whole)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_trial_leaves_the_state_alone(SmallProblem, whole, approximation):
    problem = SmallProblem(p=2, weights=True)
    state = problem.grown(CHOSEN[:-1], approximation=approximation)
    other = state.trial(problem.X[CHOSEN[-1]], CHOSEN[-1])
    assert other.indices == CHOSEN
    assert_as_defined(problem, other, whole)
    assert state.indices == CHOSEN[:-1]
    assert_as_defined(problem, state, whole)


def test_store_v(SmallProblem, whole):
    problem = SmallProblem()
    state = problem.grown(CHOSEN[:4])
    assert not state.keep_v
    state.store_v()
    assert_as_defined(problem, state, whole)
    problem.append(state, CHOSEN[4])
    assert_as_defined(problem, state, whole)


def test_going_over_to_fitc(SmallProblem, whole):
    problem = SmallProblem()
    state = problem.grown(CHOSEN)
    state.truncate(len(CHOSEN), "fitc")
    assert_as_defined(problem, state, whole)


def test_jitter_is_reported(SmallProblem):
    problem = SmallProblem()
    state = problem.state()
    state.set_basis(problem.X[[0, 1]], [0, 1])
    assert state.jitter == 0
    state.set_basis(problem.X[[0, 1, 0]], [0, 1, 0])
    assert 0 < state.jitter < 1e-9


def test_impossible_kernel_matrix(SmallProblem, monkeypatch):
    problem = SmallProblem()
    state = problem.state()
    indefinite = problem.kernel(problem.X[:2]) - 3.0 * np.eye(2)
    monkeypatch.setattr(type(problem.kernel), "__call__", lambda self, A, B=None: indefinite)
    with pytest.raises(NotPositiveDefiniteError, match=r"K_uu \(2 x 2\).*max_basis"):
        state.set_basis(problem.X[:2], [0, 1])
