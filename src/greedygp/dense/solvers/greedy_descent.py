"""Greedy block coordinate descent (GBCD; Bo and Sminchisescu, 2008) and what was added to it.

The paper's algorithms 1 and 2: the first variable of a block B by exhaustive search over
`g_i^2 / (2 A_ii)`; then, again and again, a random subset O of the others is looked at, and the
variable with the largest `e_i^2 / (2 A_ii)`, `e_O = K_OB da + g_O`, enters; the Cholesky factor of
`A_BB` grows with the block. The columns `K_:B` are evaluated as B grows: they are needed for `g`
anyway, and so the choice costs no kernel entry of its own.

Beyond the paper, and by default:

- several variables, each the best of a random subset of its own, enter with the same `e`
  (`together`), which turns the choice into matrix products;
- a step is made conjugate to the last `memory` steps, whose products with A are at hand, so that f
  is minimised over all of them (a step is then no smaller a descent than the plain one);
- the first block, of `rank` variables, stays as a model of low rank of K. By it a step can also be
  made over all variables at once: along `-(F'F + ridge)^-1 g`, to the minimum of f on that line.
  It costs a product with A, and puts right what all rows have in common, which every block
  disturbs. Of both kinds of step the one that last lowered f more for its cost is made next.

`together=1, memory=0, rank=0` is the paper's algorithm. Two of its variants, which it names and
leaves for their cost: all others are looked at instead of a random subset (`working_set=None`,
O(n m) a variable); and a variable is judged by what f falls when the whole block is solved for
again, `e_i^2 / (2 (A_ii - A_iB A_BB^-1 A_Bi))` (`prefitting`, its equation (7), O(m^2) for each
variable that is looked at).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.random import Generator

from greedygp.arrays import Array, to_numpy
from greedygp.cholesky import factorise
from greedygp.dense.low_rank import LowRankInverse, factor_of_rows
from greedygp.dense.solvers.block_descent import REMEDY, BlockDescent
from greedygp.dense.solvers.options import SolverOptions
from greedygp.dense.system import System

__all__ = ["MOST_SCORED", "GreedyDescent"]

MOST_SCORED = 4  # right-hand sides by which a block is chosen; more are mixed at random
FEWEST_STEPS = 2  # that a step is made conjugate to, however many right-hand sides there are
STAGES = 4  # a quarter of a block is chosen together
MEMORY = 30  # earlier steps that a step is made conjugate to
RANK_SHARE = 0.15  # of the rows: the size of the first block where K is not held

# What a kernel entry costs in a step, in units of its evaluation. A block is chosen by its entries
# as well; in a product every entry serves two places.
COST_IN_BLOCK, COST_IN_PRODUCT = 2.3, 0.5
COST_IN_HELD_BLOCK, COST_IN_HELD_PRODUCT = 8.0, 0.06  # where K is held blocks seldom pay
COST_IN_FACTOR = 0.1
COST_OF_A_LINE = 0.004  # of a multiplication, once for each right-hand side


class GreedyDescent(BlockDescent):
    """Greedy block coordinate descent.

    Parameters
    ----------
    block_size : int
    working_set : int or None
        The size of a random subset (60 in the paper); None: all variables are looked at, in as many
        groups as enter together.
    together : int
        Variables that enter with the same residual; 1: the paper's algorithm.
    memory : int
        Steps that the next one is made conjugate to; 0: none, the paper's algorithm.
    rank : int
        The size of the first block, by which steps over all variables are made; 0: none, the
        paper's algorithm.
    prefitting : bool
        Whether a variable is judged by the fall of f with the whole block solved for again.
    rng : Generator
    """

    name = "gbcd"

    def __init__(
        self,
        system: System,
        y: Array,
        alpha: Array | None = None,
        *,
        block_size: int,
        working_set: int | None,
        together: int,
        memory: int,
        rank: int = 0,
        prefitting: bool = False,
        rng: Generator,
    ):
        super().__init__(system, y, alpha, block_size=block_size)
        self.working_set, self.together, self.memory = working_set, together, memory
        self.rank, self.prefitting = min(rank, system.n), prefitting
        self.first: tuple[np.ndarray, list[int]] | None = None  # block, sizes of its groups
        self.inverse: LowRankInverse | None = None
        self.rates = {"whole": np.inf, "block": np.inf}  # the last gain per cost of each
        self._low_rank_step: Array | None = None  # (F'F + ridge)^-1 g of the present gradient
        self.rng = rng
        self.steps: list[tuple[Array, Array]] = []  # earlier ones: direction, its product with A
        self.diagonal = to_numpy(system.diagonal).astype(np.float64)

    @staticmethod
    def settings(options: SolverOptions, system: System, p: int, rng: Generator) -> dict[str, Any]:
        size, fast = options.block_size_for(system), options.accelerate
        return {
            "block_size": size,
            "working_set": options.working_set,
            "together": max(1, size // STAGES) if fast else 1,
            "memory": max(FEWEST_STEPS, MEMORY // p) if fast else 0,
            "rank": options.rank_for(system, RANK_SHARE, p) if fast else 0,
            "prefitting": options.prefitting,
            "rng": rng,
        }

    def step(self) -> None:
        if self.rank == 0:
            super().step()
        elif self.inverse is None:
            self._first_step()
        else:
            self._step_that_pays()
        self._low_rank_step = None

    def _first_step(self) -> None:
        """Minimise over a large block, and keep it as a model of the matrix."""
        block = self._grow(self.backend.empty((self.rank, self.system.n)))
        self.minimise_over(block.index, block.factor, block.panel)
        self._keep(block)

    def _keep(self, block: _GrowingBlock) -> None:
        self.first = block.index, block.groups
        factor = factor_of_rows(self.system, block.index, block.panel)
        self.inverse = LowRankInverse(self.system, factor)

    def _step_that_pays(self) -> None:
        kind = max(self.rates, key=lambda kind: self.rates[kind])
        before = self.objective
        if kind == "block":
            super().step()
        else:
            self._whole_step()
        self.rates[kind] = (before - self.objective) / self._costs()[kind]

    def _whole_step(self) -> None:
        direction = -1.0 * self._preconditioned()
        self._move_along(direction, self.system.product(direction))

    def _preconditioned(self) -> Array:
        assert self.inverse is not None
        if self._low_rank_step is None:
            self._low_rank_step = self.inverse(self.gradient)
        return self._low_rank_step

    def most_left(self) -> np.ndarray:
        if self.inverse is None:
            return super().most_left()
        return self.backend.row_dots(self._preconditioned(), self.gradient)

    def _costs(self) -> dict[str, float]:
        """Return what both kinds of step cost, in evaluations of a kernel entry."""
        n, held, lines = self.system.n, self.system.hold, COST_OF_A_LINE * (self.y.shape[0] - 1)
        entry = COST_IN_HELD_PRODUCT if held else COST_IN_PRODUCT
        product = n * (entry + lines) + self.rank * (COST_IN_FACTOR + 2 * lines)
        block = self.block_size * (lines + (COST_IN_HELD_BLOCK if held else COST_IN_BLOCK))
        return {"whole": n * product, "block": n * block}

    # --- the block -------------------------------------------------------------------------------

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        block = self._grow(self.panel)
        return block.index, block.factor

    def _grow(self, panel: Array) -> _GrowingBlock:
        """Choose as many variables as the panel has lines, and fill it with their columns."""
        size = panel.shape[0]
        gradient = self._scored_gradient()
        growing = _GrowingBlock(self, gradient, panel)
        scores = _scores(gradient, self.backend) / self.diagonal
        growing.add(np.array([int(np.argmax(scores))]))
        while growing.size < size:
            growing.add(self._winners(growing, min(self.together, size - growing.size)))
        return growing

    def _winners(self, growing: _GrowingBlock, count: int) -> np.ndarray:
        """Return the best of `count` random subsets, each variable once."""
        n = self.system.n
        if self.working_set is None:
            return self._winners_of_all(growing, count)
        subsets = self.rng.integers(n, size=(count, self.working_set))
        few = 2 * subsets.size < n
        scores = growing.scores(subsets.ravel() if few else None)
        scores = scores.reshape(subsets.shape) if few else scores[subsets]
        places = np.arange(count), np.argmax(scores, axis=1)
        winners = np.unique(subsets[places][scores[places] >= 0.0])
        if len(winners) == 0:  # nothing but members of the block was drawn
            winners = np.array([int(np.argmax(growing.scores()))])
        return winners

    def _winners_of_all(self, growing: _GrowingBlock, count: int) -> np.ndarray:
        """Return the best of each of `count` random parts of all variables."""
        scores = growing.scores()
        everyone = np.arange(self.system.n) if count == 1 else self.rng.permutation(self.system.n)
        parts = np.array_split(everyone, min(count, self.system.n))
        winners = np.array([part[int(np.argmax(scores[part]))] for part in parts])
        return np.unique(winners[scores[winners] >= 0.0])

    def _scored_gradient(self) -> Array:
        """Return the gradient; of many right-hand sides, that of a few random mixtures."""
        p = self.gradient.shape[0]
        if p <= MOST_SCORED:
            return self.gradient
        signs = self.rng.choice([-1.0, 1.0], size=(MOST_SCORED, p))
        return self.backend.matmul(self.backend.asarray(signs), self.gradient)

    # --- the step --------------------------------------------------------------------------------

    def move(self, index: np.ndarray, change: Array, product: Array) -> None:
        if self.memory == 0:
            super().move(index, change, product)
            return
        direction = self.backend.zeros(tuple(self.alpha.shape))
        self.backend.add_to_columns(direction, index, change)
        self._move_along(direction, product)

    def _move_along(self, direction: Array, product: Array) -> None:
        """Go to the minimum in a direction that is made conjugate to the earlier steps."""
        plain = to_numpy(self._dots(direction, product))
        for _ in range(2):  # the second time removes what rounding left
            for earlier, earlier_product in self.steps:
                overlap = self._dots(earlier_product, direction)
                direction -= overlap * earlier
                product -= overlap * earlier_product
        curvature = to_numpy(self._dots(direction, product))
        # What earlier steps leave of a direction must be more than rounding.
        usable = curvature > self.backend.epsilon * plain
        if not np.all(usable):
            self._forget(usable)
        scale = self.backend.asarray(1.0 / np.sqrt(np.where(usable, curvature, 1.0)) * usable)
        direction *= scale
        product *= scale
        length = -self._dots(self.gradient, direction)
        self.alpha += length * direction
        self.gradient += length * product
        self.steps = [*self.steps, (direction, product)][-self.memory :] if self.memory else []

    def _forget(self, kept: np.ndarray) -> None:
        """Forget the earlier steps of the right-hand sides that are not kept, (p, 1)."""
        keep = self.backend.asarray(1.0 * kept)
        self.steps = [(direction * keep, product * keep) for direction, product in self.steps]

    def _dots(self, left: Array, right: Array) -> Array:
        """Return the scalar products of the lines of both, (p, 1)."""
        return self.backend.asarray(self.backend.row_dots(left, right))[:, None]

    def refresh(self) -> None:
        super().refresh()
        self.steps, self._low_rank_step = [], None

    def snapshot(self) -> dict[str, Any]:
        kept = super().snapshot() | {"rng": self.rng.bit_generator.state}
        kept |= {"steps": [tuple(map(to_numpy, step)) for step in self.steps]}
        first, groups = (np.empty(0), []) if self.first is None else self.first
        kept |= {"first": first.astype(np.intp), "groups": np.array(groups, dtype=np.intp)}
        return kept | {"rates": np.array([self.rates["whole"], self.rates["block"]])}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.rng.bit_generator.state = kept["rng"]
        self.steps = [tuple(map(self.backend.asarray, step)) for step in kept["steps"]]
        self._low_rank_step = None
        self.rates = dict(zip(("whole", "block"), map(float, kept["rates"])))
        if self.rank and len(kept["first"]):
            panel = self.backend.empty((len(kept["first"]), self.system.n))
            block = _GrowingBlock(self, self.gradient, panel)
            for group in np.split(kept["first"], np.cumsum(kept["groups"])[:-1]):
                block.add(group)  # in the same groups: rounding depends on them
            self._keep(block)


class _GrowingBlock:
    """A block in the making: its columns, the factor of `A_BB`, and the residual after its step.

    The inverse of the factor grows with it, so that both cost matrix products only; the step itself
    is solved for with the factor.
    """

    def __init__(self, descent: GreedyDescent, gradient: Array, panel: Array):
        self.descent, self.gradient, self.panel = descent, gradient, panel
        self.backend, self.system = descent.backend, descent.system
        self.index = np.empty(0, dtype=np.intp)
        self.member = np.zeros(descent.system.n, dtype=bool)
        self.groups: list[int] = []
        size = panel.shape[0]
        self._L = np.zeros((size, size))
        self._inverse = np.zeros((size, size))
        self._w = np.zeros((gradient.shape[0], size))  # L^-1 times minus the gradient

    @property
    def size(self) -> int:
        return len(self.index)

    @property
    def factor(self) -> np.ndarray:
        return self._L[: self.size, : self.size]

    def add(self, new: np.ndarray) -> None:
        """Let variables enter: their columns, and new rows of the factor."""
        m, k = self.size, len(new)
        panel = self.system.columns(new, out=self.panel[m : m + k, :])
        both = np.concatenate([self.index, new])
        chosen = self.backend.integers(both)
        lines = to_numpy(self.backend.xp.take(panel, chosen, axis=1)).astype(np.float64)
        square = 0.5 * (lines[:, m:] + lines[:, m:].T)
        square[np.diag_indices(k)] = self.descent.diagonal[new]
        inverse = self._inverse[:m, :m]
        before = lines[:, :m] @ inverse.T
        corner, _ = factorise(square - before @ before.T, "A block of K + noise", REMEDY)
        corner_inverse = scipy.linalg.solve_triangular(corner, np.eye(k), lower=True)
        here = slice(m, m + k)
        self._L[here, :m], self._L[here, here] = before, corner
        self._inverse[here, :m] = -corner_inverse @ (before @ inverse)
        self._inverse[here, here] = corner_inverse
        g = to_numpy(self.backend.xp.take(self.gradient, chosen[m:], axis=1)).astype(np.float64)
        self._w[:, here] = -(g + self._w[:, :m] @ before.T) @ corner_inverse.T
        self.index = both
        self.member[new] = True
        self.groups.append(k)

    def residual(self, rows: np.ndarray | None = None) -> Array:
        """Return the gradient that the block's step would leave, at some rows (not the block's)."""
        m = self.size
        change = self.backend.asarray(self._w[:, :m] @ self._inverse[:m, :m])
        gradient, panel = self.gradient, self.panel[:m, :]
        if rows is not None:
            places = self.backend.integers(rows)
            gradient = self.backend.xp.take(gradient, places, axis=1)
            panel = self.backend.xp.take(panel, places, axis=1)
        return gradient + self.backend.matmul(change, panel)

    def scores(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return twice what each variable alone would gain; -1 for members of the block."""
        here = slice(None) if rows is None else rows
        left = self.descent.diagonal[here]
        if self.descent.prefitting:
            left = self._left_of_diagonal(here)
        scores = _scores(self.residual(rows), self.backend) / left
        scores[self.member[here]] = -1.0
        return scores

    def _left_of_diagonal(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return `A_ii - A_iB A_BB^-1 A_Bi`; of a member of the block anything positive."""
        m = self.size
        columns = to_numpy(self.panel[:m, :])[:, rows].astype(np.float64)
        explained = np.sum((self._inverse[:m, :m] @ columns) ** 2, axis=0)
        diagonal = self.descent.diagonal[rows]
        return np.maximum(diagonal - explained, self.backend.epsilon * diagonal)


def _scores(residual: Array, backend: Any) -> np.ndarray:
    """Return the sum of squares over the right-hand sides, on the host."""
    return to_numpy(backend.column_squares(residual)).astype(np.float64)
