"""Block coordinate descent for `min 0.5 alpha'A alpha - y'alpha` (Bo and Sminchisescu, 2008).

A step chooses a block B of variables and minimises over them exactly,

    da = -A_BB^-1 g_B,   g += A_:B da,

so that only n |B| kernel entries are touched. The methods differ in the choice of B:

- cyclic: in order (BCDC);
- gradient: the largest |g_i| (BCDG); neighbours have alike gradients, so the block is redundant;
- greedy (GBCD, algorithms 1 and 2): the first variable by exhaustive search over
  `g_i^2 / (2 A_ii)`; then, again and again, a random subset O of the others is looked at, and the
  variable with the largest `e_i^2 / (2 A_ii)`, `e_O = K_OB da + g_O`, enters; the Cholesky factor
  of `A_BB` grows with the block.

The columns `K_:B` are evaluated as B grows: they are needed for `g` anyway, and so the choice
costs no kernel entry of its own. Beyond the paper, and by default: several variables, each the best
of a random subset of its own, enter with the same `e` (`together`), which turns the choice into
matrix products; and the step is made conjugate to the last `memory` steps, whose products with A
are at hand, so that f is minimised over all of them (a step is then no smaller a descent than the
plain one); and the first block is held, columns and factor, so that f can be minimised over it
again after every other block without evaluating the kernel (`held`): what all rows have in common,
which every block disturbs, is put right at once. `together=1, memory=0, held=0` is the paper's
algorithm.

Invariants: `g = A alpha - y` up to rounding; f never rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from greedygp.arrays import Array, Backend, to_numpy
from greedygp.cholesky import factorise
from greedygp.dense.solver import Solver
from greedygp.dense.system import System

__all__ = ["CyclicDescent", "GradientDescent", "GreedyDescent"]

MOST_SCORED = 4  # right-hand sides by which a block is chosen; more are mixed at random
REMEDY = "Raise noise_variance, or use solver='cholesky'."


class BlockDescent(Solver):
    """What the three methods share.

    Parameters
    ----------
    block_size : int
    """

    def __init__(self, system: System, y: Array, alpha: Array | None = None, *, block_size: int):
        super().__init__(system, y, alpha)
        self.block_size = min(block_size, system.n)
        self.panel = self.backend.empty((self.block_size, system.n))

    def step(self) -> None:
        index, factor = self.choose()
        self.minimise_over(index, factor, self.panel[: len(index), :])

    def minimise_over(self, index: np.ndarray, factor: np.ndarray, panel: Array) -> None:
        """Minimise over a block, given the factor of `A_BB` and `panel = K_B:`."""
        chosen = self.backend.integers(index)
        right = -to_numpy(self.backend.xp.take(self.gradient, chosen, axis=1)).astype(np.float64)
        change = scipy.linalg.cho_solve((factor, True), right.T, check_finite=False).T
        change = self.backend.asarray(np.ascontiguousarray(change))
        product = self.backend.matmul(change, panel)
        _add_at(product, index, change * self.backend.xp.take(self.system.ridge, chosen, axis=0))
        self.move(index, change, product)

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a block and the factor of `A_BB`; `K_B:` is left in the panel."""
        raise NotImplementedError

    def move(self, index: np.ndarray, change: Array, product: Array) -> None:
        """Change `alpha` on a block; `product` is the change of the gradient."""
        _add_at(self.alpha, index, change)
        self.gradient += product

    def _evaluate(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill the panel for a block that was chosen at once."""
        panel = self.system.columns(index, out=self.panel[: len(index), :])
        factor, _ = factorise(self.system.square(panel, index), "A block of K + noise", REMEDY)
        return index, factor


class CyclicDescent(BlockDescent):
    """Blocks in the order of the rows."""

    name = "bcd_cyclic"
    place = 0

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        index = np.arange(self.place, min(self.place + self.block_size, self.system.n))
        self.place = (self.place + len(index)) % self.system.n
        return self._evaluate(index)

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"place": self.place}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.place = int(kept["place"])


class GradientDescent(BlockDescent):
    """The rows with the largest gradient (over all right-hand sides)."""

    name = "bcd_gradient"

    def choose(self) -> tuple[np.ndarray, np.ndarray]:
        largest = to_numpy(self.backend.xp.max(self.backend.xp.abs(self.gradient), axis=0))
        best = np.argpartition(-largest, self.block_size - 1)[: self.block_size]
        return self._evaluate(np.sort(best))


class GreedyDescent(BlockDescent):
    """Greedy block coordinate descent.

    Parameters
    ----------
    block_size : int
    working_set : int
        The size of a random subset (60 in the paper).
    together : int
        Variables that enter with the same residual; 1: the paper's algorithm.
    memory : int
        Steps that the next one is made conjugate to; 0: none, the paper's algorithm.
    held : int
        The size of a first block that is held; 0: none, the paper's algorithm.
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
        working_set: int,
        together: int,
        memory: int,
        held: int = 0,
        rng: np.random.Generator,
    ):
        super().__init__(system, y, alpha, block_size=block_size)
        self.working_set, self.together, self.memory = working_set, together, memory
        self.held_size = min(held, system.n)
        self.held: tuple[np.ndarray, np.ndarray, Array] | None = None
        self.held_groups: list[int] = []  # how many of its variables entered together
        self.rng = rng
        self.steps: list[tuple[Array, Array]] = []  # earlier ones: direction, its product with A
        self.diagonal = to_numpy(system.diagonal).astype(np.float64)

    def step(self) -> None:
        if self.held_size and self.held is None:
            self._hold(self._grow(self.backend.empty((self.held_size, self.system.n))))
        else:
            super().step()
        if self.held is not None:
            self.minimise_over(*self.held)

    def _hold(self, block: _GrowingBlock) -> None:
        self.held, self.held_groups = (block.index, block.factor, block.panel), block.groups

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
        subsets = self.rng.integers(n, size=(count, self.working_set))
        few = 2 * subsets.size < n
        scores = growing.scores(subsets.ravel() if few else None)
        scores = scores.reshape(subsets.shape) if few else scores[subsets]
        places = np.arange(count), np.argmax(scores, axis=1)
        winners = np.unique(subsets[places][scores[places] >= 0.0])
        if len(winners) == 0:  # nothing but members of the block was drawn
            winners = np.array([int(np.argmax(growing.scores()))])
        return winners

    def _scored_gradient(self) -> Array:
        """Return the gradient, of random mixtures where there are many right-hand sides."""
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
        _add_at(direction, index, change)
        plain = to_numpy(self._dots(direction, product))
        for _ in range(2):  # once more, for rounding
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
        self.steps = [*self.steps, (direction, product)][-self.memory :]

    def _forget(self, kept: np.ndarray) -> None:
        """Forget the earlier steps of the right-hand sides that are not kept, (p, 1)."""
        keep = self.backend.asarray(1.0 * kept)
        self.steps = [(direction * keep, product * keep) for direction, product in self.steps]

    def _dots(self, left: Array, right: Array) -> Array:
        """Return the scalar products of the lines of both, (p, 1)."""
        return self.backend.asarray(self.backend.row_dots(left, right))[:, None]

    def refresh(self) -> None:
        super().refresh()
        self.steps = []

    def snapshot(self) -> dict[str, Any]:
        kept = super().snapshot() | {"rng": self.rng.bit_generator.state}
        kept |= {"steps": [tuple(map(to_numpy, step)) for step in self.steps]}
        held = np.empty(0, dtype=np.intp) if self.held is None else self.held[0]
        return kept | {"held": held, "held_groups": np.array(self.held_groups, dtype=np.intp)}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.rng.bit_generator.state = kept["rng"]
        self.steps = [tuple(map(self.backend.asarray, step)) for step in kept["steps"]]
        self.held, self.held_groups = None, []
        if self.held_size and len(kept["held"]):
            panel = self.backend.empty((len(kept["held"]), self.system.n))
            block = _GrowingBlock(self, self.gradient, panel)
            for group in np.split(kept["held"], np.cumsum(kept["held_groups"])[:-1]):
                block.add(group)  # in the same groups: rounding depends on them
            self._hold(block)


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
        scores = _scores(self.residual(rows), self.backend) / self.descent.diagonal[here]
        scores[self.member[here]] = -1.0
        return scores


def _scores(residual: Array, backend: Any) -> np.ndarray:
    """Return the sum of squares over the right-hand sides, on the host."""
    return to_numpy(backend.column_squares(residual)).astype(np.float64)


def _add_at(lines: Array, index: np.ndarray, values: Array) -> None:
    """Add values (p, b) to the columns `index` of lines (p, n), in place."""
    backend = Backend(lines)
    if backend.is_numpy or backend.is_torch:
        lines[:, index] += values
        return
    for place, i in enumerate(index):
        lines[:, int(i)] += values[:, place]
