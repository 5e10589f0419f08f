"""Figures of what a model predicts: how close, how sure, and what is left.

The numbers come from `greedygp.plotting.curves`. A figure that a model cannot fill (no error bars,
no probabilities) is None.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri

from greedygp.metrics import coverage
from greedygp.plotting import curves
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import Chart, short
from greedygp.tables.dates import date_parts, parsed_dates
from greedygp.tables.training import coverage_where_missing
from greedygp.tables.values import to_numbers, to_words

__all__ = ["calibration", "confusion", "predicted_and_observed", "reliability", "residuals"]

MOST_COLUMNS = 6
REACH = float(ndtri(0.975))


def predicted_and_observed(subject: Subject) -> Figure:
    """Draw each row's target against its prediction, with its interval."""
    said, target, shown = subject.predictions, subject.model.target, subject.shown
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
        titles = [f"{t} ± {short(r)}" for t, r in zip(titles, reach)]
        inside = coverage(said.y, said.mean, said.std, 0.95)  # of all rows, not of those drawn
        caption += " A bar spans the interval that holds 95 % of the targets if the error bars are"
        caption += f" right; here it holds {inside:.1%}."
        holes = coverage_where_missing(subject.model, subject.trained.rows, said)
        if holes is not None:
            caption += f" Of the {holes['rows']} rows with missing values, which were filled, it"
            caption += f" holds {holes['coverage_95']:.1%}."
        switches = (
            '<input type="checkbox" id="show-intervals" checked>'
            '<label for="show-intervals">95 % intervals</label>'
        )
    chart.line(ends, ends, "ideal")
    chart.points(mean, y, titles)
    caption += subject.sample_note
    return Figure("predictions", "Predicted and observed", [chart.svg()], caption, switches)


def calibration(subject: Subject) -> Figure | None:
    """Draw the histogram of the PIT, and the coverage of every level."""
    said = subject.predictions
    if said.std is None:
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
    titles = [f"{a:.0%} interval: {b:.1%} inside" for a, b in zip(figures.levels, figures.shares)]
    right.trace(figures.levels, figures.shares, titles)
    caption = (
        "First: flat within the shaded band where the error bars are right; a hump means that they "
        "are too wide, two horns that they are too narrow, a slope that the mean is off. Second: "
        "on the line where an interval of each level holds its share of the rows."
    )
    return Figure(
        "calibration", "Calibration of the error bars", [left.svg(), right.svg()], caption
    )


def confusion(subject: Subject) -> Figure:
    """Count true classes against predicted ones."""
    said, classes = subject.predictions, subject.model.classes
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


def reliability(subject: Subject) -> Figure | None:
    """Draw how often the model was right against how sure it was."""
    said = subject.predictions
    if said.probabilities is None:
        return None
    figures = curves.reliability(said.y, said.probabilities, subject.model.estimator.classes_)
    chart = Chart([0, 1], [0, 1], "probability of the predicted class", "share that was right",
                  label="Reliability of the predicted probabilities", margin=0.0)  # fmt: skip
    chart.line([0, 1], [0, 1], "ideal")
    titles = [
        f"{n} rows: sure {a:.1%}, right {b:.1%}"
        for a, b, n in zip(figures.confidence, figures.accuracy, figures.count)
    ]
    chart.trace(figures.confidence, figures.accuracy, titles, radius=4)
    caption = (
        "Points on the line: a class is right as often as its probability says. Below it, "
        f"the model is too sure of itself. Mean gap: {figures.error:.3f}."
    )
    return Figure("calibration", "Calibration of the probabilities", [chart.svg()], caption)


def residuals(subject: Subject) -> Figure | None:
    """Draw what is left unexplained against the most relevant columns."""
    model, shown, rows = subject.model, subject.shown, subject.trained.rows
    errors, y_label = _errors(subject)
    if errors is None:
        return None
    best = model.facts.get("relevance") or [c.name for c in model.encoder.columns]
    kinds = {c.name: c for c in model.encoder.columns}
    charts = []
    for name in [name for name in best if name in kinds][:MOST_COLUMNS]:
        x, ticked = _positions(rows[name].iloc[shown], kinds[name])
        chart = Chart(x, errors[shown], ticked or name, y_label, label=f"Errors against {name}",
                      height=230)  # fmt: skip
        if model.task == "regression":
            chart.line([chart.x_low, chart.x_high], [0, 0], "ideal")
        values = rows[name].iloc[shown].astype(str)
        titles = [f"{name} {a}, error {short(b)}" for a, b in zip(values, errors[shown])]
        chart.points(x, errors[shown], titles, radius=2.2)
        charts.append(chart.svg())
    caption = "A pattern here is something the model has not learnt." + subject.sample_note
    return Figure("residuals", "What is left, by column", charts, caption)


def _errors(subject: Subject) -> tuple[np.ndarray | None, str]:
    """Return the error of each row, and what it is called."""
    said = subject.predictions
    if subject.model.task == "regression":
        if said.std is None:
            return said.y - said.mean, "observed - predicted"
        return (said.y - said.mean) / said.std, "error / error bar"
    if said.probabilities is None:
        return None, ""
    place = np.argmax(said.y[:, None] == subject.model.estimator.classes_[None, :], axis=1)
    return 1 - said.probabilities[np.arange(len(place)), place], "1 - p(true class)"


def _positions(values: Any, column: Any) -> tuple[np.ndarray, str]:
    """Return where rows stand along a column; words stand side by side, a little scattered."""
    if column.kind == "number":
        numbers, _ = to_numbers(values, column.grouped)
        return np.where(np.isnan(numbers), column.middle, numbers), ""
    if column.kind == "date":
        times, _ = parsed_dates(values, column.day_first)
        since = list(date_parts(times, column.origin).values())[-1]
        what = f"days since {column.origin[:10]}" if column.origin else "hours"
        return np.where(np.isnan(since), np.nanmedian(since), since), f"{column.name}: {what}"
    words = to_words(values)
    place = {word: k for k, word in enumerate(column.words)}
    scatter = np.random.default_rng(0).uniform(-0.3, 0.3, len(words))
    listed = ", ".join(f"{k} {word}" for word, k in list(place.items())[:6])
    at = np.array([place.get(word, len(place)) for word in words], dtype=float)
    return at + scatter, f"{column.name}: {listed}"
