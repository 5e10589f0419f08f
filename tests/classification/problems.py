"""Small two-class problems on which states are built by hand."""

import numpy as np

from greedygp.classification.criteria import CRITERIA
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.selection import GreedyClassifier
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

    @property
    def data(self):
        return LabelledRows(self.X, self.y, self.weights)

    def state(self, capacity=30):
        return ClassificationState(
            LatentPoint(self.kernel, self.bias), self.data, capacity=capacity
        )

    def model(self, criterion="adaptive", seed=0, working_set=None, optimise=False):
        """Return an empty model that the greedy loop can work on."""
        return GreedyClassifier(
            self.state(),
            CRITERIA[criterion],
            working_set=working_set,
            optimise=optimise,
            rng=np.random.default_rng(seed),
        )

    def grown(self, m=10, **options):
        """Return a state with m basis vectors."""
        model = self.model(**options)
        run(model, Stopping(max_size=m))
        return model.state


def full_sites(state):
    """Return means and precisions of all rows, zero outside the basis."""
    means, precisions = np.zeros(len(state.y)), np.zeros(len(state.y))
    means[state.indices], precisions[state.indices] = state.sites
    return means, precisions


def candidates(problem, m=6, count=5):
    """Return a state, some rows outside its basis, their columns and their matching sites."""
    state = problem.grown(m)
    index = np.flatnonzero(state.outside)[:count]
    moments = state.moments(index)
    return state, index, state.columns(index), (moments.site_mean, moments.site_precision)


def problem_with_two_length_scales(weights=False, n=30):
    problem = SmallProblem(weights=weights, n=n)
    problem.kernel = Gaussian(variance=2.0, length_scale=[0.7, 1.1])
    return problem


def central_differences(function, x, step=1e-5):
    """Return the derivatives of a function of a vector."""
    return np.array(
        [(function(x + step * d) - function(x - step * d)) / (2 * step) for d in np.eye(len(x))]
    )
