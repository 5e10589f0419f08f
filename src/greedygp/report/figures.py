"""The figures of a report, those first that answer the first questions."""

from __future__ import annotations

from greedygp.report import class_figures, model_figures, noise_figures, prediction_figures
from greedygp.report.effects import effects
from greedygp.report.subject import Figure, Subject

__all__ = ["figures_of"]


def figures_of(subject: Subject) -> list[Figure]:
    """Return the figures of a model; one that it cannot fill is left out."""
    relevance, shape = model_figures.relevance(subject), effects(subject)
    made = [
        model_figures.path(subject),
        model_figures.learning(subject),
        model_figures.basis(subject),
    ]
    if subject.trained.predictions is None:
        found = [relevance, shape, *made]
    elif subject.model.task == "regression":
        found = [
            prediction_figures.predicted_and_observed(subject),
            relevance,
            shape,
            prediction_figures.calibration(subject),
            noise_figures.sharpness(subject),
            prediction_figures.residuals(subject),
            *made,
        ]
    else:
        found = [
            class_figures.confusion(subject),
            relevance,
            shape,
            class_figures.ranking(subject),
            class_figures.reliability(subject),
            prediction_figures.residuals(subject),
            *made,
        ]
    return [figure for figure in found if figure is not None and figure.charts]
