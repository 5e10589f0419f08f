"""`TableModel`: an estimator, the encoder of its columns, its target, and how it was made."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from greedygp.tables.problems import DataProblem

if TYPE_CHECKING:
    import pandas
    from sklearn.pipeline import Pipeline

    from greedygp.tables.encoder import TableEncoder

__all__ = ["TableModel"]


@dataclass(eq=False)
class TableModel:
    """A model that takes tables as they are.

    Parameters
    ----------
    encoder : TableEncoder
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
    >>> from greedygp.tables import TableEncoder, TableModel
    >>> x = np.linspace(0, 6, 40)
    >>> table = pd.DataFrame({"x": x, "y": np.sin(x)})
    >>> encoder = TableEncoder().fit(table[["x"]])
    >>> estimator = SparseGPRegressor(random_state=0).fit(encoder.transform(table), table["y"])
    >>> model = TableModel(encoder, estimator, "y", "regression", {})
    >>> list(model.table_of_predictions(table[:2], interval=0.9).columns)
    ['y', 'lower', 'upper']
    """

    encoder: TableEncoder
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
    def pipeline(self) -> Pipeline:
        """The encoder and the estimator as a fitted pipeline of scikit-learn."""
        from sklearn.pipeline import Pipeline

        return Pipeline([("table", self.encoder), ("model", self.estimator)])

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
        method: str = "gaussian",
    ) -> pandas.DataFrame:
        """Predict a table.

        Parameters
        ----------
        table : DataFrame
        interval : float
            Probability of the interval from lower to upper.
        notes, first_row
            As for :meth:`TableEncoder.transform`.
        method : {"gaussian", "jackknife+"}
            Where the interval comes from, as for `predict_interval` of the estimator.

        Returns
        -------
        DataFrame
            Regression: the target's mean, and `lower` and `upper` where the model has error bars.
            Classification: the likeliest class, and `probability_C` of each class C.
        """
        import pandas

        X = self.encoder.transform(table, notes, first_row)
        if method != "gaussian" and not hasattr(self.estimator, "predict_interval"):
            raise DataProblem(
                f"{type(self.estimator).__name__} has no intervals by {method!r}; "
                "SparseGPRegressor and GPRegressor have them."
            )
        if self.task == "classification":
            return self._table_of_classes(X)
        if method != "gaussian":
            return self._table_of_ends(X, interval, method)
        if not self.gives_std:
            return pandas.DataFrame({self.target: self.estimator.predict(X)})
        mean, std = self.estimator.predict(X, return_std=True)
        reach = NormalDist().inv_cdf(0.5 + 0.5 * interval) * std
        return self._with_ends(mean, mean - reach, mean + reach)

    def _table_of_ends(self, X: np.ndarray, interval: float, method: str) -> pandas.DataFrame:
        """Return means, and intervals that the estimator makes itself."""
        try:
            ends = self.estimator.predict_interval(X, interval, method=method)
        except ValueError as error:  # too few rows for so wide an interval
            raise DataProblem(str(error)) from error
        return self._with_ends(self.estimator.predict(X), *ends)

    def _with_ends(
        self, mean: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> pandas.DataFrame:
        import pandas

        names = [self.target, *(_free(name, self.target) for name in ("lower", "upper"))]
        return pandas.DataFrame(dict(zip(names, (mean, lower, upper))))

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
