"""Fast GCV and the fast relevance vector machine: optimality by brute force, and how they end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.linear.algorithms import FastGCV, FastRVM
from reference import sparse_linear as reference


def selected(p, algorithm, watch=None):
    """Run an algorithm on a problem."""
    selection = algorithm.start(p.dictionary, p.t)
    return selection, algorithm.run(selection, watch)


def all_zeta(state, M):
    zeta = np.full(M, np.inf)
    zeta[state.chosen] = state.zeta
    return zeta


CASES = [
    {"seed": 0, "N": 30},
    {"seed": 1, "N": 25, "weights": True},
    {"seed": 2, "N": 30, "intercept": False, "width": 0.3},
    {"seed": 3, "N": 40, "M": 30, "noise": 0.5},
    {"seed": 4, "N": 30, "width": 1.5},
    {"seed": 5, "N": 25, "noise": 1.0},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_single_change_lowers_gcv(problem, case):
    p = problem(**case)
    start = "empty" if "weights" in case else "rfs"  # RFS takes copies of rows for exact ones
    selection, path = selected(p, FastGCV(1e-7, start_from=start))
    assert path.reason == "converged"
    state = selection.state
    zeta = all_zeta(state, p.Phi.shape[1])
    now = np.log(reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof))
    assert now == pytest.approx(np.log(selection.reported_value), abs=1e-6)
    least = selection.reported.noise(state) * p.dof / state.square / p.rows
    least = np.minimum(least * np.max(np.abs(p.Phi_raw), axis=0) ** 2, selection.reported.ridge)
    for j in range(len(zeta)):
        others = zeta.copy()

        def cost(z, j=j, others=others):
            others[j] = z
            return np.log(reference.gcv(p.Phi, p.t, others, p.rows, p.dof))

        low = min(least[j], zeta[j])
        grid = [*np.geomspace(low, 1e4, 12), np.inf]
        if np.isfinite(zeta[j]):
            grid += [zeta[j] * f for f in (0.9, 0.99, 1.01, 1.1) if zeta[j] * f >= low]
        assert min(cost(z) for z in grid) > now - 2e-6, j


@pytest.mark.parametrize("noise", [None, 0.05])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_single_change_raises_the_evidence(problem, case, noise):
    p = problem(**case)
    selection, path = selected(p, FastRVM(1e-7, noise_variance=noise))
    assert path.reason == "converged"
    state = selection.state
    zeta = all_zeta(state, p.Phi.shape[1])

    def evidence(zeta):
        if noise is None:
            return reference.best_log_evidence(p.Phi, p.t, zeta, p.dof)
        return reference.log_evidence(p.Phi, p.t, zeta, noise)

    now = evidence(zeta)
    for j in range(len(zeta)):
        others = zeta.copy()
        grid = [*np.geomspace(1e-6, 1e4, 12), np.inf]
        if np.isfinite(zeta[j]):
            grid += [zeta[j] * f for f in (0.9, 0.99, 1.01, 1.1)]
        for z in grid:
            others[j] = z
            assert evidence(others) < now + 1e-4, (j, z)


@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_rows_come_to_rest(problem, seed):
    """Both criteria lead towards interpolation there; it is approached, not reached."""
    p = problem(seed=seed, N=25, M=40)
    selection, path = selected(p, FastGCV(1e-6))
    assert path.reason == "converged"
    assert selection.state.trace >= 0.1 * p.dof
    selection, path = selected(p, FastRVM(1e-6))
    assert path.reason in ("converged", "exact")
    assert selection.state.size <= 25


def test_noise_of_the_evidence_is_the_fixed_point(problem):
    """s2 = |t - Phi w|^2 / (N - sum_j (1 - alpha_j Sigma_jj)), Tipping and Faul's equation."""
    p = problem(seed=7, N=60, weights=True)
    selection, _ = selected(p, FastRVM(1e-12))
    state = selection.state
    used = np.sum(1.0 - state.zeta * np.diagonal(state.inverse))
    residual = p.t - p.Phi[:, state.chosen] @ state.w
    expected = residual @ residual / (p.dof - used)
    assert selection.reported.noise(state) == pytest.approx(expected, rel=1e-4)


def test_log_evidence_has_a_flat_intercept(problem):
    p = problem(seed=8, N=30)
    selection, _ = selected(p, FastRVM(1e-6))
    state, noise = selection.state, selection.reported.noise(selection.state)
    expected = reference.flat_intercept_log_evidence(
        p.Phi_raw[:, state.chosen], p.y, state.zeta, noise
    )
    assert selection.reported_value == pytest.approx(expected, rel=1e-7)


def test_first_choice_is_the_best_single_function(problem):
    """Appendix II: every first basis function with its best zeta, by brute force."""
    p = problem(seed=9, N=25)
    selection, path = selected(p, FastGCV(1e-6, max_iter=1, start_from="empty"))
    values = []
    least = 1.0 / p.rows
    for j in range(25):

        def cost(z, j=j):
            zeta = np.full(25, np.inf)
            zeta[j] = z
            return reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof)

        values.append(reference.minimise_over_one(cost, least, 1e8)[0])
    assert selection.state.chosen == [int(np.argmin(values))]
    assert path.steps[0][2] == pytest.approx(min(values), rel=1e-6)


