"""`objective="auto"`: the variational bound, unless left-out rows speak clearly for the density."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp import SparseGPRegressor
from greedygp.data import TrainingData
from greedygp.exceptions import FitInterrupted
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from greedygp.metrics import nlpd
from greedygp.sparse.learning import Learner, Schedule
from greedygp.sparse.objectives import SparseObjective


def waves(noise, n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) * np.cos(2 * X[:, 1]) + noise * rng.normal(size=n)


def fitted(noise, **options):
    defaults = {"objective": "auto", "max_basis": 15, "max_iter": 30, "noise_model": "constant"}
    return SparseGPRegressor(random_state=0, **(defaults | options)).fit(*waves(noise))


def test_the_bound_where_there_is_noise():
    model, (X, y) = fitted(0.7), waves(0.7)
    assert (model.objective_, model.approximation_) == ("vfe", "dtc")
    assert 15 <= model.rounds_["n_iter"][0] <= 30
    target = ((y - y.mean()) / y.std())[None, :]
    bound = SparseObjective("vfe", X, target, None, approximation="dtc", capacity=15)
    kernel, noise_variance = model.kernel_.scaled(1 / model.widening_), model.noise_variance_
    value = bound.value(kernel, noise_variance / model.widening_, model.basis_)
    assert_allclose(model.objective_value_, value, rtol=1e-8)


def test_the_density_where_the_basis_is_too_small_for_a_function_without_noise():
    model, bound = fitted(0.01, max_basis=10), fitted(0.01, max_basis=10, objective="vfe")
    assert model.objective_ == "nlgpp"
    X, y = waves(0.01, n=1000, seed=1)
    assert bound.noise_variance_ > 0.2  # much of the function is noise to it
    assert nlpd(y, *model.predict(X, return_std=True)) < -0.1
    assert nlpd(y, *bound.predict(X, return_std=True)) > 0.05


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        ({"objective": "nlgpp"}, "nlgpp"),
        ({"objective": "loo_cve"}, "loo_cve"),
        ({"approximation": "fitc"}, "nlgpp"),
        ({"approximation": "sor"}, "nlgpp"),
        ({"approximation": "dtc"}, "vfe"),
        ({"max_iter": 15}, "nlgpp"),
        ({"rounds": 0}, "nlml"),
        ({"objective": None}, None),
    ],
)
def test_what_is_learnt_by(options, objective):
    assert fitted(0.7, **options).objective_ == objective


def test_the_summary_names_it():
    assert "vfe" in str(fitted(0.7).summary())


def learner(noise_variance, learn_noise=True):
    X, y = waves(0.3)
    schedule = Schedule(
        "nlgpp", "fitc", 1, 20, True, 0.1, tries_bound=True, learn_noise=learn_noise
    )
    start = Point(Gaussian(1.0, 1.0), noise_variance, X[:15])
    found = Learner(TrainingData(X, y, None, True), schedule, start)
    found.search.begin(15, guarded=True)
    return found, start


def test_the_bound_begins_with_the_noise_that_it_likes_best():
    found, start = learner(1e-5)
    better = found.search.with_more_noise(start)
    assert np.any(np.isclose(better.noise_variance, (0.03, 0.1, 0.3)))
    values = [found.search.value(replace(start, noise_variance=s)) for s in (1e-5, 0.03, 0.1, 0.3)]
    assert_allclose(found.search.value(better), min(values))
    enough, start = learner(0.5)
    assert enough.search.with_more_noise(start) is start
    held, start = learner(1e-5, learn_noise=False)
    assert held.search.with_more_noise(start) is start


def test_left_out_rows_are_judged_alike_whatever_is_learnt_by():
    found, start = learner(0.1)
    search = found.search
    search.judge_by("nlgpp", "dtc")
    guard = search.objective.guard
    assert guard > 0
    value = search.left_out_loss(start, "dtc")
    search.judge_by("vfe", "dtc")
    assert search.objective.guard == 0
    assert_allclose(search.left_out_loss(start, "dtc"), value)
    assert search.kind.name == search.objective.guarded.objective.name == "vfe"
    X, y = waves(0.3)
    target = ((y - y.mean()) / y.std())[None, :]
    density = SparseObjective("nlgpp", X, target, None, approximation="dtc", capacity=15)
    assert_allclose(2 * value, density.value(start.kernel, 0.1, start.basis))


def test_an_interrupt_of_the_second_trial_keeps_the_bound(monkeypatch):
    original, calls = SparseObjective.__call__, []

    def interrupted(self, *args, **options):
        calls.append(self.guarded.objective.name)
        if calls.count("nlgpp") == 3:
            raise KeyboardInterrupt
        return original(self, *args, **options)

    monkeypatch.setattr(SparseObjective, "__call__", interrupted)
    X, y = waves(0.7)
    model = SparseGPRegressor(objective="auto", max_basis=15, random_state=0)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.objective_ == "vfe"
    assert np.all(np.isfinite(model.predict(X)))


def test_no_further_trial_begins_when_time_is_up(monkeypatch):
    density, start = learner(0.01)
    trials = []
    original = Learner._trial

    def noted(self, objective, approximation, *given):
        trials.append((objective, approximation))
        return original(self, objective, approximation, *given)

    monkeypatch.setattr(Learner, "_trial", noted)
    monkeypatch.setattr(Learner, "_must_stop", lambda self, found: len(trials) >= 2)
    best = density._best_trial(start, None)
    assert trials == [("vfe", "dtc"), ("nlgpp", "dtc")]
    assert density.search.kind.name in ("vfe", "nlgpp")
    assert density.search.value(best.point) == pytest.approx(best.value)
