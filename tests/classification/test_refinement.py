"""All sites together: gradients against differences, and what refinement is worth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import (
    SmallProblem,
    central_differences,
    problem_with_two_length_scales,
)
from greedygp.classification.refinement import HeldOutLoss, SitePoint, moving_sites, refine
from greedygp.progress import NEVER


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_gradient_by_sites(tied, weights):
    problem = problem_with_two_length_scales(weights)
    state = problem.grown(6)
    held_out = np.zeros(30, dtype=bool)
    held_out[np.flatnonzero(state.outside)[:7]] = True
    objective = HeldOutLoss(state, held_out)
    start = SitePoint(state.kernel, state.bias, *state.sites)
    coordinates = moving_sites(start, True, True, tied)
    x = coordinates.vector(start)
    numeric = central_differences(lambda at: objective(coordinates.point(at)).value, x, 1e-3)
    assert_allclose(coordinates.gradient(objective(start)), numeric, atol=1e-8)
    assert len(coordinates.bounds()) == len(x) == (2 if tied else 3) + 1 + 12


def test_refinement_lowers_the_loss_of_rows_held_out():
    problem = SmallProblem(n=400)
    state = problem.grown(12, criterion="random")
    before = state.f.copy()
    options = {"tied": False, "learn_kernel": True, "learn_bias": True, "deadline": NEVER}
    found = refine(state, max_iter=40, rng=np.random.default_rng(0), **options)
    assert found.loss < found.first_loss
    assert found.search.value < found.search.first_value
    assert_allclose(state.f, before, rtol=0)
    fixed = refine(
        state,
        max_iter=10,
        rng=np.random.default_rng(0),
        tied=False,
        learn_kernel=False,
        learn_bias=False,
        deadline=NEVER,
    )
    assert fixed.point.kernel == state.kernel
    assert fixed.point.bias == state.bias
    assert fixed.loss <= fixed.first_loss


def test_evaluations_are_counted_from_the_best_of_the_rows_held_out():
    problem = SmallProblem(n=60)
    state = problem.grown(6)
    held_out = np.zeros(60, dtype=bool)
    held_out[np.flatnonzero(state.outside)[:20]] = True
    means, precisions = state.sites
    good = SitePoint(state.kernel, state.bias, means, precisions)
    bad = SitePoint(state.kernel, state.bias, -means, precisions)
    objective, counts = HeldOutLoss(state, held_out), []
    for point in (bad, bad, bad, good, bad, good):
        objective(point)
        counts.append(objective.since_best)
    assert counts == [0, 1, 2, 0, 1, 2]
    assert objective.best is good
    assert objective.best_loss < objective.first_loss
