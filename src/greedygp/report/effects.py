"""Partial dependence: what a column does to the predictions, the others being as they are.

A column is set to one value in all of some rows, and the predictions are averaged; then to the next
value, and so on. For a Gaussian process the standard deviation of that average is exact: it is the
root of the mean of all entries of the rows' covariance.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from greedygp.report.numbers import plain
from greedygp.report.places import Places, steps_along
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import SMALL, Chart

__all__ = ["Effect", "along_column", "effects", "top_columns"]

MOST_COLUMNS, FEWEST_COLUMNS = 6, 3
NEXT_TO_NOTHING = 0.01  # of the most relevant column: such ones are not drawn
MOST_CLASSES = 4
ROWS = 100  # that are averaged over
MOST_ROWS_FOR_A_BAND = 5000  # of a full GP, whose covariances cost as much as its fit
REACH = 1.959964
KINDS = ("", " second", " third", " fourth")


@dataclass
class Effect:
    """Averages along a column.

    Attributes
    ----------
    places : Places
        Where the values of the column stand.
    lines : (lines, values) array
        One line, or one for each class.
    reach : (values,) array or None
        Half the width of the 95 % band around the line.
    rows : (rows,) array
        Where the rows stand.
    """

    places: Places
    lines: np.ndarray
    reach: np.ndarray | None
    rows: np.ndarray


def top_columns(subject: Subject, most: int = MOST_COLUMNS) -> list[Any]:
    """Return the columns that matter most, the most relevant first."""
    model = subject.model
    kinds = {column.name: column for column in model.encoder.columns_}
    best = model.facts.get("relevance") or dict.fromkeys(kinds, 1.0)
    known = [(kinds[name], value) for name, value in best.items() if name in kinds][:most]
    return [
        column
        for k, (column, value) in enumerate(known)
        if k < FEWEST_COLUMNS or value >= NEXT_TO_NOTHING
    ]


def effects(subject: Subject) -> Figure | None:
    """Draw what the most relevant columns do to the predictions."""
    model = subject.model
    places, names = _classes_shown(subject)
    average = _average_of(model.estimator, places)
    if average is None:
        return None
    found = {c.name: along_column(subject, c, average) for c in top_columns(subject)}
    drawn = {name: effect for name, effect in found.items() if len(effect.places.x) > 1}
    if not drawn:
        return None
    ends = [end for effect in drawn.values() for end in _ends(effect)]
    what = f"mean predicted {model.target}" if not names else "mean probability"
    charts = [_drawn(name, effect, ends, what, names) for name, effect in drawn.items()]
    legend = "".join(
        f'<span class="key"><i class="swatch{kind}"></i>{escape(name)}</span>'
        for kind, name in zip(KINDS, names)
    )
    caption = (
        "The prediction, averaged over rows, when one column is set to each of its values and the "
        "others stay as they are. All charts have one vertical scale. Strokes at the foot: where "
        "the rows are."
    )
    if any(effect.reach is not None for effect in drawn.values()):
        caption += " Shaded: where the average lies with 95 % probability; noise is not in it."
    legend = f'<p class="legend">{legend}</p>' if legend else ""
    return Figure("effects", "What each column does", charts, caption, legend)


def along_column(
    subject: Subject,
    column: Any,
    average: Callable[[np.ndarray], tuple[np.ndarray, float | None]],
) -> Effect:
    """Return averages over rows while a column takes one value after the other.

    Parameters
    ----------
    subject : Subject
    column : greedygp.tables.columns.Column
    average : callable
        Takes encoded rows and returns an average for each line, and its standard deviation.
    """
    encoder, table = subject.model.encoder, subject.trained.rows
    steps = steps_along(table[column.name], column)
    tried = table.iloc[np.zeros(len(steps.raw), dtype=int)].copy()
    tried[column.name] = steps.raw
    own = np.array([encoder.columns_[k].name == column.name for k in encoder.groups])
    blocks = encoder.transform(tried)[:, own]
    rows = subject.X[np.random.default_rng(0).permutation(len(subject.X))[:ROWS]]
    lines, deviations = [], []
    for block in blocks:
        changed = rows.copy()
        changed[:, own] = block
        values, deviation = average(changed)
        lines.append(values)
        deviations.append(deviation)
    reach = None
    if deviations and deviations[0] is not None:
        reach = REACH * np.array(deviations, dtype=float)
    where = subject.places(column.name).x[subject.shown]
    return Effect(steps.places, np.transpose(lines), reach, where)


def _average_of(estimator: Any, places: list[int] | None) -> Callable | None:
    """Return the function that averages predictions; None: the model predicts only classes."""
    if places is not None:
        if not hasattr(estimator, "predict_proba"):
            return None
        return lambda X: (np.mean(estimator.predict_proba(X), axis=0)[places], None)
    with_band = "return_cov" in inspect.signature(estimator.predict).parameters
    rows = len(getattr(estimator, "dual_coef_", ()))
    if not with_band or rows > MOST_ROWS_FOR_A_BAND:
        return lambda X: (np.atleast_1d(np.mean(estimator.predict(X))), None)

    def mean_and_deviation(X: np.ndarray) -> tuple[np.ndarray, float]:
        mean, covariance = estimator.predict(X, return_cov=True, noise=False)
        return np.atleast_1d(np.mean(mean)), float(np.sqrt(max(np.mean(covariance), 0.0)))

    return mean_and_deviation


def _classes_shown(subject: Subject) -> tuple[list[int] | None, list[str]]:
    """Return the classes whose probabilities are drawn: of two the rarer, of more the commonest."""
    model = subject.model
    if model.task == "regression":
        return None, []
    counts = np.array([np.sum(subject.targets == label) for label in model.classes])
    order = np.argsort(-counts, kind="stable")
    chosen = order[1:2] if len(order) == 2 else order[:MOST_CLASSES]
    return chosen.tolist(), [str(model.classes[k]) for k in chosen]


def _ends(effect: Effect) -> list[float]:
    reach = 0.0 if effect.reach is None else effect.reach
    return [float(np.min(effect.lines - reach)), float(np.max(effect.lines + reach))]


def _drawn(name: str, effect: Effect, ends: list[float], what: str, names: list[str]) -> str:
    places = effect.places
    side_by_side = places.side_by_side
    room = [-0.5, len(places.x) - 0.5] if side_by_side else places.x
    chart = Chart(room, ends, places.label, what, label=f"Effect of {name}", x_names=places.names,
                  size=SMALL)  # fmt: skip
    if not side_by_side:
        some = effect.rows[(effect.rows >= chart.x_low) & (effect.rows <= chart.x_high)]
        chart.rug(np.unique(some)[:: 1 + len(np.unique(some)) // 150])
    if effect.reach is not None:
        low, high = effect.lines[0] - effect.reach, effect.lines[0] + effect.reach
        (chart.intervals if side_by_side else chart.ribbon)(places.x, low, high)
    for k, (line, kind) in enumerate(zip(effect.lines, KINDS)):
        titles = [f"{text}: {plain(value)}" for text, value in zip(places.texts, line)]
        if names:
            titles = [f"{names[k]}, {title}" for title in titles]
        if effect.reach is not None:
            titles = [f"{t} \u00b1 {plain(r, 2)}" for t, r in zip(titles, effect.reach)]
        if not side_by_side:
            chart.line(places.x, line, f"line{kind}")
        mark = f"point{kind}" if side_by_side else "ghost"
        chart.points(places.x, line, titles, mark, 4.5 if side_by_side else 5)
    return chart.svg()
