"""GPyTorch's stochastic variational GP with its Bernoulli (probit) likelihood, float64.

Learnt inducing inputs, Adam on minibatches. Options: ``basis``, ``batch``, ``steps``,
``learning_rate``, ``seed``, ``threads``. The number of epochs is the one that gives about ``steps``
steps. Labels are +1 and -1; the answer's arrays are the probability of +1 and the label.
"""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import torch

from benchmarks.peers.exchange import Predict, Request, serve, starting_centres


class SVGP(gpytorch.models.ApproximateGP):
    """Constant mean, ARD Gaussian kernel, a full Gaussian over the inducing values."""

    def __init__(self, centres: torch.Tensor) -> None:
        m, d = centres.shape
        distribution = gpytorch.variational.CholeskyVariationalDistribution(m)
        super().__init__(
            gpytorch.variational.VariationalStrategy(
                self, centres, distribution, learn_inducing_locations=True
            )
        )
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=d))
        kernel.outputscale = 1.0
        kernel.base_kernel.lengthscale = d**0.5
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, X: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def fit(request: Request) -> Predict:
    options = request.options
    torch.set_num_threads(options["threads"])
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options["seed"])
    X, y = torch.as_tensor(request.X), torch.as_tensor((request.y > 0).astype(np.float64))
    n, batch = len(y), options["batch"]
    centres = torch.as_tensor(starting_centres(request.X, options["basis"], options["seed"]))
    likelihood = gpytorch.likelihoods.BernoulliLikelihood().train()
    model = SVGP(centres).train()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=n)
    optimizer = torch.optim.Adam(model.parameters(), lr=options["learning_rate"])
    epochs = round(options["steps"] / math.ceil(n / batch))
    for _ in range(epochs):
        for rows in torch.randperm(n).split(batch):
            optimizer.zero_grad()
            loss = -objective(model(X[rows]), y[rows])
            loss.backward()
            optimizer.step()
    model.eval()
    likelihood.eval()

    def predict(X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            probability = likelihood(model(torch.as_tensor(X_test))).mean.numpy()
        return probability, np.where(probability > 0.5, 1.0, -1.0)

    return predict


if __name__ == "__main__":
    serve(fit, ("gpytorch", "linear_operator", "torch", "numpy"))
