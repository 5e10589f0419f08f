"""Leave-one-out scores of candidates: tiles, and a scoring class for every measure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.measures import MEASURES
from greedygp.sparse.scoring import SCORES, candidate_sums

BASIS = [4, 17, 0, 25]
OTHERS = np.array([1, 8, 14, 20])

pytestmark = pytest.mark.usefixtures("three_blocks")


def test_every_measure_can_be_scored():
    assert set(SCORES) == {type(measure) for measure in MEASURES.values()}


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", MEASURES)
def test_scores_do_not_depend_on_tiles(SmallProblem, monkeypatch, name, weights):
    problem = SmallProblem(p=2, weights=weights)
    state = problem.grown(BASIS, keep_v=True)
    found = problem.evaluate(state, OTHERS)
    expected = candidate_sums(state, found, MEASURES[name])
    monkeypatch.setattr("greedygp.sparse.scoring.TILE", 30)  # two candidates of the largest block
    assert_allclose(candidate_sums(state, found, MEASURES[name]), expected, rtol=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_many_candidates_go_through_threads(SmallProblem, monkeypatch, name):
    problem = SmallProblem()
    state = problem.grown(BASIS, keep_v=True)
    found = problem.evaluate(state, OTHERS)
    expected = candidate_sums(state, found, MEASURES[name])
    monkeypatch.setattr("greedygp.sparse.scoring.MANY", 2)
    assert_allclose(candidate_sums(state, found, MEASURES[name]), expected, rtol=1e-12)
