"""Leave-one-out scores of candidates: tiles, and fast classes against the measures' formulas."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.arrays import Backend
from greedygp.measures import MEASURES, LooMeasure
from greedygp.sparse.criteria import LeaveOneOut
from greedygp.sparse.scoring import MeasureScore, candidate_sums
from names import APPROXIMATIONS

BASIS = [4, 17, 0, 25]
OTHERS = np.array([1, 8, 14, 20])

pytestmark = pytest.mark.usefixtures("three_blocks")


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("name", MEASURES)
def test_fast_scores_follow_the_formula(SmallProblem, name, approximation, weights):
    """A measure without a class of its own is scored by its formula: the fast ones agree."""
    problem = SmallProblem(p=2, weights=weights)
    state = problem.grown(BASIS, approximation=approximation, keep_v=True)
    found = problem.evaluate(state, OTHERS)
    score = MeasureScore(state, found, MEASURES[name])
    plain = score.whole(state.rows.sum(score.block))
    assert_allclose(candidate_sums(state, found, MEASURES[name]), plain, rtol=1e-10)


def test_a_measure_of_ones_own_can_be_scored(SmallProblem):
    """The formula is enough: scores are what the measure is with the candidate."""

    class RootError(LooMeasure):
        name = "root"

        def each(self, xp, square, t):
            return xp.sqrt(square + t)

    problem = SmallProblem(p=2, weights=True)
    criterion = LeaveOneOut(RootError())
    state = problem.grown(BASIS, keep_v=True)
    scores = criterion.score(state, problem.evaluate(state, OTHERS))
    expected = [criterion.value(problem.grown([*BASIS, j], keep_v=True)) for j in OTHERS]
    assert_allclose(scores, expected, rtol=1e-7)


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


def by_numpy(self, formula):
    """A kernel of a GPU: its C++ is Python, too, but for the types."""
    head, body = re.fullmatch(r".*?(\(.*?\)) \{(.*)\}", formula, re.DOTALL).groups()
    *steps, result = body.replace("return", "").replace("T ", "").strip(" ;\n").split(";")

    def kernel(*arrays):
        known = {"fmax": np.fmax, "log": np.log, "T": float}
        known |= dict(zip(re.findall(r"T (\w+)", head), arrays, strict=True))
        for step in steps:
            name, expression = step.split("=")
            known[name.strip()] = eval(expression.strip(), known)
        return eval(result.strip(), known)

    return kernel


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("name", ["loo_cve", "nlgpp"])
def test_a_kernel_of_a_gpu_does_what_the_passes_do(SmallProblem, monkeypatch, name, approximation):
    problem = SmallProblem()
    state = problem.grown(BASIS, approximation=approximation, keep_v=True)
    found = problem.evaluate(state, OTHERS)
    expected = candidate_sums(state, found, MEASURES[name])
    monkeypatch.setattr(Backend, "one_kernel", by_numpy)
    assert_allclose(candidate_sums(state, found, MEASURES[name]), expected, rtol=1e-10)


@pytest.mark.parametrize("options", [{"weights": True}, {"p": 2}])
def test_what_a_kernel_does_not_know_goes_by_passes(SmallProblem, monkeypatch, options):
    problem = SmallProblem(**options)
    state = problem.grown(BASIS, keep_v=True)
    found = problem.evaluate(state, OTHERS)
    expected = candidate_sums(state, found, MEASURES["nlgpp"])
    monkeypatch.setattr(Backend, "one_kernel", by_numpy)
    assert_allclose(candidate_sums(state, found, MEASURES["nlgpp"]), expected, rtol=1e-12)


def test_a_processor_has_no_kernels():
    assert Backend(np.zeros(1)).one_kernel("") is None
