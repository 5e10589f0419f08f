"""What a figure of the report is, and what it is drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from greedygp.plotting import curves
from greedygp.report.places import Places, places_of
from greedygp.tables.model import TableModel
from greedygp.tables.training import Predictions, Trained

__all__ = ["Figure", "Subject"]

MOST_POINTS = 1200


@dataclass
class Figure:
    """A part of the page.

    Attributes
    ----------
    key : str
        Its anchor.
    title : str
    charts : list of str
        Drawings, side by side where there is room.
    caption : str
    switches : str
        HTML of inputs before the charts, with which the reader chooses what is shown.
    """

    key: str
    title: str
    charts: list[str]
    caption: str
    switches: str = field(default="")

    @property
    def is_wide(self) -> bool:
        """Whether it needs the whole width: for several charts that are all shown at once."""
        return len(self.charts) > 1 and self.key not in ("relevance", "predictions")


class Subject:
    """A model, the rows it was judged on, and what several figures need of them.

    Parameters
    ----------
    trained : Trained

    Attributes
    ----------
    shown : int array
        Places of the rows to draw: all, or a random sample of them.
    """

    def __init__(self, trained: Trained):
        self.trained = trained
        self._places: dict[str, Places] = {}
        n = len(trained.rows)
        self.shown = np.arange(n)
        if n > MOST_POINTS:
            self.shown = np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))

    @property
    def model(self) -> TableModel:
        """The model."""
        return self.trained.model

    @property
    def predictions(self) -> Predictions:
        """What the model says of the rows; only for figures of judged models."""
        assert self.trained.predictions is not None
        return self.trained.predictions

    @property
    def sample_note(self) -> str:
        """A sentence for the caption where not all rows are drawn."""
        n = len(self.trained.rows)
        few = len(self.shown) < n
        return f" {len(self.shown)} of {n} rows, drawn at random." if few else ""

    @property
    def targets(self) -> np.ndarray:
        """The targets of the rows; empty where the model was not judged."""
        said = self.trained.predictions
        return np.empty(0) if said is None else said.y

    def places(self, name: str) -> Places:
        """Return where the rows stand along a column."""
        if name not in self._places:
            column = next(c for c in self.model.encoder.columns_ if c.name == name)
            self._places[name] = places_of(self.trained.rows[name], column)
        return self._places[name]

    @cached_property
    def X(self) -> np.ndarray:
        """The encoded rows, (rows, features)."""
        return self.model.encoder.transform(self.trained.rows)

    @cached_property
    def slopes(self) -> np.ndarray:
        """How steeply the predictions vary with each feature."""
        return curves.slopes(self.model, self.X)
