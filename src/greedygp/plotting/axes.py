"""Matplotlib, imported when it is needed."""

from __future__ import annotations

from typing import Any

__all__ = ["axes_for", "fitted_attribute"]


def axes_for(axes: Any, count: int = 1) -> list[Any]:
    """Return `count` axes: those given, or new ones side by side.

    Parameters
    ----------
    axes : matplotlib axes, sequence of them, or None
    count : int
    """
    if axes is not None:
        given = list(axes) if hasattr(axes, "__len__") else [axes]
        if len(given) != count:
            raise ValueError(f"ax must hold {count} axes for this picture; got {len(given)}.")
        return given
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: pip install 'greedygp[plot]' or pip install matplotlib."
        ) from error
    _, made = plt.subplots(
        1, count, figsize=(6.4 if count == 1 else 5.0 * count, 4.2), layout="constrained"
    )
    return [made] if count == 1 else list(made)


def fitted_attribute(estimator: Any, value: Any, what: str) -> Any:
    """Return the value, or say that the estimator has nothing to show."""
    if value is None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        raise ValueError(f"{type(estimator).__name__} has no {what} to show.")
    return value
