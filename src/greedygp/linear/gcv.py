"""Generalised cross-validation of a sparse linear model and its best zeta in closed form.

    V = N t'P^2 t / tr(P)^2,    s2 = t'P^2 t / tr(P)      (equations 7 and 8).

As a function of one zeta, with everything taken without the basis function (equations 9-13),

    t'P^2 t = a - 2 b / Delta + c / Delta^2,    tr P = delta - epsilon / Delta,
    a = error,  b = xi r,  c = u r^2,  delta = trace,  epsilon = u,  Delta = gamma + zeta,

and the derivative of V has the sign of `g + h zeta` (appendix I),

    h = delta b - a epsilon,    g = h gamma - (delta c - b epsilon).

That gives five cases: both negative: infinity; both positive: zero; g < 0 < h: the minimum
`-g / h`; h < 0 < g: the better one of zero and infinity (this needs `u > gamma tr P`, so
no projection has it); h = 0: the sign of g decides. Zero is
replaced by a least value, alpha = 1/N for targets of unit variance and basis functions whose
largest entry is one: `zeta = s2 / (N t't / n) max|phi|^2`. The cost is `log V`, so that changes
are relative ones. GCV estimates nothing where `tr P` is next to nothing (with as many columns
as rows it falls without end towards interpolation), so no action may take the trace below a tenth
of the number of rows.
"""

from __future__ import annotations

import numpy as np

from greedygp.linear.measures import delta_of
from greedygp.linear.state import LinearState, Without

__all__ = ["GCV"]

EXACT = 1e-14  # smallest error, relative to the error without the basis function
LEAST = 1e-12  # of zeta, relative to phi'phi
FULL = 0.1  # smallest tr P, relative to that of the empty model


class GCV:
    """log V as a cost.

    Parameters
    ----------
    rows : float
        N, the sum of the weights.
    dof : float
        tr P of the empty model: N, less one for an intercept.
    """

    squares = True

    def __init__(self, rows: float, dof: float):
        self.rows, self.dof = rows, dof

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""
        unexplained = self.noise(state) * max(self.dof, 1.0) / max(state.square, 1e-300)
        return np.maximum(unexplained / self.rows * without.peak**2, LEAST * without.norm)

    def optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        """Return the best zeta of each basis function (appendix I)."""
        b, c = without.xi * without.r, without.u * without.r**2
        h = without.trace * b - without.error * without.u
        g = h * without.gamma - (without.trace * c - b * without.u)
        inner = (g < 0.0) & (h > 0.0)  # case 3
        zeta = np.where(inner, -g / np.where(inner, h, 1.0), np.inf)  # case 1 otherwise
        at_zero = (g >= 0.0) & (h >= 0.0) & (g + h > 0.0)  # cases 2 and 5
        unsure = (g > 0.0) & (h < 0.0)  # case 4
        if np.any(unsure):
            at_zero = at_zero | (unsure & (self.change(without, least) < 0.0))
        return np.maximum(np.where(at_zero, 0.0, zeta), least)

    def change(self, without: Without, zeta: np.ndarray) -> np.ndarray:
        """Return the cost with the basis function at zeta, less the cost without it."""
        x = delta_of(without, zeta)
        r_x = without.r * x
        error = 1.0 + r_x * (without.u * r_x - 2.0 * without.xi) / without.error
        trace = 1.0 - without.u * x / without.trace
        possible = without.trace * trace > FULL * self.dof
        change = np.log(np.maximum(error, EXACT)) - 2.0 * np.log(np.where(possible, trace, 1.0))
        return np.where(possible | np.isinf(zeta), change, np.inf)

    def cost(self, state: LinearState) -> float:
        """Return log V."""
        value = self.value(state)
        return float(np.log(value)) if value > 0.0 else -np.inf

    def noise(self, state: LinearState) -> float:
        """Return the noise variance (8)."""
        return state.error / state.trace if state.trace > 0.0 else 0.0

    def value(self, state: LinearState) -> float:
        """Return V (7)."""
        return self.rows * state.error / state.trace**2 if state.trace > 0.0 else 0.0
