"""Figures of a model itself: which columns matter, how it came to be, where its basis lies.

The numbers come from `greedygp.plotting.curves`. A figure that a model cannot fill (no path, no
basis) has no charts, or is None.
"""

from __future__ import annotations

import numpy as np

from greedygp import fitted
from greedygp.arrays import to_numpy
from greedygp.plotting import curves
from greedygp.plotting.curves import PathCurve
from greedygp.report.importance import permutation_importance
from greedygp.report.numbers import counted, plain
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import NORMAL, SMALL, Chart, horizontal_bars
from greedygp.tables.training import relevance_of_columns

__all__ = ["basis", "learning", "path", "relevance"]

SAID = {
    "by slope": "By slope: how steeply the predictions rise and fall along a column (of words: for "
    "its most relevant word).",
    "by kernel": "By kernel (ARD): how curved they may be along it; a straight effect counts "
    "little there.",
    "by shuffling": "By shuffling: how much worse the predictions become when the column's values "
    "are shuffled among the rows.",
}
MOST_BARS = 12
FEWEST_BARS = 3
NEXT_TO_NOTHING = 0.01  # of the largest: such columns get no bar
MOST_PATHS = 6
MOST_TRACES = 2
FEWEST_POINTS = 4  # a direct solver has a start and one or two ends, which tell nothing


def relevance(subject: Subject) -> Figure | None:
    """Draw which columns matter: by slope, by the kernel, and by shuffling."""
    model, X = subject.model, subject.X
    by_slope = relevance_of_columns(model, subject.slopes)
    kinds = {
        "by slope": by_slope,
        "by kernel": relevance_of_columns(model, fitted.relevance(model, X)),
        "by shuffling": permutation_importance(subject.trained, X, by_slope or {}),
    }
    panels = {name: values for name, values in kinds.items() if values}
    if not panels:
        return None
    switches, charts = "", []
    for k, (name, values) in enumerate(panels.items()):
        charts.append(f'<div class="panel panel-{k}"><h3>{name}</h3>{_bars(values, name)}</div>')
        if len(panels) > 1:
            checked = " checked" if k == 0 else ""
            switches += (
                f'<input type="radio" name="relevance" id="relevance-{k}"{checked}>'
                f'<label for="relevance-{k}">{name}</label>'
            )
    caption = " ".join([*(SAID[name] for name in panels), "All relative to the largest."])
    return Figure("relevance", "Which columns matter", charts, caption, switches)


def _bars(values: dict[str, float], name: str) -> str:
    """Return the bars of the columns that matter, and how many are left out."""
    best = [
        (column, value)
        for k, (column, value) in enumerate(values.items())
        if k < FEWEST_BARS or (k < MOST_BARS and value >= NEXT_TO_NOTHING)
    ]
    titles = [f"{column}: {value:.3f}" for column, value in best]
    names = [column for column, _ in best]
    drawing = horizontal_bars(names, [value for _, value in best], titles, label=name)
    rest = list(values.values())[len(best) :]
    if not rest:
        return drawing
    note = f"{counted(len(rest), 'column')} more, {max(rest):.2f} or less"
    return f'{drawing}<p class="more">{note}</p>'


# ----------------------------------------------------------------------------- how it was made


def path(subject: Subject) -> Figure:
    """Draw the criterion along the path of selection."""
    curves_ = curves.selection_paths(subject.model)[:MOST_PATHS]
    size = SMALL if len(curves_) > 2 else NORMAL
    charts, notes = [], []
    for curve in curves_:
        x_label = "basis vectors" if bool(np.all(curve.step == curve.size)) else "step"
        if curve.name:
            x_label += f" for {curve.name}"
        if _only_falls(curve):
            charts.append(_still_to_gain(curve, x_label, size))
            notes.append(_halves(curve))
        else:
            charts.append(_criterion(curve, x_label, size))
    caption = "Basis vectors are chosen one at a time, the most useful one first."
    if notes:
        caption += " The chart shows how much of the gain was still to come after each one"
        caption += f" (of the {curves_[0].measure}). {notes[0]}"
    else:
        caption += " The chart shows the criterion after each step, in the model's own units."
    return Figure("path", "How many basis vectors it takes", charts, caption)


