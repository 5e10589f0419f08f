"""NGBoost: mean and log deviation of a Gaussian, boosted by natural gradients of the log density.

Options: ``iterations`` (the most trees), ``patience`` (trees without a gain on the rows that are
held out), ``seed``. Everything else is NGBoost's default (trees of depth 3, rate 0.01).
"""

from __future__ import annotations

import numpy as np
from ngboost import NGBRegressor

from benchmarks.peers.exchange import Predict, Request, serve, without_a_tenth


def fit(request: Request) -> Predict:
    options = request.options
    X, X_held, y, y_held = without_a_tenth(request)
    np.random.seed(options["seed"])  # noqa: NPY002 - NGBoost's trees draw from the global state
    model = NGBRegressor(
        n_estimators=options["iterations"], random_state=options["seed"], verbose=False
    )
    model.fit(X, y, X_val=X_held, Y_val=y_held, early_stopping_rounds=options["patience"])

    def predict(X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        normal = model.pred_dist(X_test, max_iter=model.best_val_loss_itr + 1)
        return normal.params["loc"], normal.params["scale"]

    return predict


if __name__ == "__main__":
    serve(fit, ("ngboost", "scikit-learn", "numpy"))
