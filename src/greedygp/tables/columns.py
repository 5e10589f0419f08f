"""`Column`: what an encoder found out about a column, and what its features are called."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["OTHERS", "Column"]

OTHERS = "(other)"  # the word for all words that have no feature of their own


@dataclass
class Column:
    """How one column becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date"}
    missing : int
        Missing values among the training rows.
    words : list of str
        Of a category, in order; each has a feature.
    middle, centre, width : float
        Of a number: its median, mean and standard deviation.
    grouped, day_first : bool
        See :class:`greedygp.tables.plans.Plan`.
    marks_missing : bool
        Whether a feature marks rows where it is missing.
    origin : str
        Of a date: when its days are counted from; empty: it is a time without a date.
    parts : tuple of Column
        Of a date: the numbers it becomes.
    unit : str
        Of a number: what stands behind it.
    sign : str
        Of a number: its currency, or %.
    """

    name: str
    kind: str
    missing: int
    words: list[str] = field(default_factory=list)
    middle: float = 0.0
    centre: float = 0.0
    width: float = 1.0
    # Files of version 0.1.0 lack what follows; these defaults serve them.
    grouped: bool = False
    day_first: bool = False
    marks_missing: bool = False
    origin: str = ""
    parts: tuple[Column, ...] = ()
    unit: str = ""
    sign: str = ""

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: `size`, `colour=red`, `sold: month`."""
        if self.kind == "category":
            return [f"{self.name}={word}" for word in self.words]
        if self.kind == "date":
            return [name for part in self.parts for name in part.feature_names]
        return [self.name, self.mark] if self.marks_missing else [self.name]

    @property
    def mark(self) -> str:
        """The name of the feature that marks missing values."""
        return f"{self.name} is missing"
