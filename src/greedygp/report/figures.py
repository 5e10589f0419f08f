"""The figures of a report, each a piece of HTML; the numbers come from `greedygp.plotting.curves`.

A figure that a model cannot fill (no path, no error bars) is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri

from greedygp import fitted
from greedygp.arrays import to_numpy
from greedygp.plotting import curves
from greedygp.report.importance import permutation_importance
from greedygp.report.svg import Chart, horizontal_bars, short
from greedygp.tables.encoder import to_numbers, to_words
from greedygp.tables.training import Trained, relevance_of_columns

__all__ = ["Figure", "figures_of"]

MOST_POINTS = 1200
MOST_BARS = 15
MOST_FEATURES = 6
MOST_PATHS = 6
REACH = float(ndtri(0.975))


@dataclass
class Figure:
    """A part of the page.

    Attributes
    ----------
    key : str
        Its anchor.
    title : str
    charts : list of str
        Drawings, side by side where there is room.
    caption : str
        HTML.
    switches : str
        HTML of inputs before the charts, with which the reader chooses what is shown.
    """

    key: str
    title: str
    charts: list[str]
    caption: str
    switches: str = field(default="")


def figures_of(trained: Trained) -> list[Figure]:
    """Return the figures of a model, those first that answer the first questions."""
    model, said = trained.model, trained.predictions
    shown = _some(len(trained.rows))
    if said is None:
        found = [relevance(trained), path(trained), learning(trained), basis(trained, shown)]
    else:
        numbers = model.task == "regression"
        found = [
            predicted_and_observed(trained, shown) if numbers else confusion(trained),
            relevance(trained),
            calibration(trained) if numbers else reliability(trained),
            path(trained),
            learning(trained),
            residuals(trained, shown),
            basis(trained, shown),
        ]
    return [figure for figure in found if figure is not None]


def _some(n: int) -> np.ndarray:
    """Return the places of rows to draw: all, or a random part of them."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))


def _part(shown: np.ndarray, n: int) -> str:
    return f" {len(shown)} of {n} rows, drawn at random." if len(shown) < n else ""


# ------------------------------------------------------------------------- numbers, classes


def predicted_and_observed(trained: Trained, shown: np.ndarray) -> Figure:
    """Draw each row's target against its prediction, with its interval."""
    said, target = trained.predictions, trained.model.target
    assert said is not None
    mean, y = said.mean[shown], said.y[shown]
    ends = [min(mean.min(), y.min()), max(mean.max(), y.max())]
    chart = Chart(
        mean, ends, f"predicted {target}", f"observed {target}", label="Observed against predicted"
    )
    titles = [f"observed {short(a)}, predicted {short(b)}" for a, b in zip(y, mean)]
    caption = "Points on the line are predicted exactly."
    switches = ""
    if said.std is not None:
        reach = REACH * said.std[shown]
        chart.intervals(mean, mean - reach, mean + reach)
        outside = np.abs(y - mean) > reach
        titles = [f"{t} ± {short(r)}" for t, r in zip(titles, reach)]
        caption += " A bar spans the interval that holds 95 % of the targets if the error bars are"
        caption += f" right; here it holds {1 - outside.mean():.1%}."
        switches = _switch("intervals", "95 % intervals")
    chart.line(ends, ends, "ideal")
    chart.points(mean, y, titles)
    caption += _part(shown, len(said.y))
    return Figure("predictions", "Predicted and observed", [chart.svg()], caption, switches)


def calibration(trained: Trained) -> Figure | None:
    """Draw the histogram of the PIT, and the coverage of every level."""
    said = trained.predictions
    if said is None or said.std is None:
        return None
    figures = curves.calibration(said.y, said.mean, said.std)
    top = max(float(figures.density.max()), 1 + figures.band) * 1.05
    left = Chart([0, 1], [0, top], "probability integral transform", "density",
                 label="Histogram of the probability integral transform", margin=0.0)  # fmt: skip
    titles = [
        f"{a:.1f} to {b:.1f}: density {d:.2f}"
        for a, b, d in zip(figures.edges, figures.edges[1:], figures.density)
    ]
    left.columns(figures.edges, figures.density, titles)
    left.band(1 - figures.band, 1 + figures.band)
    left.line([0, 1], [1, 1], "ideal")
    right = Chart([0, 1], [0, 1], "level of the interval", "share of the rows inside",
                  label="Coverage of intervals of every level", margin=0.0)  # fmt: skip
    right.line([0, 1], [0, 1], "ideal")
    right.line(figures.levels, figures.shares)
    titles = [f"{a:.0%} interval: {b:.1%} inside" for a, b in zip(figures.levels, figures.shares)]
    right.points(figures.levels, figures.shares, titles, radius=3.2)
    caption = (
        "First: flat within the shaded band where the error bars are right; a hump means that they "
        "are too wide, two horns that they are too narrow, a slope that the mean is off. Second: "
        "on the line where an interval of each level holds its share of the rows."
    )
    return Figure(
        "calibration", "Calibration of the error bars", [left.svg(), right.svg()], caption
    )