def _only_falls(curve: PathCurve) -> bool:
    """Tell whether every step improved the criterion, and the last one was kept."""
    falls = bool(np.all(np.diff(curve.value) <= 0))
    return falls and curve.chosen == len(curve.step) and len(curve.step) > 3


def _criterion(curve: PathCurve, x_label: str, size: tuple[int, int]) -> str:
    """Return a drawing of the criterion after each step."""
    titles = [
        f"{counted(int(m), 'basis vector')}: {plain(v)}" for m, v in zip(curve.size, curve.value)
    ]
    late = curve.value[min(len(curve.value) // 20, 10) :]  # the first few would flatten the rest
    seen = np.clip(curve.value, None, float(np.max(late)) + 0.1 * float(np.ptp(late)))
    label = f"Criterion along the path {curve.name}".strip()
    chart = Chart(curve.step, seen, x_label, curve.measure, label=label, size=size)
    shown = curve.value <= np.max(seen)
    chart.trace(curve.step[shown], curve.value[shown], np.array(titles)[shown].tolist(),
                kind="ghost", radius=5)  # fmt: skip
    place = curve.chosen - 1
    chart.mark(curve.step[place], curve.value[place], f"chosen: {curve.size[place]}",
               (curve.step[shown], curve.value[shown]))  # fmt: skip
    return chart.svg()


def _still_to_gain(curve: PathCurve, x_label: str, size: tuple[int, int]) -> str:
    """Return a drawing of the share of the gain that the later steps brought."""
    share = _share_to_come(curve)
    some = share > 0
    x, y = curve.step[some], 100 * share[some]
    titles = [
        f"after {counted(int(a), 'basis vector')}: {plain(b, 2)} % to come" for a, b in zip(x, y)
    ]
    label = f"Share of the gain still to come along the path {curve.name}".strip()
    chart = Chart(curve.step, y, x_label, "% of the gain still to come", label=label, y_log=True,
                  size=size)  # fmt: skip
    chart.trace(x, y, titles, kind="ghost", radius=5)
    chart.mark(x[-1], y[-1], f"chosen: {curve.size[-1]}", (x, y))
    return chart.svg()


def _share_to_come(curve: PathCurve) -> np.ndarray:
    fall = curve.value - curve.value[-1]
    return fall / fall[0] if fall[0] > 0 else np.zeros(len(fall))


def _halves(curve: PathCurve) -> str:
    """Say how many basis vectors brought most of the gain."""
    share = _share_to_come(curve)
    most, nearly_all = (int(np.argmax(share <= left)) + 1 for left in (0.1, 0.01))
    return (
        f"The first {most} brought 90 % of it, the first {nearly_all} brought 99 %, all "
        f"{len(share)} were kept."
    )


def learning(subject: Subject) -> Figure:
    """Draw how the objective fell."""
    charts = []
    traces = [t for t in curves.learning_traces(subject.model) if len(t.x) >= FEWEST_POINTS]
    for trace in traces[:MOST_TRACES]:
        titles = [f"{trace.x_label} {int(a)}: {plain(b, 6)}" for a, b in zip(trace.x, trace.y)]
        chart = Chart(trace.x, trace.y, trace.x_label, trace.name, label=f"Learning: {trace.name}")
        chart.trace(trace.x, trace.y, titles, radius=2.2)
        charts.append(chart.svg())
    caption = "The objective after every iteration of learning; lower is better."
    if any(np.any(np.diff(trace.y) > 0) for trace in traces):
        caption += " It rises where a new round begins with another basis."
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
        f"Crosses: the {len(places)} basis vectors (inducing points). Dots: the rows this page is "
        "about. Two of the most relevant features are shown."
    )
    return Figure("basis", "Where the basis lies", [chart.svg()], caption)
