"""Rounds of learning: what is kept, and when they end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem
from greedygp.classification.criteria import CRITERIA
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.learning import Schedule, learn
from greedygp.classification.objectives import OBJECTIVES
from greedygp.classification.selection import Selected
from greedygp.classification.start import default_prior
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Stopping, run
from greedygp.kernels import Gaussian
from greedygp.progress import Deadline


class Selector:
    """Selects so many basis vectors in each round, and says why it stopped."""

    def __init__(self, sizes=(8, 8, 8, 8), reasons=()):
        self.problem = SmallProblem(n=40)
        self.problem.kernel = Gaussian(0.3, [0.3, 3.0])
        self.sizes, self.reasons, self.points = list(sizes), list(reasons), []
        self.criteria = []

    def select(self, point, criterion=None):
        self.points.append(point)
        self.criteria.append(criterion)
        model = self.problem.model("entropy")
        model.state = ClassificationState(point, self.problem.data, capacity=40)
        path = run(model, Stopping(max_size=self.sizes.pop(0)))
        path.reason = self.reasons.pop(0) if self.reasons else path.reason
        return Selected(model.state, path, CRITERIA["entropy"])


class Stages:
    """Counts iterations, and asks to stop after so many."""

    def __init__(self, stop_after=None):
        self.stop_after, self.begun, self.steps = stop_after, 0, 0

    def later(self, name, steps, state):
        self.begun += 1
        return self

    def step(self, name):
        self.steps += 1
        return self.steps == self.stop_after


def learnt(selector, stages=None, **options):
    defaults = {"objective": OBJECTIVES["loo"], "rounds": 2, "max_iter": 5, "tied": False}
    start = LatentPoint(selector.problem.kernel, 0.0)
    return learn(Schedule(**(defaults | options)), start, selector, stages or Stages())


def test_the_best_model_is_kept():
    selector, stages = Selector(), Stages()
    best = learnt(selector, stages)
    assert stages.begun == len(best.rounds) == 2
    values = [best.rounds[0].value_before, *(done.value for done in best.rounds)]
    assert best.value == min(values)
    assert best.point is selector.points[int(np.argmin(values))]
    assert best.selected.state.point is best.point
    assert_allclose(best.value, best.selected.state.loo_loss(), rtol=1e-9)
    assert [done.n_iter for done in best.rounds] == [5, 5]
    assert not best.cut_short
    assert selector.criteria == [None, CRITERIA["entropy"], CRITERIA["entropy"]]


def test_a_search_without_gain_is_not_followed_by_a_selection():
    selector = Selector()
    best = learnt(selector, max_iter=0)
    assert (len(selector.points), best.rounds) == (1, [])
    assert best.point is selector.points[0]


def test_a_round_without_gain_is_the_last():
    selector = Selector(sizes=(20, 1, 20))
    best = learnt(selector)
    assert len(best.rounds) == 1
    assert best.rounds[0].value > best.rounds[0].value_before == best.value
    assert best.selected.state.size == 20


def test_a_smaller_basis_that_was_cut_short_is_not_kept():
    best = learnt(Selector(sizes=(2, 2)), rounds=1)
    assert best.rounds[0].value == best.value
    cut = learnt(Selector(sizes=(2, 1), reasons=("max_basis", "time_limit")), rounds=1)
    assert cut.selected.state.size == 2
    assert cut.value == cut.rounds[0].value_before
    same = learnt(Selector(sizes=(2, 2), reasons=("max_basis", "time_limit")), rounds=2)
    assert same.value == best.value
    assert same.cut_short
    assert len(same.rounds) == 1


@pytest.mark.parametrize("reason", ["interrupted", "callback", "time_limit"])
def test_nothing_is_learnt_after_a_selection_that_was_cut_short(reason):
    stages = Stages()
    best = learnt(Selector(reasons=(reason,)), stages)
    assert best.cut_short
    assert (stages.begun, best.rounds) == (0, [])


def test_the_optimiser_is_asked_to_stop():
    selector, stages = Selector(), Stages(stop_after=2)
    best = learnt(selector, stages)
    assert (stages.begun, stages.steps, best.rounds) == (1, 2, [])
    assert len(selector.points) == 1
    assert np.isfinite(best.value)


def test_no_time_is_left():
    best = learnt(Selector(), deadline=Deadline(0.0))
    assert (best.rounds, best.selected.state.size) == ([], 8)


def test_no_basis():
    best = learnt(Selector(sizes=(0,)))
    assert np.isnan(best.value)
    assert best.rounds == []


def test_what_may_move():
    selector = Selector()
    learnt(selector, learn_bias=False, tied=True)
    moved = selector.points[1]
    assert moved.bias == 0.0
    ratio = moved.kernel.length_scale / np.array([0.3, 3.0])
    assert_allclose(ratio, ratio[0])
    assert abs(ratio[0] - 1.0) > 0.01


def test_the_prior_has_its_share():
    selector = Selector()
    prior = default_prior(Gaussian(4.0, [1.0, 1.0]))
    plain, both = learnt(selector, rounds=0), learnt(selector, rounds=0, prior=prior)
    share = prior.loss(selector.problem.kernel)[0] / 40
    assert_allclose(both.value - plain.value, share, rtol=1e-10)
