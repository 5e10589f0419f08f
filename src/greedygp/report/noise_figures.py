"""Error bars that differ from row to row: whether larger ones mean larger errors, and what they
follow where the noise was learnt as a function of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.report.effects import Effect, along_column
from greedygp.report.numbers import plain
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import NORMAL, SMALL, Chart

__all__ = ["noise_follows_input", "sharpness"]

BINS = 8
FEWEST_IN_A_BIN = 8
DIFFERENT = 1.15  # the widest tenth of the error bars over the narrowest, for a figure to be drawn
MOST_COLUMNS = 2
MOST_TRIED = 12


def noise_follows_input(estimator: Any) -> bool:
    """Tell whether the noise was learnt as a function of the input."""
    return getattr(estimator, "noise_model_", "constant") == "input"


def sharpness(subject: Subject) -> Figure | None:
    """Draw the size of the errors by the size of the error bars, and the noise along columns."""
    said = subject.predictions
    if said.std is None:
        return None
    low, high = np.quantile(said.std, [0.1, 0.9])
    if not high > DIFFERENT * low or len(said.y) < 2 * FEWEST_IN_A_BIN:
        return None
    charts = [_by_size(subject)]
    caption = (
        "First: rows in groups of about the same error bar; on the line, their errors are as large "
        "as the error bars say (bars: what chance does to so few rows)."
    )
    if noise_follows_input(subject.model.estimator):
        charts += _noise_along_columns(subject)
        caption += (
            " Then: the noise of a target along the columns that it depends on most, the others "
            "being as they are. The noise was learnt as a function of the input, because that "
            "predicted left-out rows better than one level for all."
        )
    else:
        caption += (
            " The noise is one level for all rows; what differs is how much nearby rows tell."
        )
    return Figure("noise", "Error bars, row by row", charts, caption)


def _by_size(subject: Subject) -> str:
    """Return a drawing of root mean square errors against standard deviations."""
    said = subject.predictions
    std = said.std
    assert std is not None
    order = np.argsort(std, kind="stable")
    groups = np.array_split(order, max(2, min(BINS, len(order) // FEWEST_IN_A_BIN)))
    x = np.array([np.sqrt(np.mean(std[rows] ** 2)) for rows in groups])
    y = np.array([np.sqrt(np.mean((said.y - said.mean)[rows] ** 2)) for rows in groups])
    count = np.array([len(rows) for rows in groups])
    reach = 1.96 * x / np.sqrt(2 * count)  # of a root mean square, if the error bars are right
    ends = [0.0, float(max(x.max(), y.max()))]
    size = SMALL if noise_follows_input(subject.model.estimator) else NORMAL
    chart = Chart([0.0, float(x.max())], ends, "error bar (standard deviation)",
                  "error (root mean square)", label="Errors by error bars", size=size)  # fmt: skip
    chart.line([0, float(x.max())], [0, float(x.max())], "ideal")
    chart.intervals(x, np.maximum(y - reach, 0.0), y + reach)
    titles = [
        f"{n} rows: error bar {plain(a, 3)}, error {plain(b, 3)}" for a, b, n in zip(x, y, count)
    ]
    chart.trace(x, y, titles, radius=4)
    return chart.svg()


def _noise_along_columns(subject: Subject) -> list[str]:
    """Return drawings of the noise along the columns that it depends on most."""
    estimator, encoder = subject.model.estimator, subject.model.encoder

    def average(X: np.ndarray) -> tuple[np.ndarray, None]:
        return np.atleast_1d(np.mean(np.sqrt(estimator.noise_variance_at(X)))), None

    best = subject.model.facts.get("relevance") or {}
    tried = sorted(encoder.columns_, key=lambda c: -best.get(c.name, 0.0))[:MOST_TRIED]
    found = {column.name: along_column(subject, column, average) for column in tried}
    strongest = sorted(found, key=lambda name: -float(np.ptp(found[name].lines)))[:MOST_COLUMNS]
    top = max(float(np.max(found[name].lines)) for name in strongest)
    return [_drawn(name, found[name], top) for name in strongest]


def _drawn(name: str, effect: Effect, top: float) -> str:
    places = effect.places
    ends = [-0.5, len(places.x) - 0.5] if places.side_by_side else places.x
    chart = Chart(ends, [0.0, 1.05 * top], places.label, "noise (standard deviation)",
                  label=f"Noise along {name}", x_names=places.names, size=SMALL)  # fmt: skip
    titles = [f"{text}: {plain(value, 3)}" for text, value in zip(places.texts, effect.lines[0])]
    if places.side_by_side:
        chart.points(places.x, effect.lines[0], titles, radius=4.5)
    else:
        chart.trace(places.x, effect.lines[0], titles, kind="ghost", radius=5)
    return chart.svg()
