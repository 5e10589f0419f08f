"""Cross-validation of several models on one table, each within a time of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedygp.progress import met_deadlines
from greedygp.tables.families import families, make, short_name
from greedygp.tables.model import TableModel
from greedygp.tables.training import (
    Prepared,
    Recipe,
    encoder_for,
    predictions_of,
    scores_of,
)
from greedygp.threads import serial_blas

__all__ = ["Judged", "candidates", "cross_validated", "slow_ones"]

CHOOSES = "autogp"  # between two of the others, so that it need not be compared with them
# Models whose time grows with the cube of the rows and beyond: on more rows than this only if
# they are asked for.
MOST_ROWS = {"localridge": 300, "rfs": 300, "gp": 5000}
SMALL = 5000  # rows; below, threads cost more than they bring
LEAST_SECONDS = 0.01  # of a fit, where the time is up


@dataclass
class Judged:
    """What cross-validation found of a model.

    Attributes
    ----------
    model : str
    scores : dict
        Means over the folds.
    seconds : float
    folds_done, cut_short : int
        Folds that were judged, and those of them whose fit was ended by its time.
    failed : str or None
        Why there are no scores.
    """

    model: str
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    folds_done: int = 0
    cut_short: int = 0
    failed: str | None = None


def candidates(task: str, recipe: Recipe) -> dict[str, Any]:
    """Return the estimators to compare: greedygp's by their short names, then the baselines."""
    from sklearn import dummy, ensemble, linear_model

    offered = {"random_state": recipe.seed} | recipe.offered
    found = {}
    for name, kind in families(task).items():
        known = kind().get_params(deep=False)  # type: ignore[attr-defined]
        settings = {key: value for key, value in recipe.settings.items() if key in known}
        found[short_name(name)] = make(kind, settings, offered)
    if task == "regression":
        return found | {
            "mean": dummy.DummyRegressor(),
            "bayesian ridge": linear_model.BayesianRidge(),
            "random forest": ensemble.RandomForestRegressor(random_state=recipe.seed),
            "boosted trees": ensemble.HistGradientBoostingRegressor(random_state=recipe.seed),
        }
    return found | {
        "prior": dummy.DummyClassifier(strategy="prior"),
        "logistic": linear_model.LogisticRegression(max_iter=1000),
        "random forest": ensemble.RandomForestClassifier(random_state=recipe.seed),
        "boosted trees": ensemble.HistGradientBoostingClassifier(random_state=recipe.seed),
    }


def slow_ones(names: list[str], rows: int) -> list[str]:
    """Return those models that are too slow for so many training rows."""
    return [name for name in names if rows > MOST_ROWS.get(name, rows)]


def cross_validated(
    name: str,
    estimator: Any,
    ready: Prepared,
    recipe: Recipe,
    folds: int,
    seconds: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> Judged:
    """Return a model's mean scores over the folds, or why it failed.

    Parameters
    ----------
    name : str
    estimator : estimator
    ready : Prepared
    recipe : Recipe
    folds : int
    seconds : float, optional
        For all folds together, if the estimator has a `time_limit`: each fit gets an equal share
        of what is left.
    watch : callable, optional
        Called with the number of folds done, after each of them.
    """
    begin, found, judged = time.perf_counter(), [], Judged(name)
    try:
        for train, test in _parts(ready, recipe, folds):
            fitted = _with_time(estimator, seconds, begin, folds - judged.folds_done)
            scores, early = _one_fold(fitted, ready, recipe, train, test)
            found.append(scores)
            judged.folds_done += 1
            judged.cut_short += early
            if watch is not None:
                watch(judged.folds_done)
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
        judged.failed = " ".join(str(error).split())
    if judged.failed is None:
        judged.scores = {
            key: float(np.mean([one[key] for one in found]))
            for key in found[0]
            if all(one[key] is not None for one in found)
        }
    judged.seconds = round(time.perf_counter() - begin, 3)
    return judged


def _parts(ready: Prepared, recipe: Recipe, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if ready.target.task == "classification" else KFold
    splitter = kind(folds, shuffle=True, random_state=recipe.seed)
    return splitter.split(ready.rows, ready.target.values)


def _with_time(estimator: Any, seconds: float | None, begin: float, to_go: int) -> Any:
    """Return the estimator, not fitted, with a share of the time that is left."""
    from sklearn.base import clone

    fresh = clone(estimator)
    if seconds is None or "time_limit" not in fresh.get_params(deep=False):
        return fresh
    if fresh.time_limit is not None:
        return fresh
    left = max(seconds - (time.perf_counter() - begin), 0.0)
    return fresh.set_params(time_limit=max(left / to_go, LEAST_SECONDS))


def _one_fold(
    estimator: Any, ready: Prepared, recipe: Recipe, train: np.ndarray, test: np.ndarray
) -> tuple[dict[str, float | None], bool]:
    """Return the scores of a fold, and whether its fit was ended by its time."""
    y = ready.target.values
    encoder = encoder_for(recipe).fit(ready.rows, train=train)
    X = encoder.transform(ready.rows.iloc[train])
    with _one_thread() if len(train) <= SMALL else nullcontext():
        with met_deadlines() as met:
            estimator.fit(X, y[train])
        model = TableModel(encoder, estimator, recipe.target, ready.target.task, {})
        rows = ready.rows.iloc[test]
        return scores_of(model, predictions_of(model, rows, y[test])), bool(met)


@contextmanager
def _one_thread() -> Iterator[None]:
    """While this lasts, neither BLAS nor OpenMP has more than one thread.

    Boosted trees use OpenMP, whose threads wait for each other in loops: beside other programs on
    two cores, a fit to 1000 rows took 30 s so, and 0.3 s on one thread.
    """
    from threadpoolctl import threadpool_limits

    with serial_blas(1), threadpool_limits(1, user_api="openmp"):
        yield
