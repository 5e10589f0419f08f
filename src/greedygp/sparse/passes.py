"""A sparse GP on rows that only pass by: nothing of size n x m is ever held.

Three passes give an objective and its gradient, in the symbols of `state.py` and `gradient.py`.
Each chunk of rows evaluates the kernel and its part of V and Z anew:

1. `B = I + V V'`, `V yt'` and sums over rows: the factors and coefficients, hence the posterior;
2. leave-one-out residuals and their adjoints: the value, `H = Z diag(eta) Z'`, `Z phi'`;
3. the contraction with the kernel's derivatives.

The evidence needs no second pass. Memory is O(m^2) and a chunk; products are a third more than
those of rows whose state is kept. A pass is a small object that can travel to other processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.data import WholeData
from greedygp.hyperparameters import Evaluation
from greedygp.rows import RowBlock
from greedygp.rows.store import READ_ROWS
from greedygp.sparse.gradient import Gradient
from greedygp.sparse.loo import loo_scale_sum
from greedygp.sparse.model import SparseModel
from greedygp.sparse.objectives import AdjustableObjective, Guarded
from greedygp.sparse.posterior import Posterior
from greedygp.sparse.row_state import SparseRows

__all__ = [
    "MOST_ROWS",
    "StreamedObjective",
    "filled_block",
    "fitted_model",
    "model_of",
    "rows_at_once",
]

MOST_ROWS, FEWEST_ROWS = 8192, 256  # that go through a pass together
ARRAYS = 6  # of m entries a row that a pass holds at a time


def rows_at_once(size: int, backend: Backend, memory_limit: float) -> int:
    """Return how many rows may go through a pass together, with a basis of that size.

    An accelerator is better off with as many as are read at a time.
    """
    rows = memory_limit / (4.0 * ARRAYS * 8.0 * max(size, 1) * backend.threads)
    return int(min(max(rows, FEWEST_ROWS), READ_ROWS if backend.is_accelerator else MOST_ROWS))


def block_of(model: SparseModel, X: Array, y: Array, weights: Array | None) -> SparseRows:
    """Return a block of rows with the state of an empty basis."""
    everything = RowBlock(0, 0, X.shape[0])
    block = SparseRows.of(
        everything, model.backend, X, y, weights, capacity=model.size, keep_v=True
    )
    model.set_kernel(block)
    block.clear()
    return block


def filled_block(model: SparseModel, X: Array, y: Array, weights: Array | None) -> SparseRows:
    """Return a block of rows with their state, by a model whose factors are known."""
    block = block_of(model, X, y, weights)
    if model.size:
        model.set_v(block)
        model.set_z(block)
        model.set_fit(block)
    return block


# --- the passes --------------------------------------------------------------------------------


@dataclass
class Factors:
    """The first pass: `V V'`, `V yt'`, sums over rows, and the penalty where it is known by now."""

    model: SparseModel
    penalised: Guarded | None = None

    def __call__(self, X: Array, y: Array, weights: Array | None) -> tuple:
        model = self.model
        block = block_of(model, X, y, weights)
        V = model.backend.as_float64(model.set_v(block))
        V_V = to_numpy(model.backend.matmul(V, V.T))
        V_y = to_numpy(model.backend.matmul(V, block.yt.T))
        penalty = 0.0 if self.penalised is None else self.penalised.penalty(model, block)[0]
        return V_V, V_y, model.sums_of(block), float(penalty)


@dataclass
class Judgement:
    """The second pass: the objective's sum over rows, its penalty, products for the gradient."""

    model: SparseModel
    guarded: Guarded
    gradient: Gradient | None  # None: only the value is wanted

    def __call__(self, X: Array, y: Array, weights: Array | None) -> tuple:
        block = filled_block(self.model, X, y, weights)
        if self.gradient is None:
            total = self.guarded.objective.rows_part(self.model, block)
            return float(total), float(self.guarded.penalty(self.model, block)[0]), ()
        found = self.guarded.adjoints(self.model, block)
        products = self.gradient.products(block, found)
        return float(found.total), float(found.penalty), products


@dataclass
class Contraction:
    """The last pass: the kernel's derivatives."""

    model: SparseModel
    guarded: Guarded
    gradient: Gradient

    def __call__(self, X: Array, y: Array, weights: Array | None) -> tuple:
        block = filled_block(self.model, X, y, weights)
        return self.gradient.last_pass(block, self.guarded.adjoints(self.model, block))


