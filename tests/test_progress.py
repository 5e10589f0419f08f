"""The clock of a fit, and what its callbacks are told."""

import itertools
from types import SimpleNamespace

import pytest

from greedygp import progress as module
from greedygp.progress import NEVER, Deadline, FitProgress, met_deadlines


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    return now


def test_a_deadline_passes(clock):
    deadline = Deadline.after(5.0)
    assert not deadline.passed
    clock.seconds += 5.0
    assert not deadline.passed
    clock.seconds += 0.1
    assert deadline.passed


def test_no_deadline_never_passes(clock):
    clock.seconds = 1e300
    assert not NEVER.passed
    assert not Deadline.after(None).passed
    assert NEVER.share(0.5) == NEVER


def test_a_share_of_the_time_that_is_left(clock):
    deadline = Deadline.after(8.0)
    clock.seconds += 4.0
    assert deadline.share(0.25) == Deadline(105.0)
    clock.seconds += 100.0
    assert deadline.share(0.25) == Deadline(204.0)  # nothing is left: now


def test_deadlines_that_are_met_are_noted(clock):
    deadline = Deadline.after(8.0)
    with met_deadlines() as met:
        assert not deadline.passed
        assert met == []
        clock.seconds += 9.0
        assert deadline.share(0.5).moment == 109.0
        assert deadline.passed
        with met_deadlines() as inner:
            assert not NEVER.passed
        assert inner == []
    assert deadline.passed
    assert met == [deadline]


class Context:
    """Writes down what scikit-learn's callback context is told."""

    def __init__(self, log, name="fit", stops=()):
        self.log, self.name, self.stops = log, name, stops

    def subcontext(self, task_name, max_subtasks=0):
        return Context(self.log, f"{self.name}/{task_name}", self.stops)

    def call_on_fit_task_begin(self, estimator, **given):
        self.log.append(("begin", self.name, given))

    def call_on_fit_task_end(self, estimator, reconstruction_attributes, **given):
        self.log.append(("end", self.name, reconstruction_attributes()))
        return len(self.log) in self.stops


class Estimator:
    def __init__(self, watched=True, stops=()):
        self.log, self.stops = [], stops
        if watched:
            self._skl_callbacks = ["somebody"]
        self.n_features_in_, self.kernel_ = 3, "of an earlier fit"

    def _init_callback_context(self, max_subtasks):
        self.max_subtasks = max_subtasks
        return Context(self.log, stops=self.stops)


def test_a_fit_with_stages():
    estimator, number = Estimator(), itertools.count()
    progress = FitProgress(estimator, {"X": 1}, 2)
    first = progress.stage("select", 5, lambda: {"_posterior": next(number)})
    first.step("basis vector")
    second = progress.stage("optimise", None, lambda: {"_posterior": "learnt"})
    second.step("iteration")
    progress.end(lambda: {"_posterior": "last"})
    events = [(what, name) for what, name, _ in estimator.log]
    assert events == [
        ("begin", "fit"),
        ("begin", "fit/select"),
        ("begin", "fit/select/basis vector"),
        ("end", "fit/select/basis vector"),
        ("end", "fit/select"),
        ("begin", "fit/optimise"),
        ("begin", "fit/optimise/iteration"),
        ("end", "fit/optimise/iteration"),
        ("end", "fit/optimise"),
        ("end", "fit"),
    ]
    assert estimator.max_subtasks == 2
    assert estimator.log[0][2] == {"X": 1}
    models = [model for what, _, model in estimator.log if what == "end"]
    posteriors = [0, 1, "learnt", "learnt", "last"]
    assert models == [{"n_features_in_": 3, "_posterior": each} for each in posteriors]


def test_a_stage_that_begins_with_its_first_step():
    estimator = Estimator()
    progress = FitProgress(estimator, {})
    progress.stage("select", 5, dict)
    later = progress.later_stage("optimise", 3, dict)
    assert [name for _, name, _ in estimator.log] == ["fit", "fit/select"]
    later.step("iteration")
    later.step("iteration")
    progress.end()
    events = [(what, name) for what, name, _ in estimator.log][2:]
    assert events == [
        ("end", "fit/select"),
        ("begin", "fit/optimise"),
        *[("begin", "fit/optimise/iteration"), ("end", "fit/optimise/iteration")] * 2,
        ("end", "fit/optimise"),
        ("end", "fit"),
    ]


def test_a_fit_without_stages():
    estimator = Estimator()
    progress = FitProgress(estimator, {})
    progress.model = lambda: {"_model": 1}
    progress.step("add")
    progress.end()
    assert [name for _, name, _ in estimator.log] == ["fit", "fit/add", "fit/add", "fit"]
    assert estimator.max_subtasks is None


def test_a_callback_may_ask_to_stop():
    progress = FitProgress(Estimator(stops=(3,)), {})
    assert progress.step("add") is True
    assert progress.step("add") is False


def test_steps_that_nobody_watches_cost_nothing():
    estimator = Estimator(watched=False)
    progress = FitProgress(estimator, {})

    def model():
        raise AssertionError("nobody asked")

    progress.model = model
    assert progress.step("add") is False
    assert [name for _, name, _ in estimator.log] == ["fit"]
