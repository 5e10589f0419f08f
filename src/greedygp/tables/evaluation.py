"""Figures of a model on rows with known targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.metrics import coverage, nlpd, nmse
from greedygp.plotting.curves import ranking, reliability

__all__ = [
    "baseline_of_classes",
    "baseline_of_numbers",
    "scores_of_classes",
    "scores_of_each_class",
    "scores_of_numbers",
]


def scores_of_numbers(
    y: np.ndarray, mean: np.ndarray, std: np.ndarray | None
) -> dict[str, float | None]:
    """Return R2, NMSE, RMSE, MAE and, where there are error bars, NLPD and coverage.

    Parameters
    ----------
    y, mean : (rows,) arrays
    std : (rows,) array or None
    """
    y, mean = np.asarray(y, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    share = nmse(y, mean) if np.ptp(y) > 0 else None
    scores: dict[str, float | None] = {
        "r2": None if share is None else 1.0 - share,
        "nmse": share,
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "mae": float(np.mean(np.abs(y - mean))),
    }
    if std is not None:
        scores["nlpd"] = nlpd(y, mean, std)
        scores["coverage_95"] = coverage(y, mean, std, 0.95)
    return scores


def baseline_of_numbers(y: np.ndarray) -> dict[str, float | None]:
    """Return RMSE and NLPD of one prediction for all rows: their mean, and their spread around it.

    The NLPD is None where all targets are equal.
    """
    spread = float(np.std(np.asarray(y, dtype=np.float64)))
    density = 0.5 * (1.0 + float(np.log(2 * np.pi * spread**2))) if spread > 0 else None
    return {"rmse": spread, "nlpd": density}


def scores_of_classes(
    labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, classes: Any
) -> dict[str, float | None]:
    """Return error rates and, where there are probabilities, log loss and calibration error.

    `balanced_error` is the error rate within each class, averaged over the classes.

    Parameters
    ----------
    labels, predicted : (rows,) arrays
    probabilities : (rows, classes) array or None
    classes : (classes,) array
    """
    labels, classes = np.asarray(labels), np.asarray(classes)
    wrong = labels != predicted
    within = [float(np.mean(wrong[labels == label])) for label in np.unique(labels)]
    scores: dict[str, float | None] = {
        "error": float(np.mean(wrong)),
        "balanced_error": float(np.mean(within)),
    }
    if probabilities is not None:
        place = np.argmax(labels[:, None] == classes[None, :], axis=1)
        true = probabilities[np.arange(len(labels)), place]
        scores["log_loss"] = float(-np.mean(np.log(np.clip(true, 1e-15, 1.0))))
        gap = reliability(labels, probabilities, classes).error
        scores["calibration_error"] = round(gap, 12)  # 0, not what rounding leaves of it
    return scores


def baseline_of_classes(labels: np.ndarray) -> dict[str, float | None]:
    """Return error rates and log loss of one prediction for all rows: how common each class is."""
    _, counts = np.unique(np.asarray(labels), return_counts=True)
    shares = counts / counts.sum()
    return {
        "error": float(1.0 - shares.max()),
        "balanced_error": float(1.0 - 1.0 / len(shares)),
        "log_loss": float(-np.sum(shares * np.log(shares))),
    }


def scores_of_each_class(
    labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, classes: Any
) -> dict[Any, dict[str, Any]]:
    """Return rows, recall, precision and area under the ROC curve of each class that occurs.

    Parameters
    ----------
    labels, predicted : (rows,) arrays
    probabilities : (rows, classes) array or None
    classes : sequence

    Returns
    -------
    dict of class to dict
        Precision is None where a class is never predicted, `roc_auc` where there are no
        probabilities or no other class.
    """
    labels, predicted = np.asarray(labels), np.asarray(predicted)
    found = {}
    for k, label in enumerate(classes):
        own, said = labels == label, predicted == label
        if not own.any():
            continue
        area = None
        if probabilities is not None and not own.all():
            area = ranking(own, probabilities[:, k]).roc_auc
        found[label] = {
            "rows": int(own.sum()),
            "recall": float(np.mean(said[own])),
            "precision": float(np.mean(own[said])) if said.any() else None,
            "roc_auc": area,
        }
    return found
