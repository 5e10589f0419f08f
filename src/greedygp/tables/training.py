"""From a table to a model that remembers how it was made.

scikit-learn is imported only when a model is made, so a table that cannot be learnt from is refused
without waiting for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.exceptions import FitInterrupted
from greedygp.progress import met_deadlines
from greedygp.tables.doubts import copies, few_of_a_class, telling_columns
from greedygp.tables.families import (
    default_family,
    family_named,
    make,
    name_columns,
    taken_model,
)
from greedygp.tables.model import TableModel
from greedygp.tables.plans import MOST_WORDS
from greedygp.tables.problems import DataProblem, did_you_mean
from greedygp.tables.targets import Target, take_target

if TYPE_CHECKING:
    import pandas

    from greedygp.tables.encoder import TableEncoder

__all__ = [
    "Predictions",
    "Prepared",
    "Recipe",
    "Trained",
    "TrainingInterrupted",
    "coverage_where_missing",
    "encoder_for",
    "facts_of",
    "predictions_of",
    "prepare",
    "relevance_of_columns",
    "scores_of",
    "split",
    "train",
]

FEWEST_TO_COVER = 5  # rows


@dataclass
class Recipe:
    """How a model is made from a table.

    Parameters
    ----------
    target : str
    task : {"auto", "regression", "classification"}
    test : float
        Share of the rows that is held out to judge the model; 0: none.
    model : str or None
        A family's name; None: the task's default.
    settings, offered : dict
        Parameters of the estimator: those it must have, and those set where it has them (the seed
        is one of these anyway).
    drop, categories, numbers : list of str
        Columns to leave out, to treat as words, and to treat as numbers.
    most_words : int
        A column with more different words is left out.
    seed : int
    """

    target: str
    task: str = "auto"
    test: float = 0.2
    model: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    offered: dict[str, Any] = field(default_factory=dict)
    drop: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    most_words: int = MOST_WORDS
    seed: int = 0


@dataclass
class Prepared:
    """A table whose target and columns can be learnt, with the rows to learn from.

    Attributes
    ----------
    rows : DataFrame
        The rows with a target, without the target and the dropped columns. Its index has their
        places in the file.
    target : Target
    encoder : TableEncoder
        Fitted on the training rows.
    train, test : int arrays
        Places in `rows`.
    """

    rows: pandas.DataFrame
    target: Target
    encoder: TableEncoder
    train: np.ndarray
    test: np.ndarray


@dataclass
class Predictions:
    """What a model says of rows whose targets are known.

    Attributes
    ----------
    y : (rows,) array
    mean : (rows,) array
        Or the likeliest class.
    std : (rows,) array or None
    probabilities : (rows, classes) array or None
    """

    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray | None = None
    probabilities: np.ndarray | None = None


@dataclass
class Trained:
    """A model, the rows it was judged on, and what it says of them (None: not judged)."""

    model: TableModel
    rows: pandas.DataFrame
    predictions: Predictions | None


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit that had a model by then: `trained` has it, judged as usual."""

    def __init__(self, trained: Trained):
        super().__init__("The fit was interrupted; the best model found until then was kept.")
        self.trained = trained


def prepare(table: pandas.DataFrame, recipe: Recipe) -> Prepared:
    """Check the table, choose the rows to hold out, decide about the columns."""
    for name in recipe.drop:
        if name not in table.columns:
            raise DataProblem(
                f"There is no column {name!r} to drop; " + did_you_mean(name, list(table.columns))
            )
    if recipe.target in recipe.drop:
        raise DataProblem(f"The target {recipe.target!r} cannot be dropped.")
    target = take_target(table, recipe.target, recipe.task)
    rows = table.drop(columns=[recipe.target, *recipe.drop])[target.kept]
    if not len(rows.columns):
        raise DataProblem(f"There is no column other than the target {recipe.target!r}.")
    train, test = split(target, recipe.test, recipe.seed)
    encoder = encoder_for(recipe).fit(rows, train=train)
    used = rows[[column.name for column in encoder.columns_]]
    target.assumptions += telling_columns(used, target.values)
    said = [copies(rows, target.values)]
    if target.task == "classification":
        said.append(few_of_a_class(target.values, test))
    target.assumptions += [sentence for sentence in said if sentence is not None]
    return Prepared(rows, target, encoder, train, test)


