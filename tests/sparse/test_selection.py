"""Which selector goes with a criterion, and which basis comes out of a selection."""

import numpy as np
import pytest

from greedygp.greedy import ForwardSelection, Path, Stopping
from greedygp.sparse.criteria import CRITERIA
from greedygp.sparse.pursuit import PursuitSelector
from greedygp.sparse.refitting import RefittingSelector
from greedygp.sparse.selection import (
    InformationSelector,
    RandomSelector,
    Selected,
    make_selector,
    select,
)

KINDS = {
    "random": RandomSelector,
    "info_gain": InformationSelector,
    "matching_pursuit": PursuitSelector,
}


def selector(problem, name, *, seed=0, working_set=5, cache_size=0, favourites=()):
    criterion = CRITERIA[name]
    state = problem.state(keep_v=criterion.needs_v, track_explained=criterion.needs_explained)
    return make_selector(
        state,
        criterion,
        inputs=problem.X,
        from_rows=True,
        working_set=working_set,
        cache_size=cache_size,
        rng=np.random.default_rng(seed),
        favourites=favourites,
    )


@pytest.mark.parametrize("name", CRITERIA)
def test_the_selector_of_a_criterion(SmallProblem, name):
    assert type(selector(SmallProblem(), name)) is KINDS.get(name, RefittingSelector)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_selection_without_patience_keeps_every_step(SmallProblem, name):
    selected = select(selector(SmallProblem(), name), Stopping(max_size=6))
    assert selected.indices == list(selected.path.as_array()["index"])
    assert selected.basis.shape == (6, 2)
    assert selected.from_rows


def test_the_basis_is_that_of_the_minimum(SmallProblem):
    problem = SmallProblem(noise=1.0, length_scale=0.2)
    selected = select(selector(problem, "loo_cve"), Stopping(max_size=12, patience=3))
    values = selected.path.as_array()["value"]
    best = int(np.argmin(values)) + 1
    assert best < len(values)
    assert len(selected.indices) == len(selected.basis) == selected.path.size == best
    assert selected.state.size == len(values)


def test_a_watch_may_end_it(SmallProblem):
    chosen = selector(SmallProblem(), "nlgpp")
    selected = select(chosen, Stopping(max_size=6), lambda path: len(path) == 2)
    assert selected.path.broken_off
    assert len(selected.indices) == 2


def test_work_behind_the_scenes_ends_with_an_error(SmallProblem):
    chosen, closed = selector(SmallProblem(), "nlgpp"), []
    chosen.close = lambda: closed.append(True)

    def fails(path):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        select(chosen, Stopping(max_size=6), fails)
    assert closed


@pytest.mark.parametrize("cache_size", [0, 4])
def test_favourites_are_among_the_first_candidates_where_there_is_a_cache(SmallProblem, cache_size):
    favourites = [3, 11, 19, 27]
    first, _ = selector(
        SmallProblem(), "nlml", working_set=2, cache_size=cache_size, favourites=favourites
    ).candidates()
    assert set(favourites) <= set(first) if cache_size else len(first) == 2


def test_matching_pursuit_begins_with_random_rows(SmallProblem):
    options = {"working_set": 3, "cache_size": 6}
    paths = [
        select(
            selector(SmallProblem(), "matching_pursuit", **options, favourites=favourites),
            Stopping(max_size=5),
        ).indices
        for favourites in ([], [3, 11, 19])
    ]
    assert paths[0] == paths[1]


def made(size, reason):
    return Selected(np.zeros((size, 1)), [0] * size, Path(ForwardSelection.fields, reason=reason))


@pytest.mark.parametrize(
    ("size", "reason", "poorer"),
    [
        (10, "max_basis", False),
        (1, "max_basis", False),
        (10, "interrupted", True),
        (10, "callback", True),
        (5, "time_limit", False),
        (4, "time_limit", True),
    ],
)
def test_a_selection_that_was_cut_short(size, reason, poorer):
    assert made(size, reason).is_poorer_than(made(10, "max_basis")) == poorer
