"""Figures of a model on rows with known targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.metrics import coverage, nlpd, nmse
from greedygp.plotting.curves import reliability

__all__ = ["scores_of_classes", "scores_of_numbers"]


def scores_of_numbers(
    y: np.ndarray, mean: np.ndarray, std: np.ndarray | None
) -> dict[str, float | None]:
    """Return NMSE, RMSE, MAE and, where there are error bars, NLPD and coverage.

    Parameters
    ----------
    y, mean : (rows,) arrays
    std : (rows,) array or None
    """
    y, mean = np.asarray(y, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    scores: dict[str, float | None] = {
        "nmse": nmse(y, mean) if np.ptp(y) > 0 else None,
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "mae": float(np.mean(np.abs(y - mean))),
    }
    if std is not None:
        scores["nlpd"] = nlpd(y, mean, std)
        scores["coverage_95"] = coverage(y, mean, std, 0.95)
    return scores


def scores_of_classes(
    labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, classes: Any
) -> dict[str, float | None]:
    """Return the error rate and, where there are probabilities, log loss and calibration error.

    Parameters
    ----------
    labels, predicted : (rows,) arrays
    probabilities : (rows, classes) array or None
    classes : (classes,) array
    """
    labels, classes = np.asarray(labels), np.asarray(classes)
    scores: dict[str, float | None] = {"error": float(np.mean(labels != predicted))}
    if probabilities is not None:
        place = np.argmax(labels[:, None] == classes[None, :], axis=1)
        true = probabilities[np.arange(len(labels)), place]
        scores["log_loss"] = float(-np.mean(np.log(np.clip(true, 1e-15, 1.0))))
        scores["calibration_error"] = reliability(labels, probabilities, classes).error
    return scores