def confusion(trained: Trained) -> Figure:
    """Count true classes against predicted ones."""
    said, classes = trained.predictions, trained.model.classes
    assert said is not None
    place = {label: k for k, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for true, guess in zip(said.y.tolist(), np.asarray(said.mean).tolist()):
        counts[place[true], place[guess]] += 1
    head = "".join(f"<th scope=col>{escape(str(c))}</th>" for c in classes)
    lines = []
    for k, label in enumerate(classes):
        total = max(1, counts[k].sum())
        cells = "".join(
            f'<td class="{"right" if k == j else "wrong"}" style="--share:{count / total:.3f}">'
            f"{count}</td>"
            for j, count in enumerate(counts[k])
        )
        lines.append(f"<tr><th scope=row>{escape(str(label))}</th>{cells}</tr>")
    table = (
        '<div class="scroll"><table class="confusion"><thead><tr><th>true \\ predicted</th>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
    caption = "Rows by their true class (down) and the class that was predicted (across)."
    return Figure("predictions", "Predicted and true classes", [table], caption)


def reliability(trained: Trained) -> Figure | None:
    """Draw how often the model was right against how sure it was."""
    said = trained.predictions
    if said is None or said.probabilities is None:
        return None
    figures = curves.reliability(said.y, said.probabilities, trained.model.estimator.classes_)
    chart = Chart([0, 1], [0, 1], "probability of the predicted class", "share that was right",
                  label="Reliability of the predicted probabilities", margin=0.0)  # fmt: skip
    chart.line([0, 1], [0, 1], "ideal")
    chart.line(figures.confidence, figures.accuracy)
    titles = [
        f"{n} rows: sure {a:.1%}, right {b:.1%}"
        for a, b, n in zip(figures.confidence, figures.accuracy, figures.count)
    ]
    chart.points(figures.confidence, figures.accuracy, titles, radius=4)
    caption = (
        "On the line where a class predicted with some probability is right that often; below it, "
        f"the model is too sure of itself. Mean gap: {figures.error:.3f}."
    )
    return Figure("calibration", "Calibration of the probabilities", [chart.svg()], caption)


# ------------------------------------------------------------------- how the model came to be


def path(trained: Trained) -> Figure | None:
    """Draw the criterion along the path of selection."""
    charts = []
    for curve in curves.selection_paths(trained.model)[:MOST_PATHS]:
        same = bool(np.all(curve.step == curve.size))
        x_label = "basis vectors" if same else "step"
        if curve.name:
            x_label += f" for {curve.name}"
        label = f"Criterion along the path {curve.name}"
        chart = Chart(curve.step, curve.value, x_label, curve.measure, label=label)
        chart.line(curve.step, curve.value)
        titles = [
            f"{size} basis vectors: {short(value)}" for size, value in zip(curve.size, curve.value)
        ]
        chart.points(curve.step, curve.value, titles, kind="ghost", radius=5)
        place = curve.chosen - 1
        chart.mark(curve.step[place], curve.value[place], f"chosen: {curve.size[place]}")
        charts.append(chart.svg())
    if not charts:
        return None
    caption = (
        "Basis vectors are chosen one at a time; the criterion after each step, in the units the "
        "model works in."
    )
    return Figure("path", "The criterion along the path", charts, caption)


def learning(trained: Trained) -> Figure | None:
    """Draw how the objective fell."""
    charts = []
    for trace in curves.learning_traces(trained.model)[:2]:
        chart = Chart(trace.x, trace.y, trace.x_label, trace.name, label=f"Learning: {trace.name}")
        chart.line(trace.x, trace.y)
        titles = [f"{trace.x_label} {short(a)}: {short(b)}" for a, b in zip(trace.x, trace.y)]
        chart.points(trace.x, trace.y, titles, radius=3.2)
        charts.append(chart.svg())
    if not charts:
        return None
    caption = (
        "How the objective fell while the model was learnt. Where there were several rounds, it "
        "may rise when one begins with another basis."
    )
    return Figure("learning", "How it was learnt", charts, caption)


def relevance(trained: Trained) -> Figure | None:
    """Draw which columns matter: by the kernel, and by shuffling."""
    model = trained.model
    X = model.encoder.transform(trained.rows)
    kinds = {
        "by slope": relevance_of_columns(model, curves.slopes(model, X)),
        "by the kernel (ARD)": relevance_of_columns(model, fitted.relevance(model, X)),
        "by shuffling": None if trained.predictions is None else permutation_importance(trained),
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


def residuals(trained: Trained, shown: np.ndarray) -> Figure | None:
    """Draw what is left unexplained against the most relevant columns."""
    said, model = trained.predictions, trained.model
    assert said is not None
    errors, y_label = _errors(trained)
    if errors is None:
        return None
    best = model.facts.get("relevance") or [c.name for c in model.encoder.columns]
    kinds = {c.name: c for c in model.encoder.columns}
    charts = []
    for name in [name for name in best if name in kinds][:MOST_FEATURES]:
        x, ticked = _positions(trained.rows[name].iloc[shown], kinds[name])
        chart = Chart(x, errors[shown], ticked or name, y_label, label=f"Errors against {name}",
                      height=230)  # fmt: skip
        if model.task == "regression":
            chart.line([chart.x_low, chart.x_high], [0, 0], "ideal")
        values = trained.rows[name].iloc[shown].astype(str)
        titles = [f"{name} {a}, error {short(b)}" for a, b in zip(values, errors[shown])]
        chart.points(x, errors[shown], titles, radius=2.2)
        charts.append(chart.svg())
    caption = "A pattern here is something the model has not learnt." + _part(shown, len(said.y))
    return Figure("residuals", "What is left, by column", charts, caption)


def _errors(trained: Trained) -> tuple[np.ndarray | None, str]:
    said = trained.predictions
    assert said is not None
    if trained.model.task == "regression":
        if said.std is None:
            return said.y - said.mean, "observed - predicted"
        return (said.y - said.mean) / said.std, "error / error bar"
    if said.probabilities is None:
        return None, ""
    place = np.argmax(said.y[:, None] == trained.model.estimator.classes_[None, :], axis=1)
    return 1 - said.probabilities[np.arange(len(place)), place], "1 - p(true class)"


def _positions(values: Any, column: Any) -> tuple[np.ndarray, str]:
    """Return where rows stand along a column; words stand side by side, a little scattered."""
    if column.kind == "number":
        numbers, _ = to_numbers(values)
        return np.where(np.isnan(numbers), column.middle, numbers), ""
    words = to_words(values)
    place = {word: k for k, word in enumerate(column.words)}
    scatter = np.random.default_rng(0).uniform(-0.3, 0.3, len(words))
    listed = ", ".join(f"{k} {word}" for word, k in list(place.items())[:6])
    at = np.array([place.get(word, len(place)) for word in words], dtype=float)
    return at + scatter, f"{column.name}: {listed}"


def basis(trained: Trained, shown: np.ndarray) -> Figure | None:
    """Draw where the basis vectors lie among the rows."""
    model = trained.model
    vectors = getattr(model.estimator, "basis_", None)
    if isinstance(vectors, list):  # one basis for each class
        vectors = np.unique(np.vstack(vectors), axis=0)
    X = model.encoder.transform(trained.rows)
    if vectors is None or np.ndim(vectors) != 2 or np.shape(vectors)[1] != X.shape[1]:
        return None
    names = model.encoder.feature_names
    rows, places, labels = curves.plane(X, to_numpy(vectors), curves.slopes(model, X), names)
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


def _switch(name: str, text: str) -> str:
    return (
        f'<input type="checkbox" id="show-{name}" checked><label for="show-{name}">{text}</label>'
    )
