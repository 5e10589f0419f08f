"""Whether error bars are as wide as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from greedygp.arrays import to_numpy
from greedygp.plotting.axes import axes_for
from greedygp.plotting.curves import Calibration, calibration

__all__ = ["RegressionCalibrationDisplay"]


class RegressionCalibrationDisplay:
    """Histogram of the probability integral transform, and coverage of intervals of every level.

    Right predictive distributions give a flat histogram and a straight line. A histogram with a
    hump in the middle: the error bars are too wide; high at both ends: too narrow; slanted: the
    mean is off.

    Parameters
    ----------
    figures : Calibration
        See :func:`greedygp.plotting.curves.calibration`.
    name : str, optional
        Label of the line of coverage.

    Attributes
    ----------
    bars_, line_ : matplotlib artists
    axes_ : list of the two matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.plotting import RegressionCalibrationDisplay
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> display = RegressionCalibrationDisplay.from_predictions(y, 0 * y, 0 * y + 1)
    >>> bool(abs(display.figures.shares - display.figures.levels).max() < 0.1)
    True
    """

    def __init__(self, *, figures: Calibration, name: str | None = None):
        self.figures = figures
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, bins: int = 10, ax: Any = None, **options: Any
    ) -> RegressionCalibrationDisplay:
        """Draw the calibration of an estimator on rows that it has not seen.

        Parameters
        ----------
        estimator : fitted estimator with ``predict(X, return_std=True)``
        X : (rows, features) array-like
        y : (rows,) array-like
        bins : int
            Bars of the histogram.
        ax : pair of matplotlib axes, optional
        **options
            `name`, and options of the line of coverage.
        """
        mean, std = estimator.predict(X, return_std=True)
        options = {"name": type(estimator).__name__} | options
        return cls.from_predictions(y, to_numpy(mean), to_numpy(std), bins=bins, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        bins: int = 10,
        ax: Any = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> RegressionCalibrationDisplay:
        """Draw the calibration of Gaussian predictions.

        Parameters
        ----------
        y, mean, std : (rows,) array-like
            Targets, predicted means and standard deviations, noise included.
        bins : int
        ax : pair of matplotlib axes, optional
        name : str, optional
        **line_kw
            Passed to the line of coverage.
        """
        figures = calibration(np.asarray(y), mean, std, bins)
        return cls(figures=figures, name=name).plot(ax=ax, **line_kw)

    def plot(self, *, ax: Any = None, **line_kw: Any) -> RegressionCalibrationDisplay:
        """Draw on a pair of axes.

        Parameters
        ----------
        ax : pair of matplotlib axes, optional
        **line_kw
            Passed to the line of coverage.
        """
        left, right = axes_for(ax, 2)
        figures = self.figures
        self.bars_ = left.stairs(figures.density, figures.edges, fill=True, alpha=0.6)
        left.axhline(1.0, color="0.3", linestyle="--")
        left.axhspan(1 - figures.band, 1 + figures.band, color="0.5", alpha=0.2)
        left.set(xlabel="probability integral transform", ylabel="density", xlim=(0, 1))
        right.plot([0, 1], [0, 1], color="0.3", linestyle="--", label="right")
        (self.line_,) = right.plot(
            figures.levels, figures.shares, **({"marker": ".", "label": self.name} | line_kw)
        )
        right.set(xlabel="level of the interval", ylabel="share inside", xlim=(0, 1), ylim=(0, 1))
        right.legend()
        self.axes_, self.figure_ = [left, right], left.figure
        return self