def test_max_basis_and_max_iter(problem):
    p = problem(seed=1, N=60)
    selection, path = selected(p, FastGCV(1e-6, max_basis=3))
    assert selection.state.size == 3
    assert path.reason == "converged"
    _, path = selected(p, FastRVM(1e-6, max_iter=4))
    assert path.reason == "max_iter"
    assert len(path) == 4


# ------------------------------------------------------------------------------ how it ends


def test_the_noise_is_let_go_on_the_same_path(problem):
    """The first phase holds the noise; the values are those of the best noise all along."""
    p = problem(seed=2, N=60)
    held = []
    algorithm = FastRVM(1e-6)
    selection = algorithm.start(p.dictionary, p.t)
    path = algorithm.run(selection, lambda _: held.append(selection.noise_is_held))
    assert held[0]
    assert not held[-1]
    assert held == sorted(held, reverse=True)
    assert len(held) == len(path)
    assert np.all(np.diff([line[3] for line in path.steps]) > 0)
    state = selection.state
    assert selection.reported_value == pytest.approx(path.steps[-1][2], rel=1e-8)
    assert selection.solution().noise_variance == pytest.approx(state.energy / p.dof)


def test_given_noise_is_not_held_low(problem):
    p = problem(seed=2, N=60)
    selection = FastRVM(1e-6, noise_variance=0.04).start(p.dictionary, p.t)
    assert not selection.noise_is_held
    assert selection.criterion.noise_variance == 0.04


def test_a_stop_while_the_noise_is_held_reports_the_best_noise(problem):
    p = problem(seed=2, N=60)
    selection, path = selected(p, FastRVM(1e-6), lambda path: len(path) >= 5)
    assert path.reason == "callback"
    assert len(path) == 5
    assert selection.noise_is_held
    assert selection.solution().noise_variance == pytest.approx(selection.state.energy / p.dof)


@pytest.mark.parametrize(
    "algorithm", [FastGCV(1e-6, start_from="empty"), FastRVM(1e-6)], ids=["gcv", "rvm"]
)
def test_ill_conditioned_goes_back_to_what_could_be_trusted(problem, algorithm):
    p = problem(seed=2, N=60)
    selection = algorithm.start(p.dictionary, p.t)
    trusted = []

    def spoil(path):
        if len(path) == 6:
            selection._compute_afresh()
            trusted.append((list(selection.state.chosen), selection.state.zeta.copy()))
        if len(path) == 9:
            selection.state.drift = 1.0  # asks for a check
            selection.state.gram -= 10.0 * np.eye(selection.size)
        return False

    path = algorithm.run(selection, spoil)
    assert path.reason == "ill_conditioned"
    assert len(path) == 9
    (chosen, zeta), state = trusted[0], selection.state
    assert state.chosen == chosen
    assert_allclose(state.zeta, zeta)
    assert np.all(np.isfinite(state.w))


def test_a_cost_that_has_risen_cannot_be_trusted(problem):
    p = problem(seed=2, N=60)
    algorithm = FastGCV(1e-6, start_from="empty")
    selection = algorithm.start(p.dictionary, p.t)

    def spoil(path):
        if len(path) == 4:
            selection._compute_afresh()
        if len(path) == 5:
            selection.state.drift = 1.0  # asks for a check
            selection.state.zeta[:] *= 1e6
        return False

    path = algorithm.run(selection, spoil)
    assert path.reason == "ill_conditioned"
    assert selection.reported_value == pytest.approx(path.steps[3][2], rel=1e-8)


def test_exact_after_looking_again(problem):
    """What is left is judged after everything was computed afresh, too."""
    p = problem(seed=2, N=60)
    selection = FastGCV(1e-6).start(p.dictionary, 0.0 * p.t)
    assert FastGCV(1e-6).run(selection).reason == "exact"


def test_coarser_algorithms_have_a_larger_tolerance():
    assert FastGCV(0.5, 5, 7, 9).coarser() == FastGCV(5.0, 5, 7, 9)
    assert FastRVM(0.5, noise_variance=0.1).coarser() == FastRVM(5.0, noise_variance=0.1)


def test_no_end_is_believed_before_everything_was_computed_afresh(problem):
    """After a single action, too."""
    p = problem(seed=2, N=60)
    algorithm = FastGCV(1e-6, start_from="empty")
    selection = algorithm.start(p.dictionary, p.t)

    def spoil(path):
        if len(path) == 1:
            selection.candidates.refresh()
            selection.candidates.gamma[:] = 0.0  # as if all were in the span of the model
        return len(path) >= 5

    path = algorithm.run(selection, spoil)
    assert path.reason == "callback"
    assert [line[0] for line in path.steps[:2]] == ["add", "add"]


def test_the_likely_next_additions_are_made_with_the_first(problem):
    """Their Gram rows come from the same product."""
    p = problem(seed=2, N=60)
    selection = FastGCV(1e-6, start_from="empty").start(p.dictionary, p.t)
    assert selection.done() is None
    action = selection.propose()
    gain = selection._outside.gain.copy()
    selection.act(action)
    likely = np.argsort(-gain)[: selection.candidates.likely_rows]
    assert np.all(gain[likely] > selection.tol)
    assert len(p.dictionary.grams) == len(likely) < 60
    assert all(index in p.dictionary.grams for index in likely)
