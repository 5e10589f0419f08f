"""The loop with toys in place of models."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp.greedy import (
    Action,
    CannotGoOnError,
    ForwardSelection,
    GreedyModel,
    Path,
    Stopping,
    first_lowest,
    run,
)
from greedygp.progress import Deadline

PAST, FAR = Deadline.after(-1.0), Deadline.after(1e9)


class Toy(ForwardSelection):
    """A model whose measure follows a script; each step offers two candidates.

    `break_at` is a size at which `candidates` or `add` (as `break_in` says) is interrupted.
    """

    def __init__(self, values, break_in=None, break_at=None):
        self.values = list(values)
        self.chosen = []
        self.kept = None
        self.break_in, self.break_at = break_in, break_at

    @property
    def size(self):
        return len(self.chosen)

    def candidates(self):
        self._interrupt("candidates")
        if self.size == len(self.values):
            return np.empty(0, dtype=np.intp), np.empty(0)
        first = 2 * self.size
        return np.array([first, first + 1]), np.array([0.5, 0.25])

    def add(self, index):
        self._interrupt("add")
        self.chosen.append(index)
        return self.values[self.size - 1]

    def go_back(self, size):
        self.kept = size

    def _interrupt(self, where):
        if self.break_in == where and self.break_at == self.size:
            raise KeyboardInterrupt


def grown(values, limit=100, watch=None, **stopping):
    """Return the path, and the size that the loop went back to."""
    toy = Toy(values)
    path = run(toy, Stopping(max_size=limit, **stopping), watch)
    assert path.size == toy.kept
    return path, toy.kept


# ------------------------------------------------------------------------------- the path


@pytest.mark.parametrize(
    ("reason", "broken_off", "cut_short"),
    [
        ("interrupted", True, True),
        ("callback", True, True),
        ("time_limit", False, True),
        ("max_basis", False, False),
        ("patience", False, False),
    ],
)
def test_who_ended_a_path(reason, broken_off, cut_short):
    path = Path(ForwardSelection.fields, reason=reason)
    assert (path.broken_off, path.cut_short) == (broken_off, cut_short)


def test_the_path_tells_what_happened():
    toy = Toy([3.0, 2.0, 1.0, 0.0])
    path = run(toy, Stopping(max_size=3))
    steps = path.as_array()
    assert toy.chosen == [1, 3, 5]
    assert len(path) == 3
    assert_array_equal(steps["index"], toy.chosen)
    assert_array_equal(steps["value"], [3.0, 2.0, 1.0])
    assert_array_equal(steps["score"], 0.25)
    assert np.all(np.diff(steps["seconds"]) >= 0)
    assert np.all(steps["seconds"] >= 0)
    assert steps["index"].dtype == np.int64


def test_an_empty_path():
    path = Path(ForwardSelection.fields)
    assert len(path) == len(path.as_array()) == 0
    assert path.as_array().dtype.names == ("index", "value", "score", "seconds")


# ------------------------------------------------------------------------------- stopping


def test_stops_at_the_limit():
    path, size = grown([3, 2, 1, 0], limit=2)
    assert path.reason == "max_basis"
    assert size == len(path) == 2


@pytest.mark.parametrize("patience", [None, 5])
def test_stops_when_nobody_is_left(patience):
    path, size = grown([3, 2, 1], patience=patience)
    assert path.reason == "exhausted"
    assert size == len(path) == 3


def test_nobody_from_the_start():
    path, size = grown([])
    assert path.reason == "exhausted"
    assert size == len(path) == 0


def test_a_limit_of_zero_asks_nobody():
    toy = Toy([1.0], break_in="candidates", break_at=0)
    path = run(toy, Stopping(max_size=0))
    assert path.reason == "max_basis"
    assert len(path) == 0


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_patience_goes_back_to_the_minimum(patience):
    path, size = grown([5, 4, 3, 3.5, 3.4, 3.3, 3.2, 1], patience=patience)
    assert path.reason == "patience"
    assert len(path) == 3 + patience
    assert size == 3


def test_patience_starts_anew_at_every_minimum():
    path, size = grown([5, 6, 4, 6, 3, 6, 6, 1], patience=2)
    assert len(path) == 7
    assert size == 5


def test_going_back_where_the_limit_came_first():
    path, size = grown([3, 1, 2, 2], limit=4, patience=10)
    assert path.reason == "max_basis"
    assert size == 2


def test_without_patience_every_step_is_kept():
    path, size = grown([1, 2, 3, 4, 5], limit=5)
    assert path.reason == "max_basis"
    assert size == 5


def test_an_equal_value_is_no_new_minimum():
    assert grown([2, 2, 2, 2], patience=3)[1] == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_small_improvements_do_not_count(sign):
    """A value must fall by more than `tol` of the best one's size, whatever its sign."""
    values = [sign * 100.0 - k for k in range(1, 8)]
    assert grown(values, patience=3, tol=0.0)[1] == 7
    assert grown(values, patience=3, tol=0.05)[1] == 1
    assert grown(values, patience=3, tol=0.015)[1] == (7 - 1) // 2 * 2 + 1  # every second counts


