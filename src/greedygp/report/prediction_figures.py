"""Figures of predicted numbers: how close, how sure, and what is left.

The numbers come from `greedygp.plotting.curves`. A figure that a model cannot fill (no error bars)
is None.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from greedygp.metrics import coverage
from greedygp.plotting import curves
from greedygp.report.effects import top_columns
from greedygp.report.numbers import percent, plain
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import SMALL, Chart
from greedygp.tables.training import coverage_where_missing

__all__ = ["calibration", "predicted_and_observed", "residuals"]

REACH = float(ndtri(0.975))


def predicted_and_observed(subject: Subject) -> Figure:
    """Draw each row's target against its prediction, with its interval."""
    said, target, shown = subject.predictions, subject.model.target, subject.shown
    mean, y = said.mean[shown], said.y[shown]
    ends = [min(mean.min(), y.min()), max(mean.max(), y.max())]
    chart = Chart(
        mean, ends, f"predicted {target}", f"observed {target}", label="Observed against predicted"
    )
    titles = [f"observed {plain(a)}, predicted {plain(b)}" for a, b in zip(y, mean)]
    caption = "Points on the line are predicted exactly."
    switches = ""
    if said.std is not None:
        reach = REACH * said.std[shown]
        chart.intervals(mean, mean - reach, mean + reach)
        titles = [f"{t} \u00b1 {plain(r, 3)}" for t, r in zip(titles, reach)]
        inside = coverage(said.y, said.mean, said.std, 0.95)  # of all rows, not of those drawn
        caption += " A bar spans the interval that holds 95 % of the targets if the error bars are"
        caption += f" right; here it holds {percent(inside)}."
        holes = coverage_where_missing(subject.model, subject.trained.rows, said)
        if holes is not None:
            caption += f" Of the {holes['rows']} rows with missing values, which were filled, it"
            caption += f" holds {percent(holes['coverage_95'])}."
        switches = (
            '<input type="checkbox" id="show-intervals" checked>'
            '<label for="show-intervals">95 % intervals</label>'
        )
    chart.line([mean.min(), mean.max()], [mean.min(), mean.max()], "ideal")
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
    ends = max(1 - figures.band, 0.0), 1 + figures.band
    left.band(*ends)
    left.columns(figures.edges, figures.density, titles)
    for end in ends:
        left.line([0, 1], [end, end], "edge")
    left.line([0, 1], [1, 1], "ideal")
    right = Chart([0, 1], [0, 1], "level of the interval", "share of the rows inside",
                  label="Coverage of intervals of every level", margin=0.0)  # fmt: skip
    right.line([0, 1], [0, 1], "ideal")
    titles = [
        f"{percent(a, 0)} interval: {percent(b)} inside"
        for a, b in zip(figures.levels, figures.shares)
    ]
    right.trace(figures.levels, figures.shares, titles)
    caption = (
        "First: flat within the shaded band where the error bars are right; a hump means that they "
        "are too wide, a U shape that they are too narrow, a slope that the mean is off. Second: "
        "on the line where an interval of each level holds its share of the rows."
    )
    return Figure(
        "calibration", "Calibration of the error bars", [left.svg(), right.svg()], caption
    )


def residuals(subject: Subject) -> Figure | None:
    """Draw what is left unexplained against the most relevant columns."""
    model, shown = subject.model, subject.shown
    errors, y_label = _errors(subject)
    if errors is None:
        return None
    charts = []
    for column in top_columns(subject):
        places = subject.places(column.name)
        x = (places.x + places.scatter)[shown]
        ends = [-0.5, len(places.names) - 0.5] if places.side_by_side and places.names else x
        chart = Chart(ends, errors[shown], places.label, y_label, x_names=places.names,
                      label=f"Errors against {column.name}", size=SMALL)  # fmt: skip
        if model.task == "regression":
            chart.line([chart.x_low, chart.x_high], [0, 0], "ideal")
        titles = [
            f"{column.name} {text}, error {plain(error, 3)}"
            for text, error in zip(np.array(places.texts, dtype=object)[shown], errors[shown])
        ]
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
