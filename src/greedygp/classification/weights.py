"""Which rows have a part in a fit, and how much each of them counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.messages import shown

__all__ = ["used_rows"]


def used_rows(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a mask of the rows with a positive weight, and their weights, or None: all count once.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : (n_classes,) array
        The labels.
    y : (n,) int array
        The class of each row, counted from zero.
    weights : (n,) array or None
    """
    if class_weight is not None:
        by_class = _weights_by_class(class_weight, classes, y, weights)
        weights = by_class if weights is None else weights * by_class
    if weights is None:
        return np.ones(len(y), dtype=bool), None
    used = weights > 0
    gone = np.setdiff1d(np.arange(len(classes)), y[used])
    if len(gone):
        raise ValueError(
            f"No row of class {shown(classes[gone[0]])} has a positive weight; raise some of its "
            "weights, or leave the class out of y."
        )
    weights = weights[used]
    return used, None if np.all(weights == 1.0) else weights


def _weights_by_class(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Return each row's weight by its class."""
    if class_weight == "balanced":
        used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        rows = np.bincount(
            y[used],
            weights=None if weights is None else weights[used],
            minlength=len(classes),
        )
        present = rows > 0
        each = np.zeros(len(classes))
        each[present] = rows.sum() / (np.count_nonzero(present) * rows[present])
        return each[y]
    # Not left to scikit-learn: it looks a label such as "1" up as the number 1.
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(
            f"class_weight has the class {shown(unknown[0])}, which is not in y; its classes are "
            f"{', '.join(repr(label) for label in classes.tolist())}."
        )
    each = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    if not (np.all(np.isfinite(each)) and np.all(each >= 0)):
        raise ValueError(f"class_weight must hold finite numbers from 0 on; got {class_weight!r}.")
    return each[y]