def test_a_measure_of_zero():
    assert grown([0.0, -1.0, -1.0, -1.0], patience=2, tol=0.1)[1] == 2


def test_stops_at_the_deadline():
    path, size = grown([3, 2, 1], deadline=PAST)
    assert path.reason == "time_limit"
    assert size == len(path) == 1  # one step is always made


def test_goes_back_to_the_minimum_at_the_deadline():
    toy, rule = Toy([3, 1, 2, 4, 5]), Stopping(max_size=5, patience=5, deadline=FAR)

    def late(path):
        if len(path) == 3:
            rule.deadline = PAST
        return False

    path = run(toy, rule, late)
    assert path.reason == "time_limit"
    assert len(path) == 3
    assert toy.kept == 2


def test_a_deadline_far_away_does_not_matter():
    assert grown([3, 2, 1], limit=3, deadline=FAR)[0].reason == "max_basis"


def test_the_callback_sees_every_step_and_can_stop():
    seen = []

    def watch(path):
        seen.append(path.as_array()["value"][-1])
        return len(path) == 2

    path, size = grown([3, 2, 1], watch=watch)
    assert path.reason == "callback"
    assert seen == [3, 2]
    assert size == 2


def test_a_callback_that_returns_nothing_does_not_stop():
    assert grown([3, 2, 1], limit=3, watch=lambda path: None)[0].reason == "max_basis"


# ---------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("where", ["candidates", "add"])
@pytest.mark.parametrize("at", [0, 2])
def test_ctrl_c_keeps_what_was_reached(where, at):
    toy = Toy([3, 2, 1, 0], break_in=where, break_at=at)
    path = run(toy, Stopping(max_size=4))
    assert path.reason == "interrupted"
    assert len(path) == toy.size == toy.kept == at


def test_ctrl_c_in_the_callback_keeps_the_step():
    def watch(path):
        if len(path) == 2:
            raise KeyboardInterrupt
        return False

    path, size = grown([3, 1, 2], watch=watch, patience=5)
    assert path.reason == "interrupted"
    assert len(path) == 2
    assert size == 2


def test_other_errors_are_not_caught():
    def watch(path):
        raise RuntimeError("of the callback's own")

    with pytest.raises(RuntimeError, match="of the callback's own"):
        grown([3, 2, 1], watch=watch)


# ------------------------------------------------------------------------------------ ties


def test_the_lowest_wins():
    assert first_lowest(np.array([3, 1, 2]), np.array([0.1, 0.2, 0.3])) == 0
    assert first_lowest(np.array([3, 1, 2]), np.array([np.nan, 0.2, 0.3])) == 1
    assert first_lowest(np.array([3, 1, 2]), np.array([0.1, np.nan, -np.inf])) == 2
    for nothing in (np.nan, np.inf, -np.inf):
        assert first_lowest(np.array([3, 1, 2]), np.full(3, nothing)) == 1


@pytest.mark.parametrize("score", [1.0, -7.5, 0.0, 1e-200, 1e200])
def test_ties_go_to_the_lowest_index(score):
    index, scores = np.array([9, 4, 7]), np.full(3, score)
    assert first_lowest(index, scores) == 1


@pytest.mark.parametrize("score", [1.0, -7.5, 1e-200, -1e200])
def test_scores_that_differ_by_rounding_are_ties(score):
    index = np.array([9, 4, 7])
    assert first_lowest(index, score * np.array([1.0, 1.0 + 2e-16, 1.0 - 4e-16])) == 1
    worse = score + 1e-9 * abs(score)
    assert first_lowest(index, np.array([score, worse, worse])) == 0


