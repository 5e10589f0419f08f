"""Pictures of the posterior: a line with its band, or a map of mean and error bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedygp.arrays import to_numpy
from greedygp.plotting.axes import axes_for
from greedygp.plotting.slices import Slice, feature_places, slice_of

__all__ = ["PosteriorDisplay"]


class PosteriorDisplay:
    """What a model says along one feature, or over two, the others held at their medians.

    Parameters
    ----------
    slice : Slice
        See :func:`greedygp.plotting.slices.slice_of`.
    names : sequence of str
        Of the features that vary.
    X, y : arrays, optional
        Rows to show: the coordinates that vary, (rows, 1 or 2), and the targets.
    basis : (m, 1 or 2) array, optional
        Basis vectors to show.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        One for a line, two (mean and standard deviation) for a map with error bars.
    figure_ : matplotlib figure

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp import SparseGPRegressor
    >>> from greedygp.plotting import PosteriorDisplay
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SparseGPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> display = PosteriorDisplay.from_estimator(model, X, np.sin(X[:, 0]))
    >>> display.slice.mean.shape
    (100,)
    """

    def __init__(
        self,
        *,
        slice: Slice,
        names: Any,
        X: np.ndarray | None = None,
        y: np.ndarray | None = None,
        basis: np.ndarray | None = None,
    ):
        self.slice = slice
        self.names = list(names)
        self.X, self.y, self.basis = X, y, basis

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        points: int = 100,
        noise: bool = True,
        coverage: float = 0.95,
        ax: Any = None,
    ) -> PosteriorDisplay:
        """Draw the posterior of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
        X : (rows, features) array-like
            Tells the ranges and the medians.
        y : (rows,) array-like, optional
            Shown where given.
        features : int, str or pair of these, optional
            What varies; None: the first feature, or the first two of X where it has two.
        points : int
            Along each feature.
        noise : bool
            Whether the band includes the noise of a target.
        coverage : float
            Probability of the band.
        ax : matplotlib axes (a pair for two features with error bars), optional
        """
        if features is None:
            features = (0, 1) if np.shape(X)[1] == 2 else 0
        places = feature_places(X, features)
        names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
        labels = [names[k] if hasattr(X, "columns") else f"x{k}" for k in places]
        made = slice_of(estimator, X, places, points, noise=noise)
        basis = getattr(estimator, "basis_", None)
        columns = list(places)
        display = cls(
            slice=made,
            names=labels,
            X=np.asarray(to_numpy(X), dtype=np.float64)[:, columns],
            y=None if y is None else np.asarray(to_numpy(y)),
            basis=None if basis is None else np.asarray(to_numpy(basis))[:, columns],
        )
        return display.plot(coverage=coverage, ax=ax)

    def plot(self, *, coverage: float = 0.95, ax: Any = None) -> PosteriorDisplay:
        """Draw.

        Parameters
        ----------
        coverage : float
        ax : matplotlib axes, optional
        """
        if len(self.slice.places) == 1:
            self.axes_ = axes_for(ax)
            self._draw_line(self.axes_[0], coverage)
        else:
            panels = {"mean": self.slice.mean, "standard deviation": self.slice.std}
            shown = {title: values for title, values in panels.items() if values is not None}
            self.axes_ = axes_for(ax, len(shown))
            for axes, (title, values) in zip(self.axes_, shown.items()):
                self._draw_map(axes, title, values)
        self.figure_ = self.axes_[0].figure
        return self

    def _draw_line(self, ax: Any, coverage: float) -> None:
        (x,) = self.slice.grid
        (line,) = ax.plot(x, self.slice.mean, label="mean")
        band = self.slice.band(coverage)
        if band is not None:
            label = f"{coverage:.0%} interval"
            ax.fill_between(x, *band, color=line.get_color(), alpha=0.2, label=label)
        if self.X is not None and self.y is not None and self.y.dtype.kind in "if":
            ax.plot(self.X[:, 0], self.y, ".", color="0.35", markersize=4, label="rows", zorder=1)
        if self.basis is not None:
            low = ax.get_ylim()[0]
            ax.plot(self.basis[:, 0], np.full(len(self.basis), low), "k|", label="basis")
            ax.set_ylim(bottom=low)
        ax.set(xlabel=self.names[0], ylabel="target")
        ax.legend()

    def _draw_map(self, ax: Any, title: str, values: np.ndarray) -> None:
        filled = ax.contourf(*self.slice.grid, values, levels=15)
        ax.figure.colorbar(filled, ax=ax)
        if self.X is not None:
            ax.plot(self.X[:, 0], self.X[:, 1], ".", color="white", markersize=2, alpha=0.5)
        if self.basis is not None:
            ax.plot(self.basis[:, 0], self.basis[:, 1], "kx", markersize=5)
        (left, *_, right), (bottom, *_, top) = self.slice.grid
        ax.set(title=title, xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=(left, right), ylim=(bottom, top))
