"""What the pictures show, as arrays: computed here once, for the displays and for the report.

An estimator may come as it is, in a scikit-learn pipeline (its last step is meant), or in a
`greedygp.tables.TableModel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from greedygp.arrays import to_numpy
from greedygp.fitted import each, estimator_of
from greedygp.metrics import coverage, pit
from greedygp.threads import serial_blas

__all__ = [
    "Calibration",
    "PathCurve",
    "Ranking",
    "Reliability",
    "Trace",
    "calibration",
    "learning_traces",
    "plane",
    "ranking",
    "reliability",
    "selection_paths",
    "slopes",
]

MEASURES = {
    "nlgpp": "negative log leave-one-out density",
    "loo_cve": "leave-one-out squared error",
    "gpe": "expected leave-one-out squared error",
    "nlml": "negative log evidence",
    "nlpp": "negative log posterior",
    "matching_pursuit": "negative log posterior",
    "random": "negative log evidence",
    "info_gain": "negative log evidence",
}


# ------------------------------------------------------------------------- selection, learning


@dataclass
class PathCurve:
    """The measure along the path of selection.

    Attributes
    ----------
    step : (steps,) int array
        From 1: steps of the selection.
    size : (steps,) int array
        Basis vectors after each step.
    value : (steps,) float array
        The measure after each step.
    seconds : (steps,) float array or None
    chosen : int
        The step whose model was kept.
    measure : str
        What `value` is.
    name : str
        The class it belongs to, where there is one path for each.
    """

    step: np.ndarray
    size: np.ndarray
    value: np.ndarray
    seconds: np.ndarray | None
    chosen: int
    measure: str
    name: str = ""


def selection_paths(model: Any) -> list[PathCurve]:
    """Return the measure along the path of selection.

    One curve; one for each class where a classifier tells its classes apart one against the
    others; none where there was no selection.
    """
    estimator = estimator_of(model)
    paths = each(getattr(estimator, "path_", None))
    sizes = each(getattr(estimator, "n_basis_", None)) or [None] * len(paths)
    labels = [""] * len(paths) if len(paths) < 2 else [str(c) for c in estimator.classes_]
    found = [
        _path_curve(path, size, label, _measure(estimator))
        for path, size, label in zip(paths, sizes, labels)
    ]
    return [curve for curve in found if curve is not None]


def _path_curve(path: Any, n_basis: Any, name: str, measure: str) -> PathCurve | None:
    names = getattr(getattr(path, "dtype", None), "names", None)
    if not names or "value" not in names or len(path) == 0:
        return None
    step = np.arange(1, len(path) + 1)
    size = step
    if "action" in names:
        change = {"add": 1, "delete": -1}
        size = np.cumsum([change.get(str(action), 0) for action in path["action"]])
    only_adds = bool(np.all(size == step))
    chosen = len(path) if n_basis is None or not only_adds else int(n_basis)
    return PathCurve(
        step=step,
        size=size,
        value=np.asarray(path["value"], dtype=np.float64),
        seconds=np.asarray(path["seconds"], dtype=np.float64) if "seconds" in names else None,
        chosen=min(max(chosen, 1), len(path)),
        measure=measure,
        name=name,
    )


def _measure(estimator: Any) -> str:
    """Return what the values of the path are."""
    if hasattr(estimator, "classes_"):
        return "leave-one-out log loss"
    if hasattr(estimator, "log_evidence_"):
        return "log evidence"
    if hasattr(estimator, "gcv_"):
        return "generalised cross-validation"
    criterion = getattr(estimator, "criterion", None)
    return MEASURES.get(criterion, "measure") if isinstance(criterion, str) else "measure"


@dataclass
class Trace:
    """How something fell while the model was learnt."""

    name: str
    x_label: str
    x: np.ndarray
    y: np.ndarray


def learning_traces(model: Any) -> list[Trace]:
    """Return how the objective fell: by iterations of learning, and by a solver's.

    Of a classifier with one model for each class, that of the first. Models that were saved before
    iterations were kept have two points for each round.
    """
    estimator = estimator_of(model)
    traces = []
    objective = str(getattr(estimator, "objective", "objective"))
    objective = getattr(estimator, "objective_", None) or objective
    name = MEASURES.get(objective, objective)
    if hasattr(estimator, "trace_"):
        for trace in each(estimator.trace_)[:1]:
            # A round begins where the one before ended.
            x = np.arange(len(trace), dtype=float) - trace["round"]
            traces.append(Trace(name, "iteration", x, trace["value"]))
    else:
        for rounds in each(getattr(estimator, "rounds_", None))[:1]:
            ends = np.cumsum(rounds["n_iter"])
            x = np.column_stack([ends - rounds["n_iter"], ends]).ravel().astype(float)
            y = np.column_stack([rounds["value_before"], rounds["value"]]).ravel()
            traces.append(Trace(name, "iteration", x, y))
    history = getattr(estimator, "history_", None)
    names = getattr(getattr(history, "dtype", None), "names", None) or ()
    for key in names:
        if key != "seconds" and history is not None and history[key].dtype.kind in "if":
            x = np.arange(len(history), dtype=float)
            traces.append(Trace(key.replace("_", " "), "iteration", x, history[key]))
    return [trace for trace in traces if np.any(np.isfinite(trace.y))]


# ------------------------------------------------------------------------------- relevance

# A slope takes predictions of every row for each feature, and each of these takes all features.
ROWS_TIMES_FEATURES, ROWS_FOR_SLOPES = 15_000, (30, 300)


def slopes(model: Any, X: ArrayLike, rows: int | None = None) -> np.ndarray:
    """Return how strongly the predictions vary with each feature.

    It is the root mean square, over rows of X, of the slope of the predicted mean (of the
    probabilities, for a classifier) along the feature, times the feature's standard deviation,
    relative to the largest. Straight and curved effects count alike.

    Parameters
    ----------
    model : fitted estimator
    X : (n, features) array
        Inputs of the estimator itself.
    rows : int, optional
        The most rows to use, drawn at random; None: 300, and fewer where there are many features.

    Returns
    -------
    (features,) array
    """
    estimator = estimator_of(model)
    X = np.asarray(to_numpy(X), dtype=np.float64)
    scale = np.std(X, axis=0)
    if rows is None:
        rows = int(np.clip(ROWS_TIMES_FEATURES // X.shape[1], *ROWS_FOR_SLOPES))
    if len(X) > rows:
        X = X[np.random.default_rng(0).choice(len(X), rows, replace=False)]
    names = ("predict_proba", "decision_function", "predict")
    predict = next(getattr(estimator, name) for name in names if hasattr(estimator, name))
    found = np.zeros(X.shape[1])
    with serial_blas(1):  # many short products: beside other programs, threads wait for each other
        for k in np.flatnonzero(scale > 0):
            step = np.zeros(X.shape[1])
            step[k] = 0.05 * scale[k]
            change = to_numpy(predict(X + step)) - to_numpy(predict(X - step))
            found[k] = np.sqrt(np.mean((change / 0.1) ** 2))
    return found / np.max(found) if np.max(found) > 0 else found


def plane(
    X: np.ndarray, basis: np.ndarray, weights: np.ndarray | None, names: list[str]
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Return rows and basis vectors in two dimensions that show most.

    Parameters
    ----------
    X, basis : (rows, features), (m, features) arrays
    weights : (features,) array or None
        Relevance: the two most relevant features are taken, of those with more than two values if
        there are two; None: principal components of X.
    names : list of str

    Returns
    -------
    rows, vectors : (rows, 2), (m, 2) arrays
    labels : pair of str
    """
    D = X.shape[1]
    if D == 1:
        zeros = np.zeros((len(X), 1)), np.zeros((len(basis), 1))
        return np.hstack([X, zeros[0]]), np.hstack([basis, zeros[1]]), (names[0], "")
    if weights is not None:
        # Features of two values, such as marks and words, would draw two lines.
        spread = [len(np.unique(column[:1000])) > 2 for column in X.T]
        best = np.lexsort([-np.asarray(weights), np.logical_not(spread)])
        first, second = best[:2] if sum(spread) >= 2 else np.argsort(-np.asarray(weights))[:2]
        chosen = [first, second]
        return X[:, chosen], basis[:, chosen], (names[first], names[second])
    centre = X.mean(axis=0)
    directions = np.linalg.svd(X - centre, full_matrices=False)[2][:2].T
    labels = "first principal component", "second principal component"
    return (X - centre) @ directions, (basis - centre) @ directions, labels


