"""The forward-selection loop with a toy in place of a model."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedygp.greedy import SelectionPath, Stopping, first_lowest, forward_selection


class Toy:
    """A model whose measure follows a script; each step offers two candidates.

    `break_at` is a size at which `propose` or `add` (as `break_in` says) is interrupted.
    """

    def __init__(self, values, break_in=None, break_at=None):
        self.values = list(values)
        self.chosen = []
        self.break_in, self.break_at = break_in, break_at

    @property
    def size(self):
        return len(self.chosen)

    def propose(self):
        self._interrupt("propose")
        if self.size == len(self.values):
            return np.empty(0, dtype=np.intp), np.empty(0)
        first = 2 * self.size
        return np.array([first, first + 1]), np.array([0.5, 0.25])

    def add(self, index):
        self._interrupt("add")
        self.chosen.append(index)
        return self.values[self.size - 1]

    def progress(self):
        return self.values[self.size - 1]

    def _interrupt(self, where):
        if self.break_in == where and self.break_at == self.size:
            raise KeyboardInterrupt


def run(values, limit=100, after_step=None, **stopping):
    rule = Stopping(**stopping)
    path = forward_selection(Toy(values), limit, rule, after_step)
    return path, rule.size_to_keep(len(path))


# ------------------------------------------------------------------------------- the path


def test_the_path_tells_what_happened():
    toy = Toy([3.0, 2.0, 1.0, 0.0])
    path = forward_selection(toy, 3, Stopping())
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
    assert len(SelectionPath().as_array()) == 0
    assert SelectionPath().as_array().dtype.names == ("index", "value", "score", "seconds")


# ------------------------------------------------------------------------------- stopping


def test_stops_at_the_limit():
    path, size = run([3, 2, 1, 0], limit=2)
    assert path.reason == "max_basis"
    assert size == len(path) == 2


@pytest.mark.parametrize("patience", [None, 5])
def test_stops_when_nobody_is_left(patience):
    path, size = run([3, 2, 1], patience=patience)
    assert path.reason == "exhausted"
    assert size == len(path) == 3


def test_nobody_from_the_start():
    path, size = run([])
    assert path.reason == "exhausted"
    assert size == len(path) == 0


def test_a_limit_of_zero_asks_nobody():
    toy = Toy([1.0], break_in="propose", break_at=0)
    path = forward_selection(toy, 0, Stopping())
    assert path.reason == "max_basis"
    assert len(path) == 0


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_patience_goes_back_to_the_minimum(patience):
    path, size = run([5, 4, 3, 3.5, 3.4, 3.3, 3.2, 1], patience=patience)
    assert path.reason == "patience"
    assert len(path) == 3 + patience
    assert size == 3


def test_patience_starts_anew_at_every_minimum():
    path, size = run([5, 6, 4, 6, 3, 6, 6, 1], patience=2)
    assert len(path) == 7
    assert size == 5


def test_going_back_where_the_limit_came_first():
    path, size = run([3, 1, 2, 2], limit=4, patience=10)
    assert path.reason == "max_basis"
    assert size == 2


def test_without_patience_every_step_is_kept():
    path, size = run([1, 2, 3, 4, 5], limit=5)
    assert path.reason == "max_basis"
    assert size == 5


def test_an_equal_value_is_no_new_minimum():
    assert run([2, 2, 2, 2], patience=3)[1] == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_small_improvements_do_not_count(sign):
    """A value must fall by more than `tol` of the best one's size, whatever its sign."""
    values = [sign * 100.0 - k for k in range(1, 8)]
    assert run(values, patience=3, tol=0.0)[1] == 7
    assert run(values, patience=3, tol=0.05)[1] == 1
    assert run(values, patience=3, tol=0.015)[1] == (7 - 1) // 2 * 2 + 1  # every second counts


def test_a_measure_of_zero():
    assert run([0.0, -1.0, -1.0, -1.0], patience=2, tol=0.1)[1] == 2


def test_stops_at_the_deadline():
    path, size = run([3, 2, 1], deadline=time.perf_counter() - 1)
    assert path.reason == "time_limit"
    assert size == len(path) == 1  # one step is always made


def test_goes_back_to_the_minimum_at_the_deadline():
    rule = Stopping(patience=5, deadline=time.perf_counter() + 1000)

    def late(path):
        if len(path) == 3:
            rule.deadline = time.perf_counter() - 1
        return False

    path = forward_selection(Toy([3, 1, 2, 4, 5]), 5, rule, late)
    assert path.reason == "time_limit"
    assert len(path) == 4
    assert rule.size_to_keep(len(path)) == 2


def test_a_deadline_far_away_does_not_matter():
    assert run([3, 2, 1], limit=3, deadline=time.perf_counter() + 1000)[0].reason == "max_basis"


def test_the_callback_sees_every_step_and_can_stop():
    seen = []

    def after_step(path):
        seen.append(path.as_array()["value"][-1])
        return len(path) == 2

    path, size = run([3, 2, 1], after_step=after_step)
    assert path.reason == "callback"
    assert seen == [3, 2]
    assert size == 2


def test_a_callback_that_returns_nothing_does_not_stop():
    assert run([3, 2, 1], limit=3, after_step=lambda path: None)[0].reason == "max_basis"


# ---------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("where", ["propose", "add"])
@pytest.mark.parametrize("at", [0, 2])
def test_ctrl_c_keeps_what_was_reached(where, at):
    toy = Toy([3, 2, 1, 0], break_in=where, break_at=at)
    path = forward_selection(toy, 4, Stopping())
    assert path.reason == "interrupted"
    assert len(path) == toy.size == at


def test_ctrl_c_in_the_callback_keeps_the_step():
    def after_step(path):
        if len(path) == 2:
            raise KeyboardInterrupt
        return False

    path, size = run([3, 1, 2], after_step=after_step, patience=5)
    assert path.reason == "interrupted"
    assert len(path) == 2
    assert size == 2


def test_other_errors_are_not_caught():
    def after_step(path):
        raise RuntimeError("of the callback's own")

    with pytest.raises(RuntimeError, match="of the callback's own"):
        run([3, 2, 1], after_step=after_step)


# ------------------------------------------------------------------------------------ ties


def test_the_lowest_wins():
    assert first_lowest(np.array([3, 1, 2]), np.array([0.1, 0.2, 0.3])) == 0


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
        def propose(self):
            index, scores = super().propose()
            return index[::-1], 0.0 * scores

    toy = Tied([1.0, 1.0])
    forward_selection(toy, 2, Stopping())
    assert toy.chosen == [0, 2]


def test_a_run_goes_on_while_there_is_progress():
    """A measure may rise for a while; what counts as progress tells that it is not the end."""

    class Climbing(Toy):
        def progress(self):
            return -min(self.size, 6)

    values = [1.0, 5.0, 9.0, 9.0, 5.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    stopping = Stopping(patience=2)
    path = forward_selection(Climbing(values), 10, stopping)
    assert path.reason == "patience"
    assert len(path) == 8
    assert stopping.size_to_keep(len(path)) == 6
    assert len(forward_selection(Toy(values), 10, Stopping(patience=2))) == 3
