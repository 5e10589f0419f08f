"""Figures of predicted classes: which are taken for which, and how sure the model may be."""

from __future__ import annotations

from html import escape

import numpy as np

from greedygp.plotting import curves
from greedygp.report.numbers import percent
from greedygp.report.subject import Figure, Subject
from greedygp.report.svg import Chart
from greedygp.tables.evaluation import scores_of_each_class

__all__ = ["confusion", "ranking", "reliability"]

MOST_LISTED = 20  # classes in a table
MOST_POINTS = 200  # of a curve that answer to the pointer


def confusion(subject: Subject) -> Figure:
    """Count true classes against predicted ones, and say how well each class is found."""
    said, classes = subject.predictions, subject.model.classes
    place = {label: k for k, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for true, guess in zip(said.y.tolist(), np.asarray(said.mean).tolist()):
        counts[place[true], place[guess]] += 1
    tables = [_counts(counts, classes), _by_class(subject)]
    caption = (
        "First: rows by their true class (down) and the predicted one (across). Second: recall is "
        "the share of a class that is found; precision is the share of the rows predicted as a "
        "class that belong to it."
    )
    return Figure("predictions", "Predicted and true classes", tables, caption)


def _counts(counts: np.ndarray, classes: list) -> str:
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
    return (
        '<div class="scroll"><table class="confusion"><thead><tr><th>true \\ predicted</th>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _by_class(subject: Subject) -> str:
    said = subject.predictions
    found = scores_of_each_class(said.y, said.mean, said.probabilities, subject.model.classes)
    rarest = sorted(found, key=lambda name: found[name]["rows"])[:MOST_LISTED]
    heads = ["rows", "recall", "precision"]
    heads += ["ROC AUC"] if said.probabilities is not None else []
    lines = []
    for label in [name for name in found if name in rarest]:
        scores = found[label]
        cells = [str(scores["rows"]), percent(scores["recall"], 0)]
        precision, area = scores["precision"], scores["roc_auc"]
        cells.append("\u2013" if precision is None else percent(precision, 0))
        if said.probabilities is not None:
            cells.append("\u2013" if area is None else f"{area:.3f}")
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        lines.append(f"<tr><th scope=row>{escape(str(label))}</th>{numbers}</tr>")
    head = "".join(f'<th scope=col class="number">{name}</th>' for name in heads)
    return (
        '<div class="scroll"><table class="each-class"><thead><tr><th>class</th>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def ranking(subject: Subject) -> Figure | None:
    """Draw how well the rarest class is told from the others, whatever the threshold."""
    said, classes = subject.predictions, subject.model.classes
    if said.probabilities is None:
        return None
    counts = np.array([np.sum(said.y == label) for label in classes])
    if np.sum(counts > 0) < 2:
        return None
    rarest = int(np.argmin(np.where(counts > 0, counts, np.iinfo(int).max)))
    curve = curves.ranking(said.y == classes[rarest], said.probabilities[:, rarest])
    name, share = str(classes[rarest]), counts[rarest] / counts.sum()
    every = 1 + len(curve.threshold) // MOST_POINTS
    some = slice(None, None, every)
    roc = Chart([0, 1], [0, 1], f"false alarms (share of the others taken for {name})",
                "recall", label=f"ROC curve of {name}", margin=0.02)  # fmt: skip
    roc.line([0, 1], [0, 1], "ideal")
    roc.line(np.append(0.0, curve.false_alarms), np.append(0.0, curve.recall))
    roc.points(
        curve.false_alarms[some], curve.recall[some],
        [
            f"from a probability of {t:.2f} on: {percent(r, 0)} found, {percent(f)} false alarms"
            for t, r, f in zip(curve.threshold[some], curve.recall[some], curve.false_alarms[some])
        ], "ghost", 5)  # fmt: skip
    precision = Chart([0, 1], [0, 1], "recall", "precision",
                      label=f"Precision-recall curve of {name}", margin=0.02)  # fmt: skip
    precision.line([0, 1], [share, share], "ideal")
    precision.line(curve.recall, curve.precision)
    precision.points(
        curve.recall[some], curve.precision[some],
        [
            f"from a probability of {t:.2f} on: {percent(r, 0)} found, precision {percent(p, 0)}"
            for t, r, p in zip(curve.threshold[some], curve.recall[some], curve.precision[some])
        ], "ghost", 5)  # fmt: skip
    caption = (
        f"The class {name}, the rarest ({percent(share)} of the rows), against the others, at "
        "every threshold of its probability. First: the ROC curve, area "
        f"{curve.roc_auc:.3f} (0.5 is chance, 1 perfect). Second: precision and recall, average "
        f"precision {curve.average_precision:.3f} (chance: {share:.3f}). Dashed: chance."
    )
    return Figure("ranking", f"Finding {name}", [roc.svg(), precision.svg()], caption)


def reliability(subject: Subject) -> Figure | None:
    """Draw how often the model was right against how sure it was."""
    said = subject.predictions
    if said.probabilities is None:
        return None
    figures = curves.reliability(said.y, said.probabilities, subject.model.estimator.classes_)
    chart = Chart([0, 1], [0, 1], "probability of the predicted class", "share that was right",
                  label="Reliability of the predicted probabilities", margin=0.02)  # fmt: skip
    chart.line([0, 1], [0, 1], "ideal")
    spread = np.sqrt(figures.confidence * (1 - figures.confidence) / figures.count)
    chart.intervals(
        figures.confidence,
        np.clip(figures.accuracy - 1.96 * spread, 0, 1),
        np.clip(figures.accuracy + 1.96 * spread, 0, 1),
    )
    titles = [
        f"{n} rows: sure {percent(a)}, right {percent(b)}"
        for a, b, n in zip(figures.confidence, figures.accuracy, figures.count)
    ]
    chart.trace(figures.confidence, figures.accuracy, titles, radius=4)
    caption = (
        "Points on the line: a class is right as often as its probability says. Below it, "
        "the model is too sure of itself. A bar is what chance does to so few rows. Mean gap: "
        f"{figures.error:.3f}."
    )
    return Figure("calibration", "Calibration of the probabilities", [chart.svg()], caption)
