"""How large a basis that moves should be, where that is left to left-out rows (`max_basis="auto"`).

No selection can tell: the basis moves afterwards. So bases of doubling size are learnt with, each
from the start of the fit, until two in a row gain little: chance has a part in where a search ends.
The one under which left-out rows are the most probable stays.

Going on from a smaller basis was tried instead. It does not work: hyperparameters learnt with a
small basis leave next to nothing for a larger one to explain, which then stays where the small one
was. And with few rows the leave-one-out density is too kind to basis inputs that have moved, and
would always take the largest basis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["FEWEST_ROWS", "Tried", "best_size", "sizes_to_try"]

FEWEST_ROWS = 2000  # for left-out rows to be asked
FACTORS = (2.0, 4.0, 8.0, 16.0)  # of the root of the number of rows
STEP = 1.5  # a basis that is larger by less is not tried
PAYS = 0.01  # nats per row that a larger basis must gain over the best one before
IDLE = 2  # sizes in a row that may gain less

M = TypeVar("M")


@dataclass
class Tried(Generic[M]):
    """A model with so many basis vectors."""

    model: M
    loss: float  # what left-out rows cost, in nats per row
    interrupted: bool = False  # by Ctrl-C, this one or a larger one
    last: bool = False  # whether there is no time, or no wish, to try another one


def sizes_to_try(n_rows: int, most: int) -> tuple[int, ...]:
    """Return the sizes, the smallest first.

    >>> sizes_to_try(4000, 1000)
    (126, 252, 505, 1000)
    >>> sizes_to_try(100_000, 1000)
    (632, 1000)
    """
    sizes: list[int] = []
    for factor in FACTORS:
        size = min(int(factor * math.sqrt(n_rows)), most)
        if not sizes or size >= STEP * sizes[-1]:
            sizes.append(size)
    return tuple(sizes)


def best_size(sizes: Iterable[int], learn: Callable[[int], Tried[M]]) -> Tried[M]:
    """Learn with one size after the other while it pays, and return the best model.

    Parameters
    ----------
    sizes : iterable of int
        The smallest first.
    learn : callable
        Gives the model of a size. Ctrl-C before there is one ends the trials, and goes up where
        no smaller one has been tried.
    """
    best: Tried[M] | None = None
    idle = 0
    for size in sizes:
        try:
            tried = learn(size)
        except KeyboardInterrupt:
            if best is None:
                raise
            best.interrupted = True
            break
        gain = math.inf if best is None else best.loss - tried.loss
        if best is None or gain > 0.0:
            best = tried
        best.interrupted |= tried.interrupted
        idle = 0 if gain >= PAYS else idle + 1
        if tried.last or tried.interrupted or idle == IDLE:
            break
    assert best is not None
    return best
