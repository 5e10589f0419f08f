"""Full GP regression, straight from the definitions (Bo and Sminchisescu, 2008).

Dense NumPy in float64, everything from scratch: the matrix with its ridge, solves by
``numpy.linalg``, predictions from the joint Gaussian, algorithms 1 and 2 as loops over indices. A
row of weight w is w rows with the same input: noise ``s2 / w`` in the system. Nothing is imported
from the package; a kernel is a function of two sets of rows.
"""

import numpy as np


class DenseGP:
    """A full GP with given hyperparameters; y is (n, p)."""

    def __init__(self, kernel, X, y, noise_variance, weights=None):
        self.kernel, self.X, self.y, self.noise_variance = kernel, X, y, noise_variance
        self.weights = np.ones(len(X)) if weights is None else weights
        self.K = kernel(X, X)
        self.A = self.K + noise_variance * np.diag(1 / self.weights)
        self.alpha = np.linalg.solve(self.A, y)

    def predict(self, X_new):
        """Mean (N, p) and covariance (N, N) of the latent values."""
        k_new = self.kernel(X_new, self.X)
        covariance = self.kernel(X_new, X_new) - k_new @ np.linalg.solve(self.A, k_new.T)
        return k_new @ self.alpha, covariance

    def objective(self, alpha):
        """Equation (3), summed over the targets; alpha is (n, p)."""
        return float(np.sum(0.5 * alpha * (self.A @ alpha) - self.y * alpha))

    def gradient(self, alpha):
        """The gradient of equation (3), (n, p)."""
        return self.A @ alpha - self.y

    def repeated(self):
        """The same model with every row repeated as often as its integer weight says."""
        rows = np.repeat(np.arange(len(self.X)), self.weights.astype(int))
        return DenseGP(self.kernel, self.X[rows], self.y[rows], self.noise_variance)

    def without_row(self, i):
        """The same model without row i (all of its copies)."""
        kept = np.arange(len(self.X)) != i
        return DenseGP(
            self.kernel, self.X[kept], self.y[kept], self.noise_variance, self.weights[kept]
        )

    def leave_one_out(self):
        """Mean (n, p) and variance (n,) of a target predicted by the model without one copy."""
        mean, variance = np.empty_like(self.y), np.empty(len(self.X))
        for i in range(len(self.X)):
            weights = self.weights.copy()
            weights[i] -= min(weights[i], 1)
            kept = weights > 0
            others = DenseGP(
                self.kernel, self.X[kept], self.y[kept], self.noise_variance, weights[kept]
            )
            mean_i, covariance = others.predict(self.X[i : i + 1])
            mean[i], variance[i] = mean_i[0], covariance[0, 0] + self.noise_variance
        return mean, variance


def block_step(A, g, block):
    """The step that minimises over a block, zero elsewhere, and how much the objective falls."""
    change = np.zeros_like(g)
    change[block] = -np.linalg.solve(A[np.ix_(block, block)], g[block])
    return change, -float(np.sum(change * g) + 0.5 * np.sum(change * (A @ change)))


def greedy_block(A, g, size, subsets, prefitting=False):
    """Algorithm 2: the block that grows by the best variable of each random subset.

    ``subsets`` gives one subset for every variable but the first, which is the best of all. Of a
    subset only those outside the block count; if there are none, all others are looked at.
    ``prefitting``: equation (7), every candidate together with the block, solved for from scratch.
    """
    everything = range(len(g))
    block, change, looked_at = [], np.zeros(len(g)), everything
    while len(block) < size:
        others = [i for i in looked_at if i not in block]
        others = others or [i for i in everything if i not in block]
        e = g + A @ change
        if prefitting:
            best = max(others, key=lambda i: block_step(A, g, [*block, i])[1])
        else:
            best = min(others, key=lambda i: -(e[i] ** 2) / (2 * A[i, i]))
        block.append(best)
        change, _ = block_step(A, g, block)
        if len(block) < size:
            looked_at = next(subsets)
    return block


def greedy_block_of_many(A, G, size, subsets):
    """The same for several gradients (p, n): one block for all, their squares added up."""
    everything = range(G.shape[1])
    block, E, looked_at = [], G, everything
    while len(block) < size:
        others = [i for i in looked_at if i not in block]
        others = others or [i for i in everything if i not in block]
        block.append(max(others, key=lambda i: np.sum(E[:, i] ** 2) / (2 * A[i, i])))
        E = G + np.array([A @ block_step(A, g, block)[0] for g in G])
        if len(block) < size:
            looked_at = next(subsets)
    return block


def greedy_descent(A, y, size, subsets, steps, prefitting=False):
    """Algorithm 1: the blocks, and the dual variables after every step, beginning with zero."""
    alpha, g, blocks, path = np.zeros(len(y)), -y, [], [np.zeros(len(y))]
    for _ in range(steps):
        block = greedy_block(A, g, size, subsets, prefitting)
        change, _ = block_step(A, g, block)
        alpha, g = alpha + change, g + A @ change
        blocks.append(block)
        path.append(alpha)
    return blocks, path
