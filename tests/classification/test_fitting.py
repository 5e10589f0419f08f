"""The stages of a fit, in order."""

from itertools import groupby
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.models import data, fixed
from greedygp import SparseGPClassifier, progress
from greedygp.classification.data import LabelledRows
from greedygp.classification.fitting import TwoClassFit
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.kernels import Gaussian
from greedygp.progress import NEVER
from scikit_versions import FitCallback, ScoringMonitor


class Stages(FitCallback):
    """Notes what ends, and the model as of then; asks to stop after so many basis vectors."""

    max_propagation_depth = None

    def __init__(self, X, stop_after=None):
        self.X, self.stop_after = X, stop_after
        self.names, self.probabilities = [], []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.names.append(context.task_name)
        self.probabilities.append(fitted_estimator.predict_proba(self.X))
        return self.stop_after is not None and self.names.count("basis vector") >= self.stop_after

    def teardown(self, estimator, context):
        pass

    @property
    def order(self):
        """The names, each run of equal ones told once."""
        return [name for name, _ in groupby(self.names)]


SELECT = ["basis vector", "select"]
OPTIMISE = ["iteration", "optimise"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"objective": None, "max_basis": 5}, SELECT),
        ({"objective": None, "max_basis": 20}, 2 * SELECT),  # by two criteria
        ({"objective": None, "max_basis": 5, "refine": True}, SELECT + OPTIMISE),
        ({"max_basis": 10}, SELECT + OPTIMISE),
        ({"max_basis": 10, "refine": False, "rounds": 1}, SELECT + OPTIMISE + SELECT),
        ({"max_basis": 10, "refine": False, "rounds": 0}, SELECT),
        ({"max_basis": None}, SELECT),  # the start has minimised the evidence
        ({"max_basis": None, "ep_passes": 0, "rounds": 1}, SELECT + OPTIMISE + SELECT),
        ({"max_basis": None, "objective": "loo", "rounds": 1}, SELECT + OPTIMISE + SELECT),
    ],
)
def test_stages(options, expected):
    X, y = data(60)
    stages = Stages(X[:4])
    model = SparseGPClassifier(max_iter=3, random_state=0, **options)
    model.set_callbacks(stages).fit(X, y)
    assert stages.order == [*expected, "fit"]


def test_classes_are_fitted_one_after_the_other():
    """A callback sees the prior of those whose turn has not come, and all of them in the end."""
    X, y = data(60, classes=3)
    stages = Stages(X)
    model = fixed(max_basis=6, ep_passes=0).set_callbacks(stages).fit(X, y)
    assert stages.order == [*(3 * SELECT), "fit"]
    assert_allclose(stages.probabilities[-1], model.predict_proba(X))
    ends = [place for place, name in enumerate(stages.names) if name == "select"]
    first, second, third = (stages.probabilities[place] for place in ends)
    assert np.ptp(first[:, 1] / first[:, 2]) < 1e-12
    assert np.ptp(second[:, 1] / second[:, 2]) > 0.1
    assert_allclose(third, model.predict_proba(X))


def test_classes_share_the_time(monkeypatch):
    """Each one may take as long as the others that wait; what it leaves is theirs."""
    clock = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: clock.seconds))
    X, y = data(40, classes=3)
    untouched, given, left = TwoClassFit.run, [], iter([12.0, 4.0, 0.0])

    def run(fit):
        given.append(fit.deadline.moment - clock.seconds)
        clock.seconds += given[-1] - next(left)
        fit.deadline = NEVER
        return untouched(fit)

    monkeypatch.setattr(TwoClassFit, "run", run)
    model = fixed(max_basis=3, ep_passes=0, time_limit=36.0).fit(X, y)
    assert given == [12.0, 18.0, 22.0]
    assert model.predict_proba(X).shape == (40, 3)


@pytest.mark.parametrize(
    ("rows", "options", "largest"),
    [
        (30, {}, 30),
        (30, {"max_basis": 12}, 12),
        (30, {"max_basis": 50}, 30),
        (600, {}, 500),
        (600, {"refine": True}, 200),
        (2499, {}, 500),
        (2500, {}, 200),
        (2500, {"refine": False}, 500),
        (2500, {"objective": None}, 500),
    ],
)
def test_largest_basis(rows, options, largest):
    problem = LabelledRows(np.zeros((rows, 1)), np.ones(rows))
    start = LatentPoint(Gaussian(), 0.0)
    fit = TwoClassFit(
        SparseGPClassifier(**options), problem, start, np.random.default_rng(0), None, NEVER
    )
    assert fit.limit == largest


@pytest.mark.parametrize("classes", [2, 3])
def test_callbacks(classes):
    X, y = data(classes=classes)
    recorder = Stages(X)
    fixed().set_callbacks(recorder).fit(X, y)
    assert recorder.names.count("basis vector") == 8 * (1 if classes == 2 else 3)
    assert recorder.names[-1] == "fit"
    stopper = Stages(X, stop_after=3)
    model = fixed().set_callbacks(stopper).fit(X, y)
    first = model if classes == 2 else None
    if first is not None:
        assert first.n_basis_ == 3
        assert first.stop_reason_ == "callback"
    learning = Stages(X)
    SparseGPClassifier(max_basis=8, rounds=1, refine=False, random_state=0).set_callbacks(
        learning
    ).fit(X, y)
    assert "iteration" in learning.names


@pytest.mark.parametrize("classes", [2, 3])
def test_scoring_monitor(classes):
    """The model as of each step is given to the callbacks, with the labels as they were given."""
    X, y = data(classes=classes)
    names = np.array(["a", "b", "c"])[y]
    monitor = ScoringMonitor(scoring="accuracy")
    model = fixed(ep_passes=0).set_callbacks(monitor).fit(X, names)
    logs = monitor.get_logs()
    logs = logs[0] if isinstance(logs, list) else logs
    scores = [row["accuracy"] for row in logs.data if row["task_name"] == "basis vector"]
    assert len(scores) == 8 * (1 if classes == 2 else 3)
    assert scores[-1] > scores[0]
    assert_allclose(scores[-1], model.score(X, names))
