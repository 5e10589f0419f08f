"""Laplace's approximation: the mode, and the renewals around the loop."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.datasets import make_moons

from greedygp.kernels import Gaussian
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.laplace import FastRVMClassification, LaplaceProblem, find_mode
from reference import sparse_linear as reference

KERNEL = Gaussian(length_scale=0.6)


def moons(n=200, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


@pytest.mark.parametrize("intercept", [True, False])
def test_mode_is_the_penalised_maximum(intercept):
    X, y = moons(80)
    Phi = KERNEL(X)[:, ::9]
    alpha = np.geomspace(0.01, 10, Phi.shape[1])
    weights = np.random.default_rng(0).uniform(0.5, 2, 80)
    start = np.zeros(Phi.shape[1] + intercept)
    w, L, value = find_mode(Phi.T.copy(), y, weights, alpha, intercept, start)
    expected = reference.laplace_mode(Phi, y, alpha, weights, intercept)
    assert_allclose(w, expected, atol=1e-4)
    A = np.column_stack([Phi, np.ones(80)]) if intercept else Phi
    f = A @ w
    penalty = np.append(alpha, 0.0) if intercept else alpha
    H = (A.T * (weights * expit(f) * expit(-f))) @ A + np.diag(penalty)
    assert_allclose(L @ L.T, H, rtol=1e-6, atol=1e-8)
    assert value == pytest.approx(weights @ (y * f - np.logaddexp(0, f)) - 0.5 * penalty @ w**2)


def problem(n=80):
    X, y = moons(n)
    columns = Dictionary.of_matrix(KERNEL(X), np.ones(n), False)
    return LaplaceProblem(columns, y.astype(np.float64), np.ones(n), True)


def test_around_a_mode_the_problem_is_a_regression():
    """At the mode the linear model has the weights of the mode, and unit noise."""
    p = problem()
    alpha = np.array([0.3, 1.0, 0.1])
    mode = p.mode([3, 17, 40], alpha, {})
    state = p.linearised(mode)
    assert state.chosen == mode.chosen
    assert_allclose(state.w, mode.w, atol=1e-4)


def test_renewals_raise_the_evidence_until_nothing_changes():
    algorithm = FastRVMClassification(1e-5)
    selection = algorithm.start(problem(), np.random.default_rng(0))
    modes = []
    actions = algorithm.run(selection, lambda path: modes.append(selection.mode))
    assert actions.reason == "converged"
    assert actions is selection.actions
    assert len(modes) > 3
    assert selection.best.log_evidence == max(mode.log_evidence for mode in modes)
    assert selection.best.log_evidence > modes[0].log_evidence
    assert {line[0] for line in actions.steps} <= {"add", "reestimate", "delete"}
    assert np.all(np.diff([line[3] for line in actions.steps]) >= 0)


def test_renewals_end_when_five_in_a_row_raise_the_evidence_too_little():
    """A rise by the tolerance, here one, is too little; a larger one begins the count anew."""
    algorithm = FastRVMClassification(1.0 / 80)
    selection = algorithm.start(problem(80), np.random.default_rng(0))
    assert selection.tol == 1.0
    rises = [2.0, 1.0, 1.0, 0.0, -3.0, 2.0, 1.0, 0.5, 0.0, -3.0, 1.0]
    mode, linear_model = selection.mode, selection.problem.linearised(selection.mode)
    best = 100.0
    selection.best = replace(mode, log_evidence=best)
    renewals = []

    class Scripted:
        """The problem, with an evidence that is told: so much above the best until then."""

        def linearised(self, mode):
            return linear_model

        def mode(self, chosen, alpha, start):
            return replace(mode, log_evidence=selection.best.log_evidence + rises[len(renewals)])

    selection.problem = Scripted()
    while selection.done() is None:
        selection.act(replace(selection.propose(), index=-1))  # as if the basis had changed
        renewals.append(selection.mode)
    assert selection.done() == "converged"
    assert len(renewals) == len(rises)
    assert selection.best.log_evidence == best + sum(rise for rise in rises if rise > 0.0)


def test_max_iter_counts_the_actions_of_all_renewals():
    algorithm = FastRVMClassification(1e-5, max_iter=5)
    selection = algorithm.start(problem(), np.random.default_rng(0))
    actions = algorithm.run(selection)
    assert actions.reason == "max_iter"
    assert len(actions) == 5


def test_ill_conditioned_ends_with_the_best_model():
    algorithm = FastRVMClassification(1e-5)
    selection = algorithm.start(problem(), np.random.default_rng(0))
    renewals = []

    def spoil(path):
        renewals.append(selection.mode)
        if len(renewals) == 2:
            selection.mode.alpha[:] = -1e9  # the regression problem cannot be made
        return False

    assert algorithm.run(selection, spoil).reason == "ill_conditioned"
    assert selection.best in renewals
