"""GPyTorch's SGPR: an exact GP with an ``InducingPointKernel``, Adam on all rows, float64.

Options: ``basis``, ``iterations``, ``learning_rate``, ``seed``, ``threads``.
"""

from __future__ import annotations

import gpytorch
import numpy as np
import torch

from benchmarks.peers.exchange import Predict, Request, serve, starting_centres

# No conjugate gradients, whatever the size.
CHOLESKY = 100_000


class SGPR(gpytorch.models.ExactGP):
    """Zero mean, ARD Gaussian kernel, inducing inputs."""

    def __init__(
        self,
        X: torch.Tensor,
        y: torch.Tensor,
        centres: torch.Tensor,
        likelihood: gpytorch.likelihoods.GaussianLikelihood,
    ) -> None:
        super().__init__(X, y, likelihood)
        d = X.shape[1]
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=d))
        kernel.outputscale = 1.0
        kernel.base_kernel.lengthscale = d**0.5
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.InducingPointKernel(kernel, centres, likelihood)

    def forward(self, X: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def fit(request: Request) -> Predict:
    options = request.options
    torch.set_num_threads(options["threads"])
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options["seed"])
    X, y = torch.as_tensor(request.X), torch.as_tensor(request.y)
    centres = torch.as_tensor(starting_centres(request.X, options["basis"], options["seed"]))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    model = SGPR(X, y, centres, likelihood).train()
    likelihood.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=options["learning_rate"])
    with gpytorch.settings.max_cholesky_size(CHOLESKY):
        for _ in range(options["iterations"]):
            optimizer.zero_grad()
            loss = -objective(model(X), y)
            loss.backward()
            optimizer.step()
    model.eval()
    likelihood.eval()

    def predict(X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(CHOLESKY):
            prediction = likelihood(model(torch.as_tensor(X_test)))
            return prediction.mean.numpy(), prediction.stddev.numpy()

    return predict


if __name__ == "__main__":
    serve(fit, ("gpytorch", "linear_operator", "torch", "numpy"))
