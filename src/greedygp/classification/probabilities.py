"""What a fitted sparse GP classifier answers: classes, probabilities, latent values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.classification.posterior import Posterior
from greedygp.rows import RowStore
from greedygp.rows.store import one_ahead
from greedygp.rows.survey import check_inputs
from greedygp.summary import SummaryMixin
from greedygp.validation import check_predict_inputs, check_predict_store

__all__ = ["ProbabilityMixin"]


class ProbabilityMixin(SummaryMixin):
    """Predictions of an estimator that has `classes_` and a posterior for each (two: one)."""

    classes_: np.ndarray
    _posteriors: list[Posterior]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far each row is on the side of a class.

        The value is `(f + b) / sqrt(1 + v)` with mean f and variance v of the latent function; the
        normal distribution function of it is the probability of the class against the others.

        Parameters
        ----------
        X : (N, D) array-like, or RowSource

        Returns
        -------
        (N,) array for two classes (positive: `classes_[1]`), (N, n_classes) for more
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self._posteriors) == 1 else scores

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the classes' probabilities, (N, n_classes)."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return log_ndtr(np.concatenate([-scores, scores], axis=1))
        log_each = log_ndtr(scores)
        return log_each - logsumexp(log_each, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the classes' probabilities, (N, n_classes), in the order of `classes_`.

        With more than two classes: those of each class against the others, normalised.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (N,)."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[places]

    def latent(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the latent function, without the bias.

        Parameters
        ----------
        X : (N, D) array-like

        Returns
        -------
        mean, variance : (N,) arrays for two classes, (N, n_classes) for more
        """
        X = self._inputs(X)
        parts = [posterior.latent(X) for posterior in self._posteriors]
        mean, variance = (np.stack(part, axis=1) for part in zip(*parts))
        one = len(self._posteriors) == 1
        return (mean[:, 0], variance[:, 0]) if one else (mean, variance)

    def _scores(self, X: Any) -> np.ndarray:
        """Return a column for each posterior."""
        if not isinstance(X, RowStore):
            return self._scores_of(self._inputs(X))
        check_is_fitted(self, "_posteriors")
        check_predict_store(self, X)
        parts = [self._scores_of(check_inputs(chunk)) for chunk in one_ahead(X.chunks())]
        if not parts:
            raise ValueError("There are no rows to predict.")
        return np.concatenate(parts)

    def _scores_of(self, X: Any) -> np.ndarray:
        X = to_numpy(X).astype(np.float64, copy=False)
        return np.stack([posterior.score(X) for posterior in self._posteriors], axis=1)

    def _inputs(self, X: Any) -> np.ndarray:
        """Return the rows in float64."""
        check_is_fitted(self, "_posteriors")
        return to_numpy(check_predict_inputs(self, X)).astype(np.float64, copy=False)