# ----------------------------------------------------------------------------- calibration


@dataclass
class Calibration:
    """How well predictive distributions match what happened.

    Attributes
    ----------
    edges : (bins + 1,) array
        Of the histogram of the probability integral transform (PIT).
    density : (bins,) array
        1 everywhere if the distributions are right.
    levels, shares : (levels,) arrays
        Nominal level of an interval and the share of the targets inside it.
    band : float
        Half width around 1 in which 95 % of the histogram's bars lie by chance alone.
    """

    edges: np.ndarray
    density: np.ndarray
    levels: np.ndarray
    shares: np.ndarray
    band: float


def calibration(y: ArrayLike, mean: ArrayLike, std: ArrayLike, bins: int = 10) -> Calibration:
    """Return the histogram of the PIT and the coverage of intervals of every level."""
    values = pit(y, mean, std)
    counts, edges = np.histogram(values, bins=bins, range=(0.0, 1.0))
    levels = np.linspace(0.05, 0.95, 19)
    shares = np.array([coverage(y, mean, std, float(level)) for level in levels])
    n = values.size
    return Calibration(edges, counts * bins / n, levels, shares, 1.96 * np.sqrt((bins - 1) / n))


@dataclass
class Reliability:
    """How often the predicted class was right, by how sure the model was.

    Attributes
    ----------
    confidence, accuracy : (bins,) arrays
        Mean predicted probability of the likeliest class, and share of rows where it was right.
    count : (bins,) int array
        Rows; empty bins are left out.
    error : float
        Expected calibration error: the mean gap of the two, weighted by rows.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray
    error: float


def reliability(
    labels: ArrayLike, probabilities: np.ndarray, classes: ArrayLike, bins: int = 10
) -> Reliability:
    """Return the reliability of predicted classes.

    Parameters
    ----------
    labels : (rows,) array
    probabilities : (rows, classes) array
    classes : (classes,) array
    bins : int
    """
    top = np.argmax(probabilities, axis=1)
    sure = probabilities[np.arange(len(top)), top]
    right = np.asarray(classes)[top] == np.asarray(labels)
    lowest = 1.0 / probabilities.shape[1]
    place = np.clip(((sure - lowest) / (1 - lowest) * bins).astype(int), 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    some = count > 0
    confidence = np.bincount(place, sure, bins)[some] / count[some]
    accuracy = np.bincount(place, right, bins)[some] / count[some]
    gap = float(np.sum(count[some] * np.abs(confidence - accuracy)) / len(top))
    return Reliability(confidence, accuracy, count[some], gap)


@dataclass
class Ranking:
    """How well one class is told from the others at every threshold of its probability.

    Attributes
    ----------
    threshold, recall, precision, false_alarms : (thresholds,) arrays
        From the highest threshold to the lowest. A row counts as found where its probability
        reaches the threshold. Recall is the share of the class that is found, precision the share
        of the found rows that belong to it, `false_alarms` the share of the others that is found.
    roc_auc : float
        Area under recall as a function of the false alarms: 0.5 by chance, 1 if perfect.
    average_precision : float
    """

    threshold: np.ndarray
    recall: np.ndarray
    precision: np.ndarray
    false_alarms: np.ndarray
    roc_auc: float
    average_precision: float


def ranking(is_class: ArrayLike, probability: ArrayLike) -> Ranking:
    """Return what every threshold of a probability finds.

    Parameters
    ----------
    is_class : (rows,) bool array
        Which rows belong to the class; some do and some do not.
    probability : (rows,) array
    """
    true, score = np.asarray(is_class, dtype=bool), np.asarray(probability, dtype=np.float64)
    order = np.argsort(-score, kind="stable")
    true, score = true[order], score[order]
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)  # of each threshold's rows
    found, alarms = np.cumsum(true)[last], np.cumsum(~true)[last]
    recall, false_alarms = found / found[-1], alarms / alarms[-1]
    precision = found / (found + alarms)
    rise, run = np.diff(recall, prepend=0.0), np.diff(false_alarms, prepend=0.0)
    area = float(np.sum(run * (recall - 0.5 * rise)))
    average = float(np.sum(rise * precision))
    return Ranking(score[last], recall, precision, false_alarms, area, average)
