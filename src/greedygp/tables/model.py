"""`TableModel`: an estimator, the encoder of its columns, its target, and how it was made."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.encoder import Encoder

if TYPE_CHECKING:
    import pandas

__all__ = ["TableModel"]


@dataclass(eq=False)
class TableModel:
    """A model that takes tables as they are.

    Parameters
    ----------
    encoder : Encoder
        Fitted: what becomes of the columns.
    estimator : estimator
        Fitted on the encoder's features.
    target : str
        The column that is predicted.
    task : {"regression", "classification"}
    facts : dict
        Whatever should be remembered of its making; plain values only.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from greedygp import SparseGPRegressor
    >>> from greedygp.tables import Encoder, TableModel
    >>> x = np.linspace(0, 6, 40)
    >>> table = pd.DataFrame({"x": x, "y": np.sin(x)})
    >>> encoder = Encoder().fit(table[["x"]])
    >>> estimator = SparseGPRegressor(random_state=0).fit(encoder.transform(table), table["y"])
    >>> model = TableModel(encoder, estimator, "y", "regression", {})
    >>> list(model.table_of_predictions(table[:2], interval=0.9).columns)
    ['y', 'lower', 'upper']
    """

    encoder: Encoder
    estimator: Any
    target: str
    task: str
    facts: dict[str, Any]

    @property
    def gives_std(self) -> bool:
        """Whether the predictions have error bars."""
        if self.task != "regression":
            return False
        return "return_std" in inspect.signature(self.estimator.predict).parameters

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of `predict_proba`'s columns."""
        return self.estimator.classes_.tolist()

    def predict(self, table: pandas.DataFrame) -> np.ndarray:
        """Predict the target of every row: the mean, or the likeliest class."""
        return self.estimator.predict(self.encoder.transform(table))

    def predict_std(self, table: pandas.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Predict the mean and the standard deviation (with noise) of every row's target."""
        return self.estimator.predict(self.encoder.transform(table), return_std=True)

    def predict_proba(self, table: pandas.DataFrame) -> np.ndarray:
        """Predict the probability of every class, (rows, classes)."""
        return self.estimator.predict_proba(self.encoder.transform(table))

    def table_of_predictions(
        self,
        table: pandas.DataFrame,
        interval: float = 0.95,
        notes: dict[str, int] | None = None,
        first_row: int = 1,
    ) -> pandas.DataFrame:
        """Predict a table.

        Parameters
        ----------
        table : DataFrame
        interval : float
            Probability of the interval from lower to upper.
        notes, first_row
            As for :meth:`Encoder.transform`.

        Returns
        -------
        DataFrame
            Regression: the target's mean, and `lower` and `upper` where the model has error bars.
            Classification: the likeliest class, and `probability_C` of each class C.
        """
        import pandas

        X = self.encoder.transform(table, notes, first_row)
        if self.task == "classification":
            return self._table_of_classes(X)
        if not self.gives_std:
            return pandas.DataFrame({self.target: self.estimator.predict(X)})
        mean, std = self.estimator.predict(X, return_std=True)
        reach = NormalDist().inv_cdf(0.5 + 0.5 * interval) * std
        names = [self.target, *(_free(name, self.target) for name in ("lower", "upper"))]
        return pandas.DataFrame(dict(zip(names, (mean, mean - reach, mean + reach))))

    def _table_of_classes(self, X: np.ndarray) -> pandas.DataFrame:
        import pandas

        if not hasattr(self.estimator, "predict_proba"):
            return pandas.DataFrame({self.target: self.estimator.predict(X)})
        probabilities = self.estimator.predict_proba(X)
        likeliest = np.asarray(self.estimator.classes_)[np.argmax(probabilities, axis=1)]
        columns: dict[str, Any] = {self.target: likeliest}
        for name, column in zip(self.classes, probabilities.T):
            columns[f"probability_{name}"] = column
        return pandas.DataFrame(columns)


def _free(name: str, taken: str) -> str:
    return name if name != taken else f"{name}_"
