"""GPflow's FITC (``GPRFITC``): trained like its SGPR, by L-BFGS on FITC's own evidence.

Options: ``basis``, ``iterations``, ``seed``, ``threads``.
"""

from __future__ import annotations

import gpflow
import numpy as np

from benchmarks.peers.exchange import Predict, Request, serve
from benchmarks.peers.scripts.gpflow_sgpr import limit_threads, make_model, train


def fit(request: Request) -> Predict:
    limit_threads(request.options["threads"])
    model = make_model(request, gpflow.models.GPRFITC)
    train(model, request.options["iterations"])

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = model.predict_y(X)
        return mean.numpy(), np.sqrt(variance.numpy())

    return predict


if __name__ == "__main__":
    serve(fit, ("gpflow", "tensorflow", "numpy"))