@dataclass
class Misfit:
    """`sum(r^2 / t)` of left-out rows: the size of the error bars."""

    model: SparseModel

    def __call__(self, X: Array, y: Array, weights: Array | None) -> float:
        return float(loo_scale_sum(self.model, filled_block(self.model, X, y, weights)))


def model_of(posterior: Posterior, backend: Backend) -> SparseModel:
    """Return a fitted model as passes need it, for rows of that backend."""
    model = SparseModel(
        posterior.kernel,
        posterior.noise_variance,
        posterior.approximation,
        backend.asarray(posterior.basis),
        posterior.n_targets,
        backend,
    )
    model.G.replace(posterior.G)
    model.take_posterior_factor(posterior.L_B)
    model.w = posterior.w
    return model


# --- what they give ----------------------------------------------------------------------------


def fitted_model(
    whole: WholeData,
    kernel: Any,
    noise_variance: float,
    approximation: str,
    basis: Array,
    memory_limit: float,
    penalised: Guarded | None = None,
) -> tuple[SparseModel, float]:
    """Return a model with the factors that all rows give it, and the penalty: one pass."""
    backend, p = whole.backend, len(whole.scale.centre)
    basis = backend.asarray(basis)
    model = SparseModel(kernel, noise_variance, approximation, basis, p, backend)
    if model.size:
        model.factorise_prior()
    rows = rows_at_once(model.size, backend, memory_limit)
    V_V, V_y, sums, penalty = whole.reduce(Factors(model, penalised), rows)
    if model.size:
        model.factorise_posterior(V_V)
        model.w = np.ascontiguousarray(model.L_B.solve(V_y))
    model.take_sums(sums)
    return model, penalty


class StreamedObjective(AdjustableObjective):
    """An objective on rows that only pass by; otherwise like `SparseObjective`.

    Parameters
    ----------
    name : {"nlml", "vfe", "loo_cve", "nlgpp", "gpe"}
    whole : WholeData
    approximation : {"dtc", "fitc", "sor"}
    memory_limit : float
        Bytes that a pass may take, about.
    """

    capacity = np.inf

    def __init__(self, name: str, whole: WholeData, *, approximation: str, memory_limit: float):
        super().__init__(name, approximation)
        self.whole, self.memory_limit = whole, memory_limit
        self.state: SparseModel | None = None

    def value(self, kernel: Any, noise_variance: float, basis: Array) -> float:
        """Return the objective's value alone."""
        return self._judged(kernel, noise_variance, basis, with_gradient=False)[0]

    def __call__(
        self, kernel: Any, noise_variance: float, basis: Array, with_basis: bool = True
    ) -> Evaluation:
        """Return value and gradient; `with_basis` says whether basis inputs have a part in it."""
        value, gradient = self._judged(kernel, noise_variance, basis, with_gradient=True)
        assert self.state is not None
        assert gradient is not None
        sums = self.whole.reduce(Contraction(self.state, self.guarded, gradient), self._rows)
        return gradient.evaluation(value, sums, with_basis)

    def loo_scale(self) -> float:
        """Return `mean(r^2 / t)` of the present model."""
        assert self.state is not None
        return float(self.whole.reduce(Misfit(self.state), self._rows)) / self.state.total_weight

    @property
    def _rows(self) -> int:
        assert self.state is not None
        return rows_at_once(self.state.size, self.whole.backend, self.memory_limit)

    def _judged(
        self, kernel: Any, noise_variance: float, basis: Array, with_gradient: bool
    ) -> tuple[float, Gradient | None]:
        """Return the value, and the gradient ready for the last pass: one pass, or two."""
        guarded, objective = self.guarded, self.guarded.objective
        model, penalty = fitted_model(
            self.whole,
            kernel,
            noise_variance,
            self._approximation,
            basis,
            self.memory_limit,
            None if objective.judges_rows else guarded,
        )
        self.state, total = model, 0.0
        gradient = guarded.gradient(model) if with_gradient else None
        if objective.judges_rows:
            judgement = Judgement(model, guarded, gradient)
            total, penalty, products = self.whole.reduce(judgement, self._rows)
            if gradient is not None:
                gradient.take_products(*products)
        return objective.value(model, total) + penalty, gradient
