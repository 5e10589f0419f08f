"""Figures of a model itself: which columns matter, how it came to be, where its basis lies.

The numbers come from `greedygp.plotting.curves`. A figure that a model cannot fill (no path, no
basis) has no charts, or is None.
"""

from __future__ import annotations

import numpy as np

from greedygp import fitted
from greedygp.arrays import to_numpy
from greedygp.plotting import curves
from greedygp.report.importance import permutation_importance
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import Chart, horizontal_bars, short
from greedygp.tables.training import relevance_of_columns

__all__ = ["basis", "learning", "path", "relevance"]

MOST_BARS = 15
MOST_PATHS = 6
MOST_TRACES = 2


def relevance(subject: Subject) -> Figure | None:
    """Draw which columns matter: by slope, by the kernel, and by shuffling."""
    model, X = subject.model, subject.X
    by_slope = relevance_of_columns(model, subject.slopes)
    kinds = {
        "by slope": by_slope,
        "by the kernel (ARD)": relevance_of_columns(model, fitted.relevance(model, X)),
        "by shuffling": permutation_importance(subject.trained, X, by_slope or {}),
    }
    panels = {name: values for name, values in kinds.items() if values}
    if not panels:
        return None
    switches, charts = "", []
    for k, (name, values) in enumerate(panels.items()):
        best = list(values.items())[:MOST_BARS]
        titles = [f"{column}: {value:.3f}" for column, value in best]
        drawing = horizontal_bars(
            [column for column, _ in best], [value for _, value in best], titles, label=name
        )
        charts.append(f'<div class="panel panel-{k}"><h3>{name}</h3>{drawing}</div>')
        if len(panels) > 1:
            checked = " checked" if k == 0 else ""
            switches += (
                f'<input type="radio" name="relevance" id="relevance-{k}"{checked}>'
                f'<label for="relevance-{k}">{name}</label>'
            )
    caption = (
        "By slope: how steeply the predictions rise and fall along a column (of words: for its "
        "most relevant word). By the kernel: how curved they may be along it; a straight effect "
        "counts little there. By shuffling: how much worse the predictions become when the "
        "column's values are shuffled among the rows. All relative to the largest."
    )
    return Figure("relevance", "Which columns matter", charts, caption, switches)


def path(subject: Subject) -> Figure:
    """Draw the criterion along the path of selection."""
    charts = []
    for curve in curves.selection_paths(subject.model)[:MOST_PATHS]:
        same = bool(np.all(curve.step == curve.size))
        x_label = "basis vectors" if same else "step"
        if curve.name:
            x_label += f" for {curve.name}"
        label = f"Criterion along the path {curve.name}"
        titles = [
            f"{size} basis vectors: {short(value)}" for size, value in zip(curve.size, curve.value)
        ]
        chart = Chart(curve.step, curve.value, x_label, curve.measure, label=label)
        chart.trace(curve.step, curve.value, titles, kind="ghost", radius=5)
        place = curve.chosen - 1
        chart.mark(curve.step[place], curve.value[place], f"chosen: {curve.size[place]}")
        charts.append(chart.svg())
    caption = (
        "Basis vectors are chosen one at a time. This is the criterion after each step, in the "
        "units the model works in."
    )
    return Figure("path", "The criterion along the path", charts, caption)


def learning(subject: Subject) -> Figure:
    """Draw how the objective fell."""
    charts = []
    for trace in curves.learning_traces(subject.model)[:MOST_TRACES]:
        titles = [f"{trace.x_label} {short(a)}: {short(b)}" for a, b in zip(trace.x, trace.y)]
        chart = Chart(trace.x, trace.y, trace.x_label, trace.name, label=f"Learning: {trace.name}")
        chart.trace(trace.x, trace.y, titles)
        charts.append(chart.svg())
    caption = (
        "How the objective fell while the model was learnt. It may rise where a new round begins "
        "with another basis."
    )
    return Figure("learning", "How it was learnt", charts, caption)


def basis(subject: Subject) -> Figure | None:
    """Draw where the basis vectors lie among the rows."""
    model, X, shown = subject.model, subject.X, subject.shown
    vectors = getattr(model.estimator, "basis_", None)
    if isinstance(vectors, list):  # one basis for each class
        vectors = np.unique(np.vstack(vectors), axis=0)
    if vectors is None or np.ndim(vectors) != 2 or np.shape(vectors)[1] != X.shape[1]:
        return None
    names = model.encoder.feature_names
    rows, places, labels = curves.plane(X, to_numpy(vectors), subject.slopes, names)
    units = [f"{label} (standardised)" if label in names else label for label in labels]
    both = np.vstack([rows, places])
    chart = Chart(both[:, 0], both[:, 1], units[0], units[1], label="Rows and basis vectors")
    chart.points(rows[shown, 0], rows[shown, 1], kind="faint", radius=2)
    chart.crosses(places[:, 0], places[:, 1])
    caption = (
        f"Crosses: the {len(places)} basis vectors. Dots: the rows this page is about. The two "
        "most relevant features are shown."
    )
    return Figure("basis", "Where the basis lies", [chart.svg()], caption)
