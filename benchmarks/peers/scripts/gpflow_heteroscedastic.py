"""GPflow's heteroscedastic SVGP: one GP for the mean, another for the log of the noise's deviation.

As in GPflow's notebook on heteroskedastic likelihoods: ``HeteroskedasticTFPConditional``, a kernel
and inducing inputs for each of the two, natural gradients for the variational distribution in turn
with Adam for all else; here on minibatches. The second GP is around the starting noise of the other
sparse peers (0.1), not around 1.

Options: ``basis`` (inducing inputs of each GP), ``batch``, ``steps``, ``learning_rate``, ``gamma``
(of the natural gradients), ``seed``, ``threads``.
"""

from __future__ import annotations

from collections.abc import Iterator

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

from benchmarks.peers.exchange import Predict, Request, serve, starting_centres
from benchmarks.peers.scripts.gpflow_sgpr import limit_threads

NOISE = 0.1


def make_model(request: Request) -> gpflow.models.SVGP:
    """The untrained model; both GPs start like the other sparse peers' one."""
    options, d = request.options, request.X.shape[1]
    centres = starting_centres(request.X, options["basis"], options["seed"])
    kernels = [
        gpflow.kernels.SquaredExponential(variance=1.0, lengthscales=np.full(d, np.sqrt(d)))
        for _ in range(2)
    ]
    inputs = [gpflow.inducing_variables.InducingPoints(centres.copy()) for _ in range(2)]
    level = tfp.bijectors.Scale(np.float64(np.sqrt(NOISE)))
    likelihood = gpflow.likelihoods.HeteroskedasticTFPConditional(
        distribution_class=tfp.distributions.Normal,
        scale_transform=tfp.bijectors.Chain([level, tfp.bijectors.Exp()]),
    )
    return gpflow.models.SVGP(
        kernel=gpflow.kernels.SeparateIndependent(kernels),
        likelihood=likelihood,
        inducing_variable=gpflow.inducing_variables.SeparateIndependentInducingVariables(inputs),
        num_latent_gps=likelihood.latent_dim,
        num_data=len(request.X),
    )


def batches(request: Request) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """``steps`` minibatches, every row once before any comes again."""
    rng = np.random.default_rng(request.options["seed"])
    n, size, left = len(request.X), request.options["batch"], request.options["steps"]
    while True:
        order = rng.permutation(n)
        for k in range(0, max(n - size, 0) + 1, size):
            if left == 0:
                return
            left -= 1
            rows = order[k : k + size]
            yield tf.constant(request.X[rows]), tf.constant(request.y[rows, None])


def train(model: gpflow.models.SVGP, request: Request) -> None:
    natural = gpflow.optimizers.NaturalGradient(gamma=request.options["gamma"])
    adam = tf_keras.optimizers.Adam(request.options["learning_rate"])
    gpflow.utilities.set_trainable(model.q_mu, False)
    gpflow.utilities.set_trainable(model.q_sqrt, False)
    rest = model.trainable_variables

    @tf.function
    def step(X: tf.Tensor, y: tf.Tensor) -> None:
        def loss() -> tf.Tensor:
            return model.training_loss((X, y))

        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
        adam.minimize(loss, rest)

    for X, y in batches(request):
        step(X, y)


def fit(request: Request) -> Predict:
    limit_threads(request.options["threads"])
    tf.random.set_seed(request.options["seed"])
    model = make_model(request)
    train(model, request)
    compiled = tf.function(model.predict_y)

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = compiled(X)
        return mean.numpy(), np.sqrt(variance.numpy())

    return predict


if __name__ == "__main__":
    serve(fit, ("gpflow", "tensorflow", "tensorflow-probability", "numpy"))
