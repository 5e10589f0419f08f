"""Which features matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from greedygp.fitted import estimator_of, relevance
from greedygp.inputs import input_names
from greedygp.plotting.axes import axes_for, fitted_attribute
from greedygp.plotting.curves import slopes
from greedygp.validation import check_choice

__all__ = ["RelevanceDisplay"]


class RelevanceDisplay:
    """Relevance of the features: how strongly the learnt function varies with each.

    Parameters
    ----------
    relevance : (features,) array
        See :func:`greedygp.plotting.curves.slopes` and
        :func:`greedygp.fitted.relevance`.
    feature_names : sequence of str
    method : str
        How it was found.

    Attributes
    ----------
    bars_ : matplotlib artists
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from greedygp import SparseGPRegressor
    >>> from greedygp.plotting import RelevanceDisplay
    >>> X, y = make_friedman1(150, random_state=0)
    >>> display = RelevanceDisplay.from_estimator(SparseGPRegressor(random_state=0).fit(X, y), X)
    >>> bool(display.relevance[:5].min() > display.relevance[5:].max())
    True
    """

    def __init__(self, *, relevance: np.ndarray, feature_names: Sequence[str], method: str = ""):
        self.relevance = relevance
        self.feature_names = list(feature_names)
        self.method = method

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        method: str = "auto",
        feature_names: Sequence[str] | None = None,
        most: int = 20,
        ax: Any = None,
        **bar_kw: Any,
    ) -> RelevanceDisplay:
        """Draw the relevance of an estimator's features.

        Parameters
        ----------
        estimator : fitted estimator
        X : (rows, features) array-like, optional
            Inputs, as the estimator (the last step of a pipeline) sees them.
        method : {"auto", "slope", "ard"}
            "slope": how steeply the predictions vary over the rows of X. "ard": what the kernel's
            length scales say, in which straight effects count little; X then only tells the
            features' scales. "auto": by slope where X is given.
        feature_names : sequence of str, optional
            None: those the estimator was fitted with, or x0, x1, ...
        most : int
            Features to show: the most relevant.
        ax : matplotlib axes, optional
        **bar_kw
            Passed to the bars.
        """
        check_choice("method", method, ("auto", "slope", "ard"))
        if method == "slope" and X is None:
            raise ValueError("method='slope' needs X, rows at which to look.")
        inner = estimator_of(estimator)
        if method == "auto":
            method = "ard" if X is None else "slope"
        values = slopes(estimator, X) if method == "slope" else relevance(estimator, X)
        values = fitted_attribute(inner, values, "kernel with one length scale per feature")
        if feature_names is None:
            known = input_names(inner)
            feature_names = [f"x{k}" for k in range(len(values))] if known is None else list(known)
        if len(feature_names) != len(values):
            raise ValueError(
                f"feature_names has {len(feature_names)} names for {len(values)} features."
            )
        display = cls(relevance=values, feature_names=feature_names, method=method)
        return display.plot(most=most, ax=ax, **bar_kw)

    def plot(self, *, most: int = 20, ax: Any = None, **bar_kw: Any) -> RelevanceDisplay:
        """Draw.

        Parameters
        ----------
        most : int
        ax : matplotlib axes, optional
        **bar_kw
            Passed to the bars.
        """
        (ax,) = axes_for(ax)
        order = np.argsort(-self.relevance, kind="stable")[:most][::-1]
        names = [str(self.feature_names[k]) for k in order]
        self.bars_ = ax.barh(names, self.relevance[order], **bar_kw)
        found = {"slope": " by slope", "ard": " by the kernel (ARD)"}.get(self.method, "")
        ax.set(xlabel=f"relevance{found}, relative to the largest", xlim=(0, 1.02))
        self.ax_, self.figure_ = ax, ax.figure
        return self
