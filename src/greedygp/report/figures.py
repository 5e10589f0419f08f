"""The figures of a report, those first that answer the first questions."""

from __future__ import annotations

from greedygp.report import model_figures, prediction_figures
from greedygp.report.subject import Figure, Subject
from greedygp.tables.training import Trained

__all__ = ["figures_of"]


def figures_of(trained: Trained) -> list[Figure]:
    """Return the figures of a model; one that it cannot fill is left out."""
    subject = Subject(trained)
    relevance = model_figures.relevance(subject)
    path, learning = model_figures.path(subject), model_figures.learning(subject)
    basis = model_figures.basis(subject)
    if trained.predictions is None:
        found = [relevance, path, learning, basis]
    else:
        if trained.model.task == "regression":
            predicted = prediction_figures.predicted_and_observed(subject)
            calibration = prediction_figures.calibration(subject)
        else:
            predicted = prediction_figures.confusion(subject)
            calibration = prediction_figures.reliability(subject)
        residuals = prediction_figures.residuals(subject)
        found = [predicted, relevance, calibration, path, learning, residuals, basis]
    return [figure for figure in found if figure is not None and figure.charts]
