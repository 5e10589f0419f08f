"""The stages of a fit of several machines."""

from types import SimpleNamespace

import numpy as np

from greedygp import FastRVMClassifier, progress
from greedygp.kernels import Gaussian
from greedygp.linear.laplace import FastRVMClassification


def test_machines_share_the_time_that_is_left(monkeypatch):
    """One after the other; what a class does not need is for those after it."""
    now, moments, needed = SimpleNamespace(seconds=0.0), [], [4.0, 1.0, 2.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    run = FastRVMClassification.run

    def noted(algorithm, selection, watch, deadline):
        moments.append(deadline.moment)
        path = run(algorithm, selection, watch, deadline)
        now.seconds += needed[len(moments) - 1]
        return path

    monkeypatch.setattr(FastRVMClassification, "run", noted)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = y[:, None] + 0.5 * rng.normal(size=(30, 2))
    FastRVMClassifier(kernel=Gaussian(), time_limit=30.0).fit(X, y)
    assert moments == [10.0, 4.0 + 26.0 / 2, 30.0]
