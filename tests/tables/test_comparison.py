"""Cross-validation of several models: the same folds, each model within its time."""

import signal
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from threadpoolctl import threadpool_info, threadpool_limits

pandas = pytest.importorskip("pandas")

from greedygp.tables import comparison  # noqa: E402
from greedygp.tables.comparison import candidates, cross_validated, slow_ones  # noqa: E402
from greedygp.tables.families import families, short_name  # noqa: E402
from greedygp.tables.training import Recipe, prepare  # noqa: E402
from tests.tables.examples import table  # noqa: E402


def ready_and_recipe(target="price", n=60):
    frame = table(n)
    frame["price"] = frame["size"] / 10 + 0.1 * frame["price"]
    recipe = Recipe(target, test=0.0)
    return prepare(frame, recipe), recipe


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_every_family_is_a_candidate(task):
    names = {short_name(name) for name in families(task)}
    assert names < set(candidates(task, Recipe("y")))


def test_scores_are_means_over_the_folds():
    from sklearn.linear_model import BayesianRidge
    from sklearn.model_selection import KFold

    from greedygp.metrics import nmse
    from greedygp.tables import TableEncoder

    ready, recipe = ready_and_recipe()
    seen = []
    model = candidates("regression", recipe)["bayesian ridge"]
    judged = cross_validated("bayesian ridge", model, ready, recipe, 3, watch=seen.append)
    expected = []
    y = ready.target.values
    for train, test in KFold(3, shuffle=True, random_state=0).split(y):
        encoder = TableEncoder().fit(ready.rows.iloc[train])
        model = BayesianRidge().fit(encoder.transform(ready.rows.iloc[train]), y[train])
        expected.append(nmse(y[test], model.predict(encoder.transform(ready.rows.iloc[test]))))
    assert judged.scores["nmse"] == pytest.approx(np.mean(expected))
    assert (judged.failed, judged.folds_done, judged.cut_short) == (None, 3, 0)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("name", ["sparsegp", "gp", "fastgcv", "fastrvm", "ols", "rfs"])
def test_a_model_whose_time_is_up_says_so(name, monkeypatch):
    monkeypatch.setattr(comparison, "LEAST_SECONDS", 1e-6)  # some fits are through in 10 ms
    ready, recipe = ready_and_recipe()
    model = candidates("regression", recipe)[name]
    judged = cross_validated(name, model, ready, recipe, 2, seconds=1e-6)
    assert judged.failed is None
    assert judged.cut_short == 2
    assert np.isfinite(judged.scores["nmse"])


def test_a_limit_of_the_user_for_each_fit_is_kept():
    ready, recipe = ready_and_recipe(n=30)
    recipe.offered = {"time_limit": 1000.0}
    model = candidates("regression", recipe)["gp"].set_params(objective=None)
    assert cross_validated("gp", model, ready, recipe, 2, seconds=1e-6).cut_short == 0


def test_a_model_that_fails_says_why():
    ready, recipe = ready_and_recipe(n=30)
    recipe.settings = {"criterion": "luck"}
    model = candidates("regression", recipe)["sparsegp"]
    judged = cross_validated("sparsegp", model, ready, recipe, 2)
    assert "criterion must be one of" in judged.failed
    assert judged.scores == {}


def test_slow_models():
    names = ["sparsegp", "localridge", "gp", "mean"]
    assert slow_ones(names, 200) == []
    assert slow_ones(names, 960) == ["localridge"]
    assert slow_ones(names, 20_000) == ["localridge", "gp"]


def test_the_interrupt_goes_up(monkeypatch):
    ready, recipe = ready_and_recipe(n=30)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    model = candidates("regression", recipe)["mean"]
    with pytest.raises(KeyboardInterrupt):
        cross_validated(
            "mean", model, ready, recipe, 3, watch=lambda _: signal.raise_signal(signal.SIGINT)
        )
    signal.signal(signal.SIGINT, before)


class Threads(BaseEstimator, RegressorMixin):
    """Remembers how many threads there were while it was fitted."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y):
        from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: F401, has OpenMP

        self.seen.extend(one["num_threads"] for one in threadpool_info())
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_small_work_has_one_thread():
    """Threads of OpenMP, too: beside other programs they wait for each other in loops."""
    ready, recipe = ready_and_recipe()
    with threadpool_limits(2):
        before = threadpool_info()
        assert cross_validated("threads", Threads(), ready, recipe, 2).failed is None
        assert threadpool_info() == before
    assert set(Threads.seen) == {1}
