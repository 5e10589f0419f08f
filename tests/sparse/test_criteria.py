"""The criteria: what a candidate is said to be worth is what the measure is with it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.sparse.criteria import CRITERIA, Criterion
from greedygp.sparse.selection import SELECTORS
from pairwise import each_pair

REFITTING = [name for name in CRITERIA if type(CRITERIA[name]) not in SELECTORS]
BASIS = [4, 17, 0, 25]
OTHERS = np.array([1, 8, 14, 20])

pytestmark = pytest.mark.usefixtures("three_blocks")


def forms(name, approximation):
    """Return whether V is kept: some need it with DTC, the others work both ways."""
    return (True,) if CRITERIA[name].needs_v and approximation == "dtc" else (False, True)


def assert_scores_come_true(problem, name, approximation, keep_v, rtol):
    criterion = CRITERIA[name]
    for size in (0, len(BASIS)):
        options = {"approximation": approximation, "keep_v": keep_v}
        state = problem.grown(BASIS[:size], **options)
        scores = criterion.score(state, problem.evaluate(state, OTHERS))
        assert scores.shape == (len(OTHERS),)
        values = [criterion.value(problem.grown([*BASIS[:size], j], **options)) for j in OTHERS]
        assert_allclose(scores, values, rtol=rtol)
        assert len(np.unique(np.round(values, 6))) == len(OTHERS)


@each_pair(
    {"name": REFITTING, "approximation": ["dtc", "sor"], "p": [1, 3], "weights": [False, True]}
)
def test_scores_come_true(SmallProblem, name, approximation, p, weights):
    problem = SmallProblem(p=p, weights=weights)
    for keep_v in forms(name, approximation):
        assert_scores_come_true(problem, name, approximation, keep_v, 1e-7)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("approximation", ["dtc", "sor"])
@pytest.mark.parametrize("name", REFITTING)
def test_scores_come_true_in_float32(SmallProblem, name, approximation, weights):
    problem = SmallProblem(p=2, weights=weights, dtype=np.float32)
    assert_scores_come_true(problem, name, approximation, True, 1e-3)


def measures():
    """Return criteria and approximations; some criteria are measured by DTC's formulas only."""
    own_form = [name for name in CRITERIA if CRITERIA[name].exact_fitc]
    return [
        *((name, approximation) for name in CRITERIA for approximation in ("dtc", "sor")),
        *((name, "fitc") for name in own_form),
    ]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("name", "approximation"), measures())
def test_values_equal_the_definition(SmallProblem, name, approximation, weights):
    problem = SmallProblem(n=18, p=2, weights=weights)
    state = problem.grown([4, 17, 0], approximation=approximation, keep_v=True)
    expected = problem.model(state).measure(name)
    assert_allclose(CRITERIA[name].value(state), expected, rtol=1e-8)


def test_the_posterior_of_the_empty_basis_is_zero(SmallProblem):
    assert CRITERIA["nlpp"].value(SmallProblem().state()) == 0


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_information_gain(SmallProblem, size, p):
    problem = SmallProblem(p=p)
    state = problem.grown(BASIS[:size], track_explained=True)
    criterion = CRITERIA["info_gain"]
    gains = state.rows.concatenate(lambda block: criterion.gains(state, block))
    model = problem.model(state)
    for i in OTHERS:
        assert_allclose(-gains[i], model.information_gain(i), rtol=1e-7)


@pytest.mark.parametrize("name", CRITERIA)
def test_names(name):
    assert CRITERIA[name].name == name
    assert isinstance(CRITERIA[name], Criterion)


def test_what_the_criteria_declare():
    """The size is chosen, and FITC has its own form, for the evidence and the LOO measures."""
    own_form = {"nlml", "loo_cve", "nlgpp", "gpe"}
    assert {name for name, kind in CRITERIA.items() if kind.chooses_size} == own_form
    assert {name for name, kind in CRITERIA.items() if kind.exact_fitc} == own_form
    assert {name for name, kind in CRITERIA.items() if kind.needs_v} == {"nlgpp"}
    assert {name for name, kind in CRITERIA.items() if kind.needs_explained} == {"info_gain"}
    needs_residual = {name for name, kind in CRITERIA.items() if kind.needs_residual}
    assert needs_residual == {"loo_cve", "nlgpp", "gpe"}
