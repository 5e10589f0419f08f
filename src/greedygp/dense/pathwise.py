"""Posterior samples of a full GP from samples of its prior (Matheron's rule, pathwise).

If `f` is a draw of the prior at the training rows and at new inputs together, and `e` one of the
noise, then

    f_* + K_*n A^-1 (y - f_n - e)

is a draw of the posterior: one solve for each sample, however many the inputs, and no matrix of
their covariances. The draw of the prior is `F'z` with a partial Cholesky factor F of the joint
kernel matrix, any kernel's; what F leaves of each row's variance is drawn independently, so that
variances are the prior's and only covariances are approximate, by no more than what is left.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.dense.low_rank import random_pivots
from greedygp.dense.posterior import DensePosterior
from greedygp.dense.solvers.conjugate_gradient import RANK_SHARE
from greedygp.dense.solvers.options import default_rank
from greedygp.dense.system import System

__all__ = ["pathwise_samples"]

LEAST_RANK = 1000  # of the factor, unless there are fewer rows


def pathwise_samples(
    posterior: DensePosterior, X: Array, n_samples: int, random_state: np.random.RandomState
) -> Array:
    """Return samples (rows, p, n_samples) of the latent values at X.

    Parameters
    ----------
    posterior : DensePosterior
    X : (rows, D) array
    n_samples : int
    random_state : RandomState
    """
    X = posterior.like_training(X)
    backend, p = Backend(posterior.X), posterior.alpha.shape[0]
    n, count = posterior.X.shape[0], n_samples * p
    rng = np.random.default_rng(random_state.randint(2**31))
    noise = rng.standard_normal((count, n))
    prior = backend.asarray(prior_samples(posterior, X, count, rng))
    noise *= np.sqrt(posterior.noise_variance)
    if posterior.weights is not None:
        noise /= np.sqrt(to_numpy(posterior.weights).astype(np.float64))
    seen = prior[:, :n] + backend.asarray(noise)
    draws = prior[:, n:] - posterior.mean(X, posterior.solved_for(seen)).T
    means = posterior.mean(X)
    samples = backend.xp.reshape(draws, (p, n_samples, X.shape[0]))
    return means[:, :, None] + backend.xp.permute_dims(samples, (2, 0, 1))


def prior_samples(
    posterior: DensePosterior, X: Array, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the prior at the training rows and at X, (count, n + rows), on the host."""
    backend = Backend(posterior.X)
    both = backend.xp.concat([posterior.X, X], axis=0)
    joint = System(posterior.kernel, posterior.noise_variance, both)
    rank = min(joint.n, max(LEAST_RANK, default_rank(joint.n, RANK_SHARE)))
    # Drawn before the factor is made, whose number of pivots may depend on rounding.
    z, independent = rng.standard_normal((count, rank)), rng.standard_normal((count, joint.n))
    factor = random_pivots(joint, rank, rng)
    z = backend.asarray(z[:, : factor.shape[0]])
    smooth = to_numpy(backend.matmul(z, factor)).astype(np.float64)
    left = to_numpy(posterior.kernel.diag(both) - backend.column_squares(factor))
    return smooth + np.sqrt(np.maximum(left.astype(np.float64), 0.0)) * independent