def test_the_loop_takes_the_lowest_index_of_a_tie():
    class Tied(Toy):
        def candidates(self):
            index, scores = super().candidates()
            return index[::-1], 0.0 * scores

    toy = Tied([1.0, 1.0])
    run(toy, Stopping(max_size=2))
    assert toy.chosen == [0, 2]


def test_a_run_goes_on_while_there_is_progress():
    """A measure may rise for a while; what counts as progress tells that it is not the end."""

    class Climbing(Toy):
        @property
        def progress(self):
            return -min(self.size, 6)

    values = [1.0, 5.0, 9.0, 9.0, 5.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    climbing = Climbing(values)
    path = run(climbing, Stopping(max_size=10, patience=2))
    assert path.reason == "patience"
    assert len(path) == 8
    assert climbing.kept == 6
    assert len(run(Toy(values), Stopping(max_size=10, patience=2))) == 3


@pytest.mark.parametrize(("empty", "kept"), [(10.0, 3), (1.0, 0), (0.5, 0), (np.inf, 3)])
def test_a_size_must_beat_the_empty_model(empty, kept):
    assert grown([3, 2, 1, 2, 2], patience=2, empty_value=empty)[1] == kept


# -------------------------------------------------------------------- models of other kinds


class Walk(GreedyModel):
    """Takes scripted steps; `ends` says why it is done at which number of steps."""

    fields = np.dtype([("name", "U10"), ("seconds", np.float64), ("index", np.int64)])
    nothing_left = "converged"

    def __init__(self, steps=100, ends=None, breaks_at=None):
        self.left, self.ends, self.breaks_at = steps, ends or {}, breaks_at
        self.made, self.recovered = 0, False

    @property
    def size(self):
        return 1

    def done(self):
        return self.ends.get(self.made)

    def propose(self):
        return Action(7, 0.0, "walk", detail=2) if self.left else None

    def act(self, action):
        if self.made == self.breaks_at:
            raise CannotGoOnError
        self.made += 1
        self.left -= 1

    def line(self, action, seconds):
        return action.name, seconds, action.index * action.detail

    def recover(self):
        self.recovered = True


def test_a_model_writes_its_own_lines():
    path = run(Walk(), Stopping(max_steps=3))
    assert path.reason == "max_iter"
    assert_array_equal(path.as_array()["index"], [14, 14, 14])
    assert_array_equal(path.as_array()["name"], "walk")
    assert path.seconds >= path.as_array()["seconds"][-1]


def test_a_model_has_its_own_reasons():
    assert run(Walk(steps=2), Stopping()).reason == "converged"
    assert run(Walk(ends={2: "exact"}), Stopping(max_steps=2)).reason == "exact"
    assert len(run(Walk(ends={0: "exact"}), Stopping())) == 0


def test_a_model_that_proposes_nothing_may_know_why():
    class Looks(Walk):
        def propose(self):
            self.made += 1
            return None

    assert run(Looks(ends={1: "exact"}), Stopping()).reason == "exact"
    assert run(Looks(), Stopping()).reason == "converged"


def test_numbers_that_cannot_be_trusted():
    walk = Walk(breaks_at=2)
    path = run(walk, Stopping())
    assert (path.reason, len(path), walk.recovered) == ("ill_conditioned", 2, True)


def test_a_path_goes_on():
    walk = Walk()
    path = run(walk, Stopping(max_steps=2))
    before = path.seconds
    assert run(walk, Stopping(max_steps=5), path=path) is path
    assert (len(path), walk.made) == (5, 5)
    assert np.all(np.diff(path.as_array()["seconds"]) >= 0)
    assert path.as_array()["seconds"][2] >= before


@pytest.mark.parametrize("least", [0, 1, 3])
def test_steps_that_are_made_whatever_the_clock_says(least):
    path = run(Walk(), Stopping(deadline=PAST, least_steps=least))
    assert (path.reason, len(path)) == ("time_limit", least)


def test_without_patience_the_measure_is_not_asked_for():
    class Costly(Walk):
        @property
        def value(self):
            raise AssertionError("nobody needs it")

    assert len(run(Costly(steps=3), Stopping())) == 3
