"""`greedygp compare`: greedygp's families and scikit-learn's baselines by cross-validation."""

from __future__ import annotations

import time
from typing import Any

import click

from greedygp.cli import interruption
from greedygp.cli.fit import PERCENT
from greedygp.cli.options import common, learning, reading, table_and_recipe
from greedygp.cli.screen import Screen, number

__all__ = ["compare"]

COLUMNS = {
    "regression": {"nmse": "NMSE", "nlpd": "NLPD", "coverage_95": "95 % covers"},
    "classification": {"error": "error", "log_loss": "log loss", "calibration_error": "cal. error"},
}


@click.command(
    short_help="Compare models by cross-validation.",
    epilog="\b\nExamples:\n"
    "  greedygp compare houses.csv --target price\n"
    "  greedygp compare houses.csv --target price --folds 10 --only sparsegp --only ridge",
)
@click.argument("data")
@learning
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@click.option("--only", multiple=True, metavar="NAME", help="Only this model. Repeatable.")
@reading
@common
def compare(screen: Screen, data: str, folds: int, only: tuple[str, ...], **options: Any) -> None:
    """Compare all families and a few of scikit-learn's models on DATA by cross-validation.

    Each model sees the same folds; columns are encoded on the training part of each. Scores are
    means over the folds, the best model is first.
    """
    from greedygp.tables.problems import DataProblem, did_you_mean
    from greedygp.tables.training import prepare

    table, _, recipe = table_and_recipe(data, options, strict=False, test=0.0)
    ready = prepare(table, recipe)
    for sentence in (*ready.target.assumptions, *ready.encoder.assumptions):
        screen.note(f"Assumed: {sentence}")
    models = _models(ready.target.task, recipe)
    for name in only:
        if name not in models:
            hint = did_you_mean(name, list(models)).replace("its columns", "the models")
            raise DataProblem(f"There is no model {name!r} to compare; {hint}")
    lines = []
    with screen.counter("Comparing"):
        for name in only or models:
            lines.append(_cross_validated(name, models[name], ready, recipe, folds))
            interruption.check()
            screen.note(f"{name}: {lines[-1]['seconds']:.1f} s")
    columns = COLUMNS[ready.target.task]
    first = next(iter(columns))
    lines.sort(key=lambda line: line["scores"].get(first, float("inf")))
    screen.table(
        f"{recipe.target}: {folds}-fold cross-validation on {len(ready.rows)} rows",
        ["model", *columns.values(), "seconds"],
        [[line["model"], *_cells(line, columns), f"{line['seconds']:.1f}"] for line in lines],
    )
    for line in lines:
        if line["failed"]:
            screen.note(f"{line['model']} failed: {line['failed']}")
    screen.result({"task": ready.target.task, "folds": folds, "models": lines})


def _cells(line: dict[str, Any], columns: dict[str, str]) -> list[str]:
    values = [(name, line["scores"].get(name)) for name in columns]
    return [
        f"{value:.1%}" if name in PERCENT and value is not None else number(value)
        for name, value in values
    ]


def _models(task: str, recipe: Any) -> dict[str, Any]:
    """Return the estimators to compare: greedygp's by their short names, then the baselines."""
    from sklearn import dummy, ensemble, linear_model

    from greedygp.tables.families import families, make, short_name

    offered = {"random_state": recipe.seed} | recipe.offered
    found = {}
    for name, kind in families(task).items():
        known = kind().get_params(deep=False)
        settings = {key: value for key, value in recipe.settings.items() if key in known}
        found[short_name(name)] = make(kind, settings, offered)
    if task == "regression":
        baselines = {
            "mean": dummy.DummyRegressor(),
            "bayesian ridge": linear_model.BayesianRidge(),
            "random forest": ensemble.RandomForestRegressor(random_state=recipe.seed),
            "boosted trees": ensemble.HistGradientBoostingRegressor(random_state=recipe.seed),
        }
    else:
        baselines = {
            "prior": dummy.DummyClassifier(strategy="prior"),
            "logistic": linear_model.LogisticRegression(max_iter=1000),
            "random forest": ensemble.RandomForestClassifier(random_state=recipe.seed),
            "boosted trees": ensemble.HistGradientBoostingClassifier(random_state=recipe.seed),
        }
    return found | baselines


def _cross_validated(name: str, estimator: Any, ready: Any, recipe: Any, folds: int) -> dict:
    """Return a model's mean scores over the folds, or why it failed."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from greedygp.tables.model import TableModel
    from greedygp.tables.training import encoder_for, predictions_of, scores_of

    y, task = ready.target.values, ready.target.task
    kind = StratifiedKFold if task == "classification" else KFold
    parts = kind(folds, shuffle=True, random_state=recipe.seed).split(ready.rows, y)
    begin, found, failed = time.perf_counter(), [], None
    try:
        for train, test in parts:
            encoder = encoder_for(recipe).fit(ready.rows, train)
            fitted = clone(estimator).fit(encoder.transform(ready.rows.iloc[train]), y[train])
            interruption.check()
            model = TableModel(encoder, fitted, recipe.target, task, {})
            held_out = predictions_of(model, ready.rows.iloc[test], y[test])
            found.append(scores_of(model, held_out))
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
        failed = " ".join(str(error).split())
    names = found[0] if found and failed is None else ()
    scores = {
        key: float(np.mean([one[key] for one in found]))
        for key in names
        if all(one[key] is not None for one in found)
    }
    seconds = time.perf_counter() - begin
    return {"model": name, "scores": scores, "seconds": round(seconds, 3), "failed": failed}
