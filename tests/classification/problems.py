"""Small two-class problems on which states are built by hand."""

import numpy as np

from greedygp.classification.criteria import ClassificationSelector
from greedygp.classification.state import ClassificationState
from greedygp.greedy import Stopping, run
from greedygp.kernels import Gaussian


class SmallProblem:
    """Data, hyperparameters, and states of them."""

    def __init__(self, seed=0, n=30, weights=False, variance=3.0, length_scale=0.8, bias=0.3):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 2))
        self.y = np.sign(np.sin(2 * self.X[:, 0]) + self.X[:, 1] + 0.5 * rng.normal(size=n))
        self.weights = rng.uniform(0.3, 2.5, size=n) if weights else None
        self.kernel, self.bias = Gaussian(variance=variance, length_scale=length_scale), bias

    def state(self, capacity=30):
        return ClassificationState(
            self.kernel, self.bias, self.X, self.y, self.weights, capacity=capacity
        )

    def selector(self, criterion="adaptive", seed=0, working_set=None, optimise=False):
        return ClassificationSelector(
            self.state(),
            criterion,
            working_set=working_set,
            optimise=optimise,
            rng=np.random.default_rng(seed),
        )

    def grown(self, m=10, **options):
        """Return a state with m basis vectors."""
        selector = self.selector(**options)
        run(selector, Stopping(max_size=m))
        return selector.state


def full_sites(state):
    """Return means and precisions of all rows, zero outside the basis."""
    means, precisions = np.zeros(len(state.y)), np.zeros(len(state.y))
    means[state.indices], precisions[state.indices] = state.sites
    return means, precisions
