"""Small problems on which states and candidates are built by hand."""

import numpy as np
import pytest

from greedygp import arrays
from greedygp.arrays import Backend
from greedygp.kernels import Gaussian
from greedygp.sparse.candidates import evaluate, make_buffers
from greedygp.sparse.state import SparseState
from reference.sparse_regression import SparseGP, gaussian_kernel
from reference.sparse_state import sparse_state


class SmallProblem:
    """Data, hyperparameters, and the states that the package and the reference make of them."""

    def __init__(
        self, seed=0, n=30, p=1, weights=False, length_scale=0.6, noise=0.01, dtype=np.float64
    ):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(-1, 1, size=(n, 2)).astype(dtype)
        y = np.sin(3 * rng.normal(size=(p, 2)) @ self.X.T) + 0.1 * rng.normal(size=(p, n))
        self.y = y.astype(dtype)
        self.weights = rng.uniform(0.3, 2.5, size=n).astype(dtype) if weights else None
        self.variance, self.length_scale, self.noise = 1.3, length_scale, noise
        self.kernel = Gaussian(variance=self.variance, length_scale=length_scale)

    def state(self, approximation="dtc", keep_v=False, capacity=12, track_explained=False):
        return SparseState(
            self.kernel,
            self.noise,
            self.X,
            self.y,
            self.weights,
            approximation=approximation,
            capacity=capacity,
            backend=Backend(self.X),
            keep_v=keep_v,
            track_explained=track_explained,
        )

    def evaluate(self, state, index, *, from_rows=True, with_residual=True):
        index = np.asarray(index)
        buffers = make_buffers(state, len(index) + 1), make_buffers(state, len(index))
        return evaluate(
            state,
            index,
            self.X[index],
            from_rows=from_rows,
            with_residual=with_residual,
            buffers=buffers,
        )

    def append(self, state, index, *, with_residual=True):
        found = self.evaluate(state, [index], with_residual=with_residual)
        return state.append(found.column(0))

    def grown(self, indices, **options):
        """Return a state with these rows as its basis."""
        state = self.state(**options)
        for j in indices:
            self.append(state, j)
        return state

    @property
    def reference_kernel(self):
        return gaussian_kernel(self.variance, self.length_scale)

    def dense(self, state):
        """Return the state's quantities from their definitions."""
        wide = (np.asarray(a, dtype=np.float64) for a in (state.basis, self.X, self.y))
        weights = None if self.weights is None else self.weights.astype(np.float64)
        return sparse_state(self.reference_kernel, *wide, self.noise, state.approximation, weights)

    def model(self, state):
        """Return the slow model of the whole library's reference."""
        return SparseGP(
            self.reference_kernel,
            np.asarray(state.basis, dtype=np.float64),
            self.X.astype(np.float64),
            self.y.T,
            self.noise,
            state.approximation,
            self.weights,
        )


def whole(state, name):
    """Return a named row array of all blocks; of Z and V, the rows that are in use."""
    parts = [np.asarray(getattr(block, name)) for block in state.rows.blocks]
    joined = np.concatenate(parts, axis=-1)
    return joined[: state.size] if name in ("Z", "V") else joined


@pytest.fixture(name="SmallProblem")
def small_problem_class():
    return SmallProblem


@pytest.fixture(name="whole")
def whole_rows():
    return whole


@pytest.fixture
def three_blocks(monkeypatch):
    """Cut even a few rows into three unequal blocks, worked on by two threads."""

    def sizes(self, n_rows, **options):
        return [n_rows // 2, n_rows // 3, n_rows - n_rows // 2 - n_rows // 3]

    monkeypatch.setattr(Backend, "block_sizes", sizes)
    monkeypatch.setattr(arrays, "thread_count", lambda: 2)
    with Backend(np.zeros(1)).threads_over_blocks():
        yield
