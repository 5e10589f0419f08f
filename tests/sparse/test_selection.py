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
from reference.sparse_regression import pursuit_with_cache

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


class Drawn:
    """Notes what a selector's pool draws, for the reference to draw the same."""

    def __init__(self, chosen):
        self.draws, draw = [], chosen.pool.draw
        chosen.pool.draw = lambda size: self.draws.append(draw(size)) or self.draws[-1]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("spare", [0, 3, 100])
@pytest.mark.parametrize(
    ("fresh", "cache_size", "favourites"),
    [(3, 0, []), (3, 6, []), (3, 6, [3, 11, 19]), (3, 6, [3, 11, 19, 4, 25, 7, 8]), (1, 5, [2])],
)
def test_matching_pursuit_with_its_cache_is_that_of_the_paper(
    SmallProblem, monkeypatch, fresh, cache_size, favourites, spare, weights
):
    problem = SmallProblem(p=2, weights=weights)
    monkeypatch.setattr("greedygp.sparse.pursuit.SPARE_FROM_FEATURES", 2)
    monkeypatch.setattr("greedygp.sparse.pursuit.SPARE_BYTES", 8 * len(problem.X) * spare)
    options = {"working_set": fresh, "cache_size": cache_size, "favourites": favourites}
    chosen = selector(problem, "matching_pursuit", **options)
    drawn = Drawn(chosen)
    indices = select(chosen, Stopping(max_size=9)).indices
    model = problem.model(problem.state())
    capacity = max(fresh, cache_size)
    expected = pursuit_with_cache(model, 9, capacity, fresh, favourites, iter(drawn.draws))
    assert indices == expected


def test_discarded_kernel_rows_are_not_evaluated_again(SmallProblem, monkeypatch):
    evaluated, paths = [], []
    for features in (3, 2):
        monkeypatch.setattr("greedygp.sparse.pursuit.SPARE_FROM_FEATURES", features)
        chosen = selector(SmallProblem(), "matching_pursuit", working_set=5, cache_size=8)
        paths.append(select(chosen, Stopping(max_size=12)).indices)
        evaluated.append(chosen._rows.evaluated)
    assert paths[0] == paths[1]
    assert evaluated[0] > 40
    assert evaluated[1] <= 30  # all rows once


def test_matching_pursuit_of_fewer_rows_than_its_cache_could_hold(SmallProblem):
    problem = SmallProblem(n=6)
    options = {"working_set": 4, "cache_size": 50, "favourites": [5, 1]}
    chosen = selector(problem, "matching_pursuit", **options)
    assert sorted(select(chosen, Stopping(max_size=9)).indices) == list(range(6))


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
