"""CatBoost with the loss RMSEWithUncertainty: mean and variance are boosted together.

Options: ``iterations`` (the most trees), ``patience`` (trees without a gain on the rows that are
held out), ``seed``, ``threads``. The variance is that of the data, as the model's own ``predict``
gives it. Everything else is CatBoost's default.
"""

from __future__ import annotations

import numpy as np
from catboost import CatBoostRegressor

from benchmarks.peers.exchange import Predict, Request, serve, without_a_tenth


def fit(request: Request) -> Predict:
    options = request.options
    X, X_held, y, y_held = without_a_tenth(request)
    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        iterations=options["iterations"],
        random_seed=options["seed"],
        thread_count=options["threads"],
        allow_writing_files=False,
        verbose=False,
    )
    model.fit(X, y, eval_set=(X_held, y_held), early_stopping_rounds=options["patience"])

    def predict(X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = model.predict(X_test, prediction_type="RMSEWithUncertainty").T
        return mean, np.sqrt(variance)

    return predict


if __name__ == "__main__":
    serve(fit, ("catboost", "numpy"))
