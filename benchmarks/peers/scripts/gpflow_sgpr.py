"""GPflow's SGPR: ARD Gaussian kernel, trained inducing inputs, SciPy's L-BFGS on all rows.

Options: ``basis``, ``iterations``, ``seed``, ``threads``.
"""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

from benchmarks.peers.exchange import Predict, Request, serve, starting_centres


def limit_threads(threads: int) -> None:
    """Has to come before TensorFlow's first operation."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def make_model(request: Request, kind: type = gpflow.models.SGPR) -> gpflow.models.GPModel:
    """The untrained model, at the starting values that the sparse peers share."""
    X, options = request.X, request.options
    kernel = gpflow.kernels.SquaredExponential(
        variance=1.0, lengthscales=np.full(X.shape[1], np.sqrt(X.shape[1]))
    )
    return kind(
        (X, request.y[:, None]),
        kernel=kernel,
        inducing_variable=starting_centres(X, options["basis"], options["seed"]),
        noise_variance=0.1,
    )


def train(model: gpflow.models.GPModel, iterations: int) -> None:
    """L-BFGS on everything that can be trained."""
    gpflow.optimizers.Scipy().minimize(
        model.training_loss_closure(), model.trainable_variables, options={"maxiter": iterations}
    )


def fit(request: Request) -> Predict:
    limit_threads(request.options["threads"])
    model = make_model(request)
    train(model, request.options["iterations"])
    posterior = model.posterior()

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = posterior.predict_f(X)
        return mean.numpy(), np.sqrt(variance.numpy() + model.likelihood.variance.numpy())

    return predict


if __name__ == "__main__":
    serve(fit, ("gpflow", "tensorflow", "numpy"))