def encoder_for(recipe: Recipe) -> TableEncoder:
    """Return an encoder, not fitted, as the recipe wants it."""
    from greedygp.tables.encoder import TableEncoder

    categories = [name for name in recipe.categories if name != recipe.target]
    return TableEncoder(categories, recipe.most_words, recipe.numbers)


def split(target: Target, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those to hold out, every class in both."""
    n = len(target.values)
    if share == 0:
        return np.arange(n), np.arange(0)
    from sklearn.model_selection import train_test_split

    classes = target.values if target.task == "classification" else None
    try:
        train, test = train_test_split(
            np.arange(n), test_size=share, random_state=seed, stratify=classes
        )
    except ValueError as error:
        raise DataProblem(
            f"{n} rows cannot be split with --test {share:g}: {error} Give more rows, another "
            "share, or --test 0."
        ) from error
    return np.sort(train), np.sort(test)


def train(
    table: pandas.DataFrame, recipe: Recipe, callbacks: tuple = (), known: dict | None = None
) -> Trained:
    """Fit a model to a table and judge it.

    Parameters
    ----------
    table : DataFrame
    recipe : Recipe
    callbacks : tuple
        Callbacks of scikit-learn's protocol, for estimators that take them.
    known : dict, optional
        Facts to remember with the model: where the data came from, say.

    Returns
    -------
    Trained

    Raises
    ------
    TrainingInterrupted
        After Ctrl-C, with the model that there is. Without one, KeyboardInterrupt itself goes up.
    """
    ready = prepare(table, recipe)
    task = ready.target.task
    kind = (
        family_named(recipe.model, task) if recipe.model else default_family(task, recipe.settings)
    )
    estimator = make(kind, recipe.settings, {"random_state": recipe.seed} | recipe.offered)
    if callbacks and hasattr(estimator, "set_callbacks"):
        estimator.set_callbacks(*callbacks)
    X = ready.encoder.transform(ready.rows.iloc[ready.train])
    begin, interrupted = time.perf_counter(), False
    try:
        name_columns(estimator, ready.encoder.feature_names)
        with met_deadlines() as met:
            estimator.fit(X, ready.target.values[ready.train])
    except FitInterrupted:
        interrupted = True
    except (ValueError, TypeError) as error:
        raise DataProblem(f"{kind.__name__} could not be fitted: {error}") from error
    seconds = time.perf_counter() - begin
    estimator, because = taken_model(estimator)
    model = TableModel(ready.encoder, estimator, recipe.target, task, {})
    rows, predictions = judged(model, ready)
    facts = facts_of(model, recipe, ready, rows, predictions, seconds, X)
    facts |= {"model_because": because, "ended_early": bool(met)}
    model.facts = (known or {}) | facts
    trained = Trained(model, rows, predictions)
    if interrupted:
        model.facts["interrupted"] = True
        raise TrainingInterrupted(trained)
    return trained


def judged(model: TableModel, ready: Prepared) -> tuple[pandas.DataFrame, Predictions | None]:
    """Return the rows that a model is judged on, and its predictions there.

    They are the rows held out or, where there are none, the training rows, each predicted from
    all the others, if the model can do that.
    """
    if len(ready.test):
        rows = ready.rows.iloc[ready.test]
        return rows, predictions_of(model, rows, ready.target.values[ready.test])
    rows, y = ready.rows.iloc[ready.train], ready.target.values[ready.train]
    if hasattr(model.estimator, "loo_predict") and model.task == "regression":
        mean, std = model.estimator.loo_predict()
        return rows, Predictions(y, np.asarray(mean), np.asarray(std))
    return rows, None


def predictions_of(model: TableModel, rows: pandas.DataFrame, y: np.ndarray) -> Predictions:
    """Return what a model says of rows whose targets are `y`."""
    if model.task == "classification":
        predicted = model.predict(rows)
        has = hasattr(model.estimator, "predict_proba")
        return Predictions(y, predicted, None, model.predict_proba(rows) if has else None)
    if model.gives_std:
        mean, std = model.predict_std(rows)
        return Predictions(y, mean, std if np.all(std > 0) else None)
    return Predictions(y, model.predict(rows))


def scores_of(model: TableModel, said: Predictions) -> dict[str, float | None]:
    """Return the figures of a model's predictions."""
    from greedygp.tables import evaluation

    if model.task == "classification":
        return evaluation.scores_of_classes(
            said.y, said.mean, said.probabilities, model.estimator.classes_
        )
    return evaluation.scores_of_numbers(said.y, said.mean, said.std)


def coverage_where_missing(
    model: TableModel, rows: pandas.DataFrame, said: Predictions
) -> dict[str, float] | None:
    """Return how many rows have missing values, and how often the 95 % interval holds their target.

    A filled value is a guess, and the error bars do not know how good a guess. None: fewer than
    five rows have missing values, or there are no error bars.
    """
    from greedygp.metrics import coverage

    names = [column.name for column in model.encoder.columns_]
    holes = rows[names].isna().any(axis=1).to_numpy()
    if said.std is None or holes.sum() < FEWEST_TO_COVER:
        return None
    inside = coverage(said.y[holes], said.mean[holes], said.std[holes], 0.95)
    return {"rows": int(holes.sum()), "coverage_95": inside}


def relevance_of_columns(model: TableModel, values: np.ndarray | None) -> dict[str, float] | None:
    """Return the relevance of each column, largest first, from that of its features.

    A column of words is as relevant as its most relevant word.
    """
    if values is None or len(values) != len(model.encoder.groups):
        return None
    columns = model.encoder.columns_
    best = np.zeros(len(columns))
    np.maximum.at(best, model.encoder.groups, values)
    order = np.argsort(-best, kind="stable")
    return {columns[k].name: float(best[k]) for k in order}


def facts_of(
    model: TableModel, recipe: Recipe, ready: Prepared, rows, said, seconds: float, X
) -> dict[str, Any]:
    """Return what should be remembered of the making of a model."""
    from greedygp.plotting.curves import slopes

    estimator, encoder = model.estimator, ready.encoder
    own = estimator.get_params(deep=False)
    usual = type(estimator)().get_params(deep=False)
    judged_by = "test" if len(ready.test) else "leave-one-out" if said is not None else None
    return {
        "task": model.task,
        "task_because": ready.target.why,
        "target": recipe.target,
        "classes": model.classes if model.task == "classification" else None,
        "rows": len(ready.target.kept),
        "rows_without_target": int((~ready.target.kept).sum()) - ready.target.not_data,
        "rows_train": len(ready.train),
        "rows_test": len(ready.test),
        "features": len(encoder.feature_names),
        "columns": [
            {"name": c.name, "kind": c.kind, "missing": c.missing, "words": len(c.words)}
            for c in encoder.columns_
        ],
        "assumptions": [*ready.target.assumptions, *encoder.assumptions_],
        "left_out": dict(encoder.left_out_) | dict.fromkeys(recipe.drop, "as asked"),
        "model": type(estimator).__name__,
        "settings": {key: _plain(own[key]) for key in own if repr(own[key]) != repr(usual[key])},
        "basis": _basis_size(estimator),
        "judged_by": judged_by,
        "scores": None if said is None else scores_of(model, said),
        "where_missing": None if said is None else coverage_where_missing(model, rows, said),
        "relevance": relevance_of_columns(model, slopes(model, X)),
        "seconds_fit": round(seconds, 3),
        "recipe": {"test": recipe.test, "seed": recipe.seed, "task": recipe.task},
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else repr(value)


def _basis_size(estimator: Any) -> int | None:
    """Return the number of basis vectors; one that serves several classes counts once."""
    size = getattr(estimator, "n_basis_", None)
    vectors = getattr(estimator, "basis_", None)
    if isinstance(size, list) and isinstance(vectors, list):
        return len(np.unique(np.vstack(vectors), axis=0))
    return None if size is None else int(np.sum(size))
