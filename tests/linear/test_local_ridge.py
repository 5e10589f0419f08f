"""Local ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp import LocalRidgeRegressor
from greedygp.greedy import Stopping, run
from greedygp.linear.algorithms import LocalRidge
from greedygp.linear.local_ridge import LocalRidgeSelection
from reference import sparse_linear as reference


@pytest.mark.parametrize("shape", [(30, 45), (45, 30), (40, 40)])
def test_local_ridge_is_a_minimum_in_every_coordinate(shape):
    rng = np.random.default_rng(1)
    Phi_raw = rng.normal(size=shape)
    y = Phi_raw[:, :4] @ rng.normal(size=4) + rng.normal(size=shape[0])
    model = LocalRidgeRegressor(kernel="precomputed", tol=1e-10, max_iter=500).fit(Phi_raw, y)
    Phi, t = reference.centred(Phi_raw, None, True), y - y.mean()
    zeta = np.full(shape[1], np.inf)
    zeta[model.relevance_] = model.alpha_ * model.noise_variance_
    now = reference.gcv(Phi, t, zeta, shape[0], shape[0] - 1)
    assert now == pytest.approx(model.gcv_, rel=1e-8)
    dof = shape[0] - 1
    for j in range(shape[1]):
        for z in [*np.geomspace(1e-1, 1e4, 10), np.inf]:
            other = zeta.copy()
            other[j] = z
            kept = np.isfinite(other)
            trace = np.trace(reference.projection(Phi[:, kept], other[kept])) - 1
            if trace > 0.1 * dof:
                assert reference.gcv(Phi, t, other, shape[0], dof) > now * (1 - 1e-3)


def test_quantities_after_every_change(problem):
    """GCV, error and trace, kept by rank-one updates, equal those computed afresh."""
    p = problem(N=40, M=25, weights=True)
    selection = LocalRidgeSelection(p.dictionary, p.t, 1e-6, 3)

    def look(path):
        kept = selection.value, selection.trace, selection.error, selection.P_t.copy()
        P, P_t = selection.P.copy(), selection.P_t.copy()
        selection.recompute()
        assert_allclose(kept[0], selection.value, rtol=1e-7)
        assert_allclose(kept[1], selection.trace, rtol=1e-7)
        assert_allclose(kept[2], selection.error, rtol=1e-7)
        assert_allclose(P, selection.P, atol=1e-7)
        selection.P, selection.P_t = P, P_t
        return False

    path = run(selection, Stopping(), look)
    assert len(path) > 10
    values = np.array([line[2] for line in path.steps])
    assert np.all(np.diff(values) <= 1e-9 * values[:-1])


def test_cycles(problem):
    """One weight after the other, in the order of the columns; then the next cycle."""
    p = problem(N=30)
    algorithm = LocalRidge(0.0, max_iter=3)
    selection = algorithm.start(p.dictionary, p.t)
    path = algorithm.run(selection)
    assert path.reason == "max_iter"
    assert selection.cycles == 3
    columns = np.array([line[1] for line in path.steps])
    assert np.sum(np.diff(columns) <= 0) == 2  # where cycles begin
    once = LocalRidge(0.9, max_iter=3)
    selection = once.start(p.dictionary, p.t)
    assert once.run(selection).reason == "converged"
    assert selection.cycles == 1
    nothing = once.start(p.dictionary, 0.0 * p.t)
    assert once.run(nothing).reason == "converged"
    assert nothing.cycles == nothing.size == 0
    assert LocalRidge(0.25, 100).coarser() == LocalRidge(25.0, 10)
