"""Two versions in turns: the order of the turns, and the ratios."""

import pytest

from benchmarks import speed_against


class Scripted:
    """A version whose seconds are given; writes down when it was asked."""

    def __init__(self, name, seconds, log):
        self.name, self.script, self.log = name, iter(seconds), log

    def seconds(self, work, clock):
        self.log.append(self.name)
        return next(self.script)


def test_turns_alternate_and_the_first_does_not_count():
    log = []
    versions = [Scripted("a", [9.0, 1.0, 2.0], log), Scripted("b", [9.0, 3.0, 4.0], log)]
    assert speed_against.race("work", versions, 2, False) == [[1.0, 3.0], [2.0, 4.0]]
    assert log == ["b", "a", "a", "b", "b", "a"]


def test_the_ratio_is_the_median_over_the_turns():
    turns = [[1.0, 2.0, 1.0], [1.0, 30.0, 1.0], [2.0, 5.0, 2.0]]
    assert speed_against._ratio(turns, 1) == 2.5
    assert speed_against._ratio(turns, 2) == 1.0


@pytest.mark.parametrize("name", ["gradient small", "dense auto, 300 rows", "linear OLS"])
def test_work_can_be_done(name):
    speed_against.WORKS[name]()()
