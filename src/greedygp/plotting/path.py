"""The measure along the path of selection."""

from __future__ import annotations

from typing import Any

from greedygp.fitted import estimator_of
from greedygp.plotting.axes import axes_for, fitted_attribute
from greedygp.plotting.curves import PathCurve, selection_paths

__all__ = ["SelectionPathDisplay"]


class SelectionPathDisplay:
    """The measure after each step of the selection, and the size that was chosen.

    Parameters
    ----------
    curves : list of PathCurve
        See :func:`greedygp.plotting.curves.selection_paths`.
    name : str, optional
        Label of the line.

    Attributes
    ----------
    lines_, chosen_ : lists of matplotlib artists
        The measure, and the mark of the chosen size, of each path.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from greedygp import SparseGPRegressor
    >>> from greedygp.plotting import SelectionPathDisplay
    >>> X, y = make_friedman1(150, random_state=0)
    >>> model = SparseGPRegressor(criterion="nlgpp", rounds=0, max_basis=20, random_state=0)
    >>> display = SelectionPathDisplay.from_estimator(model.fit(X, y))
    >>> display.ax_.get_xlabel()
    'basis vectors'
    """

    def __init__(self, *, curves: list[PathCurve], name: str | None = None):
        self.curves = curves
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **line_kw: Any
    ) -> SelectionPathDisplay:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator, or a pipeline that ends in one
        ax : matplotlib axes, optional
        name : str, optional
        **line_kw
            Passed to the line.
        """
        inner = estimator_of(estimator)
        curves = fitted_attribute(inner, selection_paths(inner) or None, "path")
        name = type(inner).__name__ if name is None else name
        return cls(curves=curves, name=name).plot(ax=ax, **line_kw)

    def plot(self, *, ax: Any = None, **line_kw: Any) -> SelectionPathDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **line_kw
            Passed to the line.
        """
        (ax,) = axes_for(ax)
        self.lines_, self.chosen_ = [], []
        for curve in self.curves:
            place = curve.chosen - 1
            label = f"{self.name or ''} {curve.name}".strip()
            options = {"label": f"{label}, chosen: {curve.size[place]}".lstrip(", ")} | line_kw
            (line,) = ax.plot(curve.step, curve.value, **options)
            (mark,) = ax.plot(curve.step[place], curve.value[place], "o", color=line.get_color())
            self.lines_.append(line)
            self.chosen_.append(mark)
        same = all((curve.step == curve.size).all() for curve in self.curves)
        ax.set(xlabel="basis vectors" if same else "step", ylabel=self.curves[0].measure)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
