"""Sequential minimal optimisation (Keerthi and Shevade, for least squares).

A step moves two variables, the most violating pair: those with the largest and the smallest entry
of the gradient. Their two-variable problem is solved exactly, which evaluates 2 n kernel entries.
With several right-hand sides the pair is that of the one with the largest gradient, and each takes
its own step in the two variables.
"""

from __future__ import annotations

import numpy as np

from greedygp.arrays import to_numpy
from greedygp.dense.solvers.base import Solver

__all__ = ["SMO"]


class SMO(Solver):
    """The method of the maximal violating pair."""

    name = "smo"

    def step(self) -> None:
        xp = self.backend.xp
        line = int(xp.argmax(xp.max(xp.abs(self.gradient), axis=1)))
        g = self.gradient[line, :]
        pair = np.unique([int(xp.argmax(g)), int(xp.argmin(g))])
        panel = self.system.columns(pair)
        block = self.system.square(panel, pair)
        chosen = self.backend.integers(pair)
        right = -to_numpy(xp.take(self.gradient, chosen, axis=1)).astype(np.float64)
        step = self.backend.asarray(np.linalg.solve(block, right.T).T)
        self.gradient += self.backend.matmul(step, panel)
        for place, i in enumerate(pair):
            self.alpha[:, i] += step[:, place]
            self.gradient[:, i] += step[:, place] * self.system.ridge[i]
